"""Operators that are written here as others, one file for each theme.

Each file has a table from overloads to functions. A function takes what the
operator takes, and returns ``NotImplemented`` for arguments that it is not
made for, whose node then stays whole.
"""
