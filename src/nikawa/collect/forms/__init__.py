"""The forms: one file each, with `FORM`.

`_base` has what they share, `_rules` the checks of texts that workers write; a file whose name begins with an underscore
is not a form. What a form of another package needs of them is exported here.
"""

from nikawa.collect.forms._base import (
    FormSettings,
    Labels,
    check_label,
    make_guideline,
    only_answer,
    show_texts,
)

__all__ = ["FormSettings", "Labels", "check_label", "make_guideline", "only_answer", "show_texts"]
