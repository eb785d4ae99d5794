"""The studio's server: who may talk to it, what it writes, and that nothing is lost when files are damaged or moved."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML

from palpate.errors import FileProblem, PalpateError
from palpate.experiment import read_experiment
from palpate.experiment.file.poses import PosesPart
from palpate.experiment.file.reading import object_model
from palpate.experiment.run import fit_prepared, prepare_experiment
from palpate.experiment.stage.prepare import Prepared
from palpate.experiment.stage.quick import quick
from palpate.experiment.stage.result import provenance
from palpate.runtime.stepper import Stepper
from tests.conftest import Shared, needs_program
from tests.drawer_files import write_table
from tests.studio_server import Client, running
from tests.test_links import door

document = pytest.importorskip("palpate.studio.document")
answers = pytest.importorskip("palpate.studio.answers")
Bench = pytest.importorskip("palpate.studio.bench").Bench
Folder = pytest.importorskip("palpate.studio.folder").Folder
FILE = "drawer.yaml"
COMMENTS = ("# the force sensor of the lab\n", "  # as the drawing has it\n")


@pytest.fixture(scope="module")
def drawer(shared: Shared) -> Path:
    """A drawer by a table, with comments of its owner."""

    def write(folder: Path) -> None:
        path = write_table(folder)
        path.rename(folder / FILE)
        text = (folder / FILE).read_text()
        (folder / FILE).write_text(COMMENTS[0] + text.replace("stage: body\n", f"stage: body{COMMENTS[1]}"))

    return shared.written("studio-drawer", write)


@pytest.fixture
def folder(drawer: Path, tmp_path: Path) -> Path:
    """A copy to change, beside a file that nobody may see."""
    (tmp_path / "secret.csv").write_text("t,x\n0,1\n")
    return Path(shutil.copytree(drawer, tmp_path / "mine"))


@pytest.fixture
def client(folder: Path) -> Iterator[Client]:
    with running(folder) as client:
        yield client


def test_strangers_are_refused(client: Client) -> None:
    assert client.ask("/api/folder").status == 200
    for headers in (
        {"x_token": None},
        {"x_token": "wrong"},
        {"Host": f"evil.example:{client.port}"},
        {"Host": "127.0.0.1:1"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
    ):
        for path, given in (("/", None), ("/api/folder", None), ("/api/open", {"file": FILE}), ("/files/x.json", None)):
            refused = client.ask(path, given, **headers)
            assert refused.status == 403
            assert b"studio" in refused.body
    assert client.ask("/api/folder", Origin=f"http://127.0.0.1:{client.port}").status == 200
    assert client.ask("/api/draft", raw=b"x" * 2_000_001).status == 413
    assert client.ask("/api/draft", raw=b"{").status == 400
    page = client.ask(f"/?token={client.token}", x_token=None)
    cookie, policy = page.headers["set-cookie"], page.headers["content-security-policy"]
    assert "HttpOnly; SameSite=Strict" in cookie
    assert "default-src 'self'" in policy
    assert "unsafe-inline'; frame" in policy  # of styles alone
    assert client.ask("/api/folder", x_token=None, cookie=cookie.split(";")[0]).status == 200


def test_nothing_outside_the_folder_is_read_or_written(client: Client, folder: Path) -> None:
    (folder / "link.csv").symlink_to(folder.parent / "secret.csv")
    (folder / "page.html").write_text("<script>fetch('/api/folder')</script>")
    (folder / "old").mkdir()
    (folder / "old" / "model.json").symlink_to(folder.parent / "secret.csv")
    outside = ["../secret.csv", str(folder.parent / "secret.csv"), "link.csv", "a/../../secret.csv", "", "\0"]
    for name in outside:
        asked = [("open", {"file": name}), ("guess", {"files": [name]}), ("compare", {"results": [name, name]})]
        asked += [("create", {"file": name.replace(".csv", ".yaml"), "text": "palpate: 1\n"})]
        for verb, given in asked if name != "link.csv" else asked[:2]:
            answer = client.ask(f"/api/{verb}", given)
            assert answer.status == 422
            assert "not inside the folder" in answer.json["error"]
    for path in (
        "/files/../secret.csv",
        "/files/%2e%2e/secret.csv",
        "/files/link.csv",
        "/page/../api.py",
        "/web/__init__.py",
        "/web//etc/hostname",
        "/web/%2fetc%2fhostname",
        "/page//etc/hostname",
        "/api/model.js?beside=result:old/result.json",
    ):
        assert client.ask(path).status in (404, 422)
    assert "link.csv" not in str(client.ask("/api/folder").json)
    for i, (old, new) in enumerate((("log.csv", "../secret.csv"), ("object: drawer", "object: ../drawer.yaml"))):
        (folder.parent / "drawer.yaml").write_text("name: drawer\n")
        (folder / f"bad{i}.yaml").write_text((folder / FILE).read_text().replace(old, new))
        client.ask("/api/open", {"file": f"bad{i}.yaml"})
        assert "lies outside of" in client.settled(f"bad{i}.yaml")["work"]["message"]
    (folder.parent / "drawer.yaml").unlink()
    assert client.ask("/files/page.html").headers["content-security-policy"].startswith("sandbox")
    assert sorted(p.name for p in folder.parent.iterdir()) == ["mine", "secret.csv"]


def test_a_file_does_not_choose_the_folder_that_it_is_confined_to(folder: Path) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "own.yaml").write_text((folder / FILE).read_text().replace("log.csv", "../log.csv"))
    with running(folder / "inner" / "own.yaml") as client:
        message = client.settled("own.yaml")["work"]["message"]
        assert f"palpate studio {folder.resolve()}" in message
        assert client.ask(f"/files/{FILE}").status == 404
    with running(folder) as client:  # as it says
        client.ask("/api/open", {"file": "inner/own.yaml"})
        assert client.settled("inner/own.yaml")["work"]["phase"] == "ready"


def test_a_result_is_not_saved_through_a_link(folder: Path) -> None:
    bench = _bench(folder)
    out, elsewhere = folder / "drawer-result", folder.parent / "elsewhere"
    elsewhere.mkdir()
    for name in ("result.json", "model.json"):
        (elsewhere / name).write_text("mine")
    out.symlink_to(elsewhere)
    with pytest.raises(PalpateError, match="is a link"):
        bench.save_result()
    out.unlink()
    out.mkdir()
    (out / "result.json").symlink_to(elsewhere / "result.json")
    with pytest.raises(PalpateError, match="is a link"):
        bench.save_result()
    assert {p.read_text() for p in elsewhere.iterdir()} == {"mine"}
    (out / "result.json").unlink()
    out.rmdir()
    assert "drawer-result/model.json" in bench.save_result()
    (folder / FILE).write_text((folder / FILE).read_text() + "# by an editor\n")
    with pytest.raises(document.Stale, match="nothing was saved"):
        bench.save_result()
    bench.close()


def _bench(folder: Path, file: str = FILE) -> Any:
    """A bench whose full run has ended."""
    bench = Bench(Folder(folder.resolve()), folder.resolve() / file)
    for _ in range(4800):
        if bench.work["phase"] == "failed" or (bench.full is not None and not bench.full.running):
            break
        time.sleep(0.05)
    assert bench.full is not None, bench.work
    assert bench.full.result is not None, bench.full.state
    return bench


def _settled(bench: Any) -> Any:
    for _ in range(4800):
        if bench.work["phase"] in ("ready", "failed"):
            return bench.work
        time.sleep(0.05)
    raise AssertionError(bench.work)


def test_two_tabs_change_one_file_and_nothing_is_lost(client: Client, folder: Path) -> None:
    client.ask("/api/open", {"file": FILE})
    first = client.settled(FILE)
    segments = first["segments"]
    (begin, end), *_ = segments["train"]
    moved = {**segments, "train": [[begin + 1.0, end]]}
    answer = client.ask("/api/answer", {"file": FILE, "segments": moved}).json
    assert answer["parameters"]["m"]["value"] != first["answer"]["parameters"]["m"]["value"]
    assert first["text"] == (folder / FILE).read_text()  # nothing is written while a border moves
    given = {"file": FILE, "revision": first["revision"], "segments": moved}
    assert client.ask("/api/segments", given).status == 200
    for train in (segments["train"], moved["train"]):  # there and back again, before anything is looked at
        again = {"file": FILE, "revision": client.state(FILE)["revision"], "segments": {**segments, "train": train}}
        assert client.ask("/api/segments", again).status == 200
        assert read_experiment(folder / FILE).config.segments.train == [(round(a, 3), b) for a, b in train]
    mine = (folder / FILE).read_text()
    stale = client.ask("/api/change", {"file": FILE, "revision": first["revision"], "changes": {"title": "other"}})
    assert stale.status == 409
    assert "nothing was written" in stale.json["error"]
    assert (folder / FILE).read_text() == mine
    assert all(comment in mine for comment in COMMENTS)
    config = read_experiment(folder / FILE).config
    assert config.segments.train == [(round(begin + 1.0, 3), end)]
    state = client.settled(FILE)
    assert state["answer"]["parameters"]["m"]["value"] == pytest.approx(answer["parameters"]["m"]["value"], rel=1e-3)
    # an editor's change shows, and a change that would be no experiment is refused
    (folder / FILE).write_text(mine.replace("object: drawer", "object: drawer\ntitle: by an editor", 1))
    assert client.state(FILE)["changed_elsewhere"] == "changed"
    client.ask("/api/reload", {"file": FILE})
    state = client.settled(FILE)
    assert state["title"] == "by an editor"
    for changes in ({"without": ["nobody"]}, {"parts": "evil.py"}, {"filtering.bandwidth": "fast"}):
        refused = client.ask("/api/change", {"file": FILE, "revision": state["revision"], "changes": changes})
        assert refused.status == 422
        assert (folder / FILE).read_text() == state["text"]
    for changes in (
        {"filtering.bandwidth": "5 Hz"},
        {"without": ["b_v"]},
    ):  # the answer follows, and undo takes it back
        before = client.settled(FILE)
        client.ask("/api/change", {"file": FILE, "revision": before["revision"], "changes": changes})
        assert client.settled(FILE)["answer"]["parameters"] != before["answer"]["parameters"]
        client.ask("/api/undo", {"file": FILE, "revision": client.state(FILE)["revision"]})
        assert client.settled(FILE)["text"] == state["text"]


def test_a_change_before_the_last_one_was_looked_at_forgets_nothing_of_it(folder: Path) -> None:
    path = folder.resolve() / FILE
    bench = Bench(Folder(path.parent), path)
    _settled(bench)
    mass = bench.state()["answer"]["parameters"]["m"]["value"]
    table = np.loadtxt(path.with_name("log.csv"), delimiter=",", skiprows=1)
    head = path.with_name("log.csv").read_text().splitlines()[0]
    np.savetxt(path.with_name("twice.csv"), table * [1, 1, 2], delimiter=",", header=head, comments="")
    bench.change({"recordings.signals.file": "twice.csv"}, bench.document.revision)  # asks for another reading
    bench.change({"filtering.bandwidth": "5 Hz"}, bench.document.revision)  # this alone would not
    state = bench.state()
    assert (state["asked_bandwidth_hz"], state["undo"], state["segments"]["train"]) == (5, 2, [[28, 46]])
    bench.change({"compensate": True, "title": "soft"}, bench.document.revision)
    bench.change({"method": "joint", "filtering.bandwidth": None}, bench.document.revision)
    state = bench.state()
    assert (state["compensate"], state["method"], state["title"]) == (True, "joint", "soft")
    bench.change({"compensate": None, "method": None}, bench.document.revision)
    assert bench.state()["method"] == "balance"
    assert not {"compensate", "method"} & read_experiment(path).config.model_fields_set
    assert _settled(bench) == {"phase": "ready"}
    assert bench.state()["answer"]["parameters"]["m"]["value"] == pytest.approx(2 * mass, rel=0.02)
    bench.close()


ORDER = """
import { createStates } from "./states.mjs";
const held = [], said = [], next = () => new Promise(done => setTimeout(done));
const ask = (name, given) => new Promise((done, refuse) => held.push({name, given, done, refuse}));
const states = createStates(ask), read = () => states.read("a", () => ask("state"));
const first = read();
held.shift().done({revision: "1"});
await first;
const before = read(), old = held.shift();                        // asked before the write, answered after it
const write = () => states.write("a", "change", s => ({of: s.revision}));
const one = write(), two = write(), bad = states.write("a", "undo").catch(e => e.message), last = write();
const between = read();
await next();
said.push(held.map(x => x.name).join());                           // one write at a time
held.shift().done({revision: "old"});
held.shift().done({revision: "2"});
await one; await between; await next();
said.push(held[0].given.revision, held[0].given.of, states.of("a").revision);
held.shift().done({revision: "3"});
await two; await next();
held.shift().refuse(new Error("refused"));
said.push(await bad);
await next();
said.push(held[0].given.revision);                                 // what was refused holds nobody up
held.shift().done({revision: "4"});
await last;
old.done({revision: "1"});
await before;
said.push(states.of("a").revision, states.writing("a"));
console.log(JSON.stringify(said));
"""


def test_answers_count_in_the_order_of_their_questions_and_writes_wait_for_each_other(tmp_path: Path) -> None:
    node = needs_program("node")
    shutil.copy(str(resources.files("palpate.studio") / "page" / "states.js"), tmp_path / "states.mjs")
    (tmp_path / "order.mjs").write_text(ORDER)
    done = subprocess.run([node, tmp_path / "order.mjs"], check=True, capture_output=True, timeout=60)
    assert json.loads(done.stdout) == ["state,/api/change", "2", "2", "2", "refused", "3", "4", False]


def test_undo_does_not_take_back_what_an_editor_wrote(client: Client, folder: Path) -> None:
    client.ask("/api/open", {"file": FILE})
    first = client.settled(FILE)
    client.ask("/api/change", {"file": f"./{FILE}", "revision": first["revision"], "changes": {"title": "mine"}})
    assert client.settled(FILE)["undo"] == 1  # ./a and a are one bench
    (folder / FILE).write_text((folder / FILE).read_text() + "# by an editor\n")
    client.ask("/api/reload", {"file": FILE})
    state = client.settled(FILE)
    refused = client.ask("/api/undo", {"file": FILE, "revision": state["revision"]})
    assert (refused.status, refused.json["error"]) == (422, "there is nothing to undo")
    assert "# by an editor" in (folder / FILE).read_text()


def test_what_makes_no_sense_is_refused_in_a_sentence(client: Client) -> None:
    client.ask("/api/open", {"file": FILE})
    revision = client.settled(FILE)["revision"]
    assert client.ask("/api/report?file=").status == 422
    assert client.ask("/web/%00").status == 422
    for place in ("segments.train.x", "segments.train.9", "segments.train.0.x"):
        refused = client.ask("/api/change", {"file": FILE, "revision": revision, "changes": {place: 1}})
        assert refused.status == 422
        assert f"no place '{place}'" in refused.json["error"]
    for text in ("NaN", "Infinity", "1e999", "[" * 200_000):
        raw = f'{{"file": "{FILE}", "keys": [], "from": 0, "to": 1, "pixels": {text}}}'.encode()
        assert client.ask("/api/lines", raw=raw).status == 400
    deep = {"file": "new.yaml", "text": "a: " + "[" * 1500, "changes": {}}
    assert client.ask("/api/draft", deep).status == 422


def test_keys_for_an_editor_alone_cannot_be_set_by_a_map() -> None:
    text = "recordings:\n  poses: {file: a.csv, urdf: arm.urdf}\n"
    for changes in (
        {"recordings.poses": {"file": "a.csv", "urdf": "/etc/arm.urdf"}},
        {"recordings": {"poses": {"urdf": "/etc/arm.urdf"}}},
        {"recordings.poses.urdf": "other.urdf"},
        {"parts": "evil.py"},
    ):
        with pytest.raises(PalpateError, match="cannot be set in the studio"):
            document.changed(Path("x.yaml"), text, changes)
    assert "b.csv" in document.changed(Path("x.yaml"), text, {"recordings.poses.file": "b.csv"})
    assert "urdf" not in document.changed(Path("x.yaml"), text, {"recordings.poses.urdf": None})


def test_files_of_a_robot_and_of_a_handle_lie_inside(door_folder: Path, tmp_path: Path) -> None:
    own = Path(shutil.copytree(door_folder, tmp_path / "door")).resolve()
    experiment = read_experiment(own / "body.yaml")
    Folder(own).check(experiment)
    name = experiment.config.recordings.wrench.file
    shutil.copy(own / name, tmp_path / "elsewhere.mat")
    (own / "handle.yaml").write_text((own / "body.yaml").read_text().replace(name, "../elsewhere.mat"))
    handled = replace(experiment, config=experiment.config.model_copy(update={"handle": "handle.yaml"}))
    with pytest.raises(FileProblem, match="lies outside"):
        Folder(own).check(handled)
    poses = PosesPart.model_construct(file="log.csv", urdf="/etc/arm.urdf")
    recordings = experiment.config.recordings.model_copy(update={"poses": poses})
    robot = replace(experiment, config=experiment.config.model_copy(update={"recordings": recordings, "handle": None}))
    with pytest.raises(FileProblem, match=r"arm\.urdf: lies outside"):
        Folder(own).check(robot)


def test_a_damaged_file_and_a_moved_recording_are_said_and_mended(client: Client, folder: Path) -> None:
    whole = (folder / FILE).read_text()
    (folder / FILE).write_text(whole + "segments: [\n")
    client.ask("/api/open", {"file": FILE})
    state = client.settled(FILE)
    assert state["work"]["phase"] == "failed"
    assert f"{FILE}, line" in state["work"]["message"]
    (folder / FILE).write_text(whole)
    recording = next(folder.glob("*.csv"))
    recording.rename(folder.parent / "elsewhere.csv")
    client.ask("/api/reload", {"file": FILE})
    state = client.settled(FILE)
    assert f"{recording.name}: there is no such file" in state["work"]["message"]
    assert (folder / FILE).read_text() == whole
    (folder.parent / "elsewhere.csv").rename(recording)
    (folder / "old").mkdir()
    assert "there is no such file" in client.ask(f"/api/page/validate?result=old/result.json&file={FILE}").body.decode()
    (folder / "old" / "result.json").write_text("{")
    client.ask("/api/reload", {"file": FILE})
    assert client.settled(FILE)["work"]["phase"] == "ready"
    (result,) = client.ask("/api/folder").json["results"]
    assert "the result is damaged" in result["error"]


def test_markers_become_an_object_by_their_roles(door_folder: Path, tmp_path: Path) -> None:
    from palpate.studio import wizard

    own = read_experiment(door_folder / "body.yaml").config
    parts = (own.recordings.mocap, own.recordings.wrench)
    for part in parts:
        shutil.copy(door_folder / part.file, tmp_path / Path(part.file).name)
    folder = Folder(tmp_path.resolve())
    made = wizard.guess(folder, [Path(part.file).name for part in parts], "", None)
    assert "say what it is" in made["problem"]
    with pytest.raises(PalpateError, match="Start with palpate new wheelbarrow"):
        wizard.draft(folder, made["file"], made["text"], {"object": "wheelbarrow"})
    made = made | wizard.draft(folder, made["file"], made["text"], {"object": "hinge"})
    sensor = {"markers": own.markers.sensor.markers, "offset": own.markers.sensor.offset.model_dump()}
    changes = {"markers.body": own.markers.body, "markers.sensor": sensor}
    made = made | wizard.draft(folder, made["file"], made["text"], changes)
    assert made["problem"] == ""
    path = wizard.create(folder, made["file"], made["text"])
    prepared = prepare_experiment(read_experiment(path))
    assert 50 < np.degrees(np.nanmax(prepared.inputs.q)) < 120
    with pytest.raises(FileProblem, match="exists already"):
        wizard.create(folder, made["file"], made["text"])


def test_a_port_in_use_is_said_or_the_next_one_taken(folder: Path) -> None:
    from palpate.studio.serve import start_studio

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(PalpateError, match=f"port {port} of 127.0.0.1 is in use: choose another with --port"):
            start_studio([folder], port=port)
    one, two = start_studio([folder]), start_studio([folder / FILE])
    assert one.address.split("/?")[0] != two.address.split("/?")[0]
    for studio in (one, two):
        studio.session.close()
        studio.socket.close()
    with pytest.raises(FileProblem, match="there is no such file or folder"):
        start_studio([folder / "none"])


def test_ctrl_c_ends_the_command_cleanly(folder: Path) -> None:
    command = [sys.executable, "-m", "palpate", "studio", str(folder), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(3)]
        assert "http://127.0.0.1:" in lines[1]
        address = lines[1].strip()
        assert Client(address).ask("/api/folder").status == 200
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (0, "", "")


def test_a_change_keeps_comments_order_and_quotes() -> None:
    text = """# mine
