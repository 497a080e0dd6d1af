"""Who scores what: worker processes of this machine, or a Ray cluster."""
