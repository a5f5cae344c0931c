"""JSICK and JSICK-stress (Yanaka and Mineshima, TACL 2022)."""
