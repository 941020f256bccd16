"""Static pictures of figures, drawn by a Chrome or Chromium that is there already."""

from __future__ import annotations

import base64
import html
import json
import re
import subprocess
import tempfile
import urllib.parse
from collections.abc import Mapping, Sequence
from pathlib import Path

import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from spofr_core.browser import find_browser
from spofr_core.files import write_whole

SECONDS = 120
WIDTH, HEIGHT = 900, 480

_PAGE = """<!DOCTYPE html><meta charset="utf-8"><pre id="out"></pre>
<script src="plotly.js"></script><script>SETTINGS</script><script>
(async () => {
  const out = {};
  for (const [name, figure] of Object.entries(FIGURES)) {
    const place = document.createElement("div");
    document.body.appendChild(place);
    await Plotly.newPlot(place, figure.data, figure.layout);
    out[name] = {};
    for (const format of FORMATS)
      out[name][format] = await Plotly.toImage(
        place, {format, width: WIDTH, height: HEIGHT, scale: SCALE[format] || 1});
    Plotly.purge(place);
    place.remove();
  }
  document.getElementById("out").textContent = JSON.stringify(out);
})();
</script>"""


def write_images(
    figures: Mapping[str, go.Figure],
    folder: Path,
    *,
    formats: Sequence[str] = ("png", "svg"),
    chrome: str | None = None,
) -> tuple[list[Path], str | None]:
    """Write `<folder>/<name>.<format>` for every figure.

    Returns
    -------
    written : list of Path
    problem : str or None
        Why there are none: no browser, or one that did not do it. Pictures are an extra; nothing depends on them.
    """
    browser = chrome or find_browser()
    if browser is None:
        return [], "No Chrome or Chromium was found: there are interactive figures, but no static pictures."
    if not figures:
        return [], None
    with tempfile.TemporaryDirectory(prefix="spofr-pictures-") as scratch:
        page = Path(scratch, "page.html")
        Path(scratch, "plotly.js").write_text(get_plotlyjs(), encoding="utf-8")
        page.write_text(_page(figures, formats), encoding="utf-8")
        command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"]
        command += ["--disable-background-networking", f"--user-data-dir={scratch}/profile"]
        command += [f"--virtual-time-budget={1000 * SECONDS}", "--dump-dom", page.as_uri()]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return [], f"The browser {browser} drew no static pictures ({type(error).__name__})."
    drawn = re.search(r'<pre id="out">(.+?)</pre>', done.stdout, re.DOTALL)
    if drawn is None:
        return [], f"The browser {browser} drew no pictures (exit code {done.returncode})."
    written = []
    for name, pictures in json.loads(html.unescape(drawn.group(1))).items():
        for extension, address in pictures.items():
            path = folder / f"{name}.{extension}"
            write_whole(path, _decoded(address))
            written.append(path)
    return written, None


def _page(figures: Mapping[str, go.Figure], formats: Sequence[str]) -> str:
    plain = {name: json.loads(figure.to_json()) for name, figure in figures.items()}
    settings = {"FIGURES": plain, "FORMATS": list(formats), "WIDTH": WIDTH, "HEIGHT": HEIGHT, "SCALE": {"png": 2}}
    lines = "".join(f"const {name} = {json.dumps(value)};" for name, value in settings.items())
    # "</" inside a script would end it, whatever string it stands in.
    return _PAGE.replace("SETTINGS", lines.replace("</", "<\\/"), 1)


def _decoded(address: str) -> bytes:
    """The content of a data: address."""
    head, _, content = address.partition(",")
    return base64.b64decode(content) if head.endswith(";base64") else urllib.parse.unquote_to_bytes(content)
