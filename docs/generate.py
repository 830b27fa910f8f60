#!/usr/bin/env python3
"""Writes the reference pages to BUILD/docs, and tests every example in them.

The text of operations and passes comes from their TableGen descriptions, the
examples from the tests (see scripts/examples.py), the pages of the tools from
their --help. MLIR in hand-written pages has to parse.
"""

from __future__ import annotations

import argparse
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "scripts"))
# pylint: disable=wrong-import-position
import examples
import tablegen
from project import ROOT, Case, failed, passed, project_files, report, run

# Tools with a page, and their subcommands.
TOOLS = {"regather": ["run", "stats"], "regather-opt": []}

OPERATION = re.compile(r"^### `(\w+\.\w+)` \(", re.MULTILINE)
PASS = re.compile(r"^### `-([\w-]+)`$", re.MULTILINE)
# What follows the description of an operation or a pass.
AFTER_DESCRIPTION = re.compile(
    r"^(Traits: |Interfaces: |Effects: |#### |### |## |# )", re.MULTILINE)
FENCE = re.compile(r"^```mlir[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass
class Generator:
    build: Path
    cases: list[Case] = field(default_factory=list)
    pages: list[tuple[str, str]] = field(default_factory=list)  # file, title

    @property
    def opt(self) -> Path:
        return self.build / "bin" / "regather-opt"

    def record(self, name: str, error: str | None) -> None:
        self.cases.append(failed(name, error) if error else passed(name))

    def write(self, name: str, title: str, text: str) -> None:
        (self.build / "docs" / name).write_text(text)
        self.pages.append((name, title))

    def generate(self) -> list[Case]:
        (self.build / "docs").mkdir(exist_ok=True)
        result = run(["cmake", "--build", self.build, "--target",
                      "regather-docs"])
        if result.code != 0:
            return [failed("regather-docs", result.output)]
        self.reference_pages()
        self.operator_page()
        self.tool_pages()
        self.written_pages()
        self.index()
        return self.cases

    def reference_pages(self) -> None:
        texts = self.operation_examples() | self.pass_examples()
        for raw in sorted((self.build / "docs" / "raw").glob("*.md")):
            page = insert_examples(raw.read_text(), texts)
            error = None if page.strip() else "the page is empty"
            self.record(f"page {raw.name}", error)
            title = re.search(r"^#+ (.*)$", page, re.MULTILINE)
            if raw.stem.endswith("Passes"):
                heading = f"{raw.stem.removesuffix('Passes').lower()} passes"
                page = f"# {heading.capitalize()}\n\n{page}"
            else:
                heading = title[1] if title else raw.stem
            self.write(raw.name, heading, page)

    def operator_page(self) -> None:
        """The targets of nodes that the table of operators knows."""
        lines = ["# Operators", "",
                 "The targets of `tg.node` that are known by more than their "
                 "types. What is built becomes linalg, what is expanded other "
                 "nodes before; what is opaque only graph passes take. A whole "
                 "node works on whole tensors."]
        known = tablegen.targets()
        for kind in sorted({target.kind for target in known}):
            lines += ["", f"## {kind}", "",
                      "| target | parameters | lowering | sharding | PyTorch |",
                      "|---|---|---|---|---|"]
            lines += [f"| `{target.name}` | {target.parameters} | "
                      f"{target.lowering} | {target.sharding} | "
                      f"{target.pytorch} |"
                      for target in known if target.kind == kind]
        self.record("page operators", None if known else "the page is empty")
        self.write("operators.md", "Operators", "\n".join(lines) + "\n")

    def operation_examples(self) -> dict[str, str]:
        texts = {}
        known = examples.examples_of_operations()
        for operation in tablegen.operations():
            example = known.get(operation.name)
            if not example:  # The lint of examples reports it.
                continue
            result = run([self.opt], stdin=example.text)
            error = result.output if result.code != 0 else None
            if not re.search(re.escape(operation.name) + r"\b", example.text):
                error = f"{example.place}: does not show {operation.name}"
            self.record(f"example {operation.name}", error)
            texts[operation.name] = f"Example:\n\n{fenced(example.text)}"
        return texts

    def pass_examples(self) -> dict[str, str]:
        texts = {}
        for one in tablegen.passes():
            example = examples.example_of_pass(one)
            if not example:
                continue
            flag = f"--{one.name}"
            if example.options:
                flag += f"={example.options}"
            # Remarks on stderr are no part of the IR.
            before = run([self.opt], stdin=example.text, split=True)
            after = run([self.opt, flag], stdin=example.text, split=True)
            error = next((f"{example.place}: {result.output}{result.errors}"
                          for result in (before, after) if result.code != 0),
                         None)
            self.record(f"example {one.name}", error)
            texts[one.name] = before_and_after(
                flag, example.text, before.output, after.output)
        return texts

    def tool_pages(self) -> None:
        for tool, subcommands in TOOLS.items():
            text = f"# {tool}\n"
            for words in [[], *([name] for name in subcommands)]:
                title = " ".join([tool, *words])
                result = run([self.build / "bin" / tool, *words, "--help"])
                text += f"\n## `{title}`\n\n```\n{result.output.strip()}\n```\n"
                error = None
                if result.code != 0 or not result.output.strip():
                    error = f"exit status {result.code}\n{result.output}"
                self.record(f"help of {title}", error)
            self.write(f"{tool}.md", tool, text)

    def written_pages(self) -> None:
        """MLIR in docs/*.md and README.md parses; it is not rewritten."""
        for path in project_files(".md"):
            if path.parent not in (Path("docs"), Path(".")):
                continue
            text = (ROOT / path).read_text()
            for block in FENCE.finditer(text):
                line = text.count("\n", 0, block.start()) + 1
                result = run([self.opt], stdin=block[1])
                self.record(f"{path}:{line}",
                            result.output if result.code != 0 else None)

    def index(self) -> None:
        lines = ["# Reference", ""]
        lines += [f"- [{title}]({name})" for name, title in self.pages]
        (self.build / "docs" / "index.md").write_text("\n".join(lines) + "\n")


def fenced(text: str) -> str:
    return f"```mlir\n{text.strip()}\n```\n"


def before_and_after(flag: str, written: str, before: str, after: str) -> str:
    if before == after:
        return f"Example, which `{flag}` leaves as it is:\n\n{fenced(written)}"
    return (f"Example:\n\n{fenced(written)}\nAfter `{flag}`:\n\n"
            f"{fenced(after)}")


def insert_examples(page: str, texts: dict[str, str]) -> str:
    """Puts each example behind the description under the heading it names."""
    headings = sorted([*OPERATION.finditer(page), *PASS.finditer(page)],
                      key=lambda heading: heading.start())
    pieces = []
    position = 0
    for heading in headings:
        if heading[1] not in texts:
            continue
        end = AFTER_DESCRIPTION.search(page, heading.end())
        place = end.start() if end else len(page)
        pieces += [page[position:place].rstrip("\n"), "\n\n",
                   texts[heading[1]], "\n"]
        position = place
    return "".join([*pieces, page[position:]])


def check(build: Path) -> list[Case]:
    return Generator(build).generate()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build-dir", type=Path, default=ROOT / "build")
    build = parser.parse_args().build_dir.resolve()
    status = report(check(build))
    print(f"see {build / 'docs' / 'index.md'}")
    return status


if __name__ == "__main__":
    sys.exit(main())
