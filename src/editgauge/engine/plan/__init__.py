"""What a run will do: tasks, shards, number of workers."""
