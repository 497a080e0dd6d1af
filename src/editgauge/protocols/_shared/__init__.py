"""Helpers that several protocols share."""
