"""What a dataset hides: shape, repeats, leaks, artifacts, lexical overlap."""
