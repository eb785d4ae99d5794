"""Reading an experiment file: every mistake is refused here, with its line, before anything is computed."""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from importlib import resources
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, cast, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from palpate.errors import DataProblem, ExperimentProblem, FileProblem, PalpateError, UnknownName, unknown_name
from palpate.experiment.file import schema
from palpate.experiment.file.conditions import CONDITIONS
from palpate.experiment.file.quantities import Position, shown
from palpate.experiment.file.schema import ExperimentPart, MotionPart, Options, RecordingPart, SamplesPart, WrenchPart
from palpate.experiment.file.sensors import listed, problems_of
from palpate.experiment.file.yaml_text import BEGIN, Place, decoded, parse
from palpate.files import read_bytes
from palpate.mechanisms import Row
from palpate.model import Model, load_object
from palpate.parts import SHIPPED, Parts, load_parts
from palpate.physics.units import parse_quantity

ROOTS: dict[str, type[ExperimentPart] | type[MotionPart]] = {
    "handle": ExperimentPart,
    "body": ExperimentPart,
    "motion": MotionPart,
}
"""The schema of each stage's file."""
Config = TypeVar("Config", bound=ExperimentPart | MotionPart, covariant=True)
COMPARED = ("damping", "kappa", "kappa_eff", "kappa_eff_paper")
"""What a reference may tell beside parameters and `rms_ROW`."""

SHORTEST_M, LONGEST_M = 0.01, 3.0
"""Links of what people move by hand."""


@dataclass(frozen=True, slots=True, repr=False)
class Experiment(Generic[Config]):
    """A checked experiment file, and where its files are."""

    source: Path
    data: Path
    """Folder to which the recordings' paths are relative."""
    config: Config
    lines: Mapping[Place, int]
    """Line of each key, for messages."""
    sha256: str
    """Of the file as it was read: by the end of a long run it may be another."""

    def __repr__(self) -> str:
        """One line."""
        return f"<Experiment {str(self.source)!r}, stage {getattr(self.config, 'stage', '')}>"

    def path(self, file: str) -> Path:
        """A file named in the experiment."""
        return self.data / file

    @property
    def parts(self) -> Parts:
        """What the object may be made of: with `parts`, of the user's own too."""
        name: str | None = getattr(self.config, "parts", None)
        if name is None:
            return SHIPPED
        with self.at("parts"):
            return load_parts(self.source.parent / name if name.endswith(".py") else name)

    def problem(self, key: str | Place, problem: str, remedy: str = "") -> ExperimentProblem:
        """An error at a key such as "segments.train"."""
        place = tuple(key.split(".")) if isinstance(key, str) else key
        return ExperimentProblem(self.source, ".".join(place), problem, line=self.line(place), remedy=remedy)

    @contextmanager
    def at(self, key: str, remedy: str = "", kind: type[PalpateError] = PalpateError) -> Generator[None]:
        """Say of errors of a kind inside that they are this key's."""
        try:
            yield
        except kind as error:
            raise self.problem(key, str(error), remedy) from error

    def line(self, place: Place) -> int | None:
        """The line of a key, or of what it belongs to."""
        ends = range(len(place), 0, -1)
        return next((self.lines[place[:end]] for end in ends if place[:end] in self.lines), None)


def shipped_experiments() -> dict[str, Path]:
    """The experiment files that come with palpate, by name."""
    folder = resources.files("palpate.experiment") / "paper"
    return {p.name.removesuffix(".yaml"): Path(str(p)) for p in folder.iterdir() if p.name.endswith(".yaml")}


def experiment_of(given: Experiment[Any] | str | Path) -> Experiment[Any]:
    """An experiment, or the one in the file that is named."""
    if isinstance(given, Experiment):
        return given
    if isinstance(given, str | Path):  # pyright: ignore[reportUnnecessaryIsInstance]
        return read_experiment(given)
    raise PalpateError(f"an experiment or the path of its file is wanted, not {type(given).__name__!r}")


