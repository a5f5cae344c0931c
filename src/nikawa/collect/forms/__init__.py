"""The forms: one file each, with `FORM`.

`_base` has what they share, `_rules` the checks of texts that workers write; a file whose name begins with an underscore
is no form.
"""
