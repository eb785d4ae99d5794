"""The studio's pages and answers: thin over the bench; every known error is a sentence in the page."""

from __future__ import annotations

import base64
import json
import math
import mimetypes
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import resources
from pathlib import Path
from typing import Any, cast

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from palpate import web
from palpate.errors import FileProblem, PalpateError
from palpate.export.js import js_source
from palpate.model import Model
from palpate.studio import pages, wizard
from palpate.studio.bench import KINDS, Bench, Segments
from palpate.studio.document import Stale
from palpate.studio.folder import Folder
from palpate.studio.security import POLICY, Guard

INLINE = "script-src 'unsafe-inline' blob:; style-src 'unsafe-inline'; img-src data: blob:"
SANDBOX = f"sandbox allow-scripts; default-src 'none'; {INLINE}"
"""For pages that lie in the folder: whoever wrote them may not speak for the studio."""
SHOWN = (".html", ".json", ".svg", ".png", ".csv", ".yaml", ".js", ".txt", ".md")
"""Files of results that the page links to."""


@dataclass(slots=True)
class Session:
    """The folder, and the experiment that is open."""

    folder: Folder
    chosen: tuple[str, ...] = ()
    """Recordings that were named on the command line."""
    bench: Bench | None = None
    opened: dict[str, Bench] = field(default_factory=dict[str, Bench])
    _lock: Any = field(default_factory=threading.Lock)

    def open(self, name: str) -> Bench:
        """Put an experiment on the bench; one that was there stays as it is."""
        path = self.folder.path(name)
        if not path.is_file():
            raise FileProblem(name, "there is no such file", remedy="it may have been moved: look at the list again")
        self.bench = self._opened(path)
        return self.bench

    def bench_of(self, name: str) -> Bench:
        """The open experiment of this name."""
        own = self.folder.name(self.folder.path(name))
        return self.opened[own] if own in self.opened else self.open(name)

    def _opened(self, path: Path) -> Bench:
        """One bench a file, however it is called and whoever asks at once: its lock guards the file."""
        name = self.folder.name(path)
        with self._lock:
            if name not in self.opened:
                self.opened[name] = Bench(self.folder, self.folder.root / name)
            return self.opened[name]

    def close(self) -> None:
        """End what runs."""
        for bench in self.opened.values():
            bench.close()


