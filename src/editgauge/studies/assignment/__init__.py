"""Which rater gets which page."""
