"""What pages run in a browser: modules of our own, and libraries that ship with the package (vendor/README.md)."""

import re
from collections.abc import Mapping
from importlib import resources

MODULES = ("feel", "scene", "space", "charts", "panel")
"""ES modules by their names: `palpate/feel` is feel.js; they import each other, and `three`, by these names."""


def asset(name: str) -> str:
    """The text of one of the files here, such as feel.js or vendor/three.min.js."""
    return resources.files("palpate.web").joinpath(*name.split("/")).read_text(encoding="utf-8")


def embedded(modules: Mapping[str, str], main: str) -> str:
    """Modules by the names under which they import each other, and one that runs, as HTML for a page without a server.

    A page from disk may not load files beside it; it may load what it holds itself, as blobs under an import map.
    """
    texts = "\n".join(
        f'<script type="text/plain" data-module="{name}">{script_text(text)}</script>' for name, text in modules.items()
    )
    return f'{texts}\n<script type="text/plain" id="main-module">{script_text(main)}</script>\n<script>{_LOAD}</script>'


def script_text(text: str) -> str:
    """JavaScript that may stand inside of a script element, whatever is in its strings."""
    return re.sub(r"<(?=/script|!--)", r"\\x3c", text, flags=re.IGNORECASE)


_LOAD = """{
  const imports = {}, add = (type, text) => {
    const made = Object.assign(document.createElement("script"), {type, textContent: text});
    document.body.append(made);
  };
  document.querySelectorAll("script[data-module]").forEach(s => {
    imports[s.dataset.module] = URL.createObjectURL(new Blob([s.textContent], {type: "text/javascript"}));
  });
  add("importmap", JSON.stringify({imports}));
  add("module", document.getElementById("main-module").textContent);
}"""
