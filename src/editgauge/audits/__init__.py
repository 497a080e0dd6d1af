"""Auditing: does an evaluator deserve trust? Probes with known truth, and cards of how evaluators perform on them."""
