"""The file formats: how each is recognised by its first bytes, and `load`, which reads and merges files."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

from palpate.errors import FileProblem, MissingExtra, PalpateError, UnknownName
from palpate.files import read_bytes
from palpate.recording.recording import Recording, merge_recordings

HEAD_BYTES = 65536
VICON_BLOCKS = frozenset({"trajectories", "devices", "model outputs", "segments", "joints", "events"})
MATLAB_5, MATLAB_73 = b"MATLAB 5.0 MAT-file", b"MATLAB 7.3 MAT-file"
ROS_1, MCAP, SQLITE = b"#ROSBAG V", b"\x89MCAP", b"SQLite format 3\x00"
C3D_PROCESSORS = range(83, 87)
"""83 + 1 Intel, + 2 DEC, + 3 SGI; a few old files have 83."""
# A preamble this long in front of seven or more number columns is an instrument's export, not a plain table.
_PREAMBLE_LINES, _IMU_COLUMNS = 10, 7
_IMU_WORDS = {b"data_start": rb"(?m)^\W*data_start\W*$", b"scaledaccel": rb"scaledaccel[xyz]"}
"""What a MicroStrain file says, in small letters: the word, looked for first because it takes no time, and how."""
# The class of a struct in MATLAB's first element, where its fields' names end, and those of a capture.
_STRUCT, _STRUCT_BYTES, _FIELDS = 2, 2048, (b"\x00X\x00", b"\x00Y\x00")
_EXTRAS = {"ezc3d": "c3d", "h5py": "hdf5", "pinocchio": "pinocchio", "rosbags": "ros"}
_FOREIGN = {
    b"PK\x03\x04": "a ZIP archive or Excel workbook",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"\x1f\x8b": "a gzip archive",
    b"version https://git-lfs": "a Git LFS pointer, not the file itself",
}


@dataclass(frozen=True, slots=True)
class Format:
    """One file format: how to recognise and read it, and which options its reader takes.

    Its module, with SciPy or polars behind it, is imported only when it is used.
    """

    name: str
    description: str
    module: str
    recognises: Callable[[bytes, Path], bool]
    options: tuple[str, ...] = ()
    suffix: str = ""
    """Behind `read` in a module of two formats."""

    def read(self, path: Path, **options: Any) -> Recording:
        """Read a file of this format."""
        return getattr(import_module(f"palpate.recording.{self.module}"), "read" + self.suffix)(path, **options)


def load(*paths: str | Path, format: str | None = None, **options: Any) -> Recording:  # noqa: A002 - the word of experiment files
    """Read one or several files into one recording, each by its content or all by `format`.

    An option goes to every file whose format takes it. Names that clash get the file's stem as prefix.
    """
    if not paths:
        raise TypeError("load() needs at least one path")
    if format is not None and format not in FORMATS:
        raise UnknownName("format", format, FORMATS)
    chosen = [(Path(path), FORMATS[format or recognise(path)]) for path in paths]
    known = {option for _, entry in chosen for option in entry.options}
    given = {option: value for option, value in options.items() if value is not None}
    for option in options:
        if option not in known:
            names = " and ".join(dict.fromkeys(entry.name for _, entry in chosen))
            raise UnknownName("option", option, known, where=f"reading {names}")
    return merge_recordings(
        [entry.read(path, **{k: v for k, v in given.items() if k in entry.options}) for path, entry in chosen]
    )


def recognise(path: str | Path) -> str:
    """The name of a file's format, judged by its first bytes."""
    path = Path(path)
    name = kind(head_of(path), path)
    if name not in FORMATS:
        listed = "; ".join(f"{entry.name}: {entry.description}" for entry in FORMATS.values())
        raise FileProblem(path, f"this looks like {name}", remedy=f"palpate reads {listed}")
    return name


def kind(head: bytes, path: Path) -> str:
    """The name of palpate's format ("vicon-csv", ...), or words for a foreign file ("a gzip archive")."""
    foreign = [words for magic, words in _FOREIGN.items() if head.startswith(magic)]
    known = (name for name, entry in FORMATS.items() if entry.recognises(head, path))
    return foreign[0] if foreign else next(known, "no file type that palpate knows")


def head_of(path: Path) -> bytes:
    """The first bytes of a file that must exist and hold something; of a ROS 2 bag's folder, those of its metadata."""
    place = path / "metadata.yaml" if path.is_dir() else path
    try:
        with place.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        head = b""
    return head or read_bytes(path)


def check_kind(path: Path, data: bytes, wanted: str, *others: str) -> None:
    """Refuse a file, of which `data` are at least the first bytes, of another format than these."""
    if kind(data[:HEAD_BYTES], path) not in (wanted, *others):
        raise wrong_format(path, data, wanted)


def wrong_format(path: Path, data: bytes, wanted: str) -> FileProblem:
    """The error for a file of another format than the wanted one, naming what it looks like."""
    likely = kind(data[:HEAD_BYTES], path)
    if likely == wanted:
        return FileProblem(path, f"begins like {wanted} but cannot be read as such", remedy="export it again")
    remedy = (
        f"read it with format={likely!r}" if likely in FORMATS else "export it again in a format that palpate reads"
    )
    return FileProblem(path, f"this is not a {wanted} file; it looks like {likely}", remedy=remedy)


def library(module: str, purpose: str) -> Any:
    """A module of an optional library, or the line that installs it; `purpose` is "reading C3D files"."""
    name = module.partition(".")[0]
    try:
        return import_module(module)
    except ImportError:
        raise MissingExtra(name, _EXTRAS[name], purpose) from None


