"""The forms: one file each, with `FORM`."""
