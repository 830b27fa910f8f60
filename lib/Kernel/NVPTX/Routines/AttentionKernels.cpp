//===- AttentionKernels.cpp - Attention as functions of the gpu dialect ---===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AttentionKernels.h"

#include "TensorCoreAttention.h"

#include "regather/Conversion/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace regather;
using namespace regather::nvptx;

LogicalResult nvptx::buildAttentionKernels(const rg_attention_desc &desc,
                                           gpu::GPUModuleOp module,
                                           StringRef name) {
  for (int64_t size : {desc.batch, desc.heads, desc.rows, desc.columns,
                       desc.width, desc.value_width})
    if (size == 0)
      return module.emitError() << "attention has nothing to compute";
  if (desc.softcap != 0 || desc.mask_gradient)
    return module.emitError() << "there are no kernels for attention with a "
                                 "bound of scores or the gradient of a mask";
  auto *build = desc.backward ? buildAttentionBackward : buildAttentionForward;
  if (fitsTensorCores(desc))
    build = desc.backward ? buildTensorCoreBackward : buildTensorCoreForward;
  if (failed(build(desc, module, name)))
    return failure();
  PassManager pm(module.getContext(), gpu::GPUModuleOp::getOperationName());
  pm.addPass(createConvertMathToArithPass());
  return pm.run(module);
}
