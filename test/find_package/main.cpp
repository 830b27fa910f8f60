//===- main.cpp - A program that embeds Regather ----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Parses a step with a collective and runs a pass on it, through the installed
// headers and libraries only.
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/IR/TG.h"
#include "regather/InitAll.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/Support/raw_ostream.h"

static constexpr const char *kStep = R"mlir(
  tg.mesh @mesh [dp = 4]
  func.func @step(%shard: tensor<2x8xf32>) -> tensor<8x8xf32> {
    %future = tg.all_gather %shard on @mesh [dp] dim 0 phase forward
        : (tensor<2x8xf32>) -> !tg.future<tensor<8x8xf32>>
    %whole = tg.wait %future : !tg.future<tensor<8x8xf32>>
    return %whole : tensor<8x8xf32>
  }
)mlir";

int main() {
  mlir::DialectRegistry registry;
  regather::registerAllDialects(registry);
  regather::registerAllPasses();
  mlir::MLIRContext context(registry);

  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(kStep, &context);
  if (!module)
    return 1;

  int numCollectives = 0;
  module->walk([&](regather::tg::AllGatherOp) { ++numCollectives; });
  if (numCollectives != 1)
    return 2;

  mlir::PassManager pipeline(&context, mlir::ModuleOp::getOperationName(),
                             mlir::OpPassManager::Nesting::Implicit);
  if (failed(mlir::parsePassPipeline("tg-verify-step", pipeline)))
    return 3;
  if (failed(pipeline.run(*module)))
    return 4;

  llvm::outs() << "ok\n";
  return 0;
}
