//===- ShardingFixture.h - Prints rules of parsed operations ----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_UNIT_DIALECT_SHARDINGFIXTURE_H
#define REGATHER_TEST_UNIT_DIALECT_SHARDINGFIXTURE_H

#include "regather/Dialect/TG/IR/TG.h"
#include "regather/InitAll.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

namespace regather {

class ShardingTest : public ::testing::Test {
protected:
  ShardingTest() : context(makeRegistry()) {
    context.loadAllAvailableDialects();
  }

  static mlir::DialectRegistry makeRegistry() {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  /// The last operation before the terminator of a function with these
  /// arguments and this body.
  mlir::Operation *parseLast(llvm::StringRef arguments, llvm::StringRef body) {
    std::string source =
        ("func.func @f(" + arguments + ") {\n" + body + "\nreturn\n}").str();
    module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
    if (!module) {
      ADD_FAILURE() << source;
      return nullptr;
    }
    auto func = *module->getOps<mlir::func::FuncOp>().begin();
    return &*std::prev(func.front().end(), 2);
  }

  /// The rule of that operation, printed. Quiet and consistent.
  std::string ruleOf(llvm::StringRef arguments, llvm::StringRef body) {
    mlir::Operation *op = parseLast(arguments, body);
    auto model = llvm::dyn_cast_or_null<tg::ShardingRuleOpInterface>(op);
    if (!model)
      return "none";
    unsigned numDiagnostics = 0;
    mlir::ScopedDiagnosticHandler handler(
        &context, [&](mlir::Diagnostic &) { ++numDiagnostics; });
    tg::ShardingRule rule = model.getShardingRule();
    EXPECT_EQ(numDiagnostics, 0u);
    EXPECT_TRUE(llvm::succeeded(rule.verify(op)));
    std::string text;
    llvm::raw_string_ostream stream(text);
    rule.print(stream);
    return text;
  }

  /// The rule of a node, from `"target"(%a, %b) args [...]` and the rest.
  std::string ruleOfNode(llvm::StringRef arguments, llvm::StringRef node) {
    return ruleOf(arguments, ("tg.node " + node).str());
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace regather

#endif // REGATHER_TEST_UNIT_DIALECT_SHARDINGFIXTURE_H
