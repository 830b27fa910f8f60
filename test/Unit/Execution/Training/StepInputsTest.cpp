//===- StepInputsTest.cpp - Random inputs ---------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Training/StepInputs.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>

using namespace regather;

static StepValue makeValue(std::string name, Role role,
                           std::initializer_list<int64_t> shape) {
  StepValue value;
  value.name = std::move(name);
  value.role = role;
  value.globalShape = shape;
  return value;
}

static bool haveEqualBytes(const HostTensor &a, const HostTensor &b) {
  return a.getNumBytes() == b.getNumBytes() &&
         std::memcmp(a.getData(), b.getData(), a.getNumBytes()) == 0;
}

TEST(RandomInputs, DependOnNameAndSeed) {
  StepValue w = makeValue("w", Role::Parameter, {8, 8});
  StepValue v = makeValue("v", Role::Parameter, {8, 8});
  HostTensor tensor = makeRandomTensor(w, 1, false);
  EXPECT_TRUE(haveEqualBytes(tensor, makeRandomTensor(w, 1, false)));
  EXPECT_FALSE(haveEqualBytes(tensor, makeRandomTensor(w, 2, false)));
  EXPECT_FALSE(haveEqualBytes(tensor, makeRandomTensor(v, 1, false)));
}

TEST(RandomInputs, StayInTheirRange) {
  StepValue w = makeValue("w", Role::Parameter, {40, 20});
  HostTensor tensor = makeRandomTensor(w, 3, false);
  double bound = std::sqrt(6.0 / 60), sum = 0, largest = 0;
  for (int64_t i = 0; i < 800; ++i) {
    sum += tensor.getAsDouble(i);
    largest = std::max(largest, std::fabs(tensor.getAsDouble(i)));
  }
  EXPECT_LE(largest, bound * 1.0001);
  EXPECT_GT(largest, bound * 0.9);
  EXPECT_LT(std::fabs(sum / 800), bound / 5);
}

TEST(RandomInputs, IntegersAreSmall) {
  for (auto role : {Role::Parameter, Role::Input}) {
    HostTensor tensor =
        makeRandomTensor(makeValue("x", role, {16, 16}), 1, true);
    bool differs = false;
    for (int64_t i = 0; i < 256; ++i) {
      double value = tensor.getAsDouble(i);
      EXPECT_EQ(value, std::floor(value));
      EXPECT_LE(std::fabs(value), 2);
      differs |= value != tensor.getAsDouble(0);
    }
    EXPECT_TRUE(differs);
  }
}

TEST(RandomInputs, OptimizerStatesStartAtZero) {
  HostTensor tensor =
      makeRandomTensor(makeValue("m", Role::OptimizerState, {4}), 1, false);
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_EQ(tensor.getAsDouble(i), 0);
}

TEST(RandomInputs, Option) {
  InputOptions options;
  EXPECT_FALSE(bool(parseRandomInputs("7,integers", options)));
  EXPECT_EQ(options.randomSeed, 7u);
  EXPECT_TRUE(options.integers);
  EXPECT_FALSE(bool(parseRandomInputs("8", options)));
  EXPECT_FALSE(options.integers);
  for (const char *bad : {"", "x", "-1", "1,floats", "1.5"})
    EXPECT_TRUE(bool(parseRandomInputs(bad, options))) << bad;
}
