"""A real browser for pages: Debian's Chromium, without a window, and the automated accessibility check."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.conftest import needs_program

TOOLS = "is not installed: pip install playwright axe-playwright-python"


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser, or a skip that says what is missing."""
    program = needs_program("chromium")
    sync_api = pytest.importorskip("playwright.sync_api", reason=f"playwright {TOOLS}")
    with sync_api.sync_playwright() as driver:
        opened = driver.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader"]
        )
        yield opened
        opened.close()


ASIDE = """() => {
  window.aside = [...document.querySelectorAll(".svg-container")].map(e => [e.parentNode, e]);
  aside.forEach(([_, e]) => e.remove());
}"""
BACK = "() => aside.forEach(([parent, e]) => parent.append(e))"


def violations(page: Any, *, plots: bool = False) -> list[tuple[str, str]]:
    """What axe finds, by rule with the first place; inside of drawings, which takes most of the time, only if asked."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason=f"axe {TOOLS}")
    page.evaluate("() => { window.aside = []; }" if plots else ASIDE)
    found = axe.Axe().run(page).response["violations"]
    page.evaluate(BACK)
    return [(v["id"], v["nodes"][0]["html"][:200]) for v in found]