def read_experiment(source: str | Path, *, data: str | Path | None = None, text: str | None = None) -> Experiment[Any]:
    """Read and check an experiment file, or one that ships with palpate by its name.

    `data` is the folder of the recordings when it is not the experiment file's own; `text` is what is to be written
    into the file, checked as if it stood there.
    """
    shipped = shipped_experiments()
    path = Path(source)
    if str(source) in shipped and not path.is_file() and (data is not None or not path.is_dir()):
        path = shipped[str(source)]
        if data is None:
            say = "say where its recordings are: --data FOLDER"
            raise FileProblem(str(source), "this experiment ships with palpate", remedy=say)
    elif path.is_dir():
        raise FileProblem(path, "is a folder, not an experiment file", remedy=_inside(path, str(source) in shipped))
    elif path.suffix.lower() not in (".yaml", ".yml") and not path.is_file():
        raise UnknownName("experiment file or shipped experiment", str(source), shipped)
    content = read_bytes(path, if_empty=BEGIN) if text is None else text.encode()
    tree, lines = parse(path, decoded(path, content))
    digest = hashlib.sha256(content).hexdigest()
    experiment = Experiment(path, path.parent if data is None else Path(data), cast("Any", None), lines, digest)
    stage = tree.get("stage", "handle")
    if stage not in ROOTS:
        raise experiment.problem("stage", unknown_name("stage", str(stage), ROOTS))
    try:
        experiment = replace(experiment, config=ROOTS[stage].model_validate(tree))
    except ValidationError as error:
        raise _most_telling(experiment, ROOTS[stage], tree, error) from None
    for place in lines:
        if _at(tree, place) is None:  # an unfinished line, not a wish for the default
            wanted = remedy(ROOTS[stage], place)
            complete = "remove the key, or complete it" + (f"; {wanted}" if wanted else "")
            raise experiment.problem(place, "this key has no value", complete)
    _check(experiment)
    return experiment


def _inside(folder: Path, ships: bool) -> str:
    """Which experiment files a folder holds, or what would be one."""
    inside = sorted(p for p in folder.glob("*.y*ml") if p.suffix in (".yaml", ".yml") and p.name != "metadata.yaml")
    named = " or ".join(str(p) for p in inside[:4])
    remedy = f"give {named}" if named else "there is no .yaml file in it: `palpate new` writes one"
    return remedy + (f"; {folder.name} that ships with palpate needs --data FOLDER" if ships else "")


def load_options(part: RecordingPart) -> dict[str, Any]:
    """The options with which `palpate.load` reads a recording as the experiment file describes it."""
    held = part.model_dump(include={"device", "g", "columns", "time", "rate", "header"} & part.model_fields_set)
    return {name: value for name, value in held.items() if value is not None}


def wrench_channels(part: WrenchPart, available: Sequence[str]) -> list[str]:
    """The names of f_x, f_y, f_z, n_x, n_y, n_z in a recording with these channels.

    As the experiment file states them; else dSPACE's of the device; else a column map of six, in its order.
    """
    if part.channels is not None:
        return part.channels
    number = 2 if part.device == "Platform_2" else 1
    usual = [f"{kind}{axis}{number}_RawZero" for kind in "FT" for axis in "xyz"]
    of_a_bag = [f"{kind}.{axis}" for kind in ("force", "torque") for axis in "xyz"]
    for names in (usual, of_a_bag):
        if set(names) <= {name.rpartition("/")[2] for name in available}:
            return names
    if part.columns is not None and len(part.columns) == 6:
        return list(part.columns)
    held = ", ".join(available[:24]) + (f", ... ({len(available)} in all)" if len(available) > 24 else "")
    raise DataProblem(
        "this key is missing",
        f"{part.file} does not hold the usual {usual[0]} to {usual[-1]}, but: {held}",
        remedy="name those that are f_x, f_y, f_z, n_x, n_y, n_z, for example channels: [fx, fy, fz, tx, ty, tz]",
    )


def check_reference_names(experiment: Experiment[ExperimentPart], known: Iterable[str], rows: Iterable[Row]) -> None:
    """Refuse reference values of what a result does not have; `known` are the names of its parameters."""
    names = [*known, *COMPARED, *(f"rms_{row.name}" for row in rows)]
    for i, part in enumerate(experiment.config.reference):
        for name in part.values or {}:
            if name not in names:
                place = f"{_reference_key(experiment, i)}.values.{name}"
                mass = "the mass is called m" if name.lower() == "mass" and "m" in names else ""
                raise experiment.problem(place, unknown_name("parameter", name, names), mass)


def _reference_key(experiment: Experiment[Any], i: int) -> str:
    """Where the i-th reference stands: a single one needs no list."""
    return f"reference.{i}" if ("reference", str(i)) in experiment.lines else "reference"


def recordings_of(experiment: Experiment[Any]) -> dict[str, RecordingPart]:
    """The recordings that an experiment file names, by their key."""
    recordings: schema.Part = experiment.config.recordings
    parts: dict[str, RecordingPart] = {}
    for name in type(recordings).model_fields:
        value: Any = getattr(recordings, name)
        for i, part in enumerate(cast("list[RecordingPart]", value if isinstance(value, list) else [value])):
            if part is not None:  # pyright: ignore[reportUnnecessaryComparison]
                parts[f"{name}.{i}" if isinstance(value, list) else name] = part
    return parts


