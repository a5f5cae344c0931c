"""KLUE (Park et al., 2021)."""
