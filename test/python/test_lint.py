"""`./dev check` fails when a pass or an operation lacks what it must have.

All faults are made in one copy of the project and found in one run: each has
messages of its own.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PASSES = "include/regather/Dialect/TG/Transforms/Passes.td"
LAYERS = "docs/architecture.md"
TEST = "test/Dialect/TG/Transforms/{}.mlir"
OPS = "lib/Dialect/TG/IR/TGOps.cpp"
LISTS = "lib/Analysis/IndexLists.cpp"
CHAINS = "lib/Dialect/TG/Chains/CMakeLists.txt"
HOUSE = ["git", "-c", "user.name=lint", "-c", "user.email=lint@test"]


@pytest.fixture(name="tree", scope="module")
def copy_of_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's files in a repository of their own: lint asks git."""
    tree = tmp_path_factory.mktemp("lint") / "regather"
    ignore = shutil.ignore_patterns("build*", ".git", ".venv", ".cache",
                                    "__pycache__")
    shutil.copytree(ROOT, tree, ignore=ignore)
    for command in (["init", "-q"], ["add", "-A"],
                    ["commit", "-q", "-m", "as it is"]):
        subprocess.run([*HOUSE, *command], cwd=tree, check=True)
    return tree


def lint(tree: Path) -> tuple[int, str]:
    result = subprocess.run([sys.executable, "scripts/lint.py"], cwd=tree,
                            capture_output=True, text=True, check=False)
    return result.returncode, result.stdout + result.stderr


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def row_of(tree: Path, layer: str) -> str:
    return next(line for line in (tree / LAYERS).read_text().splitlines()
                if line.startswith(f"| `{layer}` |"))


def pass_without_test(tree: Path) -> None:
    (tree / TEST.format("verify-step")).unlink()


def pass_without_test_of_its_errors(tree: Path) -> None:
    (tree / "test/Kernel/Transforms/decompose-invalid.mlir").unlink()


def pass_without_example(tree: Path) -> None:
    replace(tree / TEST.format("infer-phases"), "// EXAMPLE tg-infer-phases",
            "//")


def pass_without_description(tree: Path) -> None:
    text = (tree / PASSES).read_text()
    begin = text.index("  let description")
    end = text.index("}];", begin) + 4
    (tree / PASSES).write_text(text[:begin] + text[end:])


def operation_without_example(tree: Path) -> None:
    replace(tree / "test/Dialect/TG/IR/examples.mlir", "// EXAMPLE tg.permute",
            "//")


def error_messages_in_wrong_style(tree: Path) -> None:
    replace(tree / OPS, 'emitOpError() << "target must not be empty"',
            'emitOpError("Target must not be empty.")')


def unused_using_declarations(tree: Path) -> None:
    replace(tree / OPS, "using namespace mlir;\n",
            "using namespace mlir;\nnamespace rg = regather;\n"
            "using llvm::formatv;\nusing llvm::StringSwitch;\n"
            "static StringSwitch<int> use();\n")


def folder_without_a_name(tree: Path) -> None:
    folder = tree / "lib/Analysis/Utils"
    folder.mkdir()
    shutil.copy(tree / LISTS, folder / "Lists.cpp")


def includes_that_no_layer_allows(tree: Path) -> None:
    """Upwards, of an outside library, and of a header beside the file."""
    replace(tree / LISTS, '#include "regather/Analysis/IndexLists.h"\n',
            '#include "regather/Analysis/IndexLists.h"\n'
            '#include "regather/Dialect/TG/IR/TG.h"\n'
            "#include <mlir/IR/Builders.h>\n"
            '#include "../Interpreter/RankThreads.h"\n'
            "#include <vector>\n")


def layers_that_nothing_uses(tree: Path) -> None:
    """An entry without an include, a row without a folder, a circle."""
    replace(tree / LAYERS, "| `Support/LLVM` |",
            "| `Nowhere` | nothing | |\n| `Support/LLVM` |")
    row = row_of(tree, "Analysis")
    replace(tree / LAYERS, row,
            row.removesuffix("`LLVM` |") + "`LLVM`, `Timeline`, `Boost` |")
    row = row_of(tree, "Import")
    replace(tree / LAYERS, row, row.removesuffix(" |") + ", `Report` |")


