"""The generated JavaScript against the compiled C, for every object that ships, in Node and in Chromium."""

from __future__ import annotations

import json
import math
import re
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from palpate.elements import Latch, Presliding, ScalarInertia, Stribeck, Viscous
from palpate.errors import PalpateError
from palpate.export.js import js_source
from palpate.mechanisms import Hinge
from palpate.model import Model, shipped_objects
from palpate.physics.functions import FLOATS
from palpate.runtime import StepStatus
from palpate.runtime.replay import with_stops
from palpate.twin.carried import bodies, random_model
from palpate.twin.guided import guided_twin, makes
from palpate.web import MODULES, asset, embedded
from tests.conftest import needs_program
from tests.exported_models import SHIPPED, export_js
from tests.generated import generate
from tests.test_export_c import closing_door, pushes, shipped, standing_barrow

STEPS = 1500
LAST_BITS = 1e-9
"""Sine and its like differ in the last place at times: what that grows to in 1.5 s, relative to the largest."""
DRIVER = """
import { readFileSync, writeFileSync } from "node:fs";
for (const name of process.argv.slice(3)) {
  const folder = process.argv[2], { create } = await import(`${folder}/${name}.mjs`);
  const bytes = readFileSync(`${folder}/${name}.wrench`);
  const w = new Float64Array(bytes.buffer, bytes.byteOffset, bytes.length / 8);
  const object = create(), { state, acceleration } = object.motion, width = state.length + acceleration.length + 1;
  const out = new Float64Array(w.length / 6 * width);
  for (let i = 0; 6 * i < w.length; i++) {
    const { status } = object.step(w.subarray(6 * i, 6 * i + 6));
    out.set(state, i * width);
    out.set(acceleration, i * width + state.length);
    out[i * width + width - 1] = status;
  }
  writeFileSync(`${folder}/${name}.path`, Buffer.from(out.buffer));
}
"""


def remembering() -> Model:
    """What remembers its way: friction that builds up, and a latch; a level that falls with the speed."""
    parts = (ScalarInertia("I"), Viscous("b_v"), Presliding("k"), Latch("latch", "hinge"), Stribeck("b_st"))
    bare = Model("gate", Hinge(), parts)
    return with_stops(bare.with_values(np.linspace(0.5, 2.0, len(bare.parameters))), -0.5, 1.2)


def exemplar(name: str) -> Model:
    if name in makes():
        twin = guided_twin(name, 1)
        return with_stops(twin.model, *twin.make.travel) if not twin.model.mechanism.endless else twin.model
    return random_model(name, 1) if name in bodies() else SHIPPED[name]() if name in SHIPPED else shipped(name)


@cache
def models() -> dict[str, Model]:
    own = {"gate": remembering(), "standing": standing_barrow(), "closing": closing_door()}
    return {**{name: exemplar(name) for name in shipped_objects()}, **own}


def strength(model: Model) -> float:
    """Of a push, so that light and heavy objects stay near."""
    heavy = max((float(v) for n, v in model.values.items() if n in ("I", "m") or n.endswith(".m")), default=1.0)
    return 3.0 * min(max(heavy, 1e-3), 30.0)


def sums_only(module: str) -> bool:
    """Whether the step uses + - * / and sqrt alone."""
    kernels = re.findall(r"^function k_(\w+)\(.*?^}", module, flags=re.M | re.S)
    texts = re.findall(r"^function k_\w+\(.*?^}", module, flags=re.M | re.S)
    stepping = [t for k, t in zip(kernels, texts, strict=True) if k not in ("pose", "twist", "coordinates", "links")]
    return not re.search(r"Math\.(sin|cos|tanh|exp|atan2)", "".join(stepping))


