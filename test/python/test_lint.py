"""`./dev check` fails when a pass or an operation lacks what it must have."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PASSES = "include/regather/Dialect/TG/Transforms/Passes.td"
LAYERS = "docs/architecture.md"
PASS_TEST = "test/Dialect/TG/Transforms/verify-step.mlir"


def run_git(tree: Path, *arguments: str) -> None:
    subprocess.run(["git", "-c", "user.name=lint", "-c", "user.email=lint@test",
                    *arguments], cwd=tree, check=True)


@pytest.fixture(name="copy", scope="module")
def copy_of_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's files in a repository of their own: lint asks git."""
    tree = tmp_path_factory.mktemp("lint") / "regather"
    ignore = shutil.ignore_patterns("build*", ".git", ".venv", ".cache",
                                    "__pycache__")
    shutil.copytree(ROOT, tree, ignore=ignore)
    run_git(tree, "init", "-q")
    run_git(tree, "add", "-A")
    run_git(tree, "commit", "-q", "-m", "as it is")
    return tree


@pytest.fixture(name="tree")
def unchanged_tree(copy: Path) -> Path:
    """The copy without what the last test has done to it."""
    run_git(copy, "reset", "-q", "--hard")
    run_git(copy, "clean", "-q", "-f", "-d")
    return copy


def lint(tree: Path) -> tuple[int, str]:
    result = subprocess.run([sys.executable, "scripts/lint.py"], cwd=tree,
                            capture_output=True, text=True, check=False)
    return result.returncode, result.stdout + result.stderr


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_unchanged_tree_passes(tree: Path) -> None:
    code, output = lint(tree)
    assert code == 0, output


def test_pass_without_test(tree: Path) -> None:
    (tree / PASS_TEST).unlink()
    code, output = lint(tree)
    assert code != 0
    assert "tg-verify-step" in output


def test_pass_without_test_of_its_errors(tree: Path) -> None:
    (tree / "test/Kernel/Transforms/decompose-invalid.mlir").unlink()
    code, output = lint(tree)
    assert code != 0
    assert ("pass kernel-decompose emits errors in lib/Kernel/Transforms/"
            "Decompose.cpp, but there is no decompose-invalid.mlir") in output


def test_pass_without_example(tree: Path) -> None:
    replace(tree / PASS_TEST, "// EXAMPLE tg-verify-step", "//")
    code, output = lint(tree)
    assert code != 0
    assert "example" in output and "tg-verify-step" in output


def test_pass_without_description(tree: Path) -> None:
    text = (tree / PASSES).read_text()
    begin = text.index("  let description")
    end = text.index("}];", begin) + 4
    (tree / PASSES).write_text(text[:begin] + text[end:])
    code, output = lint(tree)
    assert code != 0
    assert "pass tg-append-optimizer has no description" in output


def test_operation_without_example(tree: Path) -> None:
    replace(tree / "test/Dialect/TG/IR/examples.mlir", "// EXAMPLE tg.permute",
            "//")
    code, output = lint(tree)
    assert code != 0
    assert "tg.permute" in output


def test_error_message_in_wrong_style(tree: Path) -> None:
    replace(tree / "lib/Dialect/TG/IR/TGOps.cpp",
            'emitOpError() << "target must not be empty"',
            'emitOpError("Target must not be empty.")')
    code, output = lint(tree)
    assert code != 0
    assert "TGOps.cpp" in output


def test_unused_using_declarations(tree: Path) -> None:
    replace(tree / "lib/Dialect/TG/IR/TGOps.cpp", "using namespace mlir;\n",
            "using namespace mlir;\nnamespace rg = regather;\n"
            "using llvm::formatv;\nusing llvm::StringSwitch;\n"
            "static StringSwitch<int> use();\n")
    code, output = lint(tree)
    assert code != 0
    assert "rg is declared and not used" in output
    assert "formatv is declared and not used" in output
    assert "StringSwitch is declared" not in output