@contextmanager
def refusing_damage(
    path: Path, wrong: str = "the file is damaged or cut off", remedy: str = "copy or export it again"
) -> Generator[None]:
    """Turn what a library says of a file that it cannot read into one line."""
    try:
        yield
    except PalpateError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}".strip().partition("\n")[0]
        raise FileProblem(path, f"{wrong} ({reason})", remedy=remedy) from error


def as_utf8(data: bytes) -> bytes:
    """The same text in UTF-8 without a byte-order mark."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace").encode()
    if data.isascii():
        return data
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1").encode()
    return data


def numeric_from(lines: Sequence[str], separator: str, least: int) -> int | None:
    """Index of the first line from which on there are `least` fields or more, numbers after the first."""

    def values(line: str) -> list[str]:
        return [field for field in line.split(separator)[1:] if field.strip()]

    def all_numbers(line: str) -> bool:
        return separator in line and all(map(is_number, values(line)))

    for place, line in enumerate(lines):
        after = lines[place + 1] if place + 1 < len(lines) else ""
        starts = len(line.split(separator)) >= least and any(values(line))
        if starts and all_numbers(line) and (not after.strip() or all_numbers(after)):
            return place
    return None


def is_number(text: str) -> bool:
    """Whether a field is a number, with point or comma."""
    try:
        float(text.strip().strip('"').replace(",", "."))
    except ValueError:
        return False
    return True


def is_blank_row(line: str) -> bool:
    """Whether a line holds numbers that only blanks set apart."""
    cells = line.split(" ")
    return len(cells) > 1 and all(is_number(cell) for cell in cells if cell)


def separator_of(line: str) -> str:
    """The separator of a line of fields: semicolon, tab or comma, the first that occurs."""
    return next((mark for mark in (";", "\t") if mark in line), ",")


def _text_lines(head: bytes) -> list[str]:
    """The complete lines of a text file; none of a binary one."""
    text = as_utf8(head)
    lines = [] if b"\x00" in text else text.decode(errors="replace").splitlines()
    return lines if len(head) < HEAD_BYTES else lines[:-1]


def _vicon(head: bytes, _: Path) -> bool:
    lines = [line.strip(' ,;\t"') for line in _text_lines(head)]
    lines = lines[next((place for place, line in enumerate(lines) if line), 0) :]
    return bool(lines) and lines[0].lower() in VICON_BLOCKS and (len(lines) == 1 or is_number(lines[1]))


def _microstrain(head: bytes, _: Path) -> bool:
    lines, small = _text_lines(head), head.lower()
    if lines and any(word in small and re.search(pattern, small) for word, pattern in _IMU_WORDS.items()):
        return True
    start = numeric_from(lines, ",", _IMU_COLUMNS)
    return start is not None and start >= _PREAMBLE_LINES


def _smartwheel(head: bytes, _: Path) -> bool:
    """Twenty-four numbers without names: the second counts, six raw and six filtered readings are whole."""
    rows = [line.split(",") for line in _text_lines(head)[:3]]
    if len(rows) < 2 or any(len(row) != 25 or row[24].strip() or not all(map(is_number, row[:24])) for row in rows):
        return False
    whole = all(cell.strip().lstrip("-").isdigit() for row in rows for cell in (row[1], *row[6:18]))
    return whole and int(rows[1][1]) - int(rows[0][1]) == 1


def _table(head: bytes, _: Path) -> bool:
    lines = [line for line in _text_lines(head) if line.strip()]
    ends = lines[:2] + lines[-2:]
    return any(separator_of(line) in line or is_number(line) or is_blank_row(line) for line in ends)


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


_TABLE = ("columns", "time", "rate")
_BAGS = _starts(ROS_1, MCAP, SQLITE, b"rosbag2_bagfile_information:")
# Order matters: what has a signature comes first, the plain table takes what is left.
_FORMATS = (
    Format("vicon-csv", "Vicon Nexus CSV, markers and devices", "instruments", _vicon, suffix="_vicon"),
    Format("dspace-mat", "dSPACE ControlDesk .mat", "mat", _capture, ("device",), "_dspace"),
    Format("mat", "MATLAB variables with times or a rate", "mat", _starts(MATLAB_5, MATLAB_73), _TABLE),
    Format("hdf5", "HDF5 datasets with times or a rate", "hdf5", _starts(b"\x89HDF\r\n\x1a\n"), _TABLE),
    Format("c3d", "C3D, markers and analogs", "c3d", _c3d, ("point_unit",)),
    Format("rosbag", "a ROS 1 or ROS 2 bag (.bag, .mcap, .db3 or its folder)", "rosbag", _BAGS, ("topics", "stamps")),
    Format(
        "trc",
        "TRC, markers as OpenSim and Motion Analysis write them",
        "instruments",
        lambda head, _: as_utf8(head[:200]).lower().startswith(b"pathfiletype"),
        suffix="_trc",
    ),
    Format("parquet", "a Parquet table", "table", _starts(b"PAR1"), _TABLE, "_parquet"),
    Format("microstrain-csv", "MicroStrain IMU CSV", "instruments", _microstrain, ("g",), "_microstrain"),
    Format("smartwheel", "SmartWheel CSV, 25 columns without names", "instruments", _smartwheel, (), "_smartwheel"),
    Format("csv", "a plain CSV table with a header line", "table", _table, (*_TABLE, "header")),
)
FORMATS: Mapping[str, Format] = MappingProxyType({entry.name: entry for entry in _FORMATS})
