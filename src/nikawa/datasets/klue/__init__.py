"""KLUE (Park et al., NeurIPS 2021): eight tasks of Korean language understanding."""
