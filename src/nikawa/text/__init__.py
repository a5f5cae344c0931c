"""Morphological analysis and sentence splitting behind one protocol."""
