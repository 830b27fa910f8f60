//===- CompileGpu.cpp - Kernels of a step for a GPU -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileGpu.h"

#include "Commands.h"

#include "regather/Kernel/NVPTX/PtxFile.h"
#include "regather/Support/AtomicFile.h"

#include "llvm/Support/JSON.h"

using namespace regather;
namespace json = llvm::json;

static int64_t countBytes(mlir::TypeRange types) {
  int64_t bytes = 0;
  for (mlir::Type type : types)
    bytes += tg::getTensorBytes(mlir::cast<mlir::RankedTensorType>(type));
  return bytes;
}

/// Adds what the machine code takes, if the report says it.
static void addResources(const nvptx::Launch &launch,
                         const nvptx::AssemblyReport &report,
                         const nvptx::GpuArchitecture &architecture,
                         json::Object &text) {
  auto found = report.find(launch.symbol);
  if (found == report.end())
    return;
  const nvptx::EntryResources &resources = found->second;
  text["registers"] = resources.registers;
  text["spill_bytes"] = resources.spillBytes;
  text["shared_bytes"] = resources.sharedBytes;
  text["blocks_per_sm"] =
      nvptx::countResidentBlocks(architecture, launch, resources);
}

/// How the kernels are launched, and which are left to libraries.
static std::string describeLaunches(mlir::ModuleOp module,
                                    llvm::ArrayRef<tg::KernelOp> kernels,
                                    llvm::ArrayRef<nvptx::KernelCode> codes,
                                    const nvptx::AssemblyReport &report,
                                    const GpuCompileRequest &request) {
  json::Array launches, routines;
  for (auto [kernel, code] : llvm::zip_equal(kernels, codes)) {
    json::Object entry = nvptx::toJSON(code.plan);
    entry["kernel"] = tg::KernelOp(kernel).getSymName();
    entry["argument_bytes"] =
        countBytes(tg::KernelOp(kernel).getArgumentTypes());
    entry["result_bytes"] = countBytes(tg::KernelOp(kernel).getResultTypes());
    for (auto [launch, text] :
         llvm::zip_equal(code.plan.launches, *entry.getArray("launches")))
      addResources(launch, report, *request.options.architecture,
                   *text.getAsObject());
    launches.push_back(std::move(entry));
  }
  for (tg::KernelOp kernel : module.getOps<tg::KernelOp>())
    if (mlir::Attribute call = kernel.getLibraryCallAttr()) {
      std::string text;
      llvm::raw_string_ostream os(text);
      os << call;
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
  nvptx::AssemblyReport report;
  if (request.output == GpuOutput::Cubin) {
    auto binary = nvptx::assemblePtx(code, request.options, request.ptxas,
                                     statistics, &report);
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
                describeLaunches(module, kernels, *codes, report, request)))
    return reportError(failure.getMessage());
  return 0;
}
