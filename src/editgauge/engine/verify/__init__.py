"""The verb `verify`: is a run still what was measured?"""
