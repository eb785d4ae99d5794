"""Two takes of one object between which the encoder was set to zero anew."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tests.command import palpate
from tests.drawer_files import NOISE_M, NOISE_N, simulate
from tests.oracles.tables import save_table

STIFFNESS, ZERO_DEG = 6.0, 12.0


def take(folder: Path, name: str, zero_deg: float, signals: str = "", static: str = "static: [0.5, 4.5], ") -> Path:
    """The drawer of other make as what turns against a spring; its experiment file."""
    rng, (t, x, f) = np.random.default_rng(len(name)), (column[::10] for column in simulate())
    q, torque = 2 * (x + rng.normal(0, NOISE_M, len(x))), f + STIFFNESS * 2 * x + rng.normal(0, NOISE_N, len(x))
    columns = np.column_stack([t, np.degrees(q) + zero_deg, torque])
    save_table(folder / f"{name}.csv", ["t", "q [deg]", "tau [N m]"], columns, "%.18e")
    path = folder / f"{name}.yaml"
    path.write_text(
        f"object: hinge\nstage: body\nrecordings: {{signals: {{file: {name}.csv, angle: q, torque: tau{signals}}}}}\n"
        "elements: [{type: spring, name: spring, order: 1}]\n"
        f"segments: {{{static}quasi_static: [5, 25], train: [28, 46], test: [46.5, 57]}}\n"
    )
    return path


def test_each_take_has_its_own_zero_and_they_are_compared(tmp_path: Path) -> None:
    takes = {"one": take(tmp_path, "one", 0.0), "second": take(tmp_path, "second", ZERO_DEG)}
    takes["other"] = take(tmp_path, "other", ZERO_DEG, f", zero: {ZERO_DEG} deg", static="")
    takes["forgotten"] = take(tmp_path, "forgotten", ZERO_DEG, static="")
    for name, path in takes.items():
        assert palpate("identify", path, "-o", tmp_path / "out" / name, "-q").returncode == 0, name
    folders = {name: tmp_path / "out" / name for name in takes}
    alike = palpate("compare", folders["one"], folders["second"], folders["other"])
    assert alike.returncode == 0, alike.stderr
    assert "not pooled" not in alike.stdout
    said = " ".join(palpate("compare", folders["one"], folders["forgotten"]).stdout.split())
    assert "c_0" in said.partition("by more than noise")[0].rpartition("b_v")[2]
    assert "and not pooled" in said
    held = json.loads(palpate("validate", folders["one"], takes["other"], "--json").stdout)
    assert held["verdict"]["passed"], held["verdict"]


def test_a_zero_of_another_kind_is_refused(tmp_path: Path) -> None:
    assert "for example zero: 12 deg" in palpate("identify", take(tmp_path, "a", 0.0, ", zero: 12")).stderr
    length = palpate("identify", take(tmp_path, "a", 0.0, ", zero: 12 mm", static=""))
    assert "is an angle, not a length" in length.stderr
