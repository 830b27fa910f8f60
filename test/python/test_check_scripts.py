"""What `./dev check` remembers, and what it runs for a change."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
for folder in ("scripts", "docs"):
    sys.path.insert(0, str(ROOT / folder))

# pylint: disable=wrong-import-position
import changed  # noqa: E402
import inputs  # noqa: E402
from project import Case, failed, passed, skipped  # noqa: E402
from remembered import Remembered, run_new  # noqa: E402

CASES = [passed("a", 1.5), skipped("b", "no GPU")]


def run_all(remembered: Remembered, results: dict[str, list[Case]]
            ) -> tuple[list[str], list[Case]]:
    """Which items ran, and the cases of all."""
    ran: list[str] = []

    def run(items: list[str]) -> dict[str, list[Case]]:
        ran.extend(items)
        return {item: results[item] for item in items}

    cases = run_new(remembered, list(results), lambda item: f"key-{item}", run)
    return ran, cases


def test_passed_tests_are_remembered(tmp_path: Path) -> None:
    results = {"first": CASES, "second": [failed("c", "wrong")]}
    assert run_all(Remembered(tmp_path), results)[0] == ["first", "second"]
    ran, cases = run_all(Remembered(tmp_path), results)
    assert ran == ["second"], "what failed runs again"
    assert [(case.name, case.status, case.remembered) for case in cases] == [
        ("a", "passed", True), ("b", "skipped", True), ("c", "failed", False)]


@pytest.mark.parametrize("damage", [
    lambda content: content[:-1], lambda content: b"", lambda content:
    content.replace(b"passed", b"failed"), lambda content: b"\xff" * 100])
def test_damaged_entries_run_again(damage, tmp_path: Path) -> None:
    run_all(Remembered(tmp_path), {"first": CASES})
    entry = tmp_path / "key-first"
    entry.write_bytes(damage(entry.read_bytes()))
    assert run_all(Remembered(tmp_path), {"first": CASES})[0] == ["first"]


def test_without_a_cache_everything_runs(tmp_path: Path) -> None:
    run_all(Remembered(tmp_path), {"first": CASES})
    assert run_all(Remembered(None), {"first": CASES})[0] == ["first"]


def test_keys_follow_what_a_test_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    test = Path("test/python/test_check_scripts.py")
    contents = {path: inputs.hash_of_file(ROOT / path)
                for path in inputs.tracked()}
    monkeypatch.setattr(inputs, "hash_of_file",
                        lambda path: contents[path.relative_to(ROOT)])

    def key_with(changed_file: str | None) -> str:
        inputs.hash_of_trees.cache_clear()
        before = dict(contents)
        if changed_file:
            contents[Path(changed_file)] = b"other"
        result = inputs.key_of_python_test(test)
        contents.clear()
        contents.update(before)
        return result

    same = key_with(None)
    assert key_with(None) == same
    for path in ("lib/InitAll.cpp", str(test), "examples/mlp.mlir",
                 "scripts/check.py"):
        assert key_with(path) != same, path
    assert key_with("test/python/test_documentation.py") == same
    inputs.hash_of_trees.cache_clear()


@pytest.mark.parametrize(("path", "wanted", "unwanted"), [
    ("lib/Dialect/TG/Transforms/ReshardAfterForward.cpp",
     {"test/Dialect/TG/Transforms/reshard-after-forward.mlir",
      "test/python/test_reshard_steps.py", "RegatherDialectTests"},
     {"test/python/test_capture.py", "RegatherRuntimeTests"}),
    ("include/regather/Dialect/TG/IR/TGOps.td",
     {"test/Dialect/TG/IR/invalid.mlir", "test/Dialect/TG/Transforms/schedule.mlir"},
     {"test/python/test_capture.py"}),
    ("python/regather/fx/trace.py", {"test/python/test_capture.py"},
     {"test/Dialect/TG/IR/invalid.mlir"}),
    ("scripts/lint.py", {"test/python/test_lint.py"}, {"RegatherExecTests"}),
    ("test/Tools/tree.mlir", {"test/Tools/tree.mlir"},
     {"test/Tools/stats.mlir"}),
])
def test_what_a_change_can_affect(path: str, wanted: set[str],
                                  unwanted: set[str],
                                  monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changed, "changed_files", lambda base: [Path(path)])
    chosen = {str(test) for test in changed.select("HEAD").tests}
    assert wanted <= chosen
    assert not unwanted & chosen
