"""What people said: ratings, choices, remarks."""
