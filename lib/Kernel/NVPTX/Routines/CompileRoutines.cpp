//===- CompileRoutines.cpp - PTX of routines ------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/NVPTX/CompileRoutines.h"

#include "../GpuModules.h"
#include "AttentionKernels.h"
#include "GemmBlock.h"
#include "GemmKernel.h"

#include "regather/Runtime/GpuProgram.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace regather;

/// All that a description says.
static std::string describe(const rg_attention_desc &desc) {
  std::string text = "attention";
  llvm::raw_string_ostream os(text);
  for (int64_t number : {desc.batch, desc.heads, desc.groups, desc.rows,
                         desc.columns, desc.width, desc.value_width})
    os << ' ' << number;
  for (int32_t number : {desc.causal, desc.masked, desc.backward})
    os << ' ' << number;
  os << ' ' << llvm::bit_cast<uint32_t>(desc.scale);
  for (const rg_attention_operand *operand :
       {&desc.q, &desc.k, &desc.v, &desc.mask, &desc.o, &desc.l, &desc.grad_o,
        &desc.grad_q, &desc.grad_k, &desc.grad_v}) {
    os << " buffer " << operand->buffer << ' ' << operand->dtype << ' '
       << operand->offset;
    for (int64_t stride : operand->strides)
      os << ' ' << stride;
  }
  return text;
}

static std::string describe(const rg_gemm_desc &desc) {
  std::string text = "gemm";
  llvm::raw_string_ostream os(text);
  os << ' ' << desc.m << ' ' << desc.n << ' ' << desc.k << ' ' << desc.relu
     << ' ' << llvm::bit_cast<uint32_t>(desc.alpha) << " segments "
     << desc.segments << ' ' << desc.segment_dtype << " batch";
  for (int64_t i = 0; i < desc.batch_rank; ++i)
    os << ' ' << desc.batch_sizes[i];
  SmallVector<const rg_gemm_operand *> operands = {&desc.a, &desc.b, &desc.c};
  for (int32_t i = 0; i < desc.addend_count; ++i)
    operands.push_back(&desc.addends[i]);
  for (const rg_gemm_operand *operand : operands) {
    os << " buffer " << operand->buffer << ' ' << operand->dtype << ' '
       << operand->offset;
    for (int64_t stride : operand->strides)
      os << ' ' << stride;
    for (int64_t i = 0; i < desc.batch_rank; ++i)
      os << ' ' << operand->batch_strides[i];
  }
  return text;
}

/// Compiles routines that `buildOne` builds.
template <typename Desc>
static FailureOr<std::vector<nvptx::KernelCode>> compileRoutines(
    Location location, StringRef kind, ArrayRef<Desc> descs,
    function_ref<LogicalResult(const Desc &, gpu::GPUModuleOp, StringRef)>
        buildOne,
    const nvptx::KernelCompileOptions &options,
    kernel::KernelStatistics &statistics) {
  if (descs.empty())
    return std::vector<nvptx::KernelCode>();
  std::vector<std::string> texts;
  llvm::StringMap<const Desc *> known;
  for (const Desc &desc : descs)
    known[texts.emplace_back(describe(desc))] = &desc;
  auto build = [&](StringRef text, gpu::GPUModuleOp module, StringRef name) {
    return buildOne(*known.find(text)->second, module, name);
  };
  std::vector<nvptx::CompiledModule> compiled =
      nvptx::compileGpuModules(location.getContext()->getDialectRegistry(),
                               texts, build, options, statistics);
  std::vector<nvptx::KernelCode> codes;
  for (auto [i, result] : llvm::enumerate(compiled)) {
    if (result.code)
      codes.push_back(std::move(*result.code));
    else
      emitError(location) << "cannot compile " << kind << ' ' << i << " for "
                          << options.architecture->name << ": " << result.error;
  }
  if (codes.size() != descs.size())
    return failure();
  return codes;
}

FailureOr<std::vector<nvptx::KernelCode>>
nvptx::compileAttentions(Location location, ArrayRef<rg_attention_desc> descs,
                         const KernelCompileOptions &options,
                         kernel::KernelStatistics &statistics) {
  return compileRoutines<rg_attention_desc>(
      location, "attention", descs, buildAttentionKernels, options, statistics);
}

FailureOr<std::vector<std::optional<nvptx::KernelCode>>>
nvptx::compileGemms(Location location, ArrayRef<rg_gemm_desc> descs,
                    const KernelCompileOptions &options,
                    kernel::KernelStatistics &statistics) {
  std::vector<rg_gemm_desc> generated;
  std::vector<size_t> numbers;
  for (auto [i, desc] : llvm::enumerate(descs))
    if ((options.elastic && GemmBlock::countBlocks(desc, 1) != 0) ||
        rg_gpu_gemm_obstacle(&desc)) {
      generated.push_back(desc);
      numbers.push_back(i);
    }
  auto codes = compileRoutines<rg_gemm_desc>(
      location, "GEMM", generated, buildGemmKernel, options, statistics);
  if (failed(codes))
    return failure();
  std::vector<std::optional<KernelCode>> all(descs.size());
  for (auto [number, code] : llvm::zip_equal(numbers, *codes))
    all[number] = std::move(code);
  return all;
}

/// What one routine is lowered to.
static FailureOr<std::string>
printRoutine(Location location, StringRef kind, StringRef name,
             function_ref<LogicalResult(gpu::GPUModuleOp, StringRef)> build) {
  auto text = nvptx::printGpuModule(
      location.getContext()->getDialectRegistry(), "", name,
      [&](StringRef, gpu::GPUModuleOp module, StringRef symbol) {
        return build(module, symbol);
      });
  if (!text)
    return emitError(location)
           << "cannot lower " << kind
           << " to the gpu dialect: " << llvm::toString(text.takeError());
  return *text;
}

FailureOr<std::string>
nvptx::printAttentionKernels(Location location, const rg_attention_desc &desc,
                             StringRef name) {
  return printRoutine(location, "attention", name,
                      [&](gpu::GPUModuleOp module, StringRef symbol) {
                        return buildAttentionKernels(desc, module, symbol);
                      });
}

FailureOr<std::string> nvptx::printGemmKernel(Location location,
                                              const rg_gemm_desc &desc,
                                              StringRef name) {
  return printRoutine(location, "a GEMM", name,
                      [&](gpu::GPUModuleOp module, StringRef symbol) {
                        return buildGemmKernel(desc, module, symbol);
                      });
}
