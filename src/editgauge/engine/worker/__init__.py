"""Scoring inside one worker process."""
