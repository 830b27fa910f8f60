"""Capturing the 405-billion-parameter model: no memory for its weights."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="capturing needs PyTorch")

from capture_cases import ROOT  # noqa: E402

LIMIT = 4 << 30

PROGRAM = """
import resource, sys
from regather.cli import main
code = main(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
sys.exit(code)
"""


@pytest.mark.skipif(
    os.environ.get("REGATHER_SLOW_TESTS") != "1",
    reason="takes a minute; set REGATHER_SLOW_TESTS=1",
)
def test_405b(tmp_path):
    path = tmp_path / "x.fx.json"
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, "capture", "--model",
         str(ROOT / "examples" / "llama3.py") + ":step", "--config",
         '{"config": "405B", "dtype": "bfloat16"}', "-o", str(path)],
        capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
    )
    assert int(result.stdout) < LIMIT
    document = json.loads(path.read_text())
    assert len(document["parameters"]) == 126 * 9 + 3
    assert len(document["nodes"]) == 32339