def build_app(session: Session, token: str, hosts: frozenset[str], port: int) -> Any:
    """The studio as an ASGI application."""
    answers: dict[str, Callable[[Session, dict[str, Any]], Any]] = {
        "open": lambda s, x: s.open(_text(x, "file")).state(),
        "answer": lambda s, x: _bench(s, x).answer(_segments(x)),
        "segments": lambda s, x: _then(_bench(s, x), lambda b: b.set_segments(_segments(x), _text(x, "revision"))),
        "change": lambda s, x: _then(_bench(s, x), lambda b: b.change(_map(x, "changes"), _text(x, "revision"))),
        "undo": lambda s, x: _then(_bench(s, x), lambda b: b.undo(_text(x, "revision"))),
        "reload": lambda s, x: _then(_bench(s, x), lambda b: b.refresh(again=True)),
        "variants": lambda s, x: _bench(s, x).rank(),
        "adopt": lambda s, x: _then(_bench(s, x), lambda b: b.adopt(_text(x, "name"), _text(x, "revision"))),
        "search": lambda s, x: _then(
            _bench(s, x),
            lambda b: b.search(_text(x, "name"), _text(x, "revision"), wanted=x.get("wanted") is True),
        ),
        "save": lambda s, x: {"written": _bench(s, x).save_result()},
        "lines": _lines,
        "scene": lambda s, x: _bench(s, x).scene(_number(x, "from"), _number(x, "to")),
        "laws": lambda s, x: _bench(s, x).laws(),
        "guess": lambda s, x: wizard.guess(s.folder, _texts(x, "files"), str(x.get("header") or ""), _rate(x)),
        "draft": lambda s, x: wizard.draft(s.folder, _text(x, "file"), _text(x, "text"), _map(x, "changes")),
        "create": lambda s, x: s.open(
            s.folder.name(wizard.create(s.folder, _text(x, "file"), _text(x, "text")))
        ).state(),
        "compare": lambda s, x: pages.compared(s.folder, _texts(x, "results")),
    }

    async def asked(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in answers:
            return _sentence(404, f"there is no {name!r} here")
        try:
            given: Any = json.loads(await request.body() or b"{}", parse_constant=_finite, parse_float=_finite)
        except (ValueError, RecursionError):
            return _sentence(400, "the request is not JSON")
        if not isinstance(given, dict):
            return _sentence(400, "the request is no object")
        return await _answered(lambda: answers[name](session, cast("dict[str, Any]", given)))

    async def state(request: Request) -> Response:
        name = request.query_params.get("file", "")
        return await _answered(lambda: session.bench_of(name).state())

    async def listing(_: Request) -> Response:
        def listed() -> dict[str, Any]:
            current = None if session.bench is None else session.folder.name(session.bench.path)
            return session.folder.listing() | {"chosen": session.chosen, "open": current}

        return await _answered(listed)

    async def in_folder(request: Request) -> Response:
        return await _answered(lambda: _file(session.folder.path(request.path_params["path"])))

    async def judged(request: Request) -> Response:
        kind, asked = request.path_params["kind"], request.query_params
        results = asked.getlist("result")

        def made() -> Response:
            if kind == "compare":
                text = pages.comparison_page(session.folder, results)
            elif kind == "validate" and len(results) == 1:
                text = pages.validation_page(session.folder, results[0], asked.get("file", ""))
            else:
                raise PalpateError(f"there is no page {kind!r} of {len(results)} results")
            return HTMLResponse(text, headers={"content-security-policy": SANDBOX})

        answer = await _answered(made)
        if answer.status_code == 200:
            return answer
        return PlainTextResponse(json.loads(bytes(answer.body))["error"])  # in the frame, where the page would be

    async def report(request: Request) -> Response:
        def made() -> Response:
            full = session.bench_of(request.query_params.get("file", "")).full
            return _sentence(404, "there is no report yet") if full is None else _file(full.out / "report.html")

        return await _answered(made)

    async def model(request: Request) -> Response:
        asked = request.query_params
        return await _answered(lambda: _module(session, asked.get("file", ""), asked.get("beside", "")))

    routes = [
        Route("/", _page),
        Route("/page/{path:path}", _asset),
        Route("/web/{path:path}", _web),
        Route("/api/state", state),
        Route("/api/folder", listing),
        Route("/api/report", report),
        Route("/api/model.js", model),
        Route("/api/page/{kind}", judged),
        Route("/api/{name}", asked, methods=["POST"]),
        Route("/files/{path:path}", in_folder),
    ]

    @asynccontextmanager
    async def alive(_: Starlette) -> AsyncGenerator[None]:
        yield
        session.close()  # whatever ends the server

    return Guard(Starlette(routes=routes, lifespan=alive), token, hosts, port)


async def _answered(answer: Callable[[], Any]) -> Response:
    """What a function returns, as JSON; a known error as a sentence. It runs beside the event loop."""
    from starlette.concurrency import run_in_threadpool

    try:
        made = await run_in_threadpool(answer)
        return made if isinstance(made, Response) else JSONResponse(made)
    except Stale as error:
        return _sentence(409, str(error))
    except PalpateError as error:
        return _sentence(422, str(error))
    except (ValueError, LookupError, OverflowError, RuntimeError, OSError) as error:
        return _sentence(422, f"this cannot be answered ({type(error).__name__}: {error})")


def _sentence(status: int, text: str) -> Response:
    return JSONResponse({"error": text}, status)


def _then(bench: Bench, act: Callable[[Bench], None]) -> dict[str, Any]:
    act(bench)
    return bench.state()


async def _page(_: Request) -> Response:
    """The page, with the names under which its modules import each other."""
    names = {f"palpate/{name}": f"/web/{name}.js" for name in web.MODULES}
    vendored = {name: f"/web/vendor/{name}.min.js" for name in ("three", "uplot")}
    imports = json.dumps({"imports": {**names, **vendored}})
    text = (resources.files("palpate.studio") / "page" / "index.html").read_text(encoding="utf-8")
    allowed = base64.b64encode(sha256(imports.encode()).digest()).decode()  # the one script that stands in the page
    policy = f"{POLICY}; script-src 'self' 'sha256-{allowed}'"
    return HTMLResponse(text.replace("@importmap@", imports), headers={"content-security-policy": policy})


async def _asset(request: Request) -> Response:
    return await _answered(lambda: _shipped("palpate.studio", f"page/{request.path_params['path']}"))


async def _web(request: Request) -> Response:
    return await _answered(lambda: _shipped("palpate.web", request.path_params["path"]))


def _shipped(package: str, name: str) -> Response:
    """A file of the page, or one that pages share."""
    root = Path(str(resources.files(package))).resolve()
    path = (root / name).resolve()  # an absolute name would replace the root
    if not path.is_relative_to(root) or path.suffix in (".py", ".pyc") or not path.is_file():
        return PlainTextResponse("there is no such file", 404)
    kind = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}.get(path.suffix)
    return Response(path.read_bytes(), media_type=kind or mimetypes.guess_type(name)[0] or "application/octet-stream")


