"""The debug Llama on a text: one rank, and ranks that share the device, against
the recorded losses of eager PyTorch."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from cases.builder import Cases

ROOT = Path(__file__).resolve().parents[3]
LLAMA = ROOT / "examples" / "llama3-debug"


def add_cases(cases: Cases) -> None:
    if cases.short:
        return
    record = json.loads(LLAMA.with_suffix(".losses.json").read_text())
    options = record["optimizer"]
    optimizer = (f"--optimizer={options['name']} "
                 f"betas={','.join(map(str, options['betas']))} "
                 f"eps={options['eps']} weight-decay={options['weight_decay']} "
                 f"max-norm={options['max_norm']}")
    step = LLAMA.with_suffix(".fx.json")
    cases.call(sys.executable, ROOT / "examples" / "llama3_weights.py",
               "--graph", step, "-o", cases.folder / "llama.safetensors")
    shutil.copy(ROOT / record["text"]["file"], cases.folder / "text.txt")
    reaches = cases.reaches(cases.write_losses("llama", record["losses"]), 1e-4)
    flags = ["--inputs=llama.safetensors", "--text=text.txt",
             f"--learning-rate={options['learning_rate']}"]
    for ranks in (1, 2, 4):
        name = "llama" if ranks == 1 else f"llama-{ranks}-ranks"
        bundle = cases.compile(step, name, optimizer, f"--ranks={ranks}")
        cases.add(name, bundle, flags, check=reaches)
    cases.add_graphs(step, "llama", flags,
                     {"modules": "modules=*.attention", "unit": "unit",
                      "full": "full"}, optimizer, "--ranks=1")
    cases.add_case({"kind": "gaps", "name": "llama-gaps",
                    "of": ["llama", "llama-full"], "stand_in_steps": 1})
    cases.add("llama-nccl", "llama.rgb", [*flags, "--comm=nccl"], kind="job",
              ranks=1, check=reaches)
    # The file pins what was found to be fastest.
    cases.add("llama-timed", "llama.rgb", [*flags, "--algorithms=timed"],
              check=reaches, algorithms="llama-timed")
    cases.add("llama-timed-again", "llama.rgb", flags,
              check=cases.same("llama-timed"), algorithms="llama-timed")
