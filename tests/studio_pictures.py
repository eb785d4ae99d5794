"""Pictures of the studio for docs/studio.md, made of a simulated door: `python -m tests.studio_pictures`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from palpate.twin import TWINS
from tests.browser import chromium
from tests.studio_server import running

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "pictures"
READY = "() => window.studio && studio.state && studio.state.work.phase === 'ready' && studio.state.result?.current"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        path = TWINS["door"](Path(name) / "door")
        with running(path) as client, chromium() as browser:
            page = browser.new_page(viewport={"width": 1240, "height": 820}, color_scheme="light")
            page.set_default_timeout(300_000)
            page.goto(client.address)
            page.wait_for_function(READY)
            for view in ("data", "fit"):
                page.click(f"#tab-{view}")
                page.wait_for_timeout(3000)
                page.screenshot(path=FOLDER / f"studio-{view}.png")


if __name__ == "__main__":
    main()
