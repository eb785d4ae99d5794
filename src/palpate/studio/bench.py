"""One experiment on the bench: its file, recordings, quick fit and full run, and changes on their way to the file."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from palpate.errors import FileProblem, PalpateError
from palpate.experiment.file.reading import Experiment, names_in_results, read_experiment
from palpate.experiment.file.yaml_text import parse
from palpate.experiment.run import fit_prepared, handles_of
from palpate.experiment.stage.prepare import Prepared, prepare
from palpate.experiment.stage.quick import Quick, quick, retuned
from palpate.experiment.stage.recordings import segments_of
from palpate.experiment.stage.result import read_references
from palpate.experiment.variants import rank_prepared, ranking_data
from palpate.findings import Finding
from palpate.identify import Solution
from palpate.identify.balance import Segment
from palpate.identify.variants import Ranking
from palpate.model import Model
from palpate.physics.arrays import FloatArray
from palpate.progress import portion, silent
from palpate.report.feel import between_stops
from palpate.studio.answers import added_to, adopted, curves_of, elements_of, laws_of, numbers_of, searched, sizes_found
from palpate.studio.document import Changes, Document, Stale, changed, read_document
from palpate.studio.folder import Folder
from palpate.studio.full import FullRun
from palpate.studio.lines import Track
from palpate.studio.tracks import Recorded, read_recordings, scene_of, span_of, tracks_of

KINDS = ("static", "quasi_static", "train", "test")
TUNED = ("segments", "elements", "without", "prior", "fixed", "known_mass", "filtering", "title", "robust", "factor")
"""Keys after whose change nothing has to be read again, but where the static segment moves."""
UNDONE = 50
Segments = dict[str, list[Segment]]


class Bench:
    """An open experiment. What is slow happens in threads of its own; `state` says how far they are."""

    def __init__(self, folder: Folder, path: Path) -> None:
        self.folder, self.path = folder, path
        self.document: Document | None = None
        self.experiment: Experiment[Any] | None = None
        """That of the fit: while the file's is still being read, the one before."""
        self._stated: tuple[str, Experiment[Any] | None] = "", None
        """A version of the file, and what it states, or stated last."""
        self.recorded: Recorded | None = None
        self.prepared: Prepared | None = None
        self._prepared_of: str | None = None
        """The text that it was read for; None: recordings are to be read again."""
        self.quick: Quick | None = None
        self.solution: Solution | None = None
        """The last one that was asked for."""
        self.tracks: list[Track] = []
        self.full: FullRun | None = None
        self.ranking: Ranking | None = None
        self.work: dict[str, Any] = {"phase": "opening", "step": "", "done": 0.0}
        self._base: tuple[FullRun, dict[str, float]] | None = None
        self._last: dict[str, Any] | None = None
        """The last full result, of whatever version of the file."""
        self._sizes: dict[str, float] = {}
        """Of a linkage, which the quick fit has from there."""
        self._moved = False
        """Whether `solution` is of other borders than the file's."""
        self._handles: Any = None
        self._before: list[str] = []
        self._lock, self._turn = threading.RLock(), 0
        self._scratch = TemporaryDirectory(prefix="palpate-studio-", ignore_cleanup_errors=True)
        self.refresh(again=True)

    # --- opening and following changes --------------------------------------------------------------------------------

    def refresh(self, *, again: bool) -> None:
        """Read the file and do what its changes ask for, in a thread; again: recordings too, changed or not."""
        with self._lock:
            self._turn += 1
            turn = self._turn
            self.work = {"phase": "working", "step": "reading", "done": 0.0}
            if again:
                self._prepared_of = None
            with suppress(Exception):  # whatever it is, the thread meets it too and says so
                self._take(read_document(self.path))
        threading.Thread(target=self._work, args=(turn,), daemon=True).start()

    def _take(self, document: Document) -> Document:
        if self.document is not None and self.document.text != document.text:
            self._before = []  # somebody else wrote it: to undo would take that back too
        self.document = document
        return document

    def _work(self, turn: int) -> None:
        def tell(step: str, done: float) -> None:
            if turn == self._turn:
                self.work = {"phase": "working", "step": step, "done": round(done, 3)}

        try:
            with self._lock:  # between reading it and saying so nobody may write it
                if turn != self._turn:
                    return
                document = self._take(read_document(self.path))
                before, recorded, prepared = self._prepared_of, self.recorded, self.prepared
            experiment = read_experiment(self.path, text=document.text)
            self.folder.check(experiment)
            if experiment.config.stage == "motion":
                raise experiment.problem("stage", "nothing is identified in the motion stage", "choose an object")
            if before is None or recorded is None or prepared is None or reads_again(self.path, before, document.text):
                self._read(turn, experiment, document.text, tell)
            else:
                kept = replace(prepared, segments=self._segments(experiment, prepared))
                self._keep(turn, experiment, before, recorded, retuned(kept, experiment, self._handles))
            self._fit(turn, tell)
        except PalpateError as error:
            self._end(turn, {"phase": "failed", "message": str(error)})
        except Exception as error:  # a page that waits for ever would hide it
            self._end(turn, {"phase": "failed", "message": f"unexpected: {type(error).__name__}: {error}"})
            raise

    def _read(self, turn: int, experiment: Experiment[Any], text: str, tell: Callable[[str, float], None]) -> None:
        tell("reading the recordings", 0.0)
        recorded = read_recordings(experiment)
        with self._lock:
            if turn == self._turn:
                self.experiment, self.recorded = experiment, recorded
                if self.prepared is None:
                    self.tracks = tracks_of(recorded, None, None)
        handles = handles_of(experiment, portion(tell, 0.1, 0.5))
        prepared = prepare(experiment, portion(tell, 0.5, 0.9), handles=handles)
        with self._lock:
            if turn == self._turn:
                self._handles = handles
        self._keep(turn, experiment, text, recorded, prepared)

    def _keep(self, turn: int, experiment: Experiment[Any], of: str, recorded: Recorded, prepared: Prepared) -> None:
        with self._lock:
            if turn == self._turn:
                self.experiment, self.recorded, self.prepared = experiment, recorded, prepared
                self._prepared_of = of
                self.tracks = tracks_of(recorded, prepared, self.quick)

    def _fit(self, turn: int, tell: Callable[[str, float], None]) -> None:
        """Fit with the links that the last full run ended with: with those stated, values would be others than its."""
        tell("fitting", 0.9)
        experiment, prepared = self.experiment, self.prepared
        if turn != self._turn or experiment is None or prepared is None:
            return
        inputs, begun = prepared.inputs, prepared.begun
        sizes = sizes_found(self._last, inputs.mechanism)
        if sizes:
            linked = replace(inputs.model, mechanism=inputs.mechanism.with_sizes(sizes))
            inputs, begun = inputs.with_model(linked), None
        fitted = quick(fit_prepared(experiment, replace(prepared, inputs=inputs, begun=begun)))
        solution = fitted.solved(prepared.segments)
        with self._lock:
            if turn == self._turn and self.recorded is not None:
                self.quick, self.solution, self._base = fitted, solution, None
                self._sizes, self._moved = sizes, False
                self.tracks = tracks_of(self.recorded, prepared, fitted)
                self.work = {"phase": "ready"}
                self._start_full()

    def _end(self, turn: int, work: dict[str, Any]) -> None:
        with self._lock:
            if turn == self._turn:
                self.work = work

    def _start_full(self) -> None:
        document = self.document
        if document is None or (self.full is not None and self.full.revision == document.revision):
            return
        if self.full is not None:
            self.full.stop()
        out = Path(self._scratch.name) / document.revision
        self.full = FullRun(self.path, document.text, document.revision, out, self._ended)

    def _ended(self, full: FullRun, result: dict[str, Any]) -> None:
        with self._lock:
            if full is not self.full:
                return
            self._last, turn, prepared = result, self._turn, self.prepared
            if self.work["phase"] != "ready":
                return  # the fit that is on its way takes them
        if prepared is not None and sizes_found(result, prepared.inputs.mechanism) != self._sizes:
            with suppress(PalpateError):  # quick answers stay as they are, with intervals that allow for it
                self._fit(turn, silent)

    def _segments(self, experiment: Experiment[Any], prepared: Prepared) -> Segments:
        """In seconds; those counted in samples are as they were, since nothing but seconds is written here."""
        if self.experiment is not None and experiment.config.segments == self.experiment.config.segments:
            return prepared.segments
        times = prepared.inputs.times_s
        return segments_of(experiment, times, range(len(times)))

    # --- what the page asks for ---------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Everything small that the page shows."""
        with self._lock:
            document, prepared = self.document, self.prepared
            on_disk = self._on_disk()
            begin, end = span_of(self.tracks)
            state: dict[str, Any] = {
                "file": self.folder.name(self.path),
                "revision": None if document is None else document.revision,
                "text": "" if document is None else document.text,
                "changed_elsewhere": on_disk,
                "work": self.work,
                "undo": len(self._before),
                "span": [begin, end],
                "tracks": [_heading(track) for track in self.tracks],
                "findings": self._findings(),
                "full": None if self.full is None else self.full.state,
                "result": self._full_result(),
            }
            stated = self._of_document()
            if stated is not None:
                state |= _of_file(stated)
            segments = self._shown_segments()
            if segments is not None:
                state["segments"] = {kind: [list(s) for s in segments.get(kind, [])] for kind in KINDS}
                state["reference"] = [begin, end]
            if prepared is not None:
                state["bandwidth_hz"] = prepared.inputs.filtering.bandwidth_hz
                state["rate_hz"] = prepared.inputs.rate_hz
                state["reference"] = [float(t) for t in prepared.inputs.times_s[[0, -1]]]
                state["scene"] = prepared.capture is not None
                state["variants"] = prepared.inputs.main is not None
            if self.quick is not None and self.solution is not None and prepared is not None:
                state["answer"] = self._answer(self.quick, self.solution, prepared.segments)
            return state

    def _shown_segments(self) -> Segments | None:
        """As the file has them, looked at or not; while it is wrong, they can be set right."""
        stated = getattr(getattr(self._of_document(), "config", None), "segments", None)
        if self.recorded is None or stated is None:
            return None
        each: dict[str, Any] = {kind: getattr(stated, kind) for kind in KINDS}
        if any(spans is not None and not isinstance(spans, list) for spans in each.values()):
            return None if self.prepared is None else self.prepared.segments  # counted in samples: in seconds
        return {kind: list[Segment](spans or ()) for kind, spans in each.items()}

    def _on_disk(self) -> str:
        """Why the file on disk is not the one that is shown; empty where it is."""
        if self.document is None or self.work["phase"] == "working":
            return ""
        try:
            if read_document(self.path).revision != self.document.revision:
                return "changed"
        except PalpateError as error:
            return str(error)
        return ""

    def _findings(self) -> list[dict[str, str]]:
        found = list[Finding]() if self.recorded is None else list(self.recorded.findings)
        found += [] if self.prepared is None else [f for f in self.prepared.findings if f not in found]
        return [f.as_json() for f in dict.fromkeys(found)]

    def _full_result(self) -> dict[str, Any] | None:
        """Of result.json what the page shows, and whether it is of the file as it is now."""
        full = self.full
        if full is None or full.result is None or self.document is None:
            return None
        data = full.result
        names = ("title", "parameters", "shapes", "rms", "verdict", "warnings", "findings", "weakest_direction")
        kept = {name: data.get(name) for name in (*names, "replay", "kappa", "motion", "references")}
        return kept | {
            "current": full.revision == self.document.revision,
            "model": (full.out / "model.json").is_file(),
            "report": (full.out / "report.html").is_file(),
        }

    def _answer(self, fitted: Quick, solution: Solution, segments: Mapping[str, Any]) -> dict[str, Any]:
        return numbers_of(fitted, solution, segments, self._added(fitted), self._last)

    def _added(self, fitted: Quick) -> dict[str, float] | None:
        """What the last full run added to the intervals of the fit that is on the bench."""
        full, prepared, config = self.full, self.prepared, getattr(self.experiment, "config", None)
        if getattr(config, "compensate", False) or getattr(config, "method", "") == "joint":
            return None  # other measurements, or another estimate, than a quick fit has: only the noise is its own
        if full is None or full.result is None or prepared is None or self.document is None:
            return None if self._base is None else self._base[1]
        if self._base is None or (self._base[0] is not full and full.revision == self.document.revision):
            self._base = full, added_to(full.result, fitted.solved(prepared.segments))
        return self._base[1]

    def answer(self, segments: Segments) -> dict[str, Any]:
        """The numbers with other borders, at once; nothing is written."""
        begun, fitted, experiment = perf_counter(), self.quick, self.experiment
        if fitted is None or experiment is None:
            raise PalpateError("there is no fit yet: wait until the recordings are read")
        _check_apart(segments)
        solution = fitted.solved(segments)
        with self._lock:
            if fitted is self.quick:
                self.solution = solution
                self._moved = self.prepared is None or segments != self.prepared.segments
            answer = self._answer(fitted, solution, segments)
        return answer | {"ms": round(1e3 * (perf_counter() - begun), 2)}

    def lines(self, keys: list[str], begin_s: float, end_s: float, pixels: int) -> list[dict[str, Any]]:
        """Some tracks of the Data or Fit view, of a stretch of time."""
        tracks = {track.key: track for track in (*self.tracks, *self._curves(keys))}
        return [tracks[key].as_json(begin_s, end_s, pixels) for key in keys if key in tracks]

    def _curves(self, keys: list[str]) -> list[Track]:
        fitted, p = self._current()
        wanted = fitted is not None and p is not None and any(k.startswith(("row:", "left:")) for k in keys)
        return curves_of(fitted.fit, p) if wanted and fitted is not None and p is not None else []

    def _current(self) -> tuple[Quick | None, FloatArray | None]:
        with self._lock:
            return self.quick, None if self.solution is None else self.solution.p

    def laws(self) -> dict[str, Any] | None:
        """Of the numbers shown last; None too where some of those are refused."""
        with self._lock:
            fitted, solution = self.quick, self.solution
            try:
                full = None if self._moved else self._full_model()
            except PalpateError:
                return None
        return None if fitted is None or solution is None else laws_of(fitted.fit, full or solution.model)

    def _full_model(self) -> Model | None:
        """Of the full run of the file as it is now; None while there is none. Refused where it refused numbers."""
        full, document, experiment = self.full, self.document, self.experiment
        if full is None or full.result is None or document is None or experiment is None:
            return None
        if full.revision != document.revision:
            return None
        if not (full.out / "model.json").is_file():
            raise PalpateError("the data do not tell all of its numbers: there is no model to show")
        return Model.load(full.out / "model.json", experiment.parts)

    def scene(self, begin_s: float, end_s: float) -> dict[str, Any] | None:
        """What plays in 3-D."""
        prepared = self.prepared
        return None if prepared is None else scene_of(prepared, begin_s, end_s)

    def model(self, reference: str | None = None) -> tuple[Model, str] | None:
        """The full run's own, else the quick one; or with a reference's values: between end stops, as the report has
        it, and what is to be said of those.
        """
        with self._lock:
            solution, experiment, full = self.solution, self.experiment, self._full_model()
        if solution is None or experiment is None:
            return None
        model = full or solution.model.of_object()
        if reference is not None:
            values, known = read_references(experiment).get(reference, {}), names_in_results(model)
            model = model.with_values([values.get(n, float(p)) for n, p in zip(known, model.p, strict=True)])
        return self.between(model)

    def between(self, model: Model) -> tuple[Model, str]:
        """This or another model of such an object between end stops, and what is to be said of those."""
        inputs = None if self.quick is None else self.quick.fit.inputs
        seen = None if inputs is None or inputs.main is None else inputs.q[:, inputs.main]
        return between_stops(model, None if seen is None else (float(np.nanmin(seen)), float(np.nanmax(seen))))

    def rank(self) -> dict[str, Any]:
        """Variants of the object, the best first."""
        experiment, prepared = self.experiment, self.prepared
        if experiment is None or prepared is None:
            raise PalpateError("there is no fit yet: wait until the recordings are read")
        self.ranking = rank_prepared(experiment, prepared, silent)
        return ranking_data(self.ranking, experiment.config.title or experiment.source.stem)

    # --- changes ------------------------------------------------------------------------------------------------------

    def change(self, changes: Changes, revision: str) -> None:
        """Write a change into the file, unless somebody else has changed it, or it would not be an experiment."""
        with self._lock:
            self.write(changed(self.path, self._document().text, changes), revision)

    def set_segments(self, segments: Segments, revision: str) -> None:
        """Write segments in seconds."""
        _check_apart(segments)
        with self._lock:
            changes: dict[str, Any] = {f"segments.{kind}": _written(segments.get(kind, [])) for kind in KINDS}
            now = self._shown_segments() or {}
            keep = {f"segments.{k}" for k in KINDS if [*map(list, now.get(k, []))] == [*map(list, segments.get(k, []))]}
            if len(keep) == len(KINDS) or "samples" not in self._document().text:
                changes = {k: v for k, v in changes.items() if k not in keep}
            else:
                changes["segments.first_sample"] = None
            self.change(changes, revision)

    def adopt(self, name: str, revision: str) -> None:
        """Write one of the ranked variants into the file."""
        with self._lock:
            ranked = [] if self.ranking is None else [r for r in self.ranking.ranked if r.variant.name == name]
            experiment = self._of_document()
            if not ranked or experiment is None:
                raise PalpateError(f"there is no variant {name!r}: rank the variants first")
            self.change(adopted(experiment, ranked[0].variant, ranked[0].model), revision)

    def search(self, name: str, revision: str, *, wanted: bool) -> None:
        """Have the zone of an element searched for, or held where it is."""
        with self._lock:
            experiment = self._of_document()
            if experiment is None or all(e["name"] != name or not e["zone"] for e in elements_of(experiment)):
                raise PalpateError(f"there is no zone {name!r}")
            self.change(searched(experiment, name, wanted=wanted), revision)

    def write(self, text: str, revision: str) -> None:
        """Write a whole text, checked first."""
        with self._lock:
            document, experiment = self._document(), read_experiment(self.path, text=text)
            self.folder.check(experiment)
            if experiment.config.parts != getattr(getattr(self._of_document(), "config", None), "parts", None):
                raise PalpateError(f"parts cannot be set in the studio: edit {self.path.name} itself")
            if experiment.config.stage != "motion":
                elements_of(experiment)  # what names no element is refused here
            self.document = document.written(text, revision)
            if text != document.text:
                self._before = [*self._before[-UNDONE:], document.text]
            self.refresh(again=False)

    def undo(self, revision: str) -> None:
        """Write what was there before the last change."""
        with self._lock:
            if not self._before:
                raise PalpateError("there is nothing to undo")
            self.document = self._document().written(self._before[-1], revision)
            self._before = self._before[:-1]
            self.refresh(again=False)

    def save_result(self) -> list[str]:
        """Put the full result beside the experiment, as `palpate identify` does."""
        full, document = self.full, self.document
        if full is None or full.result is None or document is None or full.revision != document.revision:
            raise PalpateError("there is no full result of the file as it is now: wait until the identification ends")
        if read_document(self.path).revision != full.revision:
            raise Stale(f"{self.path.name} was changed elsewhere: nothing was saved. Read it again first")
        out = self.path.with_name(f"{self.path.stem}-result")
        for path in (out, *(out / p.relative_to(full.out) for p in full.out.rglob("*"))):
            if path.is_symlink():
                raise FileProblem(path, "is a link: what it leads to would be overwritten", remedy="remove it")
            self.folder.name(path)
        if out.exists() and not (out / "result.json").is_file():
            raise FileProblem(out, "exists and holds no result", remedy="move it away")
        (out / "model.json").unlink(missing_ok=True)
        shutil.copytree(full.out, out, dirs_exist_ok=True)
        return [self.folder.name(p) for p in sorted(out.iterdir())]

    def _of_document(self) -> Experiment[Any] | None:
        """What the file states now, looked at or not; where it is wrong, what it stated last."""
        document = self.document
        if document is not None and document.revision != self._stated[0]:
            experiment = self._stated[1]
            with suppress(PalpateError):  # the thread that works on it says what is wrong
                read = read_experiment(self.path, text=document.text)
                self.folder.check(read)
                if read.config.stage != "motion":
                    elements_of(read)
                    experiment = read
            self._stated = document.revision, experiment
        return self._stated[1]

    def _document(self) -> Document:
        if self.document is None:
            raise PalpateError(self.work.get("message", "the experiment is still being read"))
        return self.document

    def close(self) -> None:
        """End what runs."""
        self._turn += 1
        if self.full is not None:
            self.full.stop()
        self._scratch.cleanup()