def _check(experiment: Experiment[Any]) -> None:
    """What the schema cannot say: keys that fit the instruments, files that exist, segments that do not overlap."""
    config = experiment.config
    check_keys(experiment)
    files = [(f"recordings.{name}.file", experiment.path(p.file)) for name, p in recordings_of(experiment).items()]
    if isinstance(config, ExperimentPart):
        files += [
            (f"{_reference_key(experiment, i)}.file", experiment.source.parent / part.file)
            for i, part in enumerate(config.reference)
            if part.file is not None
        ]
        handles = [(key, h) for key, h in listed(config, "handle") if isinstance(h, str)]
        files += [(key, experiment.source.parent / h) for key, h in handles if h not in shipped_experiments()]
    for key, path in files:
        if not path.is_file() and not (path / "metadata.yaml").is_file():  # a ROS 2 bag is a folder
            with experiment.at(key):
                read_bytes(path)
    if isinstance(config, ExperimentPart) and config.segments is not None:
        check_segments(experiment)


Refusal = tuple[str, str, str]
"""A key, what is wrong with it, and what would be right."""


def check_keys(experiment: Experiment[Any], model: Model | None = None) -> None:
    """Refuse keys that would have no effect for these instruments and, given its model, for this object; then keys that
    are missing.
    """
    config = experiment.config
    without = (
        _without_effect(config, model) if isinstance(config, ExperimentPart) else _without_effect_on_motion(config)
    )
    refusals = [without, _missing(config)]
    if model is not None:
        refusals = [_wrong_stage(config, model), *refusals, _contradicting(config, model), _in_series(config, model)]
    for place, wrong, cure in chain.from_iterable(refusals):
        wanted = cure or remedy(ROOTS[config.stage], tuple(place.split(".")))
        raise experiment.problem(place, wrong, wanted)


def _without_effect(config: ExperimentPart, model: Model | None) -> Iterator[Refusal]:
    """Keys whose conditions do not hold; a prior or a mass of another part of the object than the stage identifies."""
    for place, names in _given(config, ""):
        for condition in (CONDITIONS[name] for name in names):
            acts = condition.holds(config) if condition.holds else model is None or condition.holds_for(model)
            if not acts:
                yield place, f"this key is only for {condition.where}", condition.remedy
    if config.derivatives.method == "published":
        yield "derivatives.method", "'published' is only for stage: motion", "write filtering: {type: published}"
    for key, part in (("prior", config.prior), ("known_mass", config.known_mass)):
        if part is not None and part.of is not None and (part.of == "handle") != (config.stage == "handle"):
            possible = "handle" if config.stage == "handle" else "body or whole"
            yield f"{key}.of", f"{part.of!r} is not possible in stage: {config.stage}", f"write {possible}"


def _without_effect_on_motion(config: MotionPart) -> Iterator[Refusal]:
    """The same where nothing is identified: what is for an IMU, and windows where nothing is differentiated by them."""
    for place, names in _given(config, ""):
        if "an IMU" in names and config.recordings.imu is None:
            yield place, f"this key is only for {CONDITIONS['an IMU'].where}", "leave it out"
        elif (
            place in ("derivatives.window", "derivatives.order")
            and config.derivatives.method == "fusion"
            and config.markers.hinge is None
        ):
            yield place, f"this key is only for {CONDITIONS['polynomials'].where}", "leave it out"


def _given(part: schema.Part, prefix: str) -> Iterator[tuple[str, list[str]]]:
    """Every key that the file gives, with the names of its conditions; parts before what is inside them."""
    for name, field in type(part).model_fields.items():
        if name not in part.model_fields_set:
            continue
        extra = cast("Mapping[str, list[str]]", field.json_schema_extra or {})
        yield f"{prefix}{name}", extra.get("only", [])
        value = getattr(part, name)
        if isinstance(value, schema.Part):
            yield from _given(value, f"{prefix}{name}.")
        for i, one in enumerate(cast("list[Any]", value) if isinstance(value, list) else []):
            yield from _given(one, f"{prefix}{name}.{i}.") if isinstance(one, schema.Part) else ()


_NEEDED = {
    "imu": ("recordings.wrench", "recordings.imu", "imu_pose"),
    "markers": ("recordings.mocap", "recordings.wrench", "segments", "markers.sensor"),
    "poses": ("recordings.wrench", "segments", "poses.sensor"),
    "table": ("segments",),
}
"""Keys that cannot be absent, by what measures the motion."""
_WHY = {
    "recordings.mocap": "give mocap or poses, and wrench; or signals alone",
    "markers.sensor": "it says where the load cell sits on the object",
    "poses.sensor": "it says where the load cell sits on the object",
}


