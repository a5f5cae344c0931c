"""The recipe of JSICK (Yanaka and Mineshima, TACL 2022)."""
