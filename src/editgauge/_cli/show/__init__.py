"""What the terminal shows of what a verb returns: a function per verb, named after it, in `verbs` or `groups`.

Each takes the result and the options that were given, and returns an exit code other than 0 or nothing. `VERB_before`
may do something else in place of the verb; `VERB_json` replaces the fields of the result as JSON. A verb whose result
is one table is a row of `common.TABLES`. A verb with neither is shown by `common.anything`.
"""
