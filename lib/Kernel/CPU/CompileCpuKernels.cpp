//===- CompileCpuKernels.cpp - Machine code of kernels --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/CPU/CompileCpuKernels.h"

#include "KernelCompiler.h"

#include "regather/Kernel/CPU/Passes.h"
#include "regather/Kernel/Compilation/KernelText.h"
#include "regather/Kernel/Transforms/KernelPipelines.h"

using namespace mlir;
using namespace regather;
using namespace regather::cpu;

/// Compiles kernels to what the cache keeps: the shape and then the object.
static kernel::TextCompiler makeCompiler(const DialectRegistry &dialects,
                                         const KernelTarget &target) {
  auto compiler = std::make_shared<KernelCompiler>(dialects, target);
  return [compiler](StringRef text, StringRef name,
                    kernel::CodeSource codes) -> llvm::Expected<std::string> {
    KernelShape shape;
    auto object = compiler->compile(text, name, shape, codes);
    if (!object)
      return object.takeError();
    return std::string(reinterpret_cast<const char *>(&shape),
                       sizeof(KernelShape)) +
           *object;
  };
}

/// Emits why a kernel cannot be compiled. Lowers the kernel itself once more,
/// since its text has no locations.
static void explainFailure(tg::KernelOp kernel, StringRef message,
                           int64_t blockBytes) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.getLoc());
  module->push_back(kernel.clone());
  kernel::loadKernelDialects(kernel.getContext());
  PassManager pipeline(kernel.getContext());
  KernelPipelineOptions options;
  options.tileBytes = blockBytes;
  buildKernelPipeline(pipeline, options);
  if (succeeded(pipeline.run(*module)))
    kernel.emitError() << "cannot compile the kernel: " << message;
}

FailureOr<std::vector<KernelCode>>
cpu::compileKernels(ArrayRef<tg::KernelOp> kernels,
                    const KernelCompileOptions &options,
                    KernelStatistics &statistics) {
  if (kernels.empty())
    return std::vector<KernelCode>();
  auto target = KernelTarget::detectHost(options.blockBytes,
                                         /*optimizes=*/options.optimizes);
  if (!target)
    return tg::KernelOp(kernels.front()).emitError()
           << "cannot compile the kernels: "
           << llvm::toString(target.takeError());
  auto texts = llvm::map_to_vector(kernels, kernel::getText);
  MLIRContext *context = tg::KernelOp(kernels.front()).getContext();
  const DialectRegistry &dialects = context->getDialectRegistry();
  std::vector<kernel::CompiledText> compiled = kernel::compileInParallel(
      texts, [&](StringRef text) { return target->getName(text); },
      [&] { return makeCompiler(dialects, *target); }, options, statistics);
  std::vector<KernelCode> codes;
  bool hasFailed = false;
  for (auto [op, result] : llvm::zip_equal(kernels, compiled)) {
    if (result.code.size() < sizeof(KernelShape)) {
      explainFailure(op, result.error, options.blockBytes);
      hasFailed = true;
      continue;
    }
    KernelCode &code = codes.emplace_back();
    KernelShape shape;
    memcpy(&shape, result.code.data(), sizeof(KernelShape));
    code.symbol = result.name;
    code.rows = shape.numBlocks;
    code.scratchBytes = shape.scratchBytes;
    // The copy is aligned, as readers of object files expect.
    code.object = llvm::MemoryBuffer::getMemBufferCopy(
        StringRef(result.code).drop_front(sizeof(KernelShape)), result.name);
  }
  if (hasFailed)
    return failure();
  return codes;
}