def _heading(track: Track) -> dict[str, Any]:
    names = [line.name for line in track.lines]
    return {k: getattr(track, k) for k in ("key", "title", "unit", "about", "shown")} | {"lines": names}


def _of_file(experiment: Experiment[Any]) -> dict[str, Any]:
    config = experiment.config
    prior, filtering = config.prior, config.filtering
    return {
        "title": config.title or experiment.source.stem,
        "object": config.object,
        "stage": config.stage,
        "elements": elements_of(experiment),
        "fixed": dict(config.fixed),
        "asked_bandwidth_hz": getattr(filtering, "bandwidth", None),
        "published": filtering.type != "parallel",
        "method": config.method if config.stage == "body" else None,
        "compensate": config.compensate,
        "prior": None if prior is None else {"mass": prior.mass, "damping": prior.damping, "spread": prior.spread},
    }


def reads_again(path: Path, before: str, after: str) -> bool:
    """Whether two texts differ in what is read, mounted or timed."""
    one, two = parse(path, before)[0], parse(path, after)[0]
    differing = {key for key in one.keys() | two.keys() if one.get(key) != two.get(key)}
    static = [tree["segments"].get("static") if isinstance(tree.get("segments"), dict) else None for tree in (one, two)]
    return not differing <= set(TUNED) or static[0] != static[1]


def _written(spans: list[Segment]) -> Any:
    """As people write segments: one pair, or a list of them; None where there is none."""
    pairs = [[round(a, 3), round(b, 3)] for a, b in spans]  # in their order: it is by place that the page knows them
    return None if not pairs else pairs[0] if len(pairs) == 1 else pairs


def _check_apart(segments: Segments) -> None:
    """Refuse borders that cross, and tests on what was fitted."""
    for kind, spans in segments.items():
        for a, b in spans:
            if not b > a:
                raise PalpateError(f"{kind}: from {a:g} to {b:g} s is nothing: it must end after it begins")
    for a, b in segments.get("test", []):
        for kind in ("train", "quasi_static"):
            if any(a < d and c < b for c, d in segments.get(kind, [])):
                raise PalpateError(f"test and {kind} overlap: a test on data of the fit proves nothing")
    if not segments.get("train"):
        raise PalpateError("there is no train segment to fit")
