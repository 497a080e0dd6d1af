"""The verb `plan`: predict time, memory and cost of a run."""
