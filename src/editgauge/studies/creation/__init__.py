"""Making a study from a run."""
