"""The file formats by name, and `load`, which finds the format by content and merges several files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

from palpate.errors import FileProblem, UnknownName
from palpate.recording.recording import Recording, merge_recordings
from palpate.recording.signature import head_of, kind


@dataclass(frozen=True, slots=True)
class Format:
    """One file format: how to read and write it, and which options its reader takes."""

    name: str
    description: str
    read: Callable[..., Recording]
    write: Callable[..., None]
    options: tuple[str, ...] = ()


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
    for option in options:
        if option not in known:
            names = " and ".join(dict.fromkeys(entry.name for _, entry in chosen))
            raise UnknownName("option", option, known, where=f"reading {names}")
    return merge_recordings(
        [entry.read(path, **{k: v for k, v in options.items() if k in entry.options}) for path, entry in chosen]
    )


def recognise(path: str | Path) -> str:
    """The name of a file's format, judged by its first bytes."""
    path = Path(path)
    name = kind(head_of(path), path)
    if name not in FORMATS:
        listed = "; ".join(f"{entry.name}: {entry.description}" for entry in FORMATS.values())
        raise FileProblem(path, f"this looks like {name}", remedy=f"palpate reads {listed}")
    return name


def _format(name: str, module: str, description: str, options: tuple[str, ...] = (), suffix: str = "") -> Format:
    """An entry whose module, with SciPy or polars behind it, is imported only when it is used."""

    def read(path: str | Path, **chosen: Any) -> Recording:
        return getattr(import_module(f"palpate.recording.{module}"), f"read{suffix}")(path, **chosen)

    def write(path: str | Path, recording: Recording, **chosen: Any) -> None:
        getattr(import_module(f"palpate.recording.{module}"), f"write{suffix}")(path, recording, **chosen)

    return Format(name, description, read, write, options)


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        entry.name: entry
        for entry in (
            _format("vicon-csv", "vicon_csv", "Vicon Nexus CSV, markers and devices"),
            _format("dspace-mat", "dspace_mat", "dSPACE ControlDesk .mat", ("device",)),
            _format("microstrain-csv", "microstrain_csv", "MicroStrain IMU CSV", ("g",)),
            _format("c3d", "c3d", "C3D, markers and analogs", ("point_unit",)),
            _format("trc", "trc", "TRC, markers as OpenSim and Motion Analysis write them"),
            _format("rosbag", "rosbag", "a ROS 1 or ROS 2 bag (.bag, .mcap, .db3 or its folder)", ("topics", "stamps")),
            _format("hdf5", "hdf5", "HDF5 datasets with times or a rate", ("columns", "time", "rate")),
            _format("mat", "mat", "MATLAB variables with times or a rate", ("columns", "time", "rate")),
            _format("csv", "table", "a plain CSV table with a header line", ("columns", "time", "rate", "header")),
            _format("parquet", "table", "a Parquet table", ("columns", "time", "rate"), "_parquet"),
        )
    }
)
