//===- MlirReader.cpp - Steps as text -------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Context.h"
#include "Reader.h"

#include "regather/Driver/ReadModule.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace regather;
using namespace regather::fuzz;

static std::string readMlirBytes(std::string_view bytes) {
  llvm::StringRef text(bytes.data(), bytes.size());
  // Damaged bytecode ends MLIR's own reader.
  if (text.starts_with("ML\xefR"))
    return "bytecode";
  MLIRContext &context = getContext();
  FirstError error(context);
  llvm::SourceMgr sources;
  OwningOpRef<ModuleOp> module =
      readModule(llvm::MemoryBuffer::getMemBufferCopy(text, "input.mlir"),
                 /*isCapture=*/false, sources, context);
  return error.explain(bool(module));
}

const Reader regather::fuzz::mlirReader = {"mlir", readMlirBytes};
