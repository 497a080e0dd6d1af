"""The runner: plans what is to be scored, executes it, and writes the run folder."""
