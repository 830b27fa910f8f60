"""Seeded faults: their tables, the copy of the sources that has them, and trials
of a tool that does as it is told. `./dev faults` builds and runs them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from regather_tools import ROOT

sys.path.insert(0, str(ROOT / "test" / "faults"))
# pylint: disable=wrong-import-position
from fault_page import count_by_area, get_means  # noqa: E402
from fault_table import Fault, FaultError, read_faults  # noqa: E402
from run_faults import Results, choose  # noqa: E402
from schemata import choose as choose_text  # noqa: E402
from schemata import seed, write_copy  # noqa: E402
from trials import Case, find_fault, run_case, run_sound  # noqa: E402


def test_every_fault_has_its_place() -> None:
    """Each text stands where its table says, once, and no two overlap."""
    by_file: dict[str, list[Fault]] = {}
    for fault in read_faults():
        by_file.setdefault(fault.file, []).append(fault)
    for file, faults in by_file.items():
        text = (ROOT / file).read_text()
        seeded = seed(text, faults)
        assert all(f'"{fault.name}"' in seeded for fault in faults)


def test_faults_lie_in_all_areas() -> None:
    counted = [fault for fault in read_faults() if not fault.equivalent]
    areas = Counter(fault.area for fault in counted)
    assert set(areas) == {"lowering", "passes", "planner", "rules", "runtime",
                          "scheduler"}
    assert len(counted) >= 200
    assert min(areas.values()) >= 20


SOURCE = """\
#include <cstdio>
static int count(int n) {
  int total = n + 1;
  if (n > 2)
    ++total;
  return total;
}
int main() { std::printf("%d", count(3)); }
"""
LESS = Fault("less", "passes", "a.cpp", "n + 1", "n - 1")
NEVER = Fault("never", "passes", "a.cpp", "n > 2", "false",
              at="if (n > 2)\n    ++total")
LOST = Fault("lost", "passes", "a.cpp", "++total;", "", kind="statement")


def test_both_texts_stand_in_the_copy() -> None:
    assert choose_text(LESS) == (
        '(REGATHER_FAULT("less") ? (n - 1) : (n + 1))')
    assert choose_text(LOST) == (
        'if (REGATHER_FAULT("lost")) { \n} else { ++total;\n}')
    text = seed(SOURCE, [LOST, LESS, NEVER])
    assert text.startswith('#include "SeededFault.h"\n#include <cstdio>\n')
    assert f"int total = {choose_text(LESS)};" in text
    assert f"if ({choose_text(NEVER)})\n    {choose_text(LOST)}" in text


@pytest.mark.skipif(not shutil.which("clang++-22"), reason="no compiler")
def test_a_variable_chooses_the_fault(tmp_path: Path) -> None:
    (tmp_path / "a.cpp").write_text(seed(SOURCE, [LESS, NEVER, LOST]))
    program, reached = tmp_path / "a", tmp_path / "reached"
    subprocess.run(["clang++-22", "-std=c++17", f"-I{ROOT}/test/faults",
                    tmp_path / "a.cpp", "-o", program], check=True)

    def run(fault: str) -> str:
        return subprocess.run(
            [program], capture_output=True, text=True, check=True,
            env={"REGATHER_FAULT": fault,
                 "REGATHER_FAULTS_REACHED": str(reached)}).stdout

    assert [run(name) for name in ("", "unknown", "less", "never", "lost")] \
        == ["5", "5", "3", "4", "4"]
    assert set(reached.read_text().split()) == {"less", "never", "lost"}


@pytest.mark.parametrize("fault, message", [
    (Fault("f", "a", "a.cpp", "total", "x"), "`old` of f occurs 3 times"),
    (Fault("f", "a", "a.cpp", "many", "x"), "`old` of f occurs 0 times"),
    (Fault("f", "a", "a.cpp", "n", "x", at="int main"), "`old` of f occurs 2"),
    (Fault("f", "a", "a.cpp", "n", "x", at="total"), "`at` of f occurs 3"),
    (Fault("f", "a", "a.cpp", "total = n", "x"), "overlaps another one"),
])
def test_texts_that_cannot_be_replaced(fault: Fault, message: str) -> None:
    with pytest.raises(FaultError, match=message):
        seed(SOURCE, [LESS, fault])


@pytest.mark.parametrize("table, message", [
    ('[f]\nfile = "a"\nold = "x"\nnew = "x"', "changes nothing"),
    ('[f]\nfile = "a"\nold = "x"\nnew = "y"\nkind = "z"', "got z"),
    ('[f]\nfile = "a"\nold = "x"', "new"),
    ('[f]\nfile = "a"\nold = "x"\nnew = "y"\nwhy = "z"', "why"),
])
def test_bad_tables(tmp_path: Path, table: str, message: str) -> None:
    (tmp_path / "passes.toml").write_text(table)
    with pytest.raises(FaultError, match=message):
        read_faults(tmp_path)


def test_names_are_unique(tmp_path: Path) -> None:
    for area in ("passes", "planner"):
        (tmp_path / f"{area}.toml").write_text(
            '[f]\nfile = "a"\nold = "x"\nnew = "y"')
    with pytest.raises(FaultError, match="two faults are called f"):
        read_faults(tmp_path)


def test_the_copy_follows_the_sources(tmp_path: Path) -> None:
    root, target = tmp_path / "root", tmp_path / "target"
    (root / "lib").mkdir(parents=True)
    (root / "lib" / "a.cpp").write_text(SOURCE)
    (root / "lib" / "b.cpp").write_text("int b;\n")
    (root / "notes").write_text("none of what is built")
    subprocess.run(["git", "init", "-q", root], check=True)
    subprocess.run(["git", "add", "-A"], cwd=root, check=True)
    less = Fault("less", "passes", "lib/a.cpp", "n + 1", "n - 1")
    write_copy([less], target, root)
    copied = target / "lib" / "a.cpp"
    assert copied.read_text() == seed(SOURCE, [less])
    assert (target / "include" / "SeededFault.h").is_file()
    assert not (target / "notes").exists()
    # What has not changed is not built again, and what is gone does not stay.
    written = copied.stat().st_mtime_ns
    (target / "lib" / "old.cpp").write_text("")
    write_copy([less], target, root)
    assert copied.stat().st_mtime_ns == written
    assert not (target / "lib" / "old.cpp").exists()
    # Equivalent ones are listed only.
    write_copy([Fault("less", "passes", "lib/a.cpp", "n + 1", "1 + n",
                      equivalent="it is the same sum")], target, root)
    assert copied.read_text() == SOURCE
    with pytest.raises(FaultError, match="lib/c.cpp"):
        write_copy([Fault("f", "passes", "lib/c.cpp", "a", "b")], target, root)


# Case 1 comes to the fault and shows nothing, case 2 shows it, case 3 hangs,
# case 4 ends early, case 5 does not come to it.
TOOL = """\
#!/bin/sh
case=$(echo "$2" | cut -d= -f2)
if [ -n "$REGATHER_FAULTS_REACHED" ] && [ "$case" != 5 ]; then
  echo lost >> "$REGATHER_FAULTS_REACHED"
