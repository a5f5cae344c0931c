"""SICK and its translations, in SICK's own table."""
