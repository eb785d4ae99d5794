"""What a file is, judged by its first bytes, and the libraries that it takes to read it."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

from palpate.errors import FileProblem, MissingExtra
from palpate.files import read_bytes

HEAD_BYTES = 65536
VICON_BLOCKS = frozenset({"trajectories", "devices", "model outputs", "segments", "joints", "events"})
MATLAB_5 = b"MATLAB 5.0 MAT-file"
MATLAB_73 = b"MATLAB 7.3 MAT-file"
HDF5 = b"\x89HDF\r\n\x1a\n"
ROS_1, MCAP, SQLITE = b"#ROSBAG V", b"\x89MCAP", b"SQLite format 3\x00"
ROS_2_METADATA = b"rosbag2_bagfile_information:"
C3D_PROCESSORS = range(83, 87)
"""83 + 1 Intel, + 2 DEC, + 3 SGI; a few old files have 83."""
# A preamble this long in front of seven or more number columns is an instrument's export, not a plain table.
_PREAMBLE_LINES = 10
_IMU_COLUMNS = 7
# The class of a struct in MATLAB's first element, where its fields' names end, and those of a capture.
_STRUCT, _STRUCT_BYTES = 2, 2048
_FIELDS = (b"\x00X\x00", b"\x00Y\x00")
_EXTRAS = {"ezc3d": "c3d", "h5py": "hdf5", "rosbags": "ros"}


def kind(head: bytes, path: Path) -> str:
    """The name of palpate's format ("vicon-csv", ...), or words for a foreign file ("a C3D file")."""
    return next((name for name, test in _TESTS.items() if test(head, path)), "no kind of file that palpate knows")


def head_of(path: Path) -> bytes:
    """The first bytes of a file that must exist and hold something; of a ROS 2 bag's folder, those of its metadata."""
    place = path / "metadata.yaml" if path.is_dir() else path
    try:
        with place.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        head = b""
    return head or read_bytes(path)


def wrong_format(path: Path, data: bytes, wanted: str) -> FileProblem:
    """The error for a file of another format than the wanted one, naming what it looks like."""
    likely = kind(data[:HEAD_BYTES], path)
    if likely == wanted:
        return FileProblem(path, f"begins like {wanted} but cannot be read as such", remedy="export it again")
    remedy = (
        f"read it with format={likely!r}"
        if likely in FORMAT_NAMES
        else "export it again in a format that palpate reads"
    )
    return FileProblem(path, f"this is not a {wanted} file; it looks like {likely}", remedy=remedy)


def numeric_from(lines: Sequence[str], separator: str, least: int) -> int | None:
    """Index of the first line from which on there are `least` fields or more, numbers after the first."""
    for place, line in enumerate(lines):
        after = lines[place + 1] if place + 1 < len(lines) else ""
        starts = len(line.split(separator)) >= least and any(_values(line, separator))
        if starts and _all_numbers(line, separator) and (not after.strip() or _all_numbers(after, separator)):
            return place
    return None


def is_number(text: str) -> bool:
    """Whether a field is a number, with point or comma."""
    try:
        float(text.strip().strip('"').replace(",", "."))
    except ValueError:
        return False
    return True


def separator_of(line: str) -> str:
    """The separator of a line of fields: semicolon, tab or comma, the first that occurs."""
    return next((mark for mark in (";", "\t") if mark in line), ",")


def _values(line: str, separator: str) -> list[str]:
    """The filled fields after the first."""
    return [field for field in line.split(separator)[1:] if field.strip()]


def _all_numbers(line: str, separator: str) -> bool:
    return separator in line and all(is_number(value) for value in _values(line, separator))


