"""Recipes of JGLUE (Kurihara, Kawahara and Shibata, LREC 2022)."""
