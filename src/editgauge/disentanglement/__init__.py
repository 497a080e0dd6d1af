"""Disentanglement of latents (PixLens, section 3.2): make, read, score and show them."""