def links_that_no_layer_allows(tree: Path) -> None:
    """In the list of a library, and in a command behind it."""
    replace(tree / CHAINS, "LINK RegatherTGSteps)",
            "LINK RegatherTGSteps RegatherSupport\n"
            "    RegatherExecDialect)  # MLIR, RegatherReport\n"
            "target_link_libraries(RegatherTGChains PRIVATE RegatherImport)")


def folder_without_a_layer(tree: Path) -> None:
    folder = tree / "lib/Elsewhere"
    folder.mkdir()
    shutil.copy(tree / LISTS, folder / "Lists.cpp")


# What makes each fault, what lint says of it, and what it must not say.
FAULTS: list[tuple[Callable[[Path], None], list[str], list[str]]] = [
    (pass_without_test, ["pass tg-verify-step has no test of its name"], []),
    (pass_without_test_of_its_errors,
     ["pass kernel-decompose emits errors in lib/Kernel/Transforms/"
      "Decompose.cpp, but there is no decompose-invalid.mlir"], []),
    (pass_without_example,
     ["pass tg-infer-phases has no '// EXAMPLE tg-infer-phases' in its test"],
     []),
    (pass_without_description, ["pass tg-append-optimizer has no description"],
     []),
    (operation_without_example,
     ["operation tg.permute has no '// EXAMPLE tg.permute'"], []),
    (error_messages_in_wrong_style,
     ["error starts upper case: Target must not be empty.",
      "error ends with a full stop"], []),
    (unused_using_declarations,
     ["rg is declared and not used", "formatv is declared and not used"],
     ["StringSwitch is declared"]),
    (folder_without_a_name,
     ["lib/Analysis/Utils/Lists.cpp:1: name the concept"], []),
    (includes_that_no_layer_allows,
     [f"{LISTS}:10: Analysis includes regather/Dialect/TG/IR/TG.h of "
      f"Dialect/TG/IR; {LAYERS}:",
      f"{LISTS}:11: Analysis includes mlir/IR/Builders.h of MLIR",
      f"{LISTS}:12: Analysis includes ../Interpreter/RankThreads.h of "
      "Interpreter"],
     [f"{LISTS}:13"]),
    (layers_that_nothing_uses,
     ["there is no folder Nowhere", "Timeline has to stand before Analysis",
      "Boost is neither a folder nor a library",
      "nothing in Import includes or links Report"], []),
    (links_that_no_layer_allows,
     [f"{CHAINS}:6: RegatherTGChains links RegatherExecDialect, of ",
      f"{CHAINS}:7: RegatherTGChains links RegatherImport, of "],
     ["links RegatherReport", "links RegatherSupport",
      "links RegatherTGSteps"]),
    (folder_without_a_layer,
     ["no row of docs/architecture.md has folder Elsewhere"], []),
]


@pytest.fixture(name="before", scope="module")
def lint_of_the_tree_as_it_is(tree: Path) -> tuple[int, str]:
    return lint(tree)


@pytest.fixture(name="findings", scope="module")
def lint_of_all_faults(tree: Path, before: tuple[int, str]) -> str:
    del before  # The tree as it is comes first.
    for make, _, _ in FAULTS:
        make(tree)
    code, output = lint(tree)
    assert code != 0
    return output


def test_unchanged_tree_passes(before: tuple[int, str]) -> None:
    code, output = before
    assert code == 0, output


@pytest.mark.parametrize(("said", "unsaid"),
                         [fault[1:] for fault in FAULTS],
                         ids=[fault[0].__name__ for fault in FAULTS])
def test_a_fault_is_found(findings: str, said: list[str], unsaid: list[str]
                          ) -> None:
    for text in said:
        assert text in findings
    for text in unsaid:
        assert text not in findings