def _text_lines(head: bytes) -> list[str] | None:
    """The complete lines of a text file; None for a binary one."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return head.decode("utf-16", errors="replace").splitlines()
    if b"\x00" in head:
        return None
    text = head.decode("utf-8-sig", errors="replace").splitlines()
    return text if len(head) < HEAD_BYTES else text[:-1]


def _vicon(head: bytes, _: Path) -> bool:
    lines = [line.strip(' ,;\t"') for line in (_text_lines(head) or [])]
    lines = lines[next((place for place, line in enumerate(lines) if line), 0) :]
    return bool(lines) and lines[0].lower() in VICON_BLOCKS and (len(lines) == 1 or is_number(lines[1]))


def _trc(head: bytes, _: Path) -> bool:
    return (_text_lines(head[:200]) or [""])[0].lower().startswith("pathfiletype")


def _microstrain(head: bytes, _: Path) -> bool:
    lines = _text_lines(head)
    if lines is None:
        return False
    if re.search(rb"(?m)^\W*DATA_START\W*$|scaledaccel[xyz]", head, re.IGNORECASE):
        return True
    start = numeric_from(lines, ",", _IMU_COLUMNS)
    return start is not None and start >= _PREAMBLE_LINES


def _table(head: bytes, _: Path) -> bool:
    lines = [line for line in (_text_lines(head) or []) if line.strip()]
    return any(separator_of(line) in line or is_number(line) for line in lines[:2] + lines[-2:])


def _c3d(head: bytes, path: Path) -> bool:
    """The key 0x50, and a processor type in the block that the first byte names."""
    if head[1:2] != b"\x50":
        return False
    place = (head[0] - 1) * 512 + 3
    return (head[0] > 1 and len(head) > place and head[place] in C3D_PROCESSORS) or path.suffix.lower() == ".c3d"


def _capture(head: bytes, _: Path) -> bool:
    """Whether a MATLAB file's first variable is a struct with the fields X and Y, as ControlDesk's captures are.

    In MATLAB 5 files class and fields are the first bytes of the first element, which may be compressed. In MATLAB
    7.3 files lists of structs keep their parts in a group "#refs#".
    """
    if head.startswith(MATLAB_73):
        return b"#refs#" in head and all(field in head for field in _FIELDS)
    if not head.startswith(MATLAB_5):
        return False
    element = head[128:]
    if element[:4] in (b"\x0f\x00\x00\x00", b"\x00\x00\x00\x0f"):
        try:
            element = zlib.decompressobj().decompress(element[8:], _STRUCT_BYTES)
        except zlib.error:
            return False
    element = element[:_STRUCT_BYTES]
    return len(element) > 19 and _STRUCT in (element[16], element[19]) and all(field in element for field in _FIELDS)


def _starts(*magic: bytes) -> Callable[[bytes, Path], bool]:
    return lambda head, _: head.startswith(magic)


_FOREIGN: Mapping[str, Callable[[bytes, Path], bool]] = MappingProxyType(
    {
        "a ZIP archive or Excel workbook": _starts(b"PK\x03\x04"),
        "an old Excel workbook": _starts(b"\xd0\xcf\x11\xe0"),
        "a gzip archive": _starts(b"\x1f\x8b"),
        "a Git LFS pointer, not the file itself": _starts(b"version https://git-lfs"),
    }
)
# Order matters: what has a signature comes first, the plain table takes what is left.
_TESTS: Mapping[str, Callable[[bytes, Path], bool]] = MappingProxyType(
    {
        "dspace-mat": _capture,
        "mat": _starts(MATLAB_5, MATLAB_73),
        "hdf5": _starts(HDF5),
        "c3d": _c3d,
        "rosbag": _starts(ROS_1, MCAP, SQLITE, ROS_2_METADATA),
        "trc": _trc,
        "parquet": _starts(b"PAR1"),
        **_FOREIGN,
        "vicon-csv": _vicon,
        "microstrain-csv": _microstrain,
        "csv": _table,
    }
)
FORMAT_NAMES = tuple(name for name in _TESTS if name not in _FOREIGN)


def library(module: str, purpose: str) -> Any:
    """A module of an optional library, or the line that installs it; `purpose` is "reading C3D files"."""
    name = module.partition(".")[0]
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra(name, _EXTRAS[name], purpose) from None