@pytest.fixture(scope="module")
def stepped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, np.ndarray]]:
    """The modules, and what Node made of seeded random wrenches: one process for all."""
    node, folder = needs_program("node"), tmp_path_factory.mktemp("js")
    for i, (name, model) in enumerate(models().items()):
        (folder / f"{name}.mjs").write_text(js_source(model).module, encoding="utf-8")
        wrenches = pushes(STEPS, i, strength(model))
        if name in ("door", "wheelbarrow"):
            wrenches[700:705, 2] = (math.nan, math.inf, -math.inf, math.nan, math.nan)  # lost: it brakes
        wrenches.tofile(folder / f"{name}.wrench")
    (folder / "drive.mjs").write_text(DRIVER, encoding="utf-8")
    subprocess.run([node, folder / "drive.mjs", folder, *models()], check=True, timeout=120)
    return folder, {name: np.fromfile(folder / f"{name}.path").reshape(STEPS, -1) for name in models()}


@pytest.mark.parametrize("name", list(models()))
def test_node_steps_as_the_compiled_c_does(stepped: Any, name: str, tmp_path: Path) -> None:
    folder, paths = stepped
    c = generate(models()[name], tmp_path, "-O0")
    out, status = c.run(np.fromfile(folder / f"{name}.wrench").reshape(-1, 6))
    found = paths[name]
    assert np.isfinite(out).all()
    np.testing.assert_array_equal(found[:, -1], status)
    if sums_only((folder / f"{name}.mjs").read_text(encoding="utf-8")):
        np.testing.assert_array_equal(found[:, :-1], out)
    off = np.abs(found[:, :-1] - out).max(axis=0)
    assert (off <= LAST_BITS * np.maximum(np.abs(out).max(axis=0), 1.0)).all(), off


def test_every_status_was_met(stepped: Any) -> None:
    met = {int(s) for path in stepped[1].values() for s in np.unique(path[:, -1])}
    assert met >= {StepStatus.OK, StepStatus.STICKING, StepStatus.AT_LIMIT, StepStatus.NOT_FINITE}


CALLS = """
import { create, about, impossible, possible, STATUS } from "%s";
const door = create(), said = {};
const refused = f => { try { f(); return ""; } catch (e) { return `${e.name}: ${e.message}`; } };
said.limits = about.parameters.map(p => [p.name, p.unit, p.least, p.open]);
said.negative = refused(() => door.set({b_v: -1}));
said.unknown = refused(() => door.set({b_x: 1}));
said.state = refused(() => door.reset([9, 0]));
said.unchanged = door.parameters.b_v;
door.set({b_v: 2.5});
said.changed = door.parameters.b_v;
said.saturated = create({wrenchLimit: [1, 1, 1, 1, 1, 1]}).step([0, 0, 0, 0, 0, 5]).status === STATUS.SATURATED;
for (let i = 0; i < 800; i++) door.step([0, 0, 0, 0, 0, 30]);
said.coordinates = door.coordinates();
said.pose = [...door.pose()];
said.links = door.links();
said.power = door.twist()[5] - door.motion.state[1];
door.reset();
said.rest = [...door.motion.state];
console.log(JSON.stringify(said));
"""


def test_the_interface(tmp_path: Path) -> None:
    done = export_js(closing_door(), tmp_path, wrench_limit=[500] * 3 + [50] * 3)
    assert [p.name for p in done.files] == ["door.js", "door.d.ts"]
    assert any("last bits of sine" in line for line in done.left_out)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "calls.js").write_text(CALLS % "./door.js", encoding="utf-8")
    text = subprocess.run([needs_program("node"), tmp_path / "calls.js"], check=True, capture_output=True).stdout
    said, model = json.loads(text), closing_door()
    assert [p[:2] for p in said["limits"]] == [[n, p.unit] for n, p in model.parameters.items()]
    assert said["limits"][:2] == [["I", "kg m2", 0, True], ["b_v", "N m s/rad", 0, False]]
    assert said["negative"] == "RangeError: b_v must be at least 0"
    assert said["unknown"].startswith("RangeError: there is no parameter b_x, only I, b_v")
    assert said["state"] == "RangeError: the object cannot be in this state"
    assert (said["unchanged"], said["changed"]) == (model.values["b_v"], 2.5)
    assert said["saturated"]
    angle = said["coordinates"]["hinge"]
    assert angle > 0.5
    closer = model.mechanism.linkages[0]
    driven = closer.transmit(angle, FLOATS)[0]
    assert said["coordinates"]["closer"] == pytest.approx(driven, abs=1e-12)
    assert said["pose"][:2] == pytest.approx([math.cos(angle), -math.sin(angle)])
    (pinion, elbow, pivot) = np.array(said["links"][0])
    L1, L2, L3, L4 = closer.lengths
    sizes = [np.linalg.norm(x) for x in (pinion, elbow - pinion, pivot - elbow, pivot)]
    assert sizes == pytest.approx([L1, L2, L3, L4])  # the bars that are drawn close the loop
    assert said["power"] == 0.0
    assert said["rest"] == [0.0, 0.0]
    types = (tmp_path / "door.d.ts").read_text(encoding="utf-8")
    assert 'export type ParameterName = "I" | "b_v"' in types


