"""The guided tour: the whole life of a benchmark on the embedded data."""
