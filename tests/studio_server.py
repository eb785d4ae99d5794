"""A studio that really listens, in a thread of the test, and requests to it as a browser or a stranger sends them."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.conftest import needs

uvicorn = needs("uvicorn", "studio")


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Client:
    address: str

    @property
    def port(self) -> int:
        port = urlsplit(self.address).port
        assert port is not None
        return port

    @property
    def token(self) -> str:
        return urlsplit(self.address).query.removeprefix("token=")

    def ask(self, path: str, given: Any = None, raw: bytes | None = None, **headers: str | None) -> Answer:
        """POST with something given, else GET; headers: `Host=...`, `x_token=None` leaves one out."""
        wanted = {"Host": f"127.0.0.1:{self.port}", "x-token": self.token}
        wanted |= {k.replace("_", "-"): v for k, v in headers.items()}
        body = raw if raw is not None else None if given is None else json.dumps(given).encode()
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.putrequest("GET" if body is None else "POST", path, skip_host=True)
        for name, value in wanted.items():
            if value is not None:
                connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        response = connection.getresponse()
        answer = Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        connection.close()
        return answer

    def state(self, file: str) -> Any:
        return self.ask(f"/api/state?file={file}").json

    def settled(self, file: str) -> Any:
        """The state once everything is read and fitted, or has failed."""
        for _ in range(4800):
            state = self.state(file)
            if state["work"]["phase"] in ("ready", "failed"):
                return state
            time.sleep(0.05)
        raise AssertionError(state["work"])


@contextmanager
def running(*paths: Path) -> Iterator[Client]:
    """A studio on these paths, with the next free port."""
    from palpate.studio.serve import start_studio

    studio = start_studio(paths)
    server = uvicorn.Server(uvicorn.Config(studio.app, log_level="error", access_log=False))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [studio.socket]})
    thread.start()
    try:
        yield Client(studio.address)
    finally:
        server.should_exit = True
        thread.join(20)
        studio.session.close()
        studio.socket.close()
