"""Answers to scores: the official metrics with intervals, comparisons, conformance with the official scorers."""
