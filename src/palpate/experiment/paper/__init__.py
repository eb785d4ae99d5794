"""The paper: its experiment files, its authors' choices, and their reproduction."""
