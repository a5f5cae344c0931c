"""A small benchmark of our own, embedded, so that every command has something to run on."""
