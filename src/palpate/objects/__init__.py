"""The object files that ship with palpate."""
