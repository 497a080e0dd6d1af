"""The verb `edit`: make the outcomes of a method."""
