//===- FxReader.cpp - Captured graphs -------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Context.h"
#include "JsonMutation.h"
#include "Reader.h"

#include "regather/Import/ImportFx.h"

#include "mlir/IR/Verifier.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace regather;
using namespace regather::fuzz;

static std::string readFxBytes(std::string_view bytes) {
  MLIRContext &context = getContext();
  FirstError error(context);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(
      llvm::MemoryBuffer::getMemBufferCopy(bytes, "input.fx.json"),
      llvm::SMLoc());
  OwningOpRef<ModuleOp> module = importFx(sources, &context);
  return error.explain(module && succeeded(verify(*module)));
}

const Reader regather::fuzz::fxReader = {"fx", readFxBytes, mutateJson};
