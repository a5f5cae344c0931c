"""Morphological analysis, sentence splitting and normal forms of Japanese and Korean text."""

from nikawa.text.analysers import ANALYSERS, analyser
from nikawa.text.normalise import normalise, normalise_with_offsets
from nikawa.text.protocol import Analyser, Token
from nikawa.text.sentences import sentences

__all__ = [
    "ANALYSERS",
    "Analyser",
    "Token",
    "analyser",
    "normalise",
    "normalise_with_offsets",
    "sentences",
]
