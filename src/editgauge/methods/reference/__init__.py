"""Reference editors: outcomes made from the photograph itself, whose truth is known."""
