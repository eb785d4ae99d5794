"""The verdict in one sentence, what it rests on, and warnings with what helps against them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from palpate.report.body_curves import short
from palpate.report.page import Table

_IMPERATIVES = (
    "add",
    "ask",
    "calibrate",
    "check",
    "correct",
    "declare",
    "export",
    "fix",
    "for",
    "give",
    "leave",
    "let",
    "look",
    "measure",
    "move",
    "name",
    "open",
    "put",
    "record",
    "repeat",
    "say",
    "shake",
    "state",
    "swap",
    "take",
    "to know",
    "try",
    "turn",
    "use",
    "weigh",
    "zero",
    "`",
)
_TURNS = re.compile(rf"(?:; |: |\. |\? )(?=(?:{'|'.join(_IMPERATIVES)})\b|`)", re.IGNORECASE)
_HINTS = (
    ("extrapolated", "move the object there too, in the train segments"),
    ("quasi-static", "record a slow sweep and name it in segments.quasi_static"),
    ("not identifiable", "excite it: move the object so that this effect acts, or leave the element out"),
    ("not in the data", "cross that border at speed in both directions, or keep it as given"),
    ("prior", "move the object more, or declare the prior's spread as it is"),
    ("kappa", "vary the motion: each direction, fast and slow"),
    ("drift", "nothing to do: it is taken into account"),
    ("gap", "keep the markers in sight, or leave that time out of the segments"),
    ("stop", "state stops:, or keep away from them"),
    ("noise", "filter less, or use a quieter instrument"),
    ("replay", "look at the windows in the section Replay"),
    ("moved", "nothing to do where it was repaired; glue it better next time"),
    ("swapped", "nothing to do: it was repaired; label it again in the capture software to be sure"),
)
"""What helps, by a word of the message, where the message itself does not say it."""


def verdict_sentence(data: Mapping[str, Any]) -> str:
    """Passed or failed, how well unseen data are explained, and what stands behind the parameters."""
    verdict, what = data["verdict"], _subject(data)
    if not verdict["passed"]:
        reasons = [str(r) for r in verdict["reasons"]]
        if not reasons:
            return f"Failed: the model of {what} is not to be trusted."
        why, helps = split_remedy(reasons[0])
        more = f" {len(reasons) - 1} more reason{'s' if len(reasons) > 2 else ''} below." if reasons[1:] else ""
        return f"Failed: the model of {what} is not to be trusted, because {why}; {helps}.{more}"
    worst = worst_error(data)
    explains = "" if worst is None else f"explains unseen data to {short(worst[1])} % of their range"
    if worst is not None and len(data["rms"]["test"]) > 1:
        explains += f" in the worst channel ({worst[0]})"
    said = f"the model of {what} {explains or 'met every quality gate'}"
    return f"Passed: {said}; {parameters_in_words(data)}."


def parameters_in_words(data: Mapping[str, Any]) -> str:
    """How many parameters come from the data, and which do not."""
    by: dict[str, list[str]] = {}
    for name, entry in data["parameters"].items():
        by.setdefault(entry["status"], []).append(name)
    asked = {s: names for s, names in by.items() if s != "fixed"}
    total, known = sum(len(n) for n in asked.values()), len(asked.get("identified", ()))
    if total == known:
        words = f"all {total} parameters are identified"
    elif len(asked.get("prior-dominated", ())) == total:
        return f"all {total} parameters lean on the prior" + (f" ({len(by['fixed'])} fixed)" if "fixed" in by else "")
    else:
        words = f"{known} of {total} parameters are identified"
    if "prior-dominated" in asked:
        words += f", {_listed(asked['prior-dominated'])} lean{'s' * (len(asked['prior-dominated']) == 1)} on the prior"
    if "not-identifiable" in asked:
        words += (
            f", {_listed(asked['not-identifiable'])} {'is' if len(asked['not-identifiable']) == 1 else 'are'} not known"
        )
    return words + (f" ({len(by['fixed'])} fixed)" if "fixed" in by else "")


def worst_error(data: Mapping[str, Any]) -> tuple[str, float] | None:
    """Channel and test error in percent of its range, where that is largest."""
    found = {n: e["percent_of_range"] for n, e in data.get("rms", {}).get("test", {}).items()}
    known = {n: float(v) for n, v in found.items() if v is not None}
    return max(known.items(), key=lambda item: item[1]) if known else None


def at_a_glance(data: Mapping[str, Any]) -> Table:
    """The few numbers that people ask for first."""
    rows: list[tuple[str, str]] = [("parameters", parameters_in_words(data))]
    for name, entry in data.get("rms", {}).get("test", {}).items():
        percent = entry["percent_of_range"]
        share = "" if percent is None else f", {percent:.2f} % of range"
        rows.append((f"test error of {name} (RMS)", f"{entry['value']:.3g} {entry['unit']}{share}"))
    if "kappa" in data:
        kappa = data["kappa"]
        rows.append(("kappa, from data alone", "infinite" if kappa is None else f"{kappa:.1f} (limit 100)"))
    replay: Mapping[str, Any] = data.get("replay") or {}
    if replay.get("rms") is not None:
        rows.append(("replay, force in, motion out", _replayed(replay)))
    segments = data.get("provenance", {}).get("segments", {})
    lengths = [
        f"{name.replace('_', '-')} {sum(b - a for a, b in spans):.0f} s"
        for name, spans in segments.items()
        if name != "unit" and spans
    ]
    if lengths:
        rows.append(("data", ", ".join(lengths)))
    return Table(("at a glance", "result"), tuple(rows), words=(0, 1))


def remedies(warnings: tuple[str, ...], title: str = "") -> Table:
    """Each warning beside what helps."""
    rows = tuple(split_remedy(text) for text in warnings)
    title = title or _plural(len(rows), "Warning")
    return Table(("what was noticed", "what helps"), rows, title=title, words=(0, 1), prose=True)


def split_remedy(text: str) -> tuple[str, str]:
    """A message as what is wrong, and what to do about it: its own advice, else that for its kind."""
    found = _TURNS.search(text)
    if found is not None:
        return _sentence(text[: found.start() + (1 if text[found.start()] in ".?" else 0)]), _sentence(
            text[found.end() :]
        )
    advice = next(
        (hint for word, hint in _HINTS if word in text.lower()), "look at the figures before you use the model"
    )
    return _sentence(text), _sentence(advice)


def _replayed(replay: Mapping[str, Any]) -> str:
    unit = str(replay.get("unit", "rad"))
    value, shown = (57.29577951308232 * replay["rms"], "deg") if unit == "rad" else (replay["rms"], unit)
    windows = f" over {replay['windows']} windows" if "windows" in replay else ""
    length = f" of {replay['window_s']:g} s" if "window_s" in replay else ""
    return f"{short(value)} {shown} RMS{windows}{length}"


def _subject(data: Mapping[str, Any]) -> str:
    return "the handle" if data.get("stage") == "handle" else f"the {data.get('model_of', 'body')}"


def _listed(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:3])} and {len(names) - 3} more"


def _plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"


def _sentence(text: str) -> str:
    """As the terminal has it, so that people find it there."""
    return text.strip().rstrip(".;:,")
