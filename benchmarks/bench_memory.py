"""Arena of the debug Llama on 4 ranks, by what lives on to backward.

Runs the example under each choice of `--reshard`, `--policy` and `--recompute`.
Bytes are measured: `--check-plan` fills the arenas with a pattern and looks how
far it was overwritten. Losses have to be equal, to the bit. The table goes to
docs/benchmarks/memory.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "llama3-debug.fx.json"
PAGE = ROOT / "docs" / "benchmarks" / "memory.md"
RANKS = 4
STEPS = 10
RESHARD = ("never", "always")
POLICIES = ("none", "selective", "full")
RECOMPUTE = ("none", "min-cut")
OPTIMIZER = "adamw betas=0.9,0.95"

TEXT = """# Memory of a step

Bytes of the arena of one rank for the Llama example (3.3 million parameters,
float32, 8 sequences of 256 tokens, AdamW) on {ranks} ranks, as measured by
`./dev bench memory` with `--check-plan`. Arguments (shards of parameters and of
the optimizer's states, and the batch) take {arguments} more. The losses of
{steps} steps are equal in all rows, to the bit.

| `--reshard` | `--policy` | `--recompute` | arena | of the first | received by a rank |
|---|---|---|---:|---:|---:|
{rows}
"""


@dataclass
class Row:
    reshard: str
    policy: str
    recompute: str
    report: dict[str, Any]

    @property
    def bytes(self) -> int:
        return self.report["arena"]["touched_bytes"]


def run(tool: Path, reshard: str, policy: str, recompute: str,
        folder: Path) -> Row:
    command = [tool, "run", EXAMPLE, f"--ranks={RANKS}", f"--steps={STEPS}",
               f"--optimizer={OPTIMIZER}", "--learning-rate=1e-3",
               f"--reshard={reshard}", f"--policy={policy}",
               f"--recompute={recompute}", "--random-inputs=1", "--check-plan",
               "--cache-dir", folder, "--json", "--quiet"]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        raise SystemExit(result.stderr)
    return Row(reshard, policy, recompute, json.loads(result.stdout))


def megabytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB"


def main(args: argparse.Namespace) -> int:
    tool = args.build_dir / "bin" / "regather"
    print(f"{'reshard':8} {'policy':10} {'recompute':10} {'arena':>9}"
          f" {'ratio':>6} {'received':>9} {'ms a step':>10}  losses")
    rows: list[Row] = []
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for choice in product(RESHARD, POLICIES, RECOMPUTE):
            row = run(tool, *choice, Path(folder))
            rows.append(row)
            equal = row.report["losses"] == rows[0].report["losses"]
            wrong |= not equal
            print(f"{row.reshard:8} {row.policy:10} {row.recompute:10}"
                  f" {megabytes(row.bytes):>9} {row.bytes / rows[0].bytes:6.2f}"
                  f" {megabytes(row.report['collective_bytes']):>9}"
                  f" {row.report['seconds_per_step'] * 1e3:10.0f}"
                  f"  {'equal' if equal else 'DIFFERENT'}", flush=True)
    if wrong:
        print("what lives on to backward has changed a loss")
        return 1
    first = rows[0].report
    PAGE.write_text(TEXT.format(
        ranks=RANKS, steps=STEPS,
        arguments=megabytes(first["peak_bytes_per_rank"]
                            - first["arena"]["planned_bytes"]),
        rows="\n".join(
            f"| {row.reshard} | {row.policy} | {row.recompute}"
            f" | {megabytes(row.bytes)} | {row.bytes / rows[0].bytes:.2f}"
            f" | {megabytes(row.report['collective_bytes'])} |"
            for row in rows)))
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0
