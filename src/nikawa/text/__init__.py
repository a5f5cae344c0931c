"""Morphological analysis and sentence splitting behind one protocol."""

from nikawa.text.analysers import ANALYSERS, analyser
from nikawa.text.protocol import Analyser, Token

__all__ = ["ANALYSERS", "Analyser", "Token", "analyser"]
