"""Read and write records.

Readers stream, and name the file and line of a fault. Writers are atomic.
"""