def _missing(config: ExperimentPart | MotionPart) -> Iterator[Refusal]:
    """Keys that the stage and the instruments need, and why where that is not plain."""

    def held(place: str) -> bool:
        return attrgetter(place)(config) is not None

    def missing(place: str, why: str = "") -> Refusal:
        return place, f"this key is missing{why and f': {why}'}", ""

    if isinstance(config, ExperimentPart):
        if config.stage == "body" and "object" not in config.model_fields_set:
            yield missing("object")
        yield from (missing(place, _WHY.get(place, "")) for place in _NEEDED[config.motion_from] if not held(place))
        if config.handle is None and config.model_of != "body":
            yield missing("handle", f"model_of: {config.model_of} needs it")
        if config.handle is None and config.handle_2 is not None:
            yield missing("handle", "handle_2 is given")
        yield from problems_of(config)
    if config.clocks != "auto":
        for name in ("mocap", "poses", "imu", "wrench"):
            if getattr(config.recordings, name, None) is not None and getattr(config.clocks, name) is None:
                yield missing(f"clocks.{name}", "the file has such a recording")


def _wrong_stage(config: ExperimentPart, model: Model) -> Iterator[Refusal]:
    """A stage that cannot identify such an object."""
    mechanism = model.mechanism
    held = mechanism.main is not None or mechanism.placed or bool(mechanism.floor or mechanism.pivot)
    hangs = any(element.instrument for element in model.elements)  # as a handle, on its sensor
    if held != (config.stage == "body") and (held or hangs):
        wrong = f"stage: {config.stage} does not identify {model.name!r}, which {'is held' if held else 'moves freely'}"
        yield "object", wrong, f"write stage: {'body' if held else 'handle'}, or name another object"


def _in_series(config: ExperimentPart, model: Model) -> Iterator[Refusal]:
    """What two bodies in series must have, and what is not for them."""
    mechanism = model.mechanism
    if not mechanism.unmeasured:
        return
    inner, between = mechanism.unmeasured
    for place, kind, what in (
        *((str(place), "inertial", "{type: inertia}") for place in (mechanism.main, inner)),
        (between, "stores", "{type: stiffness}"),
    ):
        if not any(e.acts_on == place and getattr(e, kind) for e in model.elements):
            yield "object", f"{model.name!r}: of two bodies in series nothing like {what} acts on {place!r}", "add it"
    if config.recordings.signals is None:
        wrong = "two bodies in series are identified from a table of the outer one's position and force"
        yield "recordings", wrong, "give them as signals"
    given = {"method": config.method == "joint", "procedure": config.procedure == "two-step"}
    given |= {"robust": config.robust, "compensate": config.compensate}
    for key in (key for key, is_given in given.items() if is_given):
        yield (
            key,
            "this is not for two bodies in series, which are found from the positions as they are",
            "leave it out",
        )
    if any(shape.free for e in model.elements for shape in e.shapes):
        yield (
            "object",
            "zones of two bodies in series are not estimated",
            "state where they are, and leave estimate out",
        )


