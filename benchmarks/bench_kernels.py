"""Generated kernels for CPUs: bandwidth beside memcpy of as many bytes.

Runs the kernels of kernels.mlir on one thread, in turns with memcpy in the same
process; medians of the time that the thread ran. Writes kernels.svg into the
build folder.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent

ROW_HEIGHT, LABEL_WIDTH, BAR_WIDTH = 22, 230, 420


def draw(rows: list[dict]) -> str:
    """Bars of the ratios; the lines are at 80 % and 100 % of memcpy."""
    height = ROW_HEIGHT * (len(rows) + 2)
    scale = BAR_WIDTH / max(1.2, *(row["ratio"] for row in rows))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" '
        f'font-size="12" width="{LABEL_WIDTH + BAR_WIDTH + 60}" '
        f'height="{height}">',
        '<rect width="100%" height="100%" fill="white"/>']
    for i, row in enumerate(rows):
        y = ROW_HEIGHT * (i + 1)
        width = scale * row["ratio"]
        parts += [
            f'<text x="{LABEL_WIDTH - 8}" y="{y + 14}" text-anchor="end">'
            f'{row["kernel"]}</text>',
            f'<rect x="{LABEL_WIDTH}" y="{y + 3}" width="{width:.1f}" '
            f'height="{ROW_HEIGHT - 6}" fill="#4477aa"/>',
            f'<text x="{LABEL_WIDTH + width + 6:.1f}" y="{y + 14}">'
            f'{row["ratio"]:.2f}</text>']
    for mark in (0.8, 1.0):
        x = LABEL_WIDTH + scale * mark
        parts += [
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{ROW_HEIGHT}" '
            f'y2="{height - ROW_HEIGHT}" stroke="#cc3311" '
            f'stroke-dasharray="3 3"/>',
            f'<text x="{x:.1f}" y="14" text-anchor="middle">{mark:.0%}</text>']
    return "\n".join(parts + ["</svg>", ""])


def main(args: argparse.Namespace) -> int:
    program = args.build_dir / "bin" / "regather-kernel-bench"
    rows = []
    print(f"{'kernel':<28}{'GB/s':>8}{'memcpy':>8}{'ratio':>7}"
          f"{'compile ms':>12}")
    with subprocess.Popen([str(program), str(HERE / "kernels.mlir")],
                          stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            row = json.loads(line)
            rows.append(row)
            print(f"{row['kernel']:<28}{row['kernel_gb_s']:>8.1f}"
                  f"{row['memcpy_gb_s']:>8.1f}{row['ratio']:>7.2f}"
                  f"{row['compile_ms']:>12.0f}", flush=True)
    if process.returncode == 0:
        picture = args.build_dir / "kernels.svg"
        picture.write_text(draw(rows))
        print(f"see {picture}")
    return process.returncode
