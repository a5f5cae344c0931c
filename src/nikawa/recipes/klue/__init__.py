"""Recipes of KLUE (Park et al., NeurIPS 2021)."""
