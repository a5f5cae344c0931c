"""What the data and the answers show: quality, artifacts, slices, significance."""
