"""The examples in the docstrings of the public nouns run."""

from __future__ import annotations

import doctest

import pytest

from palpate import model
from palpate.elements import element
from palpate.identify import solution
from palpate.physics import motion


@pytest.mark.parametrize("module", [element, model, motion, solution], ids=lambda m: m.__name__)
def test_examples_in_docstrings_run(module: object) -> None:
    assert doctest.testmod(module).attempted > 0
    assert doctest.testmod(module).failed == 0
