"""Public sets that are read by their own layout: what their records hold is declared in `layouts.yaml`."""
