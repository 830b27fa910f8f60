//===- Interpret.h - Interpret a program from its text ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_UNIT_INTERPRETER_INTERPRET_H
#define REGATHER_TEST_UNIT_INTERPRETER_INTERPRET_H

#include "regather/Dialect/TG/IR/TG.h"
#include "regather/StepAnalysis/CreateEngine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

#include <cstring>
#include <string>
#include <vector>

namespace regather::test {

inline HostTensor tensor(llvm::ArrayRef<int64_t> shape,
                         llvm::ArrayRef<double> values,
                         ElementType type = ElementType::F32) {
  HostTensor result = HostTensor::zeros(type, shape);
  EXPECT_EQ(result.getNumElements(), static_cast<int64_t>(values.size()));
  for (auto [i, value] : llvm::enumerate(values))
    result.setFromDouble(i, value);
  return result;
}

/// first, first + 1, ...
inline HostTensor iota(llvm::ArrayRef<int64_t> shape, double first = 0,
                       ElementType type = ElementType::F32) {
  HostTensor result = HostTensor::zeros(type, shape);
  for (int64_t i = 0; i < result.getNumElements(); ++i)
    result.setFromDouble(i, first + i);
  return result;
}

inline std::vector<double> values(const HostTensor &tensor) {
  std::vector<double> result;
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    result.push_back(tensor.getAsDouble(i));
  return result;
}

/// The bytes of element 0 as an unsigned number.
inline uint64_t bits(const HostTensor &tensor) {
  uint64_t result = 0;
  std::memcpy(&result, tensor.getData(), getElementSize(tensor.getType()));
  return result;
}

inline HostTensor fromBits(ElementType type, uint64_t value) {
  HostTensor result = HostTensor::zeros(type, {});
  std::memcpy(result.getData(), &value, getElementSize(type));
  return result;
}

/// A module and the interpreter of its only public function.
class Program {
public:
  explicit Program(llvm::StringRef source, int64_t ranks = 1, uint64_t seed = 0)
      : handler(&context, [this](mlir::Diagnostic &diag) {
          record(diag, "");
          for (mlir::Diagnostic &note : diag.getNotes())
            record(note, "note: ");
          return mlir::success();
        }) {
    context.loadDialect<mlir::arith::ArithDialect, mlir::func::FuncDialect,
                        mlir::linalg::LinalgDialect, mlir::math::MathDialect,
                        mlir::memref::MemRefDialect, mlir::scf::SCFDialect,
                        mlir::tensor::TensorDialect, tg::TGDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
    if (!module)
      return;
    EngineOptions options;
    options.ranks = ranks;
    options.seed = seed;
    for (auto function : module->getOps<mlir::func::FuncOp>())
      if (function.isPublic())
        engine = createInterpreter(function, options);
  }

  /// Results by rank; empty on failure.
  std::vector<RankValues> run(std::vector<RankValues> arguments) {
    std::vector<RankValues> results;
    if (!engine || !engine->run(arguments, results))
      return {};
    return results;
  }

  /// Runs one rank.
  RankValues runOne(const RankValues &arguments) {
    std::vector<RankValues> results = run(std::vector<RankValues>{arguments});
    return results.empty() ? RankValues() : results.front();
  }

  bool isValid() const { return engine != nullptr; }

  /// Errors and, marked so, notes, each with its line: "3: message".
  std::vector<std::string> messages;

private:
  void record(mlir::Diagnostic &diag, llvm::StringRef mark) {
    std::string line = "?";
    if (auto loc = diag.getLocation()->findInstanceOf<mlir::FileLineColLoc>())
      line = std::to_string(loc.getLine());
    messages.push_back(line + ": " + mark.str() + diag.str());
  }

  mlir::MLIRContext context;
  mlir::ScopedDiagnosticHandler handler;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<Engine> engine;
};

/// Runs a program on one rank and expects success.
inline RankValues interpret(llvm::StringRef source,
                            const RankValues &arguments = {}) {
  Program program(source);
  RankValues results = program.runOne(arguments);
  EXPECT_TRUE(program.messages.empty()) << program.messages.front();
  return results;
}

/// Runs a program on several ranks and expects success.
inline std::vector<RankValues> interpretOn(llvm::StringRef source,
                                           llvm::ArrayRef<RankValues> arguments,
                                           uint64_t seed = 0) {
  Program program(source, arguments.size(), seed);
  std::vector<RankValues> results = program.run(arguments);
  EXPECT_TRUE(program.messages.empty()) << program.messages.front();
  return results;
}

/// Expects a run to fail and returns the messages.
inline std::vector<std::string>
expectFailure(llvm::StringRef source, llvm::ArrayRef<RankValues> arguments,
              uint64_t seed = 0) {
  Program program(source, arguments.size(), seed);
  EXPECT_TRUE(program.isValid())
      << (program.messages.empty() ? "" : program.messages.front());
  EXPECT_TRUE(program.run(arguments).empty());
  return program.messages;
}

} // namespace regather::test

#endif // REGATHER_TEST_UNIT_INTERPRETER_INTERPRET_H
