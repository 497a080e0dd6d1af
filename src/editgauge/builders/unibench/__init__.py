"""`build unibench`: UniBench tasks from COCO annotations."""
