"""Experiment files to begin with; `palpate new` fills them in."""
