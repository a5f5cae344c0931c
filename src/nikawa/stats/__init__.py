"""Statistics on any metric: resampling, paired tests, seeds, slices. Knows no dataset and no model."""
