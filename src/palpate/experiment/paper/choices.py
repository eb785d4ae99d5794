"""What the paper's authors chose where palpate chooses otherwise, and what they printed.

Samples, windows, handle constants, corrections; everything else (files, markers, links, priors) is in the experiment
files that ship with palpate. Samples are theirs: each device is decimated first, then the window [first + offset,
first + offset + samples] is cut, from 1 and both ends included, and segments count inside it (FORMATS, How the authors
count samples).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

Span = tuple[int, int]
"""First and last sample of the window, from 1, both included."""
Three = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Window:
    """Which samples of each device's file are looked at."""

    first: Mapping[str, int]
    """By recording: the decimated sample that coincides with those of the others."""
    offset: int
    samples: int
    """One more is taken: the last is included."""
    decimation: Mapping[str, int]
    """By recording: every so many-th sample is kept, without a filter before it."""

    def rows(self, name: str) -> slice:
        """Rows of a device's file, from 0."""
        step = self.decimation.get(name, 1)
        start = (self.first[name] + self.offset - 1) * step
        return slice(start, start + self.samples * step + 1, step)

    def needed(self, name: str) -> int:
        """How many rows the file must have at least."""
        return int(self.rows(name).stop)


@dataclass(frozen=True, slots=True)
class HandleChoices:
    """A handle: Savitzky-Golay windows in samples of 1 ms on the motion only, no noise taken out of it."""

    window: Window
    train: tuple[Span, ...]
    test: Span
    order: int
    slope: Span = (51, 3)
    """Window and order for the derivative of the angular rate ..."""
    smooth: int = 101
    """... and window for everything afterwards."""


@dataclass(frozen=True, slots=True)
class BodyChoices:
    """A body: the handle's weight alone is removed, with constants of its own."""

    window: Window
    train: tuple[Span, ...]
    test: Span
    still: Span
    """Where the sensors' preload is taken."""
    smooth: Span
    """Window and order of Savitzky-Golay."""
    handle_mass: float
    handle_com: Three
    quasi_static: Span | None = None
    reference: Span | None = None
    """Samples whose mean is the reference cloud; None: the static file's."""
    raised_m: float = 0.0
    """Added to all heights: half a marker's diameter, so that the floor is at zero."""
    at_contact: tuple[float, ...] = (0.0,) * 6
    """A fixed wrench that is added to the model (FORMATS, erratum 5), N and N m."""


HANDLES: Mapping[str, HandleChoices] = MappingProxyType(
    {
        "wheelbarrow-handle": HandleChoices(
            Window({"wrench": 17757, "imu": 9463}, 5000, 96500, {}), ((20387, 46965),), (51066, 66693), order=4
        ),
        "door-handle": HandleChoices(
            Window({"wrench": 16309, "imu": 9760}, 5000, 95000, {}), ((2736, 47446),), (47446, 66936), order=3
        ),
    }
)
BODIES: Mapping[str, BodyChoices] = MappingProxyType(
    {
        "door": BodyChoices(
            Window({"mocap": 1058, "wrench": 2082, "imu": 787}, 900, 15400, {"wrench": 10, "imu": 10}),
            train=((6024, 10833), (14129, 15000)),
            test=(10833, 14129),
            still=(1, 500),
            smooth=(31, 4),
            handle_mass=1.5310,
            handle_com=(-0.0007, -0.0015, 0.0260),
            quasi_static=(1, 6023),
        ),
        "wheelbarrow": BodyChoices(
            Window(
                {"mocap": 1008, "wrench": 2005, "wrench_2": 2005, "imu": 1439},
                1,
                21200,
                {"wrench": 10, "wrench_2": 10, "imu": 10},
            ),
            train=((1879, 4883),),
            test=(18586, 20859),
            still=(1000, 1500),
            smooth=(11, 4),
            handle_mass=0.8082,
            handle_com=(0.0002, 0.0001, 0.0814),
            reference=(20951, 21201),
            raised_m=0.0095,
            at_contact=(-13.7, 0.0, 0.0, 0.0, 0.0, 9.5),
        ),
    }
)
ORDER = ("door-handle", "door", "wheelbarrow-handle", "wheelbarrow")
"""Of everything that is printed."""


