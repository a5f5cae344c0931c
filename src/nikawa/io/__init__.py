"""Records to and from disk.

Reading streams and names file and line of what it refuses; writing is atomic.
"""
