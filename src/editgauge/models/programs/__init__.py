"""Models that are programs of their own: they are used where they are installed, and nothing is fetched for them."""
