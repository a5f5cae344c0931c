"""Read tasks of other tools as datasets: lm-eval's YAML, flexeval's Jsonnet, inspect's Python.

Nothing of a task is run. One file per tool turns the task's file into a `Definition` (`definition.py`); `items.py` applies its
templates to the rows of its data; `convert.py` chooses the kind of task; `job.py` writes the dataset folder. Files and templates
are read in a child process with limits of time and memory (`child.py`), because they come from others.
"""
