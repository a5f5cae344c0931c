"""SNLI, MultiNLI, and the Japanese translation of SNLI."""
