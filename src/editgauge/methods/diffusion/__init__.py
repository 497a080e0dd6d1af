"""Methods that run through the diffusers library: its own pipelines, and papers' methods written on its parts.

Nothing here imports torch or diffusers before an edit is made; `pip install 'editgauge[diffusers]'` brings them.
"""