def _contradicting(config: ExperimentPart, model: Model) -> Iterator[Refusal]:
    """Positions in the unit of another freedom, what the rows cannot determine, and markers that do not say where the
    mechanism is.
    """
    mechanism = model.mechanism
    if config.method == "joint" and isinstance(config.filtering, schema.PublishedPart):
        yield "method", "a joint estimate has no published filters", "leave filtering out, or write method: balance"
    if config.method == "joint" and config.procedure == "two-step":
        yield "procedure", "a joint estimate has one step", "leave it out, or write method: balance"
    if config.method == "joint" and model.memory:
        names = ", ".join(e.name for e in model.elements if e.memory)
        wrong = f"a joint estimate looks at short pieces of the motion, in which {names} cannot know the way before"
        yield "method", wrong, "write method: balance"
    if config.method == "joint" and config.rows != "all":
        yield "rows", "a joint estimate weighs each row by its noise and leaves none out", "write method: balance"
    for i, options in enumerate(config.elements if config.procedure == "two-step" else ()):
        if options.get("estimate"):
            remedy = "leave it out, or write procedure: joint"
            yield f"elements.{i}.estimate", "zones are not estimated where the spring comes first", remedy
    if mechanism.estimated and (config.method == "joint" or config.procedure == "two-step"):
        wrong = "lengths are not estimated in two steps, nor by a joint estimate, which finds all links along"
        yield "mechanism.linkage", wrong, "leave its `estimate` out, or write method: balance and procedure: joint"
    if config.method == "joint" and config.robust:
        yield "robust", "a joint estimate weighs every sample by itself", "leave it out, or write method: balance"
    signals = config.recordings.signals
    several = mechanism.tabled and len(mechanism.rows) > 1
    if signals is not None and several and len(signals.coordinates or ()) != len(mechanism.rows):
        wrong = f"{model.name!r} moves in {len(mechanism.rows)} ways: name as many coordinates, and efforts along them"
        yield "recordings.signals", wrong, f"in the order {', '.join(row.name for row in mechanism.rows)}"
    if signals is not None and "" in mechanism.position_units:
        wrong = f"the mechanism {mechanism.type!r} does not declare the units of its positions"
        names = (*mechanism.state, *mechanism.accelerations)
        remedy = f"give it `units`, one each of {', '.join(names)}, such as rad, rad/s and rad/s2"
        yield "recordings.signals", wrong, remedy
    if config.known_mass is None and "m" in mechanism.hidden and "m" in model.parameters:
        wrong = f"this key is missing: no motion of a {mechanism.type} joint shows the mass"
        yield "known_mass", wrong, "weigh the object, for example {value: 6.2 kg, of: body}"
    if config.known_mass is None and config.rows == "moments":
        wrong = "this key is missing: the moments alone hardly determine the mass"
        yield "known_mass", wrong, "weigh the object, for example {value: 45 kg, of: whole}"
    if mechanism.main is not None:
        unit = mechanism.coordinates[mechanism.main]
        stated: dict[str, list[Any]] = {
            "stops": config.stops or [],
            "uncertain.closed": [config.uncertain and config.uncertain.closed],
        }
        stated["recordings.signals.zero"] = [config.recordings.signals and config.recordings.signals.zero]
        for place, values in stated.items():
            if any(isinstance(value, Position) and value.unit != unit for value in values):
                right, wrong = ("an angle", "a length")[:: 1 if unit == "rad" else -1]
                yield place, f"the position of {model.name!r} is {right}, not {wrong}", f"write {right}"
        if config.bias == "estimated":
            wrong = "with one freedom, a constant force on the load cell looks the same as a preloaded spring"
            yield "bias", f"it cannot be estimated here: {wrong}", "write bias: still or none"
    if config.motion_from == "poses" and mechanism.floor:
        wrong = "they do not show where the axle of an object that rolls is, or its frame on the floor"
        yield "recordings.poses", wrong, "give recordings.mocap"
    if config.motion_from == "markers":
        kinds = [joint.kind for joint in mechanism.joints]
        needed = mechanism.floor or ("hinge" if kinds == ["turn"] else None)
        if needed is not None and getattr(config.markers, needed) is None:
            yield f"markers.{needed}", "this key is missing: it says where the mechanism is", ""


def check_segments(experiment: Experiment[ExperimentPart]) -> None:
    """Refuse empty, reversed and overlapping segments; of different kinds, once both are samples (`segments_of`)."""
    segments = experiment.config.segments
    assert segments is not None
    named: list[tuple[str, bool, tuple[float, float]]] = []
    for name in type(segments).model_fields:
        part = getattr(segments, name)
        if part is None or isinstance(part, int):
            continue
        counted = isinstance(part, SamplesPart)
        pairs = cast("list[tuple[float, float]]", part.samples if counted else part)
        named += [(f"segments.{name}", counted, (float(a), float(b))) for a, b in pairs]
    for key, closed, (a, b) in named:
        if a > b or (a == b and not closed):
            raise experiment.problem(key, f"[{a:.10g}, {b:.10g}] {'is empty' if a == b else 'ends before it begins'}")
    fitted = [one for one in named if one[0] != "segments.static"]  # nothing is fitted to rest
    for i, (key, closed, (a, b)) in enumerate(fitted):
        for other, other_closed, (c, d) in fitted[:i]:
            # samples are counted with both ends, so that neighbours must not even share one
            if closed == other_closed and ((a < d and c < b) or (closed and a <= d and c <= b)):
                shared = f" (both hold sample {a if a == d else b:.10g})" if closed and (a == d or c == b) else ""
                wrong = f"[{a:.10g}, {b:.10g}] overlaps [{c:.10g}, {d:.10g}] of {other}{shared}"
                why = "a test on data used in the fit proves nothing" if key != other else "no time may count twice"
                raise experiment.problem(key, wrong, why)


