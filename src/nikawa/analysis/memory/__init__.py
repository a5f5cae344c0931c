"""Whether a language model has seen a benchmark: order of items, perturbed twins, completions."""
