"""The studio in a real browser: from three bare CSV files to a passed model, by keyboard alone; then mouse and Feel."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from palpate.experiment import read_experiment
from palpate.experiment.stage.result import Result, read_result
from palpate.files import write_text
from tests.browser import chromium, violations
from tests.conftest import Shared
from tests.drawer_files import write_table
from tests.studio_files import CELLS, TRUTH, write_three
from tests.studio_server import running

NUMBERS = "() => [...document.querySelectorAll('#parameters tbody td:nth-child(2)')].map(e => e.textContent)"
ENDED = "() => { const s = studio.state; return s && s.work.phase === 'ready' && s.result && s.result.current; }"
FEEL = "() => studio.views.feel.panel && studio.views.feel.panel.feel.now().coordinate"
DRAWER = "drawer.yaml"
PATIENCE_MS = 240_000
"""Other tests share the processor."""


@pytest.fixture(scope="module")
def folder(
    shared: Shared, door_folder: Path, short_handle_result: Result, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    mine = tmp_path_factory.mktemp("studio") / "lab"
    shutil.copytree(shared.written("three", write_three), mine)
    shutil.copytree(door_folder, mine / "door")
    write_table(mine).rename(mine / DRAWER)
    for take in ("monday", "tuesday"):
        short_handle_result.save(mine / take)
    return mine


@pytest.fixture(scope="module")
def page(folder: Path) -> Iterator[Any]:
    with running(folder) as client, chromium() as browser:
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.set_default_timeout(PATIENCE_MS)
        page.said = []
        page.on("console", lambda message: page.said.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.goto(client.address)
        yield page
        assert page.said == []


@pytest.fixture
def drawer(page: Any, folder: Path) -> Iterator[Path]:
    """The file of a drawer that is open, and afterwards as it was."""
    text = (folder / DRAWER).read_text()
    show(page, DRAWER)
    yield folder / DRAWER
    write_text(folder / DRAWER, text)  # at once: the studio may be reading it


def show(page: Any, file: str) -> None:
    """Open an experiment and wait until there are numbers."""
    page.select_option("#file", file)
    opened = (
        "f => studio.state && studio.state.file === f && studio.state.answer && studio.state.work.phase === 'ready'"
    )
    page.wait_for_function(opened, arg=file)


def tab_to(page: Any, selector: str, key: str = "Tab") -> None:
    """Press Tab until something has the focus, as somebody without a mouse does."""
    for _ in range(150):
        page.keyboard.press(key)
        if page.evaluate("s => document.activeElement.matches(s)", selector):
            return
    raise AssertionError(f"no key leads to {selector}")


def press_on(page: Any, selector: str, key: str = "Enter") -> None:
    tab_to(page, selector)
    page.keyboard.press(key)


def view(page: Any, name: str) -> None:
    """Go to a view by the keys of tabs."""
    page.focus("[role=tab][aria-selected=true]")
    while page.evaluate("() => document.activeElement.id") != f"tab-{name}":
        page.keyboard.press("ArrowRight")


def test_from_three_bare_files_to_a_passed_model_by_keyboard_alone(page: Any, folder: Path) -> None:
    page.wait_for_selector("#look")
    for name in ("left.csv", "right.csv", "tracker.csv"):
        press_on(page, f"[id='pick-{name}']", "Space")
    assert violations(page) == []
    press_on(page, "#look")
    page.wait_for_selector("#create")
    for i, (turns, place) in enumerate(CELLS):
        for kind, values in (("translation", place), ("rotation", turns)):
            for j, value in enumerate(values):
                tab_to(page, f"#w-poses-sensor-{i}-{kind}-{j}")
                page.keyboard.type(f"{value:.6g}")
    assert violations(page) == []
    press_on(page, "#create")
    page.wait_for_selector(".lane")
    page.wait_for_function(ENDED)
    view(page, "fit")
    assert page.inner_text("#verdict") == "Failed"  # nobody has said when the load cells are untouched
    view(page, "data")
    press_on(page, "[aria-label='Add static']")
    for end, value in (("begin", "0.2"), ("end", "1.8")):
        tab_to(page, f"[aria-label='static 1, {end}, s']")
        page.keyboard.type(value)
    page.keyboard.press("Tab")
    page.wait_for_function("() => studio.state.segments.static.join() === '0.2,1.8'")
    page.wait_for_function(ENDED)
    view(page, "fit")
    page.wait_for_function("() => document.querySelector('#verdict').textContent === 'Passed'")
    assert violations(page) == []
    press_on(page, "#save")
    page.wait_for_function("() => document.querySelector('#saved').textContent.startsWith('Written')")
    result = read_result(folder / "tracker-result")
    assert result["verdict"]["passed"]
    for name, truth in TRUTH.items():
        low, high = result["parameters"][name]["ci95"]
        assert low < truth < high
    # a border by the arrow keys
    before = page.evaluate(NUMBERS)
    tab_to(page, "[aria-label='train 1, begin']")
    for _ in range(3):
        page.keyboard.press("Shift+ArrowRight")
    page.wait_for_function(f"before => ({NUMBERS})().join() !== before", arg=",".join(before))
    page.wait_for_function("() => studio.state.segments.train[0][0] > 11 && !studio.dragging")
    assert "train: [11.38, 28.06]" in (folder / "tracker.yaml").read_text()


def test_a_dragged_border_changes_the_numbers_before_it_is_let_go(page: Any, drawer: Path) -> None:
    view(page, "fit")
    before, text = page.evaluate(NUMBERS), drawer.read_text()
    box = page.locator("#fit [aria-label='train 1, end']").bounding_box()
    page.mouse.move(box["x"] + 8, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] - 150, box["y"] + 10, steps=5)
    page.wait_for_function(f"before => ({NUMBERS})().join() !== before", arg=",".join(before))
    assert "quick answer" in page.inner_text("#kind")
    assert drawer.read_text() == text
    page.mouse.up()
    page.wait_for_function("() => !studio.dragging && studio.state.segments.train[0][1] < 40")
    assert drawer.read_text() != text
    page.click("#undo")
    page.wait_for_function("() => studio.state.segments.train[0][1] === 46")
    assert drawer.read_text() == text


LATE = """() => {  // each answer is half a second on its way, some a second
  const now = window.fetch, wait = t => new Promise(done => setTimeout(done, t));
  window.answers = {};
  window.fetch = async (...asked) => {
    const answer = await now(...asked), name = String(asked[0]).split("/")[2].split("?")[0];
    await wait((answers[name] || 0) % 2 ? 1000 : 500);
    answers[name] = (answers[name] || 0) + 1;
    return answer;
  };
  window.prompt_again = () => { window.fetch = now; };
}"""


def test_what_is_set_while_answers_are_late_is_neither_lost_nor_changed_back(page: Any, drawer: Path) -> None:
    def answered(name: str, more: int = 1) -> None:
        count = page.evaluate("name => answers[name] || 0", name) + more
        page.wait_for_function("([name, count]) => answers[name] >= count", arg=[name, count])

    def typed(field: str, text: str) -> None:
        page.locator(f"#data [aria-label='{field}, s']").select_text()
        page.keyboard.type(text)

    view(page, "data")
    page.evaluate(LATE)
    try:
        page.click("#data [aria-label='Add quasi-static']")
        answered("answer")  # now it is being written
        typed("quasi-static 2, begin", "26.1")
        page.keyboard.press("Tab")
        answered("segments")  # that there is a second one, from before it was typed
        typed("quasi-static 2, end", "27.5")
        typed("test 1, end", "56.")
        answered("state", 2)
        page.keyboard.type("5")  # then a pair that is typed the other way round: no stretch in between
        typed("static 1, begin", "4.6")
        typed("static 1, end", "4.9")
        page.keyboard.press("Tab")
        page.wait_for_function("() => !studio.dragging && studio.draft === null")
        assert page.evaluate("() => studio.state.segments.quasi_static.join()") == "5,25,26.1,27.5"
        assert (
            page.evaluate("() => [studio.state.segments.static, studio.state.segments.test].join()")
            == "4.6,4.9,46.5,56.5"
        )
        assert page.input_value("#data [aria-label='quasi-static 2, end, s']") == "27.5"
        assert page.inner_text("#notice") == ""
        # two boxes and a number at once, and another file before they are written
        view(page, "fit")
        for name in ("b_v", "b_c"):
            page.uncheck(f"#e-{name}")
        page.fill("#bandwidth", "5")
        page.keyboard.press("Tab")
        page.select_option("#file", "door/body.yaml")
        page.wait_for_function("() => studio.state.file === 'door/body.yaml'")
        page.select_option("#file", DRAWER)
        page.wait_for_function("f => studio.state.file === f && studio.state.asked_bandwidth_hz === 5", arg=DRAWER)
        config = read_experiment(drawer).config
        assert set(config.without) == {"b_v", "b_c"}
        assert (config.segments.quasi_static, config.segments.static) == ([(5, 25), (26.1, 27.5)], [(4.6, 4.9)])
        assert not any(page.is_checked(f"#e-{name}") for name in ("b_v", "b_c"))
    finally:
        page.evaluate("() => prompt_again()")


def test_pushing_the_door_opens_it_and_its_closer_closes_it(page: Any) -> None:
    show(page, "door/body.yaml")
    view(page, "feel")
    page.wait_for_function(f"() => ({FEEL})() !== null")
    assert violations(page) == []
    tab_to(page, ".feel-view")
    page.keyboard.down("ArrowRight")
    page.wait_for_function(f"() => ({FEEL})() > 0.6")
    page.keyboard.up("ArrowRight")
    page.wait_for_function(f"() => ({FEEL})() < 0.1")
    view(page, "library")
    for take in ("monday", "tuesday"):
        page.check(f"#library [aria-label$=', {take}']")
    page.wait_for_function("() => document.querySelectorAll('#compared tbody tr').length > 2")
    page.click("#comparison")
    page.frame_locator("#library iframe").locator("text=Do they agree?").first.wait_for()
    assert violations(page) == []
    view(page, "data")
    page.wait_for_selector("#data .space canvas")
    assert violations(page) == []
    for width in (400, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        for name in ("data", "fit", "feel", "library"):
            view(page, name)
            page.wait_for_function("() => document.documentElement.scrollWidth <= window.innerWidth")
