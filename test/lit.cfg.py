"""lit configuration: FileCheck tests of the dialect, the passes and the tools."""

import os
import shutil

import lit.formats
import lit.llvm
from lit.llvm import llvm_config
from lit.llvm.subst import ToolSubst

config.name = "Regather"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "Unit", "python", "find_package", "fuzz"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.regather_build_dir, "test")
config.environment["PATH"] = os.pathsep.join(
    [config.regather_tools_dir, config.llvm_tools_dir,
     config.environment.get("PATH", "")])
# The user's cache of kernels is none of the tests' business.
config.environment["REGATHER_CACHE_DIR"] = ""

config.substitutions += [
    # Everything that it reads is also printed and parsed again; the passes get
    # what was read first.
    (r"\bregather-opt\b", "regather-opt --verify-roundtrip"),
    ("%benchmarks", config.regather_source_dir + "/benchmarks"),
    ("%examples", config.regather_source_dir + "/examples"),
    ("%plugin", config.regather_build_dir + "/lib/Regather.so"),
    ("%inputs", os.path.join(config.test_source_root, "Inputs")),
    (r"%\{mlir-opt\}", os.path.join(config.llvm_tools_dir, "mlir-opt")),
    ("%python", config.python_executable),
]

# NVIDIA's assembler, which needs no GPU.
if shutil.which("ptxas"):
    config.available_features.add("ptxas")
