"""What the verbs share: the application itself, tables and progress on a terminal, examples, and
usage errors.
"""