title: "A door"   # a heading
elements:
- {type: viscous, name: b_v}
segments:
  train: [1, 2]   # GUESS: it moves
  test: [3, 4]   # by hand
"""
    made = document.changed(Path("x.yaml"), text, {"segments.train": [[1.5, 2.0], [5.0, 6.0]], "without": ["b_c"]})
    assert made == text.replace("[1, 2]   # GUESS: it moves", "[[1.5, 2], [5, 6]]") + "without: [b_c]\n"
    assert document.changed(Path("x.yaml"), made, {"without": None}) == made.removesuffix("without: [b_c]\n")
    assert YAML(typ="safe").load(made)["segments"]["test"] == [3, 4]
    indented = "elements:\n  - {type: viscous, name: b_v}\na: 1\n"
    assert document.changed(Path("x.yaml"), indented, {"a": 2}) == indented.replace("a: 1", "a: 2")


def test_a_pixel_shows_its_smallest_and_largest_sample() -> None:
    from palpate.studio.lines import Line

    t, x = np.arange(400_000) / 1e3, np.random.default_rng(0).normal(size=400_000)
    x[123_456], x[7:9] = 50.0, np.nan
    line = Line("x", "N", t, x)
    for pixels, ends in ((500, (0.0, 400.0)), (900, (100.0, 180.0)), (900, (123.0, 123.9))):
        at, low, high = line.drawn(*ends, pixels)
        first, last = np.searchsorted(t, (at[0], at[-1]))
        assert len(at) <= 2 * pixels + 2
        assert np.nanmax(high) == 50.0
        assert np.nanmin(low) <= np.nanmin(x[first:last]) + 1e-12
        assert (np.diff(at) > 0).all()


def test_a_result_names_the_file_that_it_was_made_from(folder: Path) -> None:
    path = folder / FILE
    before, experiment = path.read_bytes(), read_experiment(path)
    meant = read_experiment(path, text="# meant\n" + path.read_text())
    path.write_text(path.read_text() + "# by an editor, while it ran\n")
    for ran, content in ((experiment, before), (meant, b"# meant\n" + before)):
        assert provenance(ran, {})["experiment"]["sha256"] == sha256(content).hexdigest()


def test_an_adopted_variant_and_a_searched_zone_are_what_the_file_says(door_folder: Path, tmp_path: Path) -> None:
    from palpate.identify.variants import door_variants
    from palpate.studio.answers import adopted, searched

    own = Path(shutil.copytree(door_folder, tmp_path / "door")) / "body.yaml"
    experiment = read_experiment(own)
    model = object_model(experiment)
    variants = door_variants(model)
    for variant in (variants[0], variants[-1]):
        text = document.changed(own, own.read_text(), adopted(experiment, variant, variant.model))
        found, wanted = (
            m.to_dict()["elements"] for m in (object_model(read_experiment(own, text=text)), variant.model)
        )
        assert [list(e) for e in found] == [list(e) for e in wanted]
        for one, two in zip(found, wanted, strict=True):
            assert one == {k: pytest.approx(v, rel=1e-8) if isinstance(v, float | list) else v for k, v in two.items()}
    zone = next(e for e in model.elements if e.borders)
    for asked in (True, False):
        text = document.changed(own, own.read_text(), searched(experiment, zone.name, wanted=asked))
        (made,) = [e for e in object_model(read_experiment(own, text=text)).elements if e.name == zone.name]
        assert any(s.free for s in made.shapes) is asked
        assert [s.value for s in made.shapes] == pytest.approx([s.value for s in zone.shapes])


def test_quick_answers_are_those_of_a_full_run_that_found_other_links(tmp_path: Path) -> None:
    path, _ = door(tmp_path, 3, off=(0.0021, -0.0026, 0.0012, 0.0030))
    bench = _bench(tmp_path, path.name)
    full, answer = bench.full.result["parameters"], bench.answer(bench.prepared.segments)
    assert answer["total"]
    for name in ("b_l", "b_s"):
        low, high = full[name]["ci95"]
        assert abs(answer["parameters"][name]["value"] - full[name]["value"]) < 0.3 * (high - low) / 2
    felt, note = bench.model()
    known = {name: value for name, value in felt.values.items() if name in full}
    assert known == pytest.approx({name: full[name]["value"] for name in full}, rel=1e-12)
    assert "end stops at 0 and 95 deg" in note  # nobody identified them, and a shut door goes no farther
    stepper, out = Stepper(felt, 1e-3), np.empty(3)
    stepper.reset([0.2, 0.0])
    for _ in range(8000):
        stepper.step(np.zeros(6), out)
    assert abs(np.degrees(out[0])) < 0.01
    assert felt.mechanism.sizes["closer.L2"][0] == bench.full.result["shapes"]["closer.L2"]["value"]
    config = bench.experiment.config
    for other in ({"compensate": True}, {"method": "joint"}):
        bench.experiment = replace(bench.experiment, config=config.model_copy(update=other))
        assert not bench.answer(bench.prepared.segments)["total"]
    bench.close()


def test_what_a_full_run_refused_stays_refused(door_folder: Path, door_prepared: Prepared) -> None:
    fitted = quick(fit_prepared(read_experiment(door_folder / "body.yaml"), door_prepared))
    solution, segments = fitted.solved(door_prepared.segments), door_prepared.segments
    own = answers.numbers_of(fitted, solution, segments, {})["parameters"]
    assert own["b_v"]["status"] == own["I"]["status"] == "identified"
    refused = {"value": None, "ci95": None, "status": "not-identifiable"}
    full = {"parameters": own | {"b_v": refused, "I": own["I"] | {"status": "uncertain"}}}
    added = answers.added_to(full, solution)
    shown = answers.numbers_of(fitted, solution, segments, added, full)["parameters"]
    assert {k: shown["b_v"][k] for k in refused} == refused
    assert shown["I"]["status"] == "uncertain"
    assert shown["b_c"] == {**own["b_c"], "ci95": pytest.approx(own["b_c"]["ci95"])}


def test_kept_rows_give_what_the_fit_gives(door_folder: Path, door_prepared: Prepared) -> None:
    """Borders that begin where a kept row does: the same numbers as from scratch, to rounding."""
    experiment = read_experiment(door_folder / "body.yaml")
    began = quick(fit_prepared(experiment, door_prepared))
    segments = {k: [began.moving.snapped(s) for s in v] for k, v in door_prepared.segments.items()}
    (a, b), *more = segments["train"]
    segments["train"] = [began.moving.snapped((a + 1.0, b)), *more]
    from_scratch = fit_prepared(experiment, replace(door_prepared, segments=segments, begun=None))
    assert began.solved(segments).p == pytest.approx(from_scratch.p, rel=1e-9)
    assert began.solved(segments).p != pytest.approx(began.fit.p, rel=1e-9)