HANDS = """
import { createFeel } from "%s/feel.mjs";
const feel = async name => createFeel(await import(`%s/${name}.mjs`)), said = {};
const pass = (f, seconds) => { for (let i = 0; i < 50 * seconds; i++) f.advance(0.02); return f.now(); };
const box = await feel("box"), barrow = await feel("wheelbarrow"), door = await feel("closing");
said.box = pass(box, 2);
const begin = [...barrow.object.motion.state];
said.barrow = pass(barrow, 2);
said.leans = [...barrow.object.motion.state].map((x, i) => x - begin[i]);
door.press(0, 1);
said.open = pass(door, 1.5);
const had = said.open.work;
door.letGo();
said.shut = pass(door, 12);
said.gained = said.shut.work - had;
console.log(JSON.stringify(said));
"""


def test_a_hand_carries_what_would_fall_and_lets_a_door_close(stepped: Any) -> None:
    folder, _ = stepped
    (folder / "feel.mjs").write_text(asset("feel.js"), encoding="utf-8")
    (folder / "hands.mjs").write_text(HANDS % (folder, folder), encoding="utf-8")
    done = subprocess.run([needs_program("node"), folder / "hands.mjs"], check=True, capture_output=True, timeout=60)
    said, box, barrow = json.loads(done.stdout), models()["box"], models()["wheelbarrow"]
    assert said["box"]["force"] == pytest.approx(9.80665 * box.values["m"], rel=1e-6)  # still: its weight
    m, down, back = (barrow.values[n] for n in ("m", "mc_x", "mc_y"))
    lever = math.hypot(back / m, down / m) / math.hypot(1.25, 0.15)
    assert 0.5 * lever < said["barrow"]["force"] / (9.80665 * m) < 2.0 * lever  # of the weight what its lever leaves
    assert max(map(abs, said["leans"])) < 0.02
    assert said["open"]["coordinate"] > 0.5
    assert said["open"]["work"] > 1.0
    assert abs(said["shut"]["coordinate"] - 0.03) < 0.02
    assert said["gained"] == 0.0  # nobody touched it


def test_the_page_of_the_documentation_prints_what_it_says(tmp_path: Path) -> None:
    text = (Path(__file__).resolve().parents[1] / "docs" / "javascript.md").read_text(encoding="utf-8")
    code, said = (re.search(rf"```{kind}\n(.*?)```", text, flags=re.S) for kind in ("js", "text"))
    assert code
    assert said
    export_js(with_stops(shipped("door"), 0.0, math.radians(92)), tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "use.js").write_text(code[1], encoding="utf-8")
    done = subprocess.run([needs_program("node"), tmp_path / "use.js"], check=True, capture_output=True, text=True)
    assert done.stdout == said[1]


def test_a_handle_is_a_point(tmp_path: Path) -> None:
    with pytest.raises(PalpateError, match="handle must be a point of three numbers in m, not"):
        export_js(closing_door(), tmp_path, handle=[1.0, 2.0])


