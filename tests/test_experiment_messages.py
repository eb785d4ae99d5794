"""What a wrong experiment file is told: one line with file, line, key, what is wrong and what would be right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from palpate.errors import PalpateError
from palpate.experiment import read_experiment
from palpate.experiment.file.reading import Experiment, check_reference_names, load_options, wrench_channels
from palpate.experiment.file.schema import SENSORS, SensorPart, WrenchPart
from palpate.experiment.stage.recordings import segments_of
from palpate.mechanisms.mechanism import WRENCH_ROWS
from palpate.physics.units import STANDARD_GRAVITY, UNITS
from palpate.recording import load
from tests.reference_pages import object_reference, reference

HEAD = """\
object: handle
recordings:
  wrench: {file: wrench.csv}
  imu: {file: imu.csv}
imu_pose:
  rotation: [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
  translation: [0, 0, 0.05]
"""
PRIOR = "prior:\n  mass: 0.9 kg\n  com: [0, 0, 0.1]\n  shape: {type: box, sides: [0.1, 0.1, 0.1]}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("wrench.csv", "imu.csv"):
        (tmp_path / name).write_text("t,fx\n0,1\n1,2\n")
    return tmp_path


def read(folder: Path, text: str, *changes: tuple[str, str]) -> Experiment:
    """The head with this appended, read."""
    text = HEAD + text
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "own.yaml").write_text(text)
    return read_experiment(folder / "own.yaml")


def refusal(folder: Path, text: str, *changes: tuple[str, str]) -> str:
    with pytest.raises(PalpateError) as error:
        read(folder, text, *changes)
    message = str(error.value)
    assert "\n" not in message
    assert "own.yaml" in message
    for jargon in ("pydantic", "discriminator", "instance", "dictionary", "Input should", "Part", "type_error"):
        assert jargon not in message
    return message


WRONG: list[tuple[str, list[str]]] = [
    ("known_mass: 1.3", ["line 8: known_mass: 1.3 is not a group of keys", "known_mass: {value: 1.3 kg, of: handle}"]),
    ("known_mass: {value: 1.3, of: door}", ["known_mass.of: 'door' is not possible here", "'handle'"]),
    ("known_mass: {value: 0, of: handle}", ["known_mass.value", "must be positive"]),
    ("filtering: 10", ["line 8: filtering: 10 is not a group", "filtering: {type: parallel, bandwidth: 20 Hz}"]),
    ("filtering: {bandwith: 10}", ["line 8: filtering", "Did you mean 'bandwidth'"]),
    ("filtering: {bandwidth: 10, window: 0.1}", ["'bandwidth' does not go with the others", "which type"]),
    ("filtering: {type: paralel}", ["filtering.type: 'paralel'", "Did you mean 'parallel'"]),
    ("filtering: {type: savitzky-golay, order: 9}", ["filtering.order", "at most 8"]),
    ("sensor: ati-omega58", ["line 8: sensor: 'ati-omega58'", "Did you mean 'ati-omega85'", "sigma_force: 0.06 N"]),
    ("sensor: {sigma_force: [1, 2], sigma_moment: 1}", ["sensor.sigma_force: [1, 2] has 2 entries instead of 3"]),
    ("sensor: {sigma_force: 0, sigma_moment: 1}", ["sensor.sigma_force", "must be positive"]),
    ("sensor: {sigma_force: 0.06}", ["sensor.sigma_moment: this key is missing", "sigma_moment: 0.002 N m"]),
    ("clocks: [1, 2]", ["line 8: clocks: [1, 2] is not possible", "'auto'", "clocks: {wrench: 17757, imu: 9463}"]),
    ("clocks: {wrench: 1.5, imu: 1}", ["clocks.wrench: 1.5 is not a whole number"]),
    ("clocks: {wrench: true, imu: 1}", ["clocks.wrench: true is not a number"]),
    ("clocks: {wrench: 0, imu: 1}", ["clocks.wrench: 0", "counting starts at 1"]),
    ("segments:", ["line 8: segments: this key has no value", "segments: {train: [[6, 44]], test: [45"]),
    ("segments:\n  train: [1, 2, 3]\n  test: [4, 5]", ["line 9: segments.train: [1, 2, 3] is not a segment: 3 num"]),
    ("segments:\n  train: [1, 2]\n  test: [[4, 5], 6]", ["line 10: segments.test: 6 is not a segment"]),
    ("segments:\n  train: []\n  test: [4, 5]", ["line 9: segments.train: there is no segment in it"]),
    ("segments: {train: 5, test: [4, 5]}", ["segments.train: 5 is not a segment [from, to] or a list of such"]),
    ("segments: {train: [1, null], test: [4, 5]}", ["segments.train: null is not a number"]),
    ("segments: {train: [1, 2 kg], test: [4, 5]}", ["segments.train: '2 kg' is not a quantity in s, ms, us or ns"]),
    ("segments: {test: [4, 5]}\ntrain: [1, 2]", ["line 9: the key 'train' does not stand here but under segments: in"]),
    ("segments: {train: {from: 1, to: 2}, test: [4, 5]}", ["segments.train: there is no key 'from'", "samples"]),
    ("segments: {train: {samples: [0, 2]}, test: [4, 5]}", ["segments.train.samples: 0", "counting starts at 1"]),
    ("segments: {train: [4, 4], test: [5, 6]}", ["segments.train: [4, 4] is empty"]),
    ("segments: {train: [4, 2], test: [5, 6]}", ["segments.train: [4, 2] ends before it begins"]),
    ("segments: {train: [1, 4], test: [3, 6]}", ["segments.test: [3, 6] overlaps [1, 4] of segments.train"]),
    ("segments: {train: [[1, 4], [3, 6]], test: [7, 8]}", ["[3, 6] overlaps [1, 4] of segments.train", "count twice"]),
    ("segments: {train: {samples: [1, 4]}, test: {samples: [4, 6]}}", ["[4, 6] overlaps [1, 4]", "hold sample 4"]),
    (PRIOR.replace("type: box", "type: sphere"), ["line 11: prior.shape.type: 'sphere'", "'cylinder', 'box'", "{ty"]),
    (PRIOR.replace("type: box, ", ""), ["line 11: prior.shape.type: this key is missing. Write box or cylinder"]),
    (PRIOR.replace("{type: box, sides: [0.1, 0.1, 0.1]}", "box"), ["line 11: prior.shape: 'box' is not a gr", "{ty"]),
    (PRIOR.replace("sides", "side"), ["line 11: prior.shape", "Did you mean 'sides'? There is: sides, type"]),
    (PRIOR.replace("[0.1, 0.1, 0.1]", "[0.1, 0, 0.1]"), ["prior.shape.sides", "must be positive"]),
    (PRIOR + "  damping: -1", ["line 12: prior.damping: -1 is not possible: it must not be negative"]),
    (PRIOR + "  damping: much", ["line 12: prior.damping: 'much' is neither a number nor 'auto'", "damping: 10"]),
    (PRIOR + "  spread: 30", ["line 12: prior.spread", "at most 2", "spread: 30 %"]),
    (PRIOR + "  spread: 30 deg", ["line 12: prior.spread: '30 deg' is not a fraction"]),
    (PRIOR.replace("0.9 kg", "1.43 N"), ["line 9: prior.mass: '1.43 N' is not a quantity in kg, g or lb. Wanted: "]),
    (PRIOR.replace("0.9 kg", "yes"), ["line 9: prior.mass: 'yes' is not a number with a unit, such as '1.5 kg'"]),
    (PRIOR.replace("0.9 kg", "true"), ["line 9: prior.mass: true is not a number", "mass: 0.9 kg"]),
    (PRIOR.replace("0.9 kg", ""), ["line 9: prior.mass: this key has no value", "mass: 0.9 kg"]),
    (PRIOR.replace("0.9 kg", ".inf"), ["line 9: prior.mass: inf is not a finite number"]),
    (PRIOR.replace("0.9 kg", "-0.9 kg"), ["line 9: prior.mass", "must be positive"]),
    (PRIOR.replace("[0, 0, 0.1]", "0.1"), ["line 10: prior.com: 0.1 is not a list"]),
    (PRIOR + "  mass: {value: 1 kg, of: a long story}", ["line 12: the key 'mass' appears twice"]),
    ("prior: {mass: 1, com: [0, 0, 0], inertia_com: [[1, 0, 0], [2, 1, 0], [0, 0, 1]]}",
     ["prior.inertia_com: it is not symmetric: Ixy = 0, Iyx = 2"]),
    ("prior: {mass: 1, com: [0, 0, 0], shape: {type: cylinder, length: 1, radius: 1, axis: [0, 0, 0]}}",
     ["prior.shape.axis: [0, 0, 0] is not a direction"]),
    (PRIOR + "  of: whole", ["line 12: prior.of: 'whole' is not possible in stage: handle. Write handle"]),
    ("known_mass: {value: 1.3, of: body}", ["known_mass.of: 'body' is not possible in stage: handle. Write handle"]),
    ("stops: [0 deg, 92 cm kg]", ["stops.1: '92 cm kg' is neither an angle, such as 92 deg, nor a length"]),
    ("markers: {up: y}", ["line 8: markers: this key is only for motion measured by markers. Leave it out"]),
    ("uncertain: {tilt: 1 deg}", ["line 8: uncertain.tilt: this key is only for motion measured by markers"]),
    ("uncertain: {mass: 1 g}", ["line 8: uncertain.mass: this key is only for files with known_mass"]),
    ("filtering: {type: published}", ["line 8: filtering.type: this key is only for stage: body"]),
    ("filtering: {type: parallel, window: 0.1}", ["line 8: filtering.window: this key is only for stage: body"]),
    ("clocks: {wrench: 1, imu: 1, mocap: 3}", ["line 8: clocks.mocap: this key is only for motion measured by"]),
    ("gravity: 0", ["gravity", "must be above 9.6"]),
    ("gravity: 981", ["gravity", "must be below 10"]),
    ("uncertain: {imu_rotation: 0.5}", ["uncertain.imu_rotation: 0.5 has no unit: write 0.5 deg if that is meant"]),
    ("uncertain: {imu_rotation: 5 %}", ["uncertain.imu_rotation: '5 %' is not a quantity in deg, rad, turn or mrad"]),
    ("uncertain: {load_cell_scale: 1}", ["uncertain.load_cell_scale", "below 1", "load_cell_scale: 1 %"]),
    ("uncertain: {imu_positon: 1 mm}", ["uncertain", "Did you mean 'imu_position'"]),
    ("robust: maybe", ["robust: 'maybe' is neither true nor false"]),
    ("title: 7", ['title: 7 is not a text: write "7" in quotes']),
    ("reference: {label: a, values: {m: heavy}}", ["reference.values.m: 'heavy' is not a number"]),
    ("reference: {label: a, file: none.json}", ["line 8: reference.file", "none.json: there is no such file"]),
    ("reference: a", ["reference: 'a' is not a list", "reference: {label: truth, file: truth.json}"]),
    ("palpate: 2", ["line 8: palpate: 2 is not possible here. Possible: 1"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), WRONG, ids=[text[:40] for text, _ in WRONG])
def test_a_wrong_value_is_told_in_our_own_words(folder: Path, text: str, said: list[str]) -> None:
    message = refusal(folder, text)
    assert all(part in message for part in said), message


WRONG_HEAD: list[tuple[str, str, list[str]]] = [
    ("{file: wrench.csv}", "wrench.csv", ["line 3: recordings.wrench: 'wrench.csv' is not a gr", "{file: wrench.mat}"]),
    ("{file: wrench.csv}", "{file: 36}", ["line 3: recordings.wrench.file: 36 is not a text", "in quotes"]),
    ("wrench.csv}", "wrench.csv, format: dspace}", ["recordings.wrench.format", "Did you mean 'dspace-mat'"]),
    ("wrench.csv}", "wrench.csv, rate: -5}", ["recordings.wrench.rate", "must be positive", "rate: 500 Hz"]),
    ("wrench.csv}", "wrench.csv, channels: [a, b, c, d, e]}",
     ["recordings.wrench.channels", "has 5 entries instead of 6", "f_x, f_y, f_z, n_x, n_y, n_z"]),
    ("wrench.csv}", "wrench.csv, channels: [a, b, c, d, e, a]}", ["recordings.wrench.channels: 'a' appears tw"]),
    ("wrench.csv}", "wrench.csv, columns: {fx: {colunm: a}}}",
     ["line 3: recordings.wrench.columns.fx: there is no key 'colunm'. Did you mean 'column'? There is: column, unit"]),
    ("wrench.csv}", "wrench.csv, columns: {fx: a}}", ["recordings.wrench.columns.fx: 'a' is not a group", "{column: "]),
    ("wrench.csv}", "wrench.csv, columns: {fx: {column: a, unit: lbm}}}", ["columns.fx.unit", "Did you mean 'lb'"]),
    ("wrench.csv}", "wrench.csv, time: {column: t, unit: kg}}", ["time.unit: 'kg' is not a unit of time: s, ms"]),
    ("imu.csv}", "imu.csv, acceleration: [a, b]}", ["recordings.imu.acceleration", "2 entries instead of 3"]),
    ("[[1, 0, 0], [0, 1, 0], [0, 0, 1]]", "[0, 90, 0]",
     ["line 6: imu_pose.rotation: [0, 90, 0] is not three rows of three numbers", "angles", "rotation: [[1, 0, 0], ["]),
    ("[0, 0, 1]]", "[0, 0]]", ["line 6: imu_pose.rotation", "is not three rows of three numbers"]),
    ("[0, 0, 1]]", "[0, 0, one]]", ["line 6: imu_pose.rotation.2.2: 'one' is not a number"]),
    ("[0, 0, 0.05]", "[0, 0]", ["line 7: imu_pose.translation: [0, 0] has 2 entries instead of 3"]),
    ("[0, 0, 0.05]", "[0, 0, 5 kg]", ["line 7: imu_pose.translation.2: '5 kg' is not a quantity in m, cm, mm"]),
    ("object: handle", "title: 2020-13-45", ["own.yaml: month must be"]),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "said"), WRONG_HEAD, ids=[new[:40] for _, new, _ in WRONG_HEAD])
def test_a_wrong_instrument_is_told_in_our_own_words(folder: Path, old: str, new: str, said: list[str]) -> None:
    message = refusal(folder, "", (old, new))
    assert all(part in message for part in said), message


def test_a_missing_type_of_filtering_follows_from_the_keys(folder: Path) -> None:
    assert read(folder, "filtering: {bandwidth: 10}").config.filtering.type == "parallel"
    assert read(folder, "filtering: {}").config.filtering.type == "parallel"
    assert read(folder, "filtering: {window: 0.1 s}").config.filtering.type == "savitzky-golay"


def test_one_accuracy_means_all_three_axes(folder: Path) -> None:
    sensor = read(folder, "sensor: {sigma_force: 0.06, sigma_moment: [1, 2, 3 N m], noise_force: 0.3 N}").config.sensor
    assert isinstance(sensor, SensorPart)
    assert (sensor.sigma_force, sensor.sigma_moment) == ([0.06] * 3, [1.0, 2.0, 3.0])
    assert (sensor.noise_force, sensor.noise_moment) == ([0.3] * 3, None)
    assert SENSORS["ati-omega85"].noise_force is None


def test_gravity_robustness_and_declared_uncertainties(folder: Path) -> None:
    plain = read(folder, "").config
    assert (plain.gravity, plain.robust, plain.uncertain) == (STANDARD_GRAVITY, False, None)
    told = "imu_rotation: 0.5 deg, imu_position: 1 mm, load_cell_scale: 1 %, clock: 2 ms, known_mass: 1 g"
    mass = "known_mass: {value: 1.3 kg, of: handle}"
    config = read(folder, f"gravity: 9.81\nrobust: true\n{mass}\nuncertain: {{{told}}}").config
    assert (config.gravity, config.robust) == (9.81, True)
    assert config.uncertain is not None
    found = config.uncertain.stated()
    assert found.pop("imu_rotation") == pytest.approx(np.deg2rad(0.5))
    assert found == {"imu_position": 0.001, "load_cell_scale": 0.01, "clock": 0.002, "mass": 0.001}


def test_g_is_gravity_for_an_accelerometer_and_gram_elsewhere(folder: Path) -> None:
    (folder / "imu.csv").write_text("t,AccX,Load,Gyr\n0,1,1,1\n1,1,1,1\n")
    imu = read(
        folder, "",
        ("imu.csv}", "imu.csv, acceleration: [ax, ay, az], noise_rate: 0.1 deg/s, columns: {ax: {column: AccX, "
         "unit: g}, load: {column: Load, unit: g}, gx: {column: Gyr, unit: deg/s}}}"),
    ).config.recordings.imu  # fmt: skip
    recording = load(folder / "imu.csv", **load_options(imu))
    assert recording["ax"].samples[0] == pytest.approx(STANDARD_GRAVITY)
    assert recording["ax"].unit == "m/s2"
    assert (recording["load"].samples[0], recording["load"].unit) == (0.001, "kg")
    assert imu.noise_rate == pytest.approx([np.deg2rad(0.1)] * 3)


def test_without_a_unit_the_headers_unit_holds(folder: Path) -> None:
    (folder / "wrench.csv").write_text("t [ms],Fx [kN]\n0,1\n1,2\n2,3\n")
    changed = "wrench.csv, columns: {fx: {column: Fx}}, time: {column: t}}"
    wrench = read(folder, "", ("wrench.csv}", changed)).config.recordings.wrench
    recording = load(folder / "wrench.csv", **load_options(wrench))
    assert (recording["fx"].samples[0], recording["fx"].unit) == (1000.0, "N")
    assert recording.one_clock().rate_hz == pytest.approx(1000.0)


def test_load_options_are_what_the_file_says() -> None:
    part = WrenchPart.model_validate({"file": "a", "device": "Platform", "rate": "500 Hz"})
    assert load_options(part) == {"device": "Platform", "rate": 500.0}
    assert load_options(WrenchPart(file="a")) == {}


def test_channels_of_the_wrench_where_none_are_named() -> None:
    dspace = [f"{kind}{axis}{n}_RawZero" for n in (1, 2) for kind in "FT" for axis in "xyz"]
    assert wrench_channels(WrenchPart(file="a.mat"), dspace) == dspace[:6]
    assert wrench_channels(WrenchPart(file="a.mat", device="Platform_2"), dspace) == dspace[6:]
    assert wrench_channels(WrenchPart(file="a.mat"), [f"Platform/{name}" for name in dspace]) == dspace[:6]
    names = ["a", "b", "c", "d", "e", "f"]
    stated = WrenchPart(file="a.csv", channels=names)
    assert wrench_channels(stated, []) == names
    mapped = WrenchPart.model_validate({"file": "a.csv", "columns": {n: {"column": n.upper()} for n in names}})
    assert wrench_channels(mapped, names) == names
    five = WrenchPart.model_validate({"file": "a.csv", "columns": {n: {"column": n} for n in names[:5]}})
    for part in (five, WrenchPart(file="a.csv")):
        with pytest.raises(
            PalpateError, match=r"key is missing: a.csv does not hold .*Fx1_RawZero.* but: a, b, c, d, e"
        ):
            wrench_channels(part, names[:5])


def test_reference_values_are_for_parameters_only(folder: Path) -> None:
    known = ["m", "c_x", "Ixx", "bias_f_x"]
    one = read(folder, "reference:\n  label: paper\n  values:\n    m: 1\n    mass: 3\n")
    with pytest.raises(PalpateError, match=r"line 12: reference.values.mass: .*The mass is called m"):
        check_reference_names(one, known, WRENCH_ROWS)
    two = read(folder, "reference:\n- {label: a, values: {m: 1}}\n- {label: b, values: {I_xx: 3}}\n")
    with pytest.raises(PalpateError, match=r"line 10: reference.1.values.I_xx: .* Did you mean 'Ixx'\?"):
        check_reference_names(two, known, WRENCH_ROWS)
    check_reference_names(
        read(folder, "reference: {label: a, values: {m: 1, Ixx: 3, damping: 10, rms_n_z: 1}}"), known, WRENCH_ROWS
    )


@pytest.mark.parametrize(
    ("train", "test", "wrong"),
    [
        ([(0, 10)], [(10, 20)], ""),
        ([(0, 11)], [(10, 20)], r"\[10, 20\] overlaps \[0, 11\]"),
        ([(0, 5), (30, 40)], [(10, 20), (39, 50)], r"\[39, 50\] overlaps \[30, 40\]"),
        ([(0, 90)], [(10, 20)], r"\[10, 20\] overlaps \[0, 90\]"),
        ([(2, 3)], [(0, 1)], ""),
    ],
)
def test_overlap_of_spans(folder: Path, train: list[tuple[int, int]], test: list[tuple[int, int]], wrong: str) -> None:
    text = f"segments: {{train: {[list(s) for s in train]}, test: {[list(s) for s in test]}}}\n"
    times_s = np.arange(10_000) / 100
    if not wrong:
        segments = segments_of(read(folder, text), times_s, np.arange(10_000))
        assert (segments["train"], segments["test"]) == (train, test)
        return
    with pytest.raises(PalpateError, match=rf"segments\.test: .*{wrong}"):
        segments_of(read(folder, text), times_s, np.arange(10_000))


def test_samples_count_rows_of_the_file(folder: Path) -> None:
    """A file whose rows 4 and 5 of 0 ... 9 are missing: row 5 of it (from 1) is at 6 ms."""
    times_s = np.arange(10) / 1000
    rows = np.array([0, 1, 2, 3, 6, 7, 8, 9], dtype=np.int64)
    text = "segments: {first_sample: 2, train: {samples: [1, 4]}, test: {samples: [5, 6]}}\n"
    ((a, b),) = segments_of(read(folder, text), times_s, rows)["train"]
    assert (a, b) == pytest.approx((0.0005, 0.0065))
    ((a, b),) = segments_of(read(folder, text), times_s, np.arange(10))["train"]
    assert (a, b) == pytest.approx((0.0005, 0.0045))
    beyond = text.replace("[5, 6]", "[8, 9]")
    with pytest.raises(PalpateError, match=r"sample 8 is row 9 of the file: the file has 8 rows: .* 0.000 to 0.009 s"):
        segments_of(read(folder, beyond), times_s, rows)


def test_the_reference_of_objects_is_up_to_date() -> None:
    written = Path(__file__).resolve().parents[1] / "docs" / "object-file.md"
    told = "make it: python -m tests.reference_pages object"
    assert written.read_text(encoding="utf-8") == object_reference(), told


def test_the_reference_of_the_file_is_up_to_date() -> None:
    written = Path(__file__).resolve().parents[1] / "docs" / "experiment-file.md"
    assert written.read_text(encoding="utf-8") == reference(), "make it: python -m tests.reference_pages"
    for name in UNITS:
        assert f"`{name}`" in reference().partition("## Units")[2]
