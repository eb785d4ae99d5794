"""The documentation as a site: it builds without a warning, and its search works from disk, without a network."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).resolve().parents[1]


def test_the_site_builds_and_its_search_works_from_disk(tmp_path: Path, browser: Any) -> None:
    pytest.importorskip("material", reason="mkdocs-material is not installed: pip install mkdocs-material")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "-d", str(tmp_path / "site")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = browser.new_page(viewport={"width": 1300, "height": 800})
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"file://{tmp_path / 'site' / 'index.html'}")
    page.click(".md-search__input")
    page.keyboard.type("backcheck")
    found = page.locator(".md-search-result__item")
    found.first.wait_for(state="attached", timeout=20_000)
    assert "door" in " ".join(found.all_inner_texts()).lower()
    assert [url for url in asked if url.startswith("http")] == []
    page.close()
