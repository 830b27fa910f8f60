//===- Context.cpp - A context of MLIR for many inputs --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Context.h"

#include "Reader.h"

#include "regather/Dialect/Exec/IR/Exec.h"
#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <memory>

using namespace mlir;
using namespace regather;
using namespace regather::fuzz;

MLIRContext &regather::fuzz::getContext() {
  constexpr unsigned kInputs = 500;
  static std::unique_ptr<MLIRContext> context;
  static unsigned inputs = 0;
  if (!context || ++inputs % kInputs == 0) {
    // No more than steps need: what others parse is not ours.
    DialectRegistry registry;
    registry.insert<arith::ArithDialect, exec::ExecDialect, func::FuncDialect,
                    tensor::TensorDialect, tg::TGDialect>();
    context = std::make_unique<MLIRContext>(registry,
                                            MLIRContext::Threading::DISABLED);
    context->printOpOnDiagnostic(false);
    context->loadAllAvailableDialects();
  }
  return *context;
}

FirstError::FirstError(MLIRContext &context)
    : handler(&context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() != DiagnosticSeverity::Error || hasError)
          return success();
        hasError = true;
        message = diagnostic.str();
        return success();
      }) {}

std::string FirstError::explain(bool succeeded) const {
  if (succeeded && hasError)
    reportFind("success with an error: " + message);
  if (!succeeded && !hasError)
    reportFind("failure without an error");
  if (!succeeded && message.empty())
    reportFind("an error without a message");
  return message;
}
