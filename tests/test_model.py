"""The model: what it adds up, how it is saved and read, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from palpate.elements import ELEMENTS, RigidBody, SensorBias
from palpate.errors import FileProblem, NotConsistent, PalpateError, UnknownName
from palpate.mechanisms import MECHANISMS, Free
from palpate.model import Model, load_object
from palpate.parts import SHIPPED
from palpate.physics.functions import ARRAYS, FLOATS
from palpate.physics.inertia import phi_from_mass_properties
from palpate.physics.motion import Motion
from tests.conftest import needs
from tests.oracles.point_masses import cloud_phi, random_cloud
from tests.own_parts import SwingDoor, Viscous, ZoneDamper

PHI = cloud_phi(*random_cloud(np.random.default_rng(1)))
OWN_ELEMENTS = {**ELEMENTS, Viscous.type: Viscous, ZoneDamper.type: ZoneDamper}
OWN = replace(SHIPPED, elements=OWN_ELEMENTS, mechanisms={**MECHANISMS, SwingDoor.type: SwingDoor})


def handle() -> Model:
    return load_object("handle").with_values([*PHI, 0.1, -0.2, 1 / 3, 1e-17, 2e300, -0.0], model_of="body")


def door() -> Model:
    """A swing door: its body, friction at the hinge, two zones that differ in place, a damper on the pinion."""
    parts = (
        RigidBody("door"),
        Viscous("friction"),
        ZoneDamper("latch", above=0.3, width=0.1),
        ZoneDamper("backcheck", above=1.2, width=0.2),
        Viscous("closer", acts_on="pinion"),
    )
    return Model("door", SwingDoor(ratio=2.5), parts)


def swing(samples: int = 50) -> Motion:
    t = np.linspace(0, 2, samples)
    omega, omega_dot = np.zeros((2, samples, 3))
    omega[:, 2], omega_dot[:, 2] = np.sin(2 * t), 2 * np.cos(2 * t)
    return Motion(t, np.tile([0.0, 0.0, 9.80665], (samples, 1)), omega, omega_dot)


def test_a_users_element_and_mechanism_add_up_in_a_model() -> None:
    model = door()
    names = list(model.parameters)
    assert names[10:] == ["friction.b", "latch.b_0", "latch.b_1", "backcheck.b_0", "backcheck.b_1", "closer.b"]
    p = np.concatenate([PHI, [0.5, 1.0, 2.0, 3.0, 4.0, 0.7]])
    k = model.mechanism.observe(swing())
    q, speed, acceleration = (getattr(k.coordinates["hinge"], n) for n in ("position", "speed", "acceleration"))

    def zone(b_0: float, b_1: float, above: float, width: float) -> np.ndarray:
        return (b_0 + b_1 * (1 + np.tanh((q - above) / width)) / 2) * speed

    by_hand = PHI[9] * acceleration + 0.5 * speed + zone(1, 2, 0.3, 0.1) + zone(3, 4, 1.2, 0.2) + 0.7 * 2.5**2 * speed
    (found,) = model.with_values(p).wrench(k, ARRAYS)
    assert np.abs(found - by_hand).max() < 1e-13


def test_columns_are_constant_combinations_of_features() -> None:
    for model, k in [(door(), door().mechanism.observe(swing())), (handle(), Free().observe(swing()))]:
        columns = model.columns(k, ARRAYS)
        Y = np.array([[np.broadcast_to(entry, 50) for entry in column] for column in columns])
        f = np.array([np.broadcast_to(x, 50) for x in model.features(k, ARRAYS)])
        T = model.coefficients()
        assert T.shape == (len(model.mechanism.rows), len(f), len(model.parameters))
        assert np.abs(np.einsum("rfp,fn->prn", T, f) - Y).max() < 1e-13


def test_columns_are_the_same_on_floats() -> None:
    model, motion = door(), swing()
    arrays = np.array([np.broadcast_to(row, 50) for (row,) in model.columns(model.mechanism.observe(motion), ARRAYS)])
    k = model.mechanism.observe(motion)
    i = 20
    state = [float(k.coordinates["hinge"].position[i]), float(motion.omega[i, 2])]
    floats = model.columns(model.mechanism.expand(state, [float(motion.omega_dot[i, 2])], FLOATS), FLOATS)
    assert np.array([row for (row,) in floats]) == pytest.approx(arrays[:, i], abs=1e-14)


def test_two_elements_keep_their_own_shapes() -> None:
    model = door()
    assert model.shapes == {"latch.above": 0.3, "latch.width": 0.1, "backcheck.above": 1.2, "backcheck.width": 0.2}
    k = model.mechanism.observe(swing())
    moved = model.columns(k, ARRAYS, {**model.shapes, "backcheck.above": 0.9})
    changed = [
        n for n, a, b in zip(model.parameters, model.columns(k, ARRAYS), moved, strict=True) if np.any(a[0] != b[0])
    ]
    assert changed == ["backcheck.b_1"]
    assert Model("one", SwingDoor(), (ZoneDamper(),)).shapes == {"above": 0.5, "width": 0.2}


def test_a_mechanism_whose_rows_change_has_no_constant_coefficients() -> None:
    class Turning(SwingDoor):
        constant_projection = False

    with pytest.raises(PalpateError, match="model 'door': its rows are not constant combinations of features"):
        Model("door", Turning(), (Viscous(),)).coefficients()


def test_the_map_gives_each_parameter_what_it_may_be() -> None:
    stack = door().map(known_mass=45.0, fixed={"closer.b": 0.7})
    assert (stack.size_theta, len(stack.values)) == (9 + 5, 16)
    p = stack.forward(np.random.default_rng(2).normal(size=14))
    assert p[0] == pytest.approx(45.0, rel=1e-14)
    assert (p[10:] > 0).all()
    assert p[15] == 0.7
    door().with_values(p).check_values()
    with_bias = load_object("handle").map(factor="UUt")
    assert (with_bias.size_theta, len(with_bias.values)) == (16, 16)
    assert with_bias.forward(np.full(16, -1.0))[10:].tolist() == [-1.0] * 6


@pytest.mark.parametrize("name", ["closer", "b", "m"])
def test_only_what_can_be_fixed_is_fixed(name: str) -> None:
    with pytest.raises(UnknownName, match=rf"model 'door': there is no parameter to fix '{name}'.*closer\.b"):
        door().map(fixed={name: 1.0})


def test_the_free_models_wrench_is_mujocos() -> None:
    needs("mujoco", "mujoco")
    needs("casadi", "casadi")
    from tests.oracles import mujoco_body, smooth_motion

    move = smooth_motion.smooth_motion(np.linspace(0, 5, 50), seed=4)
    model = Model("body", Free(gravity=9.81), (RigidBody(),)).with_values(PHI)
    quaternion = Rotation.from_matrix(move.R_world_body).as_quat(scalar_first=True)
    states = np.column_stack([move.position, quaternion, move.velocity, move.omega])
    accelerations = np.hstack([move.acceleration, move.omega_dot])
    expected = mujoco_body.body_wrench(PHI, move.R_world_body, move.omega, move.omega_dot, move.acceleration, 9.81)
    k = model.mechanism.expand(list(states.T), list(accelerations.T), ARRAYS)
    assert np.abs(np.array(model.wrench(k, ARRAYS)).T - expected).max() < 1e-9
    k = model.mechanism.expand(states[7].tolist(), accelerations[7].tolist(), FLOATS)
    assert np.abs(np.array(model.wrench(k, FLOATS)) - expected[7]).max() < 1e-9


def test_a_saved_model_comes_back_bit_for_bit(tmp_path: Path) -> None:
    model = handle()
    model.save(tmp_path / "model.json")
    back = Model.load(tmp_path / "model.json")
    assert back == model
    assert [v.hex() for v in back.values.values()] == [v.hex() for v in model.values.values()]
    assert list(back.values) == list(model.parameters)
    back.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "model.json").read_bytes()


def test_a_saved_model_names_units_and_format(tmp_path: Path) -> None:
    handle().save(tmp_path / "model.json")
    data = json.loads((tmp_path / "model.json").read_text())
    assert data["palpate_model"] == 1
    assert data["parameters"]["m"] == {"value": PHI[0], "unit": "kg"}
    assert data["parameters"]["bias_n_x"]["unit"] == "N m"
    assert data["mechanism"] == {"type": "free", "gravity": 9.80665}
    assert data["about"] == {"model_of": "body"}


def test_a_model_with_a_users_own_parts_is_saved_and_read_with_them(tmp_path: Path) -> None:
    model = door().with_values([*PHI, 0.5, 1.0, 2.0, 3.0, 4.0, 0.7])
    path = tmp_path / "door.json"
    model.save(path)
    assert Model.load(path, OWN) == model
    assert Model.from_dict(model.to_dict(), OWN) == model
    with pytest.raises(FileProblem, match="there is no mechanism type 'swing-door'"):
        Model.load(path)
    with pytest.raises(FileProblem, match="there is no element type 'zone'"):
        Model.load(path, replace(OWN, elements=ELEMENTS))


def changed(**changes: Any) -> str:
    return json.dumps({**handle().to_dict(), **changes})


PARAMETERS = handle().to_dict()["parameters"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "the file is empty"),
        ("{", "the model is damaged"),
        (changed()[:-200], "the model is damaged"),
        ("[1, 2]", "this JSON is not a palpate model. Give a model.json that palpate wrote"),
        ('{"name": "door"}', "this JSON is not a palpate model"),
        ('{"palpate_model": 1, "name": "door"}', "the model has no 'mechanism'"),
        (changed(palpate_model=0), "the model has format 0, this palpate reads format 1"),
        (changed(palpate_model=2), "the model has format 2, this palpate reads format 1"),
        (changed(elemnts=[]), "there is no key 'elemnts'. Did you mean 'elements'?"),
        (changed(mechanism="free"), "mechanism: 'free' must be options in braces, such as {type: free}"),
        (changed(mechanism={"type": "fre"}), "there is no mechanism type 'fre'. Did you mean 'free'?"),
        (changed(mechanism={"type": "free", "gravty": 9.81}), "no option 'gravty'. Did you mean 'gravity'?"),
        (changed(mechanism={"type": "free", "gravity": "9.81 m/s2"}), "gravity must be a number in SI units"),
        (changed(mechanism={"type": "free", "gravity": float("nan")}), "gravity must be a number in SI units"),
        (changed(elements={"type": "rigid-body"}), "elements must be a list"),
        (changed(elements=[{"type": "rigid-bodi"}]), "no element type 'rigid-bodi'. Did you mean 'rigid-body'?"),
        (changed(elements=[{"type": "rigid-body"}] * 2), "two elements are called 'body': give each a name of its own"),
        (
            changed(mechanism={"type": "hinge"}, elements=[{"type": "rigid-body"}, {"type": "inertia"}], parameters={}),
            "'I' (inertia) and 'body' (rigid-body) describe the same mass: leave one of them out",
        ),
        (changed(parameters={"mm": {"value": 1, "unit": "kg"}}), "there is no parameter 'mm'. Did you mean 'm'?"),
        (changed(parameters={**PARAMETERS, "m": 3.0}), "by name as {value: ..., unit: ...}"),
        (changed(parameters={**PARAMETERS, "m": {"value": "much", "unit": "kg"}}), "the model is damaged"),
        (changed(parameters={**PARAMETERS, "m": {"value": 3445.0, "unit": "g"}}), "m must be in 'kg', not in 'g'"),
        (changed(parameters={**PARAMETERS, "m": {"value": -1.0, "unit": "kg"}}), "the mass is -1 kg"),
        (
            changed(parameters={**PARAMETERS, "Ixx": {"value": 9.0, "unit": "kg m2"}}),
            "no body has the principal moments",
        ),
        (
            changed(parameters={**PARAMETERS, "bias_f_x": {"value": float("inf"), "unit": "N"}}),
            "bias_f_x = inf N is not",
        ),
    ],
)
def test_a_wrong_file_is_refused_in_one_line_that_says_why(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "model.json"
    path.write_text(text)
    with pytest.raises(FileProblem) as refused:
        Model.load(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert problem in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.json").write_bytes(b"\xff\xfe\x00MATLAB")
    with pytest.raises(FileProblem, match="the model is damaged"):
        Model.load(tmp_path / "model.json")


def test_values_that_are_not_possible_are_refused() -> None:
    with pytest.raises(PalpateError, match=r"model 'door': closer\.b = -0\.7 N m s/rad is not possible"):
        door().with_values([*PHI, 0.5, 1.0, 2.0, 3.0, 4.0, -0.7]).check_values()
    too_flat = phi_from_mass_properties(2.0, [0, 0, 0], np.diag([1.0, 1.0, 3.0]))
    with pytest.raises(NotConsistent, match="model 'handle', element 'handle': no body has"):
        load_object("handle").with_values([*too_flat, *np.zeros(6)]).check_values()
    with pytest.raises(ValueError, match="zip"):
        load_object("handle").with_values(PHI)


def test_a_model_without_values_says_which_are_missing() -> None:
    with pytest.raises(PalpateError, match="model 'handle' has no value for m, mc_x"):
        _ = load_object("handle").p


def test_an_element_must_act_on_something_that_the_mechanism_has() -> None:
    with pytest.raises(UnknownName, match=r"model 'a', element 'viscous': there is no coordinate 'hing'.*'hinge'"):
        Model("a", SwingDoor(), (Viscous(acts_on="hing"),))
    with pytest.raises(UnknownName, match=r"model 'a': there is no parameter 'c'. There is: b"):
        Model("a", SwingDoor(), (Viscous(),), values={"c": 1.0})


def test_the_object_alone_has_no_sensor_bias() -> None:
    model = handle()
    alone = model.of_object()
    assert [e.name for e in alone.elements] == ["handle"]
    assert alone.p.tolist() == PHI.tolist()
    assert alone.about == model.about
    two = Model("two", Free(), (RigidBody("a"), SensorBias("left"), SensorBias("right")))
    assert two.with_values(np.arange(22.0)).of_object().p.tolist() == list(range(10))


def test_the_handle_ships_and_is_a_free_body_with_a_bias() -> None:
    model = load_object("handle")
    assert model == Model("handle", Free(), (RigidBody("handle"), SensorBias("bias")))
    assert not model.values


def test_an_unknown_object_suggests_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"there is no object 'handel'. Did you mean 'handle'"):
        load_object("handel")


def test_a_users_object_file_is_read_by_path_with_its_own_parts(tmp_path: Path) -> None:
    path = tmp_path / "gate.yaml"
    path.write_text("name: gate\nmechanism: {type: swing-door, ratio: 3}\nelements:\n  - {type: zone, above: 1.2}\n")
    model = load_object(path, OWN)
    assert model == Model("gate", SwingDoor(ratio=3), (ZoneDamper(above=1.2),))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name: a\nmechanism: free\nelements: []\n", "must be options in braces, such as {type: free}"),
        ("name: a\nmechanism: {type: free}\nelements: 3\n", "elements must be a list, not 3"),
        ("a: [\n b: {\n", ", line 2: a bracket is not closed. Close it with ] or }"),
        ("name: a\nname: b\n", ", line 2: the key 'name' appears twice (lines 1, 2)"),
        ("- 1\n", "an object file has the keys name, mechanism, elements"),
        ("name: a\nmechanism: {type: free}\n", "the model has no 'elements'"),
        ("name: a\nmechanism: {type: free}\nelements: []\nextra: 1\n", "there is no key 'extra'"),
        (
            "name: a\nmechanism: {type: free}\nelements: []\nparameters: 7\n",
            "by name as {value: ..., unit: ...}",
        ),
    ],
)
def test_a_wrong_object_file_is_refused_in_one_line(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    with pytest.raises(FileProblem) as refused:
        load_object(path)
    assert problem in str(refused.value)
    assert str(refused.value).startswith(str(path))
    assert "\n" not in str(refused.value)


def test_an_object_file_that_is_not_there_says_what_is(tmp_path: Path) -> None:
    (tmp_path / "gate.yaml").write_text("name: gate")
    with pytest.raises(FileProblem, match=r"there is no such file. Did you mean .*gate\.yaml\?"):
        load_object(tmp_path / "gata.yaml")


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.json"
    handle().save(path)
    before = path.read_bytes()

    def full(self: Path, text: str, **_: Any) -> None:
        with self.open("w") as file:
            file.write(text[:100])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(FileProblem, match=r"cannot be written \(No space left on device\). Choose another"):
        handle().with_values(np.ones(16)).save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["model.json"]


@pytest.mark.parametrize("name", ["door", "handle", "wheelbarrow", "wheelbarrow-planar", "hand-truck"])
def test_columns_times_parameters_are_what_is_combined_before_it_is_projected(name: str) -> None:
    model, random = load_object(name), np.random.default_rng(0)
    mechanism = model.mechanism
    state, acc = (0.3 * random.normal(size=(len(x), 7)) for x in (mechanism.state, mechanism.accelerations))
    still = mechanism.at_rest()
    for moves in (mechanism, *([] if still is None else [still])):
        model = Model("m", moves, model.elements)
        k = mechanism.expand(list(state), list(acc), ARRAYS)
        k = k if moves is mechanism else moves.turned(k)
        p = random.normal(size=len(model.parameters))
        columns = np.array([[np.broadcast_to(x, 7) for x in column] for column in model.columns(k, ARRAYS)])
        combined = np.array([np.broadcast_to(x, 7) for x in model.combined(k, ARRAYS, p)])
        assert combined == pytest.approx(np.einsum("prn,p->rn", columns, p), rel=1e-12, abs=1e-12)
        project = moves.projector(k, ARRAYS)
        for wrench in random.normal(size=(3, 6, 7)):
            expected = moves.project(k, list(wrench), ARRAYS)
            assert all(np.array_equal(a, b) for a, b in zip(project(list(wrench)), expected, strict=True))


def test_what_resists_with_nothing_is_possible_but_not_a_body_of_nothing(tmp_path: Path) -> None:
    """`fixed: {shut_c: 0}` wrote a model that no verb could load."""
    data = load_object("pendulum").with_values(np.array([0.2, 0.3, 0.0, 0.0, 0.0])).to_dict()
    Model.from_dict(data).save(tmp_path / "model.json")
    assert Model.load(tmp_path / "model.json").values["b_v"] == 0.0
    data["parameters"]["I"]["value"] = 0.0
    with pytest.raises(PalpateError, match=r"I = 0 kg m2 is not possible"):
        Model.from_dict(data)
