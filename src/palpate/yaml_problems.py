"""What is wrong with a YAML file that cannot be read, in words for people who edit it: where, what, and what would be
right.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple


class YamlProblem(NamedTuple):
    """What stands in the way, and what to write instead."""

    line: int | None
    """Counted from 1."""
    problem: str
    remedy: str


def yaml_problem(text: str, error: Exception) -> YamlProblem:
    """The cause behind an error of the YAML parser, which names what it expected and not what a person did."""
    mark, begun = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
    said = str(getattr(error, "problem", None) or error or "").split("\n")[0]
    said += " in a quoted text" if "quoted scalar" in str(getattr(error, "context", "")) else ""
    line = None if mark is None else int(mark.line) + 1
    opened = None if begun is None else int(begun.line) + 1
    lines = text.splitlines()
    if mark is None and isinstance(error, ValueError):  # what looks like a date and is none
        return YamlProblem(None, said, "put text that looks like a date into quotes")
    return (
        _duplicate(said, lines, line)
        or _tab(said, lines, line)
        or _unclosed(said, lines, line, opened)
        or _space(lines, line, opened)
        or _colon(said, lines, line, opened)
        or _indented(said, lines, line)
        or _sign(said, mark)
        or YamlProblem(line, f"this is not YAML ({said or 'not valid'})", "check indentation, brackets and quotes")
    )


def _duplicate(said: str, lines: list[str], line: int | None) -> YamlProblem | None:
    twice = re.match(r'found duplicate key "(.*?)" with value', said)
    if twice is None:
        return None
    key = re.compile(rf"\s*(- )?{re.escape(twice[1])}\s*:").match
    same = [i + 1 for i, content in enumerate(lines) if key(content)]
    where = f" (lines {', '.join(map(str, same))})" if len(same) > 1 else ""
    return YamlProblem(line, f"the key {twice[1]!r} appears twice{where}", "remove one of them, or join what they hold")


def _tab(said: str, lines: list[str], line: int | None) -> YamlProblem | None:
    """Only at the beginning of a line: elsewhere a tab is a space."""
    if line is None or not ("token" in said or "block end" in said or "expected" in said):
        return None
    for at in range(line, max(line - 2, 0), -1):
        if at <= len(lines) and "\t" in re.match(r"\s*", lines[at - 1])[0]:  # pyright: ignore[reportOptionalSubscript]
            return YamlProblem(at, "the line begins with a tab", "indent with spaces, two for each level")
    return None


def _unclosed(said: str, lines: list[str], line: int | None, opened: int | None) -> YamlProblem | None:
    """Brackets and quotes: the parser notices them where something else begins."""
    if "expected ',' or" in said:
        bracket = said.partition("expected ',' or ")[2][1:2]
        opening = {"]": "[", "}": "{"}.get(bracket, "[")
        counted = lines[opened - 1] if opened is not None and opened <= len(lines) else ""
        wrong_one = "but got ']'" in said or "but got '}'" in said
        if wrong_one or (counted.count(opening) > counted.count(bracket) and opened != line):
            return YamlProblem(opened, f"the bracket {opening} is not closed", f"end the list with {bracket}")
        return YamlProblem(opened or line, f"between {opening} and {bracket} a comma is missing", _EXAMPLE[bracket])
    if "stream end" in said:
        wide = [i + 1 for i, x in enumerate(lines) if sum(map(x.count, "[{")) > sum(map(x.count, "]}"))]
        return YamlProblem(wide[-1], "a bracket is not closed", "close it with ] or }") if wide else None
    if "quoted text" in said:
        return YamlProblem(opened or line, "a quote is opened and not closed", "put a quote at both ends of the text")
    return None


_EXAMPLE = {
    "]": "write a list as [3, 40], with commas between its entries",
    "}": "write {column: torque, unit: N m}, with commas between the keys",
}


def _space(lines: list[str], line: int | None, opened: int | None) -> YamlProblem | None:
    """A key needs a space after its colon, an entry one after its dash."""
    for at in (x for x in (line, opened, None if line is None else line - 1) if x and x <= len(lines)):
        content = lines[at - 1].strip()
        if key := re.match(r"(\w+):(?=[^\s/\\])(\S*)", content):
            return YamlProblem(at, f"there is no space after the colon of {key[1]!r}", f"write {key[1]}: {key[2]}")
        if entry := re.match(r"-(?=[^\s\d.-])(\S.*)", content):
            return YamlProblem(at, "there is no space after the dash", f"write - {entry[1]}")
    return None


def _colon(said: str, lines: list[str], line: int | None, opened: int | None) -> YamlProblem | None:
    if "could not find expected ':'" in said and opened is not None:
        word = lines[opened - 1].strip().split()[0] if lines[opened - 1].strip() else "the key"
        return YamlProblem(opened, f"there is no colon after {word!r}", f"write {word}: and then its value")
    if "mapping values are not allowed" not in said or line is None:
        return None
    content = lines[line - 1].split(" #")[0]
    before = lines[line - 2] if line > 1 else ""
    if len(re.findall(r":(?=\s)", content)) > 1 and "{" not in content:
        return YamlProblem(line, "there is a second colon in this line", 'put text with a colon into quotes: "a: b"')
    if before.strip() and _depth(content) > _depth(before) and not before.split(" #")[0].rstrip().endswith(":"):
        if ":" not in before:
            word = before.strip().split()[0]
            return YamlProblem(line - 1, f"there is no colon after {word!r}", f"write {word}: and then its value")
        wrong = f"the line is indented by {_spaces(_depth(content))}, though the key above has its value already"
        return YamlProblem(line, wrong, f"begin it below the key above, with {_spaces(_depth(before))}")
    if before.strip() and ":" not in before and not before.strip().startswith(("-", "#")):
        word = before.strip().split()[0]
        return YamlProblem(line - 1, f"there is no colon after {word!r}", f"write {word}: and then its value")
    return YamlProblem(line, "a colon stands where none can be", 'put text with a colon into quotes: "a: b"')


def _indented(said: str, lines: list[str], line: int | None) -> YamlProblem | None:
    if line is None or not ("block end" in said or "block mapping" in said or "block collection" in said):
        return None
    depth, sign = _depth(lines[line - 1]), lines[line - 1].lstrip()[:1]
    if sign in ("]", "}"):
        return YamlProblem(line, f"the bracket {sign} closes nothing", "remove it, or open it above")
    above = [i + 1 for i, x in enumerate(lines[: line - 1]) if x.strip() and not x.strip().startswith("#")]
    if not above:
        return None
    same = min(reversed(above), key=lambda i: abs(_depth(lines[i - 1]) - depth))
    key = max((i for i in above if _depth(lines[i - 1]) < depth), default=0)
    beside = next((i for i in above if i > key and _depth(lines[i - 1]) > depth), None)
    if beside is not None and beside == key + 1 > 1 and sign != "-" and _depth(lines[same - 1]) == depth:
        wrong = f"the line is indented by {_spaces(depth)}, and line {beside} below the same key by "
        return YamlProblem(line, wrong + _spaces(_depth(lines[beside - 1])), "indent both alike")
    if _depth(lines[same - 1]) == depth:
        wrong = "the line does not go on with what stands above"
        return YamlProblem(line, wrong, "keys end with a colon, entries of a list begin with a dash: do not mix them")
    wrong = f"the line is indented by {_spaces(depth)}, which fits none of the keys above"
    return YamlProblem(line, wrong, f"indent it by {_spaces(_depth(lines[same - 1]))}, like line {same}")


def _sign(said: str, mark: Any) -> YamlProblem | None:
    found = re.search(r"found character '(.)' that cannot start|undefined alias", said)
    if found is None or mark is None:
        return None
    sign = found[1] or "*"
    return YamlProblem(int(mark.line) + 1, f"a value cannot begin with {sign}", f'put it into quotes: "{sign}..."')


def _spaces(count: int) -> str:
    return "no space" if count == 0 else "1 space" if count == 1 else f"{count} spaces"


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
