//===- InitAll.cpp - Register all of Regather -----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/InitAll.h"

#include "regather/Conversion/Passes.h"
#include "regather/Dialect/Exec/Analysis/MemoryChecks.h"
#include "regather/Dialect/Exec/IR/Exec.h"
#include "regather/Dialect/Exec/Transforms/Passes.h"
#include "regather/Dialect/TG/IR/TG.h"
#include "regather/Dialect/TG/Sharding/ShardingModels.h"
#include "regather/Dialect/TG/Transforms/Passes.h"
#include "regather/Kernel/CPU/Passes.h"
#include "regather/Kernel/NVPTX/Passes.h"
#include "regather/Kernel/Transforms/Passes.h"
#include "regather/Pipelines/Pipelines.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

void regather::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::arith::ArithDialect, mlir::func::FuncDialect,
                  mlir::linalg::LinalgDialect, mlir::math::MathDialect,
                  mlir::scf::SCFDialect, mlir::tensor::TensorDialect,
                  exec::ExecDialect, tg::TGDialect>();
  mlir::func::registerInlinerExtension(registry);
  exec::registerMemoryChecks(registry);
  tg::registerCostExternalModels(registry);
  tg::registerShardingExternalModels(registry);
}

void regather::registerAllPasses() {
  registerConversionPasses();
  exec::registerExecPasses();
  tg::registerTGPasses();
  kernel::registerKernelPasses();
  cpu::registerCPUKernelPasses();
  cpu::registerKernelPipeline();
  nvptx::registerNVPTXKernelPasses();
  nvptx::registerKernelPipelines();
  registerPipelines();
}
