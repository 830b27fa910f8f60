//===- ControlFlowTest.cpp - Control flow and calls -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Interpret.h"

using namespace regather;
using namespace regather::test;

TEST(ControlFlow, LoopsCarryValues) {
  RankValues results = interpret(R"(
    func.func @f(%a: tensor<4xf32>) -> (f32, tensor<4xf32>) {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %four = arith.constant 4 : index
      %init = arith.constant 0.0 : f32
      %sum, %out = scf.for %i = %zero to %four step %one
          iter_args(%s = %init, %t = %a) -> (f32, tensor<4xf32>) {
        %x = tensor.extract %a[%i] : tensor<4xf32>
        %s1 = arith.addf %s, %x : f32
        %t1 = tensor.insert %s1 into %t[%i] : tensor<4xf32>
        scf.yield %s1, %t1 : f32, tensor<4xf32>
      }
      return %sum, %out : f32, tensor<4xf32>
    }
  )",
                                 {iota({4}, 1)});
  EXPECT_EQ(values(results[0])[0], 10);
  EXPECT_EQ(values(results[1]), (std::vector<double>{1, 3, 6, 10}));
}

TEST(ControlFlow, WhileSwitchAndExecuteRegion) {
  RankValues results = interpret(R"(
    func.func @f(%n: index) -> (index, index, index) {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %two = arith.constant 2 : index
      %w:2 = scf.while (%x = %one, %k = %zero) : (index, index) -> (index, index) {
        %more = arith.cmpi ult, %x, %n : index
        scf.condition(%more) %x, %k : index, index
      } do {
      ^bb0(%x: index, %k: index):
        %d = arith.muli %x, %two : index
        %k1 = arith.addi %k, %one : index
        scf.yield %d, %k1 : index, index
      }
      %s = scf.index_switch %w#1 -> index
      case 3 {
        scf.yield %n : index
      }
      default {
        scf.yield %zero : index
      }
      %e = scf.execute_region -> index {
        scf.yield %w#0 : index
      }
      return %w#1, %s, %e : index, index, index
    }
  )",
                                 {tensor({}, {7}, ElementType::I64)});
  EXPECT_EQ(results[0].getAsInteger(0), 3);
  EXPECT_EQ(results[1].getAsInteger(0), 7);
  EXPECT_EQ(results[2].getAsInteger(0), 8);
}

TEST(ControlFlow, ALoopWithoutAPositiveStepIsAnError) {
  EXPECT_EQ(expectFailure(R"(
    func.func @f(%step: index) {
      %zero = arith.constant 0 : index
      scf.for %i = %zero to %zero step %step {
      }
      return
    }
  )",
                          {{tensor({}, {0}, ElementType::I64)}}),
            std::vector<std::string>{
                "4: step of a loop must be positive, got 0 on rank 0"});
}

static const char *kFactorial = R"(
  func.func private @factorial(%n: i64) -> i64 {
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %done = arith.cmpi eq, %n, %zero : i64
    %r = scf.if %done -> i64 {
      scf.yield %one : i64
    } else {
      %m = arith.subi %n, %one : i64
      %f = func.call @factorial(%m) : (i64) -> i64
      %p = arith.muli %n, %f : i64
      scf.yield %p : i64
    }
    return %r : i64
  }
  func.func @f(%n: i64) -> i64 {
    %r = call @factorial(%n) : (i64) -> i64
    return %r : i64
  }
)";

TEST(ControlFlow, FunctionsRecurse) {
  RankValues results =
      interpret(kFactorial, {tensor({}, {10}, ElementType::I64)});
  EXPECT_EQ(results[0].getAsInteger(0), 3628800);
}

TEST(ControlFlow, EndlessRecursionIsAnErrorNotACrash) {
  EXPECT_EQ(expectFailure(kFactorial, {{tensor({}, {-1}, ElementType::I64)}}),
            std::vector<std::string>{
                "10: calls are nested deeper than 256 on rank 0"});
}

/// The same function called twice must not see values of the first call.
TEST(ControlFlow, CallsHaveTheirOwnValues) {
  RankValues results = interpret(R"(
    func.func private @g(%a: tensor<2xf32>) -> tensor<2xf32> {
      %r = arith.addf %a, %a : tensor<2xf32>
      return %r : tensor<2xf32>
    }
    func.func @f(%a: tensor<2xf32>) -> tensor<2xf32> {
      %x = call @g(%a) : (tensor<2xf32>) -> tensor<2xf32>
      %y = call @g(%x) : (tensor<2xf32>) -> tensor<2xf32>
      return %y : tensor<2xf32>
    }
  )",
                                 {iota({2}, 1)});
  EXPECT_EQ(values(results[0]), (std::vector<double>{4, 8}));
}

TEST(ControlFlow, TheSameErrorOnSeveralRanksIsReportedOnce) {
  EXPECT_EQ(expectFailure(R"(
    tg.mesh @mesh [dp = 4]
    func.func @f(%a: tensor<2xf32>) -> f32 {
      %r = tg.axis_index on @mesh [dp]
      %one = arith.constant 1 : index
      %two = arith.constant 2 : index
      %i = arith.divui %r, %two : index
      %j = arith.muli %i, %two : index
      %x = tensor.extract %a[%j] : tensor<2xf32>
      return %x : f32
    }
  )",
                          {{iota({2})}, {iota({2})}, {iota({2})}, {iota({2})}}),
            std::vector<std::string>{
                "9: index 2 is out of bounds for dimension 0 of size 2 on "
                "ranks 2, 3"});
}
