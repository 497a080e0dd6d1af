"""Cards: how one evaluator performs on probes."""
