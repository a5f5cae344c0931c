"""Recipes of task-oriented dialogues with their states."""
