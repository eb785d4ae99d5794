"""Experiment files of the paper that palpate implements."""
