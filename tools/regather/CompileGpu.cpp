//===- CompileGpu.cpp - Kernels of a step for a GPU -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileGpu.h"

#include "Commands.h"

#include "regather/Support/AtomicFile.h"
#include "regather/Target/NVPTX/PtxFile.h"

#include "llvm/Support/JSON.h"

using namespace regather;
namespace json = llvm::json;

/// How the kernels are launched, and which are left to libraries.
static std::string describeLaunches(mlir::ModuleOp module,
                                    llvm::ArrayRef<tg::KernelOp> kernels,
                                    llvm::ArrayRef<nvptx::KernelCode> codes,
                                    const GpuCompileRequest &request) {
  json::Array launches, routines;
  for (auto [kernel, code] : llvm::zip_equal(kernels, codes)) {
    json::Object entry = nvptx::toJSON(code.plan);
    entry["kernel"] = tg::KernelOp(kernel).getSymName();
    launches.push_back(std::move(entry));
  }
  for (tg::KernelOp kernel : module.getOps<tg::KernelOp>())
    if (auto routine =
            kernel->getAttrOfType<tg::RoutineAttr>(tg::kRoutineAttrName)) {
      std::string text;
      llvm::raw_string_ostream os(text);
      os << mlir::Attribute(routine);
      routines.push_back(
          json::Object{{"kernel", kernel.getSymName()}, {"routine", text}});
    }
  json::Object table{{"architecture", request.options.architecture->name},
                     {"kernels", std::move(launches)},
                     {"routines", std::move(routines)}};
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::formatv("{0:2}", json::Value(std::move(table))) << '\n';
  return text;
}

static Failure write(const std::string &path, llvm::StringRef bytes) {
  if (Failure failure = writeFileAtomically(path, {bytes}))
    return Failure("cannot write '" + path + "': " + failure.getMessage());
  return {};
}

int regather::compileForGpu(mlir::ModuleOp module,
                            const GpuCompileRequest &request) {
  llvm::SmallVector<tg::KernelOp> kernels = nvptx::collectKernels(module);
  kernel::KernelStatistics statistics;
  llvm::FailureOr<std::vector<nvptx::KernelCode>> codes =
      nvptx::compileKernels(kernels, request.options, statistics);
  if (failed(codes))
    return 1;
  std::string code = nvptx::joinPtx(*codes);
  if (request.output == GpuOutput::Cubin) {
    auto binary =
        nvptx::assemblePtx(code, request.options, request.ptxas, statistics);
    if (!binary)
      return reportError(llvm::toString(binary.takeError()));
    code = std::move(*binary);
  }
  if (!statistics.cacheError.empty())
    llvm::errs() << "regather: warning: " << statistics.cacheError << '\n';
  if (Failure failure = write(request.path, code))
    return reportError(failure.getMessage());
  // A pipe, or the terminal, has room for one file only.
  if (llvm::StringRef(request.path).starts_with("/dev/"))
    return 0;
  if (Failure failure =
          write(request.path + ".json",
                describeLaunches(module, kernels, *codes, request)))
    return reportError(failure.getMessage());
  return 0;
}
