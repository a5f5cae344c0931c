"""Templates and a lexicon in, inference problems whose gold is computed out."""
