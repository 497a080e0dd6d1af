"""A benchmark's own divisions, and the figures that its paper makes of them."""