fi
kind=
if [ "$REGATHER_FAULT" = lost ]; then
  [ "$case" = 2 ] && kind="mismatch cpu"
  [ "$case" = 3 ] && sleep 60
  [ "$case" = 4 ] && exit 3
fi
echo "{\\"kind\\": \\"$kind\\", \\"invalid\\": \\"\\", \\"message\\": \\"m\\"}"
"""


@pytest.fixture(name="tool")
def make_tool(tmp_path: Path) -> Path:
    path = tmp_path / "tool"
    path.write_text(TOOL)
    path.chmod(0o755)
    return path


def test_trials(tool: Path) -> None:
    cases = [run_sound(tool, number) for number in (5, 1, 2, 3, 4)]
    for case in cases:
        case.seconds = 0
    assert [case.reached for case in cases] == [[], *4 * [["lost"]]]
    assert not any(case.kind for case in cases)
    found = find_fault(tool, "lost", cases, 9)
    assert found["outcome"] == "caught"
    assert (found["case"], found["kind"], found["tried"]) == (2, "mismatch cpu",
                                                              2)
    survived = find_fault(tool, "lost", cases, 1)
    assert survived["outcome"] == "survived"
    assert (survived["reached"], survived["tried"]) == (4, 1)
    assert find_fault(tool, "lost", cases[4:], 9)["kind"] == "crash"


def test_what_does_not_end_is_found(tool: Path) -> None:
    assert run_case(tool, 3, {"REGATHER_FAULT": "lost"},
                    timeout=0.5)["kind"] == "hang"
    assert Case(0, seconds=100, kind="", invalid="").timeout > 100


def test_results_are_kept_by_fault_and_sources(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    Results(path, "sources", 10, 5).add(LESS, {"outcome": "caught"})
    known = Results(path, "sources", 20, 5).get(LESS)
    assert known == {"outcome": "caught", "name": "less", "cases": 10,
                     "tries": 5}
    assert Results(path, "others", 10, 5).get(LESS) is None
    other = Fault("less", "passes", "a.cpp", "n + 1", "n - 2")
    assert Results(path, "sources", 10, 5).get(other) is None
    # What is said about a fault changes nothing.
    said = Fault("less", "passes", "a.cpp", "n + 1", "n - 1", survives="so")
    assert Results(path, "sources", 10, 5).get(said) == known
    # More cases may catch what has survived.
    Results(path, "sources", 10, 5).add(NEVER, {"outcome": "survived"})
    assert Results(path, "sources", 10, 5).get(NEVER)
    assert Results(path, "sources", 11, 5).get(NEVER) is None
    assert Results(path, "sources", 10, 6).get(NEVER) is None


def test_faults_are_chosen_by_name_and_area() -> None:
    other = Fault("other", "planner", "a.cpp", "a", "b")
    assert choose([LESS, other], []) == [LESS, other]
    assert choose([LESS, other], ["planner"]) == [other]
    assert choose([LESS, other], ["less"]) == [LESS]
    with pytest.raises(FaultError, match="nothing"):
        choose([LESS], ["nothing"])


def test_the_table_by_area() -> None:
    results = [
        {"area": "passes", "outcome": "caught", "kind": "mismatch cpu"},
        {"area": "passes", "outcome": "survived"},
        {"area": "rules", "outcome": "caught", "kind": "verify tg-schedule"}]
    assert count_by_area(results) == [
        ("passes", 2, 1, 0, 1, 0, 0, 0, 0), ("rules", 1, 1, 1, 0, 0, 0, 0, 0),
        ("all", 3, 2, 1, 1, 0, 0, 0, 0)]
    assert get_means("not repeatable tg-partition") == "differential"
