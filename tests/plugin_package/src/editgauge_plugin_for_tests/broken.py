"""A plug-in whose import fails, and not by an ImportError."""

raise ValueError("this module is broken")
