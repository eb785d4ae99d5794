"""The paper's Table (tab:all_params) as printed, so that a value's last digit is known too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


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
