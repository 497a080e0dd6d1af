"""The gallery of the report: pictures, scores and evidence."""
