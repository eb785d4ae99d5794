"""Starting the studio: a free port on this machine, a token, the browser; Ctrl-C ends it."""

from __future__ import annotations

import os
import secrets
import socket
import threading
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from palpate.errors import MissingExtra, PalpateError
from palpate.studio.folder import YAML, Folder, folder_of

PORT, TRIED = 8765, 20
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Studio:
    """A studio that listens, and runs when told."""

    address: str
    app: object
    socket: socket.socket
    session: object

    def run(self, *, browser: bool = True) -> None:
        """Serve until Ctrl-C."""
        import uvicorn

        config = uvicorn.Config(self.app, log_level="error", access_log=False, timeout_graceful_shutdown=2)  # pyright: ignore
        if browser:
            opener = threading.Timer(0.5, lambda: webbrowser.open(self.address))
            opener.daemon = True
            opener.start()
        try:
            with suppress(KeyboardInterrupt):
                uvicorn.Server(config).run(sockets=[self.socket])
        finally:
            self.session.close()  # pyright: ignore
            self.socket.close()


def start_studio(paths: Sequence[Path], *, host: str = "127.0.0.1", port: int | None = None) -> Studio:
    """A studio on a folder, an experiment or recordings; without a port, the first free one from 8765 on."""
    try:
        import uvicorn as _needed  # noqa: F401  # pyright: ignore[reportUnusedImport]

        from palpate.studio.api import Session, build_app
    except ImportError:
        raise MissingExtra("Starlette or uvicorn", "studio", "the studio") from None
    root, experiment, recordings = _chosen(paths)
    folder = Folder(root)
    listening = _bound(host, port)
    port = int(listening.getsockname()[1])
    token = secrets.token_urlsafe(24)
    names = {host, *LOOPBACK} if host in LOOPBACK else {host, *LOOPBACK, socket.gethostname()}
    if host in ("0.0.0.0", "::"):
        names |= set(_own_addresses())
    hosts = frozenset(f"[{name}]:{port}" if ":" in name else f"{name}:{port}" for name in names)
    session = Session(folder, tuple(folder.name(p) for p in recordings))
    if experiment is not None:
        session.open(folder.name(experiment))
    shown = "127.0.0.1" if host in ("0.0.0.0", "::", *LOOPBACK) else host
    address = f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/?token={token}"
    return Studio(address, build_app(session, token, hosts, port), listening, session)


def _chosen(paths: Sequence[Path]) -> tuple[Path, Path | None, list[Path]]:
    """The folder, the experiment if one was named, and the recordings if those were."""
    root = folder_of(paths)
    experiments = [p for p in paths if p.is_file() and p.suffix.lower() in YAML]
    recordings = [p for p in paths if p.is_file() and p not in experiments]
    if len(experiments) > 1:
        raise PalpateError("the studio opens one experiment at a time: name one, or the folder that holds them")
    # what a file names does not widen the folder that it is confined to
    return root.resolve(), experiments[0] if experiments else None, recordings


def _bound(host: str, port: int | None) -> socket.socket:
    """A socket that listens; a port that was asked for is taken or refused, else the next free one is."""
    for candidate in range(PORT, PORT + TRIED) if port is None else [port]:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.socket(family, socket.SOCK_STREAM)
        if os.name == "posix":  # elsewhere it would let two studios share a port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, candidate))
            listening.listen(64)
            return listening
        except PermissionError:
            listening.close()
            raise PalpateError(f"port {candidate} needs more rights: choose one above 1023") from None
        except socket.gaierror:
            listening.close()
            raise PalpateError(f"--host {host}: this machine has no such address") from None
        except OSError as error:
            listening.close()
            if port is not None:
                wrong = "is in use" if error.errno in (98, 48, 10048) else f"cannot be used ({error.strerror})"
                raise PalpateError(
                    f"port {port} of {host} {wrong}: choose another with --port, or leave it out"
                ) from None
    raise PalpateError(f"ports {PORT} to {PORT + TRIED - 1} are all in use: name a free one with --port")


def _own_addresses() -> list[str]:
    with suppress(OSError):
        return [str(info[4][0]) for info in socket.getaddrinfo(socket.gethostname(), None)]
    return []