def test_a_name_cannot_leave_its_script() -> None:
    evil = replace(closing_door(), name="</script><!--<script>")
    page = embedded({"palpate/model": js_source(evil).module}, "1 < 2")
    assert (page.count("<script"), page.count("</script")) == (
        3 + 2,
        3,
    )  # two of a name
    assert "<!--" not in page


@pytest.fixture(scope="module")
def pushed(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A closing door in Chromium, from disk."""
    modules = {"three": asset("vendor/three.min.js"), **{f"palpate/{n}": asset(f"{n}.js") for n in MODULES}}
    modules["palpate/model"] = js_source(closing_door()).module
    main = """import * as model from "palpate/model"; import { mount } from "palpate/panel";
    window.model = model; window.panel = mount(document.querySelector("main"), {model});"""
    page = tmp_path_factory.mktemp("pushed") / "door.html"
    text = '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>door</title>'
    text += f"<style>{asset('style.css')}</style></head><body><main></main>{embedded(modules, main)}</body></html>"
    page.write_text(text, encoding="utf-8")
    opened, problems = browser.new_page(viewport={"width": 900, "height": 900}), []
    opened.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
    opened.on("pageerror", lambda e: problems.append(str(e)))
    opened.goto(page.as_uri())
    opened.wait_for_selector(".feel-view canvas")
    yield opened
    assert problems == []
    opened.close()


def test_chromium_steps_as_node_does(pushed: Any, stepped: Any) -> None:
    folder, paths = stepped
    wrenches = np.fromfile(folder / "closing.wrench").reshape(-1, 6)[:600]
    steps = "w => { const o = model.create(); return w.map(x => [...o.step(x).state]); }"
    np.testing.assert_array_equal(pushed.evaluate(steps, wrenches.tolist()), paths["closing"][:600, :2])


ANGLE = "() => panel.feel.object.motion.state[0]"


def test_the_keyboard_opens_the_door_and_the_closer_closes_it(pushed: Any) -> None:
    pushed.keyboard.press("Tab")
    assert pushed.evaluate("document.activeElement.className") == "feel-view"
    pushed.keyboard.down("ArrowRight")
    pushed.wait_for_function(f"() => ({ANGLE})() > 0.8", timeout=20_000)
    pushed.keyboard.up("ArrowRight")
    pushed.wait_for_function(f"() => ({ANGLE})() < 0.05", timeout=30_000)
    assert "deg" in pushed.inner_text(".feel-now")
    assert pushed.evaluate("document.querySelector('.feel-said').textContent.length") > 10


def test_the_mouse_pulls_it_and_sliders_change_it(pushed: Any) -> None:
    pushed.evaluate("() => panel.feel.reset()")
    box = pushed.locator(".feel-view").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    pushed.mouse.move(x, y)
    pushed.mouse.down()
    pushed.mouse.move(x - 40, y - 120, steps=4)
    pushed.wait_for_function(f"() => Math.abs(({ANGLE})()) > 0.2", timeout=20_000)
    pushed.mouse.up()
    pushed.click("summary")
    pushed.focus("#feel-I")
    pushed.keyboard.press("End")
    assert pushed.evaluate("() => panel.feel.object.parameters.I") > 2 * closing_door().values["I"]
    pushed.click("text=As identified")
    assert pushed.evaluate("() => panel.feel.object.parameters.I") == closing_door().values["I"]


def test_a_gamepad_pushes_it(pushed: Any) -> None:
    pushed.evaluate(
        "() => { navigator.getGamepads = () => [{axes: [0.9, 0, 0, 0], buttons: []}]; panel.feel.reset(); }"
    )
    pushed.evaluate("() => window.dispatchEvent(new Event('gamepadconnected'))")
    pushed.wait_for_function(f"() => ({ANGLE})() > 0.5", timeout=20_000)
    pushed.evaluate("() => { navigator.getGamepads = () => [{axes: [0, 0, 0, 0], buttons: []}]; }")
    pushed.wait_for_function(f"() => ({ANGLE})() < 0.1", timeout=30_000)