@dataclass(frozen=True, slots=True)
class Printed:
    """A number as it stands in print."""

    text: str

    @property
    def value(self) -> float:
        """The number itself."""
        return float(self.text)

    @property
    def rounding(self) -> float:
        """Half a unit of the last digit: by so much the number that was rounded may be off."""
        return 0.5 * 10.0 ** -len(self.text.partition(".")[2])


@dataclass(frozen=True, slots=True)
class PaperColumn:
    """What the paper says about one identification."""

    title: str
    parameters: Mapping[str, Printed]
    """SI; inertias are matrix entries about the frame's origin (FORMATS, erratum 6)."""
    train_s: Printed
    test_s: Printed
    damping: Printed | None
    kappa: Printed
    rms: Mapping[str, tuple[Printed, Printed]]
    """By row: value (N, N m) and percent of the signal's range."""
    marker_error_mm: Printed | None = None


_BODY = ("m", "c_x", "c_y", "c_z", "Ixx", "Iyy", "Izz", "Ixy", "Ixz", "Iyz")


def _printed(names: tuple[str, ...], numbers: str) -> dict[str, Printed]:
    return dict(zip(names, map(Printed, numbers.split()), strict=True))


def _rms(names: str, values: str, percent: str) -> dict[str, tuple[Printed, Printed]]:
    rows = zip(names.split(), values.split(), percent.split(), strict=True)
    return {name: (Printed(value), Printed(share)) for name, value, share in rows}


PAPER: Mapping[str, PaperColumn] = MappingProxyType(
    {
        "wheelbarrow-handle": PaperColumn(
            "Wheelbarrow handle",
            _printed(_BODY, "0.856 0.0001 0.0001 0.077 0.0126 0.0124 0.0004 0.0001 0.0002 0.0003"),
            Printed("27"),
            Printed("16"),
            Printed("10"),
            Printed("23.9"),
            _rms("f_x f_y f_z n_x n_y n_z", "0.35 0.46 0.38 0.023 0.020 0.014", "1.6 1.6 3.0 0.8 0.8 13.7"),
        ),
        "wheelbarrow": PaperColumn(
            "Wheelbarrow",
            {
                **_printed(_BODY, "45.0 -0.115 0.445 0.012 13.56 2.80 12.55 2.63 0.28 0.61"),
                **_printed(("b_v", "b_c", "b_psi"), "0.388 1.172 2.943"),
            },
            Printed("30"),
            Printed("23"),
            Printed("100"),
            Printed("97.5"),
            _rms("n_x n_y n_z", "5.31 6.77 4.42", "4.0 4.2 3.9"),
            Printed("2.1"),
        ),
        "door-handle": PaperColumn(
            "Door handle",
            _printed(_BODY, "1.571 -0.001 -0.001 0.025 0.0077 0.0157 0.0180 -0.0078 -0.0002 0.0006"),
            Printed("45"),
            Printed("19"),
            Printed("20"),
            Printed("27.5"),
            _rms("f_x f_y f_z n_x n_y n_z", "0.46 0.64 0.40 0.022 0.031 0.042", "1.4 1.5 1.7 1.3 1.5 1.0"),
        ),
        "door": PaperColumn(
            "Door",
            _printed(
                ("I", "b_bc", "b_s", "b_l", "b_v", "b_c", "c_0", "c_1", "c_2", "c_3"),
                "6.53 7.52 4.47 2.57 4.75 1.79 18.01 -17.10 5.34 -0.70",
            ),
            Printed("57"),
            Printed("33"),
            None,
            Printed("15.0"),
            _rms("n_z", "2.19", "5.2"),
            Printed("1.54"),
        ),
    }
)
