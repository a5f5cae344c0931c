"""Code that the commands share: the application, tables and progress, examples, and usage errors."""
