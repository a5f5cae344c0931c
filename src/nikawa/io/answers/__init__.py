"""Answers of any model and any tool, read into predictions: see docs/answers.md for the forms.

A form is a module with a `Form`; `recognise` tells by content which one a file is in.
"""

from nikawa.io.answers.base import Answers
from nikawa.io.answers.parse import parse_answer
from nikawa.io.answers.read import AnswerFiles, read_answers
from nikawa.io.answers.recognise import FORMS

__all__ = ["FORMS", "AnswerFiles", "Answers", "parse_answer", "read_answers"]
