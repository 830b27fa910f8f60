"""The machine that the kit runs on: its devices, and the driver."""

from __future__ import annotations

import json
import platform
import shutil
import sys
from collections.abc import Iterator
from typing import Any

from case import Run
from processes import ask

DEVICES = """
import ctypes, json, sys
cuda = ctypes.CDLL(sys.argv[1])
code = cuda.cuInit(0)
if code:
    sys.exit(f"cuInit returns {code}")
number, devices = ctypes.c_int(), []
cuda.cuDriverGetVersion(ctypes.byref(number))
version = number.value
cuda.cuDeviceGetCount(ctypes.byref(number))
for i in range(number.value):
    name, device = ctypes.create_string_buffer(256), ctypes.c_int()
    cuda.cuDeviceGet(ctypes.byref(device), i)
    cuda.cuDeviceGetName(name, 256, device)
    devices.append(name.value.decode())
print(json.dumps([version, devices]))
"""


def describe(run: Run) -> dict[str, Any]:
    about: dict[str, Any] = {
        "host": f"{platform.system()} {platform.release()}, "
                f"{' '.join(platform.libc_ver())}",
        "python": sys.version.split()[0],
        "torch": [f"{one.torch} in {one.executable}"
                  for one in run.environments if one.torch]}
    driver = run.libraries["CUDA driver"].path
    if driver is None:
        return {**about, "devices": [], "error": "there is no CUDA driver"}
    text, error = ask([sys.executable, "-B", "-c", DEVICES, driver], 60,
                      run.environment({"name": "machine"}))
    if error:
        return {**about, "devices": [], "error": error}
    version, devices = json.loads(text.strip().splitlines()[-1])
    about |= {"driver": f"CUDA {version // 1000}.{version % 1000 // 10}",
              "devices": devices}
    if (tool := shutil.which("nvidia-smi")) and not run.stand_in:
        about["nvidia-smi"] = ask([tool, "--query-gpu=name,driver_version,"
                                   "memory.total,clocks.sm,power.limit",
                                   "--format=csv,noheader"], 20)[0].splitlines()
    return about


def lines(about: dict[str, Any]) -> Iterator[str]:
    for name, value in about.items():
        yield f"{name}: {', '.join(value) if isinstance(value, list) else value}"
