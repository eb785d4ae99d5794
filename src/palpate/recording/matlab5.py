"""MATLAB 5 files (also 6 and 7) that hold numbers, texts and structs, as SciPy reads them.

Such are nearly all recordings, and `scipy.io` takes longer to import than most of them to read. Whatever else is in a
file is left to SciPy. The format: MathWorks, MAT-File Format, "Level 5 MAT-File Format".
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

_TYPES = {1: "<i1", 2: "<u1", 3: "<i2", 4: "<u2", 5: "<i4", 6: "<u4", 7: "<f4", 9: "<f8", 12: "<i8", 13: "<u8"}
_TEXTS = {2: "latin-1", 4: "utf-16-le", 16: "utf-8", 17: "utf-16-le", 18: "utf-32-le"}
_MATRIX, _COMPRESSED = 14, 15
_STRUCT, _CHAR, _NUMBERS = 2, 4, range(6, 16)
_COMPLEX = 0x0800
_HEADER = 128


class NotPlainError(Exception):
    """The file holds something else, or is damaged: SciPy has the word."""


def read_plain(path: Path) -> dict[str, Any]:
    """Every variable: numbers without axes of length one, texts, structs as dictionaries, several of them as a list."""
    data = memoryview(path.read_bytes())
    if bytes(data[_HEADER - 4 : _HEADER]) != b"\x00\x01IM":  # version 5, little-endian
        raise NotPlainError
    variables: dict[str, Any] = {}
    try:
        for kind, content in _elements(data[_HEADER:]):
            if kind == _COMPRESSED:
                ((kind, content),) = _elements(memoryview(zlib.decompress(content)))
            if kind != _MATRIX:
                raise NotPlainError
            name, value = _matrix(content)
            if not name or name.startswith("__") or name in variables:
                raise NotPlainError
            variables[name] = value
    except (ValueError, IndexError, StopIteration, zlib.error):  # cut off or changed
        raise NotPlainError from None
    return variables


def _elements(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    """The type and content of each element; of few bytes both words are one, and the content stands in the second."""
    at = 0
    while at < len(data):
        kind, size = (int(x) for x in np.frombuffer(data[at : at + 8], "<u4", 2))
        if kind >> 16:
            kind, size, start, end = kind & 0xFFFF, kind >> 16, at + 4, at + 8
        else:
            start = at + 8
            end = start + size + (0 if kind == _COMPRESSED else -size % 8)
        if start + size > len(data):
            raise NotPlainError
        yield kind, data[start : start + size]
        at = end


def _numbers(element: tuple[int, memoryview]) -> Any:
    kind, content = element
    if kind not in _TYPES:
        raise NotPlainError
    return np.frombuffer(content, _TYPES[kind])


def _matrix(content: memoryview) -> tuple[str, Any]:
    """Name and value of an array."""
    if not len(content):
        raise NotPlainError
    parts = _elements(content)
    flags = int(_numbers(next(parts))[0])
    shape = tuple(int(n) for n in _numbers(next(parts)))
    name, what, count = bytes(next(parts)[1]).decode("ascii"), flags & 0xFF, prod(shape)
    if flags & _COMPLEX or not count:
        raise NotPlainError
    if what in _NUMBERS:
        values = np.squeeze(_numbers(next(parts)).reshape(shape, order="F"))
        return name, values if values.shape else values.item()
    if what == _CHAR:
        kind, text = next(parts)
        if kind not in _TEXTS or max(shape) != count:
            raise NotPlainError
        word = bytes(text).decode(_TEXTS[kind])
        if len(word) != count:
            raise NotPlainError
        return name, word
    if what != _STRUCT or max(shape) != count:
        raise NotPlainError
    length, names = int(_numbers(next(parts))[0]), bytes(next(parts)[1])
    fields = [names[i : i + length].partition(b"\0")[0].decode("ascii") for i in range(0, len(names), length)]
    if len(set(fields)) != len(fields):
        raise NotPlainError
    structs = [{field: _matrix(next(parts)[1])[1] for field in fields} for _ in range(count)]
    return name, structs if count > 1 else structs[0]
