//===- SupportTest.cpp - What the interpreter rejects ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Interpret.h"

using namespace regather;
using namespace regather::test;

static std::vector<std::string> reject(llvm::StringRef source,
                                       int64_t ranks = 1) {
  Program program(source, ranks);
  EXPECT_FALSE(program.isValid());
  return program.messages;
}

TEST(Support, AllUnsupportedOperationsAreReportedAtOnce) {
  EXPECT_EQ(reject(R"(
    func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {
      %b = tg.node "aten.relu.default"(%a) : (tensor<2xf32>) -> tensor<2xf32>
      %c = tg.node "aten.relu.default"(%b) : (tensor<2xf32>) -> tensor<2xf32>
      %d = tg.node "aten.gelu.default"(%c) : (tensor<2xf32>) -> tensor<2xf32>
      %m = memref.alloc() : memref<2xf32>
      return %d : tensor<2xf32>
    }
  )"),
            (std::vector<std::string>{
                "3: node 'aten.relu.default' is not supported by the "
                "interpreter (2 uses, the first here)",
                "5: node 'aten.gelu.default' is not supported by the "
                "interpreter",
                "6: 'memref.alloc' is not supported by the interpreter"}));
}

TEST(Support, OperationsInCalleesAndBodiesAreSeen) {
  EXPECT_EQ(reject(R"(
    func.func private @g() {
      %m = memref.alloc() : memref<2xf32>
      return
    }
    func.func private @unreachable() {
      %m = memref.alloca() : memref<2xf32>
      return
    }
    func.func @f(%c: i1) {
      scf.if %c {
        func.call @g() : () -> ()
      }
      return
    }
  )"),
            std::vector<std::string>{
                "3: 'memref.alloc' is not supported by the interpreter"});
}

/// Its description contradicts its name; an oracle must not guess.
TEST(Support, AmbiguousOperationsAreRejected) {
  EXPECT_EQ(reject(R"(
    func.func @f(%a: f32) -> f32 {
      %r = math.clampf %a to [%a, %a] : f32
      return %r : f32
    }
  )"),
            std::vector<std::string>{
                "3: 'math.clampf' is not supported by the interpreter"});
}

TEST(Support, DynamicShapesAreNamed) {
  EXPECT_EQ(reject(R"(
    func.func @f(%a: tensor<2x?xf32>) {
      return
    }
  )"),
            std::vector<std::string>{
                "2: dimension 1 of '%arg0' is dynamic, but the interpreter "
                "needs static shapes"});
}

TEST(Support, TypesAreNamed) {
  std::vector<std::string> messages = reject(R"(
    func.func @f(%a: tensor<2xcomplex<f32>>) {
      return
    }
  )");
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0], "2: '%arg0' has type 'tensor<2xcomplex<f32>>', which "
                         "the interpreter does not support");
}

TEST(Support, TheMeshMustHaveTheRanksOfTheRun) {
  EXPECT_EQ(reject(R"(
    tg.mesh @mesh [dp = 2, tp = 2]
    func.func @f() {
      return
    }
  )",
                   3),
            std::vector<std::string>{
                "2: mesh 'mesh' has 4 ranks, but the run has 3"});
}

TEST(Support, DeclarationsCannotBeCalled) {
  EXPECT_EQ(
      reject(R"(
    func.func private @g()
    func.func @f() {
      call @g() : () -> ()
      return
    }
  )"),
      std::vector<std::string>{"2: function 'g' has no body to interpret"});
}

TEST(Support, ArgumentsMustMatch) {
  Program program(R"(
    func.func @f(%a: tensor<2xf32>) {
      return
    }
  )");
  EXPECT_TRUE(program.runOne({iota({3})}).empty());
  EXPECT_EQ(program.messages,
            std::vector<std::string>{"2: argument 0 on rank 0 does not match "
                                     "its type 'tensor<2xf32>'"});
}
