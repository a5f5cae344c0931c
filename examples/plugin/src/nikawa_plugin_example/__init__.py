"""A dataset, a metric and a form for Nikawa, each in a file of its own; pyproject.toml declares them as entry points."""