_LIMITS = {
    "greater_than": "above",
    "greater_than_equal": "at least",
    "less_than": "below",
    "less_than_equal": "at most",
}
_UNUSABLE = {
    **dict.fromkeys(("model_type", "model_attributes_type", "dict_type"), "is not a group of keys"),
    **dict.fromkeys(("list_type", "tuple_type"), "is not a list"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "is neither true nor false"),
}
"""What is wrong with a value, by pydantic's type of the error."""


def _most_telling(experiment: Experiment[Any], root: Any, tree: Any, error: ValidationError) -> ExperimentProblem:
    """The most telling of pydantic's errors, in our own words; `root` is the schema of the whole file.

    An unknown key before all, as it explains the missing one; else what lies deepest: the branch of a union that was
    meant.
    """

    def located(error: Any) -> Place:
        """Pydantic's location without the names of a union's branches, which are not in the file."""
        node, at = tree, list[str]()
        for step in error["loc"]:
            if (isinstance(node, dict) and step in node) or (isinstance(node, list) and isinstance(step, int)):
                node = cast("Any", node)[step]
                at.append(str(step))
        return (*at, str(error["loc"][-1])) if error["type"] == "missing" else tuple(at)

    first = max(error.errors(), key=lambda e: (e["type"] == "extra_forbidden", len(located(e))))
    at, kind = located(first), first["type"]
    if kind == "extra_forbidden":  # keys of the branch that the file chose by its type, where it did
        parts, given = _parts(root, at[:-1]), _at(tree, at[:-1]).get("type")
        typed = [p for p in parts if "type" in p.model_fields and given in literals(p.model_fields["type"].annotation)]
        known = {name for part in typed or parts for name in part.model_fields}
        unknown = f"the key {at[-1]!r} does not go with the others here: say which type is meant"
        unknown = unknown if at[-1] in known else unknown_name("key", at[-1], known)
        homes = [name for name in root.model_fields if any(at[-1] in p.model_fields for p in _parts(root, (name,)))]
        if len(at) == 1 and homes:  # moved to the left, or never indented
            unknown = f"the key {at[0]!r} does not stand here but under {' or '.join(homes)}: indent it below that key"
        return ExperimentProblem(experiment.source, ".".join(at[:-1]), unknown, line=experiment.line(at))
    if kind == "missing":
        return experiment.problem(at, "this key is missing", remedy(root, at))
    if kind.startswith("union_tag"):
        at = (*at, "type")
    if kind == "union_tag_not_found":
        return experiment.problem(at, "this key is missing", f"write {' or '.join(sorted(_choices(root, at)))}")
    return experiment.problem(at, _words(root, at, first), remedy(root, at))


def remedy(root: Any, at: Place) -> str:
    """The schema's words on a place, and an example."""
    for end in range(len(at), 0, -1):
        for field in _fields(root, at[:end]):
            words = [f"wanted: {field.description}"] if field.description else []
            words += [f"for example {at[end - 1]}: {example}" for example in (field.examples or [])[:1]]
            if words:
                return ", ".join(words)
    return ""


