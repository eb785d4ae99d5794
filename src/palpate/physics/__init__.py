"""Pure functions and values: no files, no objects, nothing but mechanics."""
