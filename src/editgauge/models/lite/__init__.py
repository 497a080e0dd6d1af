"""The small models of the profile `lite`: they run on a CPU in moments, most of them without torch."""
