"""The papers' printed figures against the same figures recomputed from the published files."""
