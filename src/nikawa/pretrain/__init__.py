"""From raw text to a small encoder: prepared text, a vocabulary, packed tokens, weights."""
