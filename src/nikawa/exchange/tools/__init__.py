"""One file per tool that Nikawa exports to; each declares a `Tool`."""
