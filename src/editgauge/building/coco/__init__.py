"""MS-COCO annotation files."""
