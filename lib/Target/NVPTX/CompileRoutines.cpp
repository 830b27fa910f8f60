//===- CompileRoutines.cpp - PTX of routines ------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Target/NVPTX/CompileRoutines.h"

#include "AttentionKernels.h"
#include "GpuModules.h"

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

FailureOr<std::vector<nvptx::KernelCode>>
nvptx::compileAttentions(Location location, ArrayRef<rg_attention_desc> descs,
                         const KernelCompileOptions &options,
                         kernel::KernelStatistics &statistics) {
  if (descs.empty())
    return std::vector<KernelCode>();
  std::vector<std::string> texts;
  llvm::StringMap<const rg_attention_desc *> known;
  for (const rg_attention_desc &desc : descs)
    known[texts.emplace_back(describe(desc))] = &desc;
  auto build = [&](StringRef text, gpu::GPUModuleOp module, StringRef name) {
    return buildAttentionKernels(*known.find(text)->second, module, name);
  };
  std::vector<CompiledModule> compiled =
      compileGpuModules(location.getContext()->getDialectRegistry(), texts,
                        build, options, statistics);
  std::vector<KernelCode> codes;
  for (auto [i, result] : llvm::enumerate(compiled)) {
    if (result.code)
      codes.push_back(std::move(*result.code));
    else
      emitError(location) << "cannot compile attention " << i << " for "
                          << options.architecture->name << ": " << result.error;
  }
  if (codes.size() != descs.size())
    return failure();
  return codes;
}

FailureOr<std::string>
nvptx::printAttentionKernels(Location location, const rg_attention_desc &desc,
                             StringRef name) {
  auto text =
      printGpuModule(location.getContext()->getDialectRegistry(), "", name,
                     [&](StringRef, gpu::GPUModuleOp module, StringRef symbol) {
                       return buildAttentionKernels(desc, module, symbol);
                     });
  if (!text)
    return emitError(location) << "cannot lower attention to the gpu dialect: "
                               << llvm::toString(text.takeError());
  return *text;
}