def test_folder_without_a_name(tree: Path) -> None:
    folder = tree / "lib/Analysis/Utils"
    folder.mkdir()
    shutil.copy(tree / "lib/Analysis/IndexLists.cpp", folder / "Lists.cpp")
    code, output = lint(tree)
    assert code != 0
    assert "lib/Analysis/Utils/Lists.cpp:1: name the concept" in output


def test_include_that_no_layer_allows(tree: Path) -> None:
    """Upwards, of an outside library, and of a header beside the file."""
    replace(tree / "lib/Analysis/IndexLists.cpp",
            '#include "regather/Analysis/IndexLists.h"\n',
            '#include "regather/Analysis/IndexLists.h"\n'
            '#include "regather/Dialect/TG/IR/TG.h"\n'
            "#include <mlir/IR/Builders.h>\n"
            '#include "../Interpreter/RankThreads.h"\n'
            "#include <vector>\n")
    code, output = lint(tree)
    assert code != 0
    place = "lib/Analysis/IndexLists.cpp"
    assert f"{place}:10: Analysis includes regather/Dialect/TG/IR/TG.h of " \
        f"Dialect/TG/IR; {LAYERS}:" in output
    assert f"{place}:11: Analysis includes mlir/IR/Builders.h of MLIR" in output
    assert f"{place}:12: Analysis includes ../Interpreter/RankThreads.h of " \
        "Interpreter" in output
    assert f"{place}:13" not in output


def test_layers_that_nothing_uses(tree: Path) -> None:
    """An entry without an include, a row without a folder, a circle."""
    replace(tree / LAYERS, "| `Support/LLVM` |",
            "| `Nowhere` | nothing | |\n| `Support/LLVM` |")
    text = (tree / LAYERS).read_text()
    row = next(line for line in text.splitlines()
               if line.startswith("| `Analysis` |"))
    replace(tree / LAYERS, row,
            row.removesuffix("`LLVM` |") + "`LLVM`, `Timeline`, `Boost` |")
    code, output = lint(tree)
    assert code != 0
    assert "there is no folder Nowhere" in output
    assert "Timeline has to stand before Analysis" in output
    assert "Boost is neither a folder nor a library" in output


def test_layer_entry_without_an_include(tree: Path) -> None:
    text = (tree / LAYERS).read_text()
    row = next(line for line in text.splitlines()
               if line.startswith("| `Import` |"))
    replace(tree / LAYERS, row, row.removesuffix(" |") + ", `Report` |")
    code, output = lint(tree)
    assert code != 0
    assert "nothing in Import includes or links Report" in output


def test_link_that_no_layer_allows(tree: Path) -> None:
    """In the list of a library, and in a command behind it."""
    replace(tree / "lib/Dialect/TG/Chains/CMakeLists.txt",
            "LINK RegatherTGSteps)",
            "LINK RegatherTGSteps RegatherSupport\n"
            "    RegatherExecDialect)  # MLIR, RegatherReport\n"
            "target_link_libraries(RegatherTGChains PRIVATE RegatherImport)")
    code, output = lint(tree)
    assert code != 0
    place = "lib/Dialect/TG/Chains/CMakeLists.txt"
    assert f"{place}:6: RegatherTGChains links RegatherExecDialect, of " in \
        output
    assert f"{place}:7: RegatherTGChains links RegatherImport, of " in output
    assert "links RegatherReport" not in output
    assert "links RegatherSupport" not in output
    assert "links RegatherTGSteps" not in output


def test_folder_without_a_layer(tree: Path) -> None:
    folder = tree / "lib/Elsewhere"
    folder.mkdir()
    shutil.copy(tree / "lib/Analysis/IndexLists.cpp", folder / "Lists.cpp")
    code, output = lint(tree)
    assert code != 0
    assert "no row of docs/architecture.md has folder Elsewhere" in output
