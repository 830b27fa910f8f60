//===- ReadModule.cpp - Steps in files ------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/ReadModule.h"

#include "regather/Import/ImportFx.h"
#include "regather/InitAll.h"
#include "regather/Support/NestingDepth.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"

using namespace mlir;
using namespace regather;

std::unique_ptr<MLIRContext> regather::createContext() {
  DialectRegistry registry;
  registerAllDialects(registry);
  auto context = std::make_unique<MLIRContext>(registry);
  context->printOpOnDiagnostic(false);
  return context;
}

OwningOpRef<ModuleOp> regather::readModule(StringRef path,
                                           llvm::SourceMgr &sources,
                                           MLIRContext &context) {
  Location nowhere = UnknownLoc::get(&context);
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> buffer = openInputFile(path, &message);
  if (!buffer) {
    emitError(nowhere) << message;
    return nullptr;
  }
  return readModule(std::move(buffer), path.ends_with(".fx.json"), sources,
                    context);
}

OwningOpRef<ModuleOp>
regather::readModule(std::unique_ptr<llvm::MemoryBuffer> buffer, bool isCapture,
                     llvm::SourceMgr &sources, MLIRContext &context) {
  if (!isCapture)
    if (std::optional<BracketPlace> place =
            findDeepBracket(buffer->getBuffer())) {
      emitError(FileLineColLoc::get(&context, buffer->getBufferIdentifier(),
                                    place->line, place->column))
          << getDeepNestingMessage();
      return nullptr;
    }
  sources.AddNewSourceBuffer(std::move(buffer), llvm::SMLoc());
  if (!isCapture)
    return parseSourceFile<ModuleOp>(sources, &context);
  OwningOpRef<ModuleOp> module = importFx(sources, &context);
  if (module && failed(verify(*module)))
    return nullptr;
  return module;
}
