"""JGLUE (Kurihara, Kawahara and Shibata, LREC 2022) and JCoLA, which completes it."""