def _words(root: Any, at: Place, error: Any) -> str:
    """One error of pydantic's in plain words; what is not known by its type is only called unusable."""
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    if value is None:
        return "this key has no value"
    if kind == "value_error":
        return str(context["error"])
    if kind in ("literal_error", "union_tag_invalid"):
        known = {str(v): repr(v) for v in _choices(root, at)}
        value = context.get("tag", value)
        near = get_close_matches(str(value), known, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        return f"{shown(value)} is not possible here.{hint} Possible: {', '.join(known.values())}"
    if kind in _LIMITS:
        limit = next(iter(context.values()))
        wanted = "positive" if kind == "greater_than" and limit == 0 else f"{_LIMITS[kind]} {limit:g}"
        return f"{shown(value)} is not possible: it must be {wanted}"
    if kind in ("too_short", "too_long"):
        wanted = context.get("min_length", context.get("max_length"))
        return f"{shown(value)} has {context['actual_length']} entries instead of {wanted}"
    if kind == "string_type":
        quoted = f': write "{value}" in quotes if that is meant' if isinstance(value, int | float) else ""
        return f"{shown(value)} is not a text{quoted}"
    return f"{shown(value)} {_UNUSABLE.get(kind, 'cannot be used here')}"


def _at(tree: Any, place: Place) -> Any:
    """What stands at a place of the file."""
    for step in place:
        tree = tree[int(step) if isinstance(tree, list) else step]
    return tree


def _parts(root: Any, at: Place) -> list[Any]:
    """The parts of the schema that may stand at a place; names of a map and numbers of a list lead no further."""
    parts: list[Any] = [root]
    for step in at:
        if any(step in part.model_fields for part in parts):
            fields = [part.model_fields[step] for part in parts if step in part.model_fields]
            parts = [c for field in fields for c in schema_classes(field.annotation)]
    return parts


def _fields(root: Any, at: Place) -> list[FieldInfo]:
    """The keys of the schema that may be meant at a place."""
    return [part.model_fields[at[-1]] for part in _parts(root, at[:-1]) if at[-1] in part.model_fields]


def _choices(root: Any, at: Place) -> list[Any]:
    return [value for field in _fields(root, at) for value in literals(field.annotation)]


def schema_classes(annotation: Any) -> list[Any]:
    """The parts of the schema inside a type."""
    if hasattr(annotation, "model_fields"):
        return [annotation]
    return [c for a in get_args(annotation) for c in schema_classes(a)]


def literals(annotation: Any) -> list[Any]:
    """The words that a type allows, those of the schema's parts inside it left out."""
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    if hasattr(annotation, "model_fields"):
        return []
    return [value for part in get_args(annotation) for value in literals(part)]


def object_model(experiment: Experiment[Any]) -> Model:
    """The object with what this experiment says differs; a model without values."""
    config = experiment.config
    path = experiment.source.parent / config.object
    parts = experiment.parts
    with experiment.at("object"):
        base = load_object(path if path.suffix in (".yaml", ".yml") else config.object, parts)
    elements = {e["name"]: e for e in base.to_dict()["elements"]}
    for i, name in enumerate(config.without):
        if name not in elements:
            added = name in (options.get("name") for options in config.elements)
            remedy = f"take it out of elements:, which adds it to {config.object}" if added else ""
            raise experiment.problem(f"without.{i}", str(UnknownName("element", name, elements)), remedy)
        del elements[name]
    given = {**base.to_dict()["mechanism"], "gravity": config.gravity}
    along = {**base.mechanism.coordinates, **_driven(config.mechanism, parts)}
    mechanism = _merged(given, _si(experiment, "mechanism", config.mechanism, given, along))
    places: dict[str, str] = {}
    model = _built(experiment, "mechanism", base.name, mechanism, [])
    for i, options in enumerate(config.elements):
        name = options.get("name")
        if not isinstance(name, str):
            raise experiment.problem(f"elements.{i}.name", "this key is missing: which element is it?")
        if name in places:
            raise experiment.problem(f"elements.{i}.name", f"there are two elements {name!r} in this list")
        places[name] = f"elements.{i}"
        elements[name] = _si(experiment, places[name], options, options, model.mechanism.coordinates)
    for name, part in elements.items():
        # an element of the object itself may miss a coordinate that the experiment's mechanism has not
        _built(experiment, places.get(name, "mechanism"), base.name, mechanism, [part])
    model = _built(experiment, "elements", base.name, mechanism, list(elements.values()))
    named = dict(zip(names_in_results(model), model.parameters.values(), strict=True))
    inertias = {n for e, mine in model.parts if e.inertial for n in mine}
    for key, names in (("fixed", model.parameters), ("known", named)):
        for name, value in getattr(config, key).items():
            if name not in names:
                raise experiment.problem(f"{key}.{name}", str(UnknownName("parameter", name, names)))
            wrong = (
                "" if name in model.parameters else "a centre of mass says nothing about the scale of force and torque"
            )
            if names[name].map == "positive" and value < 0:
                wrong = f"{value:g} {names[name].unit} is not possible: it must not be negative"
            elif names[name].map == "positive" and value == 0 and name in inertias:
                wrong = f"0 {names[name].unit} is not possible: nothing could be moved with any force"
            if wrong:
                raise experiment.problem(f"{key}.{name}", wrong)
    # links as long as houses: only their ratios count in the balance, so nothing else would show it
    lengths = [size for size, unit in model.mechanism.sizes.values() if unit == "m"]
    if lengths and not SHORTEST_M <= max(abs(length) for length in lengths) <= LONGEST_M:
        stated = ", ".join(f"{length:g}" for length in lengths)
        wrong = f"links of {stated} m do not belong to an object that people move by hand"
        raise experiment.problem("mechanism.linkage.lengths", wrong, "write the unit, such as 286 mm or 11.25 in")
    return model


def names_in_results(model: Model) -> list[str]:
    """What results call the parameters, in column order: centres of mass instead of their moments."""
    return [n.replace("mc_", "c_") if p.map == "inertia" else n for n, p in model.parameters.items()]


def option_units(
    part: Mapping[str, Any], coordinates: Mapping[str, str] | None = None, parts: Parts = SHIPPED
) -> dict[str, str]:
    """Units of a mechanism's, a linkage's or an element's options, by its type; others have none.

    Those of an element follow from the coordinate that it looks at, else from the one that it acts on; `coordinates`:
    name -> "rad" or "m".
    """
    kind = parts.types.get(str(part.get("type")))
    if kind is not None and kind in parts.linkages.values() and coordinates is not None:
        main = next(iter(coordinates.values()))
        return dict(kind.options_along(coordinates.get(str(part.get("after")), main)))
    if kind is None or kind not in parts.elements.values() or coordinates is None:
        return {} if kind is None else dict(kind.options)
    element = kind()
    named = (element.acts_on, *element.looks_at)
    choices = {f.name for f in fields(kind) if f.init and f.name != "name" and getattr(element, f.name) in named}
    element = replace(element, **{name: part[name] for name in choices if name in part}).on(coordinates)
    along = (element.acts_on, *element.looks_at)[-1]
    return {name: element.unit(unit, along) for name, unit in kind.options.items()}


def _driven(mechanism: Options, parts: Parts) -> dict[str, str]:
    """The coordinates that linkages of these options drive, by what they say in words alone: name -> "rad" or "m"."""
    given, driven = mechanism.get("linkage"), dict[str, str]()
    for part in cast("list[Options]", given if of_parts(given) else [given] if isinstance(given, dict) else []):
        kind = parts.linkages.get(str(part.get("type")))
        known = () if kind is None else {f.name for f in fields(kind) if f.init} - set(kind.options)
        with suppress(PalpateError):  # what is wrong with it is said when it is built
            if kind is not None:
                link = kind(**{k: v for k, v in part.items() if k in known and isinstance(v, str)})
                driven[link.coordinate] = link.unit
    return driven


def _built(experiment: Experiment[Any], key: str, name: str, mechanism: Options, elements: list[Options]) -> Model:
    with experiment.at(key):
        return Model.from_dict({"name": name, "mechanism": mechanism, "elements": elements}, experiment.parts)


def _merged(base: Options, given: Options) -> Options:
    """Options of the base, replaced by those given; parts of parts likewise, unless they are of another type.

    Of a list of parts the given list counts; what it says of one it adds to the part of the same coordinate.
    """
    merged = dict(base)
    for key, value in given.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            one, other = cast("Options", old), cast("Options", value)
            merged[key] = _merged(one, other) if other.get("type", one["type"]) == one["type"] else other
        elif of_parts(old) and of_parts(value):
            others = {part["coordinate"]: part for part in cast("list[Options]", old)}
            pairs = [(others.get(part.get("coordinate"), {}), part) for part in cast("list[Options]", value)]
            merged[key] = [_merged({"": a}, {"": b})[""] if a else b for a, b in pairs]
        else:
            merged[key] = value
    return merged


def of_parts(value: Any) -> bool:
    """Whether this is a list of parts, such as linkages."""
    listed = cast("list[Any]", value) if isinstance(value, list) else []
    return bool(listed) and all(isinstance(x, dict) for x in listed)


def same_part(part: Options, among: Any) -> Options:
    """Of parts (one, a list of them, none), the one that drives the same coordinate; the part itself if none does."""
    if not of_parts(among):
        return cast("Options", among) if isinstance(among, dict) else part
    named = [x for x in cast("list[Options]", among) if x.get("coordinate") == part.get("coordinate")]
    return named[0] if named else part


def _si(
    experiment: Experiment[Any],
    key: str,
    options: Options,
    typed: Mapping[str, Any],
    coordinates: Mapping[str, str] | None = None,
) -> Options:
    """Options with quantities as numbers in SI; an angle without its unit is refused. `typed` says their type."""
    units = option_units({**typed, **options}, coordinates, experiment.parts)

    def value(name: str, given: Any) -> Any:
        place = f"{key}.{name}"
        if isinstance(given, dict):
            part = cast("Options", given)
            return _si(experiment, place, part, same_part(part, typed.get(name)), coordinates)
        if isinstance(given, list):
            return [value(name, entry) for entry in cast("list[Any]", given)]
        number = isinstance(given, int | float) and not isinstance(given, bool)
        if name not in units or not (number or isinstance(given, str)):
            return given
        angle = units[name] == "rad"
        if angle and number and given != 0:
            raise experiment.problem(place, f"{given} has no unit", f"write {given} deg, or {given} rad")
        with experiment.at(place):
            return parse_quantity(given, "deg" if angle else units[name])

    return {name: value(name, given) for name, given in options.items()}
