"""Commands that need several stages, one file each; the wiring lives here."""
