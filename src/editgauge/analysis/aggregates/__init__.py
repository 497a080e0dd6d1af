"""Many scores as one number: over edit types, source images, methods and trials."""