def _file(path: Path) -> Response:
    """A file of the folder, to look at."""
    if not path.is_file() or path.suffix.lower() not in SHOWN or path.name.startswith("."):
        return _sentence(404, f"there is no {path.name} to show")
    headers = {"content-security-policy": SANDBOX}
    kind = mimetypes.guess_type(path.name)[0] or "text/plain"
    return FileResponse(path, headers=headers, media_type="text/plain" if path.suffix == ".yaml" else kind)


def _module(session: Session, name: str, beside: str) -> Response:
    """The model on the bench as an ES module; beside: "result:" and a result's file, "reference:" and its label."""
    kind, _, which = beside.partition(":")
    bench = session.bench_of(name)
    if kind == "result":
        made: tuple[Model, str] | None = bench.between(Model.load(session.folder.beside(which, "model.json")))
    else:
        made = bench.model(which if kind == "reference" else None)
    if made is None:
        raise PalpateError("there is no model yet")
    model, note = made
    text = f"{js_source(model).module}\nexport const note = {json.dumps(note.strip())};\n"
    return Response(text, media_type="text/javascript")


def _lines(session: Session, given: dict[str, Any]) -> Any:
    bench = _bench(session, given)
    ends = _number(given, "from"), _number(given, "to")
    return bench.lines(_texts(given, "keys"), *ends, int(_number(given, "pixels")))


# --- what a request holds -----------------------------------------------------------------------------------------


def _bench(session: Session, given: dict[str, Any]) -> Bench:
    return session.bench_of(_text(given, "file"))


def _text(given: dict[str, Any], key: str) -> str:
    value = given.get(key)
    if not isinstance(value, str):
        raise PalpateError(f"the request lacks {key!r}")
    return value


def _texts(given: dict[str, Any], key: str) -> list[str]:
    value = given.get(key)
    if not isinstance(value, list) or not all(isinstance(x, str) for x in cast("list[Any]", value)):
        raise PalpateError(f"the request lacks the list {key!r}")
    return cast("list[str]", value)


def _map(given: dict[str, Any], key: str) -> dict[str, Any]:
    value = given.get(key)
    if not isinstance(value, dict):
        raise PalpateError(f"the request lacks {key!r}")
    return cast("dict[str, Any]", value)


def _number(given: dict[str, Any], key: str) -> float:
    value = given.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PalpateError(f"the request lacks the number {key!r}")
    return float(value)


def _finite(text: str) -> float:
    """A number of JSON; NaN and infinities are none."""
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value


def _rate(given: dict[str, Any]) -> float | None:
    return None if given.get("rate") in (None, "") else _number(given, "rate")


def _segments(given: dict[str, Any]) -> Segments:
    try:
        spans = {k: [(float(a), float(b)) for a, b in v] for k, v in _map(given, "segments").items() if k in KINDS}
    except (TypeError, ValueError):
        raise PalpateError("segments are lists of [from, to] in s") from None
    return {kind: spans.get(kind, []) for kind in KINDS}
