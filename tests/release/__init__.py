"""Build the version that is to be released, and try it as a user gets it: `make release`."""
