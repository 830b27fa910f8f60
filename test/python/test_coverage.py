"""`./dev coverage`: what is made of what llvm-cov says."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

# pylint: disable=wrong-import-position
import coverage  # noqa: E402
from coverage import Lines  # noqa: E402


def test_lines_of_ours_are_counted_by_folder() -> None:
    def file(name: str, covered: int, count: int) -> dict:
        return {"filename": name,
                "summary": {"lines": {"covered": covered, "count": count}}}
    export = {"data": [{"files": [
        file("/here/lib/B/b.cpp", 1, 4), file("/here/lib/A/a.cpp", 96, 100),
        file("/here/lib/A/c.cpp", 0, 0), file("/here/test/t.cpp", 1, 1),
        file("/here/build/x.inc", 1, 1), file("/usr/include/x.h", 5, 5)]}]}
    files = coverage.read_lines(export, Path("/here"))
    assert list(map(str, files)) == ["lib/A/a.cpp", "lib/A/c.cpp",
                                     "lib/B/b.cpp"]
    assert coverage.total(files.values()) == Lines(97, 104)
    page = coverage.render(files, 95, "By <unit>", {})
    assert "<h1>93.3 % of lines</h1>" in page
    assert "By &lt;unit&gt;; 1 of 3 files are below 95 %." in page
    # All, and two rows of a folder and a file of it.
    assert page.count('class="low"') == 3
