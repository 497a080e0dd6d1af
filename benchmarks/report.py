"""Speed of the report: making it, refreshing it, and opening it in Chromium, by the browser's own navigation timing.

    python benchmarks/report.py [--edits 5000] [--side 256] [--opens 5]

Every figure is measured in this run on this machine. The edits share ten pictures (see tests/browser/conftest.py), so
"made" is the cost of everything but decoding.
"""

from __future__ import annotations

import argparse
import runpy
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from editgauge.reports.report import report

ROOT = Path(__file__).parents[1]
TIMING = (
    "(() => { const n = performance.getEntriesByType('navigation')[0]; return [n.domInteractive, n.loadEventEnd]; })()"
)
FILTER = """(() => {
  const field = document.querySelector('.filters [name=text]');
  const started = performance.now();
  field.value = 'zebra';
  field.dispatchEvent(new Event('input', { bubbles: true }));
  return performance.now() - started;
})()"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edits", type=int, default=5_000)
    parser.add_argument("--side", type=int, default=256)
    parser.add_argument("--opens", type=int, default=5)
    options = parser.parse_args()
    shared: dict[str, Any] = runpy.run_path(str(ROOT / "tests" / "browser" / "conftest.py"))
    with tempfile.TemporaryDirectory() as folder:
        run = shared["make_synthetic_run"](Path(folder), options.edits, options.side)
        page = Path(folder) / "report" / "index.html"
        for what in ("made", "refreshed"):
            started = time.perf_counter()
            report(run, out=page.parent, quiet=True)
            print(f"{what:12} {time.perf_counter() - started:6.2f} s")
        started = time.perf_counter()
        single = report(run, out=Path(folder) / "single.html", quiet=True, single_file=True)
        print(f"{'single file':12} {time.perf_counter() - started:6.2f} s")
        for path in (page, single):
            print(f"{path.name:12} {path.stat().st_size / 1e6:6.1f} MB")
            opened(path, options.opens, list(shared["FLAGS"]))


def opened(path: Path, times: int, flags: list[str]) -> None:
    """Median times of fresh contexts; nothing is cached between them."""
    from playwright.sync_api import sync_playwright

    executable = shutil.which("chromium")
    if executable is None:
        sys.exit("no chromium: opening is not measured")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=flags)
        found = []
        for _ in range(times):
            context = browser.new_context(viewport={"width": 1366, "height": 900})
            page = context.new_page()
            page.goto(path.as_uri())
            found.append([*page.evaluate(TIMING), page.evaluate(FILTER)])
            context.close()
        browser.close()
    for what, values in zip(("interactive", "loaded", "search"), zip(*found, strict=True), strict=True):
        print(f"  {what:12} {statistics.median(values) / 1000:6.3f} s (slowest {max(values) / 1000:.3f})")


if __name__ == "__main__":
    main()
