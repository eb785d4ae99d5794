"""Who may talk to the studio: a page that was opened with its token, from its own address, and nobody else."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 2_000_000
"""Of a request: an experiment file is some kilobytes."""
HEADERS = (
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cache-control", "no-store"),
)
POLICY = "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; frame-ancestors 'self'"
"""Nothing from elsewhere, no script but the page's own files."""
COOKIE = "palpate-studio"


class TooLarge(Exception):
    """A request of more than `MOST_BYTES`."""


@dataclass(frozen=True, slots=True)
class Guard:
    """Lets a request pass that has the right Host, no foreign Origin, the token, and a moderate size."""

    app: ASGIApp
    token: str
    hosts: frozenset[str]
    """Host headers that are the studio's own: a page that points its own name at this machine has another one."""
    port: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An ASGI application around another."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await PlainTextResponse(refusal[1], refusal[0], headers=dict(HEADERS))(scope, receive, send)
            return
        received, started = 0, False

        async def limited() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > MOST_BYTES:
                raise TooLarge
            return message

        async def marked(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                own = {k.lower() for k, _ in message["headers"]}
                more = [*HEADERS, ("content-security-policy", POLICY)]
                if _given(scope) is not None:
                    cookie = f"{COOKIE}-{self.port}={self.token}; HttpOnly; SameSite=Strict; Path=/"
                    more.append(("set-cookie", cookie))
                added = [(k.encode(), v.encode()) for k, v in more if k.encode() not in own]
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        try:
            await self.app(scope, limited, marked)
        except TooLarge:
            if not started:
                text = f"the request is larger than {MOST_BYTES} bytes"
                await PlainTextResponse(text, 413)(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Mapping[str, str]) -> tuple[int, str] | None:
        """Status and words with which a request is refused; None: it is not."""
        if headers.get("host", "") not in self.hosts:
            return 403, "this is not the studio's address: open the one that `palpate studio` printed"
        origin = headers.get("origin")
        if origin is not None and origin not in {f"http://{host}" for host in self.hosts}:
            return 403, "another page may not talk to the studio"
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > MOST_BYTES:
            return 413, f"the request is larger than {MOST_BYTES} bytes"
        tokens = (_given(scope), headers.get("x-token"), self._cookie(headers.get("cookie", "")))
        if not any(hmac.compare_digest(t.encode(), self.token.encode()) for t in tokens if t is not None):
            return 403, "the token is missing or wrong: open the address that `palpate studio` printed"
        return None

    def _cookie(self, text: str) -> str | None:
        try:
            morsel = SimpleCookie(text).get(f"{COOKIE}-{self.port}")
        except CookieError:
            return None
        return None if morsel is None else morsel.value


def _given(scope: Scope) -> str | None:
    """The token in the address."""
    values = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token")
    return None if not values else values[0]
