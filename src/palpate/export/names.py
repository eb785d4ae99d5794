"""Names and units as other languages want them."""

from __future__ import annotations

import re
from collections.abc import Iterable

_UNITS = {
    **dict.fromkeys(("x", "y", "z"), "m"),
    **dict.fromkeys(("angle", "yaw", "camber", "pitch"), "rad"),
    **dict.fromkeys(("q_w", "q_x", "q_y", "q_z"), "1"),
    **dict.fromkeys(("v_x", "v_y", "v_z", "forward_speed"), "m/s"),
    **dict.fromkeys(("w_x", "w_y", "w_z", "speed", "yaw_rate", "camber_rate", "pitch_rate"), "rad/s"),
    **dict.fromkeys(("a_x", "a_y", "a_z", "forward_acceleration"), "m/s2"),
    **dict.fromkeys(("w_dot_x", "w_dot_y", "w_dot_z", "acceleration"), "rad/s2"),
    **dict.fromkeys(("yaw_acceleration", "camber_acceleration", "pitch_acceleration"), "rad/s2"),
}
_WORDS = (
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while "
    # C++, for the header
    "and asm bool bitand bitor catch class compl concept constexpr decltype delete explicit export false friend "
    "mutable namespace new noexcept not nullptr operator or private protected public requires template this throw "
    "true try typeid typename using virtual wchar_t xor "
    # macros of the standard headers and of compilers
    "INFINITY NAN NULL HUGE_VAL HUGE_VALF HUGE_VALL FP_INFINITE FP_NAN FP_NORMAL FP_SUBNORMAL FP_ZERO FP_FAST_FMA "
    "FP_FAST_FMAF FP_FAST_FMAL FP_ILOGB0 FP_ILOGBNAN MATH_ERRNO MATH_ERREXCEPT math_errhandling DOMAIN SING OVERFLOW "
    "UNDERFLOW PLOSS TLOSS EOF BUFSIZ FILENAME_MAX FOPEN_MAX L_tmpnam SEEK_CUR SEEK_END SEEK_SET TMP_MAX stdin stdout "
    "stderr errno linux unix"
)


def c_name(name: str) -> str:
    """The name with what C does not know replaced: `handle.m` -> `handle_m`."""
    found = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_") or "object"
    return f"x_{found}" if found[0].isdigit() or found in _WORDS.split() else found


def c_names(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """The names in C, each another one and none of `taken`: what becomes the same gets a number.

    None ends with an underscore, as all macros of the templates do.
    """
    found, used = list[str](), list(taken)
    for name in map(c_name, names):
        i = 1
        while (own := name if i == 1 else f"{name}_{i}") in (*used, *found):
            i += 1
        found.append(own)
    return found


def state_units(names: Iterable[str]) -> list[str]:
    """The unit of each state or acceleration of palpate's own mechanisms; "" where it is not known."""
    return [_UNITS.get(name, "") for name in names]
