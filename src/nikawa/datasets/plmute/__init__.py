"""PLMUTE: inference about the order and the length of times, and its Japanese part."""
