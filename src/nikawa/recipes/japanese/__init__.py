"""Recipes of Japanese datasets made as those of KLUE, which no paper has under these names."""
