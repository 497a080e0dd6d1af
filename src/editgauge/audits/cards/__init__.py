"""Cards: how one evaluator fares on probes."""
