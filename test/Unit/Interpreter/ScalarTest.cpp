//===- ScalarTest.cpp - Scalar operations ---------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Interpret.h"

#include <cmath>
#include <limits>
#include <random>

using namespace regather;
using namespace regather::test;

static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
static constexpr double kInf = std::numeric_limits<double>::infinity();

static ElementType parseType(const std::string &name) {
  static const std::pair<const char *, ElementType> names[] = {
      {"f32", ElementType::F32},   {"f64", ElementType::F64},
      {"bf16", ElementType::BF16}, {"f16", ElementType::F16},
      {"i1", ElementType::I1},     {"i8", ElementType::I8},
      {"i16", ElementType::I16},   {"i32", ElementType::I32},
      {"i64", ElementType::I64},   {"index", ElementType::I64}};
  for (auto [text, type] : names)
    if (name == text)
      return type;
  ADD_FAILURE() << name;
  return ElementType::F32;
}

/// `%r = BODY` over %a, %b, %c of type `type`, giving `result`.
static std::string makeFunction(const std::string &body,
                                const std::string &type,
                                const std::string &result, size_t count) {
  std::string source = "func.func @f(";
  for (size_t i = 0; i < count; ++i)
    source += (i ? ", %" : "%") + std::string(1, 'a' + i) + ": " + type;
  return source + ") -> " + result + " {\n  %r = " + body +
         "\n  return %r : " + result + "\n}\n";
}

static uint64_t evaluateBits(const std::string &body, const std::string &type,
                             const std::string &result,
                             std::initializer_list<uint64_t> operands) {
  RankValues arguments;
  for (uint64_t operand : operands)
    arguments.push_back(fromBits(parseType(type), operand));
  RankValues results =
      interpret(makeFunction(body, type, result, operands.size()), arguments);
  return results.empty() ? ~uint64_t(0) : bits(results[0]);
}

static double evaluate(const std::string &body, const std::string &type,
                       const std::string &result,
                       std::initializer_list<double> operands) {
  RankValues arguments;
  for (double operand : operands)
    arguments.push_back(tensor({}, {operand}, parseType(type)));
  RankValues results =
      interpret(makeFunction(body, type, result, operands.size()), arguments);
  return results.empty() ? kNaN : results[0].getAsDouble(0);
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

TEST(Scalar, F32IsRoundedAfterEachOperation) {
  EXPECT_EQ(evaluate("arith.addf %a, %b : f32", "f32", "f32", {1, 0x1p-25}), 1);
  EXPECT_EQ(evaluate("arith.addf %a, %b : f64", "f64", "f64", {1, 0x1p-25}),
            1 + 0x1p-25);
  EXPECT_EQ(evaluate("arith.divf %a, %b : f32", "f32", "f32", {1, 3}),
            1.0f / 3.0f);
  EXPECT_EQ(evaluate("math.sqrt %a : f32", "f32", "f32", {2}), std::sqrt(2.0f));
}

TEST(Scalar, BF16IsRoundedToNearestEven) {
  auto add = [](double a, double b) {
    return evaluate("arith.addf %a, %b : bf16", "bf16", "bf16", {a, b});
  };
  EXPECT_EQ(add(1, 0x1p-8), 1);
  EXPECT_EQ(add(1 + 0x1p-7, 0x1p-8), 1 + 0x1p-6);
  EXPECT_EQ(add(1, 0x1.8p-8), 1 + 0x1p-7);
  EXPECT_EQ(evaluate("arith.mulf %a, %b : f16", "f16", "f16", {256, 256}),
            kInf);
  EXPECT_EQ(
      evaluate("arith.mulf %a, %b : f16", "f16", "f16", {0x1p-14, 0x1p-10}),
      0x1p-24);
}

TEST(Scalar, MinimaAndMaximaTreatNaNAndZeroAsStated) {
  auto binary = [](const char *op, double a, double b) {
    return evaluate("arith." + std::string(op) + " %a, %b : f32", "f32", "f32",
                    {a, b});
  };
  EXPECT_TRUE(std::isnan(binary("maximumf", kNaN, 1)));
  EXPECT_TRUE(std::isnan(binary("minimumf", 1, kNaN)));
  EXPECT_EQ(binary("maxnumf", kNaN, 1), 1);
  EXPECT_EQ(binary("minnumf", 1, kNaN), 1);
  EXPECT_FALSE(std::signbit(binary("maximumf", -0.0, 0.0)));
  EXPECT_FALSE(std::signbit(binary("maximumf", 0.0, -0.0)));
  EXPECT_TRUE(std::signbit(binary("minimumf", 0.0, -0.0)));
}

TEST(Scalar, SignOperationsWorkOnBits) {
  EXPECT_EQ(evaluateBits("arith.negf %a : f32", "f32", "f32", {0x7FC00000}),
            0xFFC00000u);
  EXPECT_EQ(evaluateBits("math.absf %a : bf16", "bf16", "bf16", {0x8000}), 0u);
  EXPECT_EQ(evaluateBits("math.copysign %a, %b : f16", "f16", "f16",
                         {0x3C00, 0x8000}),
            0xBC00u);
}

TEST(Scalar, FloatPredicates) {
  struct Case {
    const char *predicate;
    bool less, equal, greater, unordered;
  };
  const Case cases[] = {
      {"false", false, false, false, false}, {"oeq", false, true, false, false},
      {"ogt", false, false, true, false},    {"oge", false, true, true, false},
      {"olt", true, false, false, false},    {"ole", true, true, false, false},
      {"one", true, false, true, false},     {"ord", true, true, true, false},
      {"ueq", false, true, false, true},     {"ugt", false, false, true, true},
      {"uge", false, true, true, true},      {"ult", true, false, false, true},
      {"ule", true, true, false, true},      {"une", true, false, true, true},
      {"uno", false, false, false, true},    {"true", true, true, true, true}};
  for (const Case &c : cases) {
    std::string body =
        "arith.cmpf " + std::string(c.predicate) + ", %a, %b : f32";
    EXPECT_EQ(evaluate(body, "f32", "i1", {1, 2}), c.less) << c.predicate;
    EXPECT_EQ(evaluate(body, "f32", "i1", {2, 2}), c.equal) << c.predicate;
    EXPECT_EQ(evaluate(body, "f32", "i1", {3, 2}), c.greater) << c.predicate;
    EXPECT_EQ(evaluate(body, "f32", "i1", {kNaN, 2}), c.unordered)
        << c.predicate;
  }
}

TEST(Scalar, FusedMultiplyAddIsRoundedOnce) {
  double a = 1 + 0x1p-12;
  EXPECT_EQ(evaluate("math.fma %a, %b, %c : f32", "f32", "f32", {a, a, -1}),
            std::fma(float(a), float(a), -1.0f));
  EXPECT_EQ(evaluate("math.fma %a, %b, %c : bf16", "bf16", "bf16",
                     {1 + 0x1p-7, 1 + 0x1p-7, -1}),
            0x1p-6);
}

TEST(Scalar, ElementaryFunctionsAreRoundedOnce) {
  for (double x : {0.1, 0.7, 2.5}) {
    auto f = static_cast<double>(static_cast<float>(x));
    EXPECT_EQ(evaluate("math.exp %a : f32", "f32", "f32", {x}),
              static_cast<float>(std::exp(f)));
    EXPECT_EQ(evaluate("math.tanh %a : f32", "f32", "f32", {x}),
              static_cast<float>(std::tanh(f)));
    EXPECT_EQ(evaluate("math.rsqrt %a : f32", "f32", "f32", {x}),
              static_cast<float>(1 / std::sqrt(f)));
    EXPECT_EQ(evaluate("math.erf %a : f64", "f64", "f64", {x}), std::erf(x));
  }
  EXPECT_EQ(evaluate("math.powf %a, %b : f32", "f32", "f32", {2, 10}), 1024);
  EXPECT_EQ(evaluate("math.roundeven %a : f32", "f32", "f32", {2.5}), 2);
  EXPECT_EQ(evaluate("math.round %a : f32", "f32", "f32", {2.5}), 3);
  EXPECT_EQ(evaluate("math.trunc %a : f32", "f32", "f32", {-2.5}), -2);
  EXPECT_EQ(evaluate("math.isnan %a : f16", "f16", "i1", {kNaN}), 1);
  EXPECT_EQ(evaluate("math.isfinite %a : f16", "f16", "i1", {kInf}), 0);
  EXPECT_EQ(evaluate("math.isnormal %a : f16", "f16", "i1", {0x1p-15}), 0);
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

TEST(Scalar, IntegersWrap) {
  EXPECT_EQ(evaluate("arith.addi %a, %b : i8", "i8", "i8", {127, 1}), -128);
  EXPECT_EQ(evaluate("arith.muli %a, %b : i16", "i16", "i16", {300, 300}),
            static_cast<int16_t>(90000));
  EXPECT_EQ(evaluateBits("arith.subi %a, %b : i32", "i32", "i32", {0, 1}),
            0xFFFFFFFFu);
  EXPECT_EQ(evaluate("arith.addi %a, %b : i1", "i1", "i1", {1, 1}), 0);
}

TEST(Scalar, OddWidthsWrapAtTheirWidth) {
  RankValues results = interpret(R"(
    func.func @f(%a: i64) -> (i64, i64) {
      %t = arith.trunci %a : i64 to i5
      %u = arith.addi %t, %t : i5
      %s = arith.extsi %u : i5 to i64
      %z = arith.extui %u : i5 to i64
      return %s, %z : i64, i64
    }
  )",
                                 {tensor({}, {12}, ElementType::I64)});
  EXPECT_EQ(results[0].getAsInteger(0), -8);
  EXPECT_EQ(results[1].getAsInteger(0), 24);
}

TEST(Scalar, DivisionsRoundAsNamed) {
  auto divide = [](const char *op, double a, double b) {
    return evaluate("arith." + std::string(op) + " %a, %b : i32", "i32", "i32",
                    {a, b});
  };
  EXPECT_EQ(divide("divsi", -7, 2), -3);
  EXPECT_EQ(divide("floordivsi", -7, 2), -4);
  EXPECT_EQ(divide("floordivsi", 7, -2), -4);
  EXPECT_EQ(divide("ceildivsi", 7, 2), 4);
  EXPECT_EQ(divide("ceildivsi", -7, 2), -3);
  EXPECT_EQ(divide("ceildivsi", -7, -2), 4);
  EXPECT_EQ(divide("remsi", -7, 2), -1);
  EXPECT_EQ(divide("ceildivui", 7, 2), 4);
  EXPECT_EQ(divide("divui", -1, 2), 0x7FFFFFFF);
}

TEST(Scalar, IntegerPredicatesKnowSigns) {
  EXPECT_EQ(evaluate("arith.cmpi slt, %a, %b : i8", "i8", "i1", {-1, 1}), 1);
  EXPECT_EQ(evaluate("arith.cmpi ult, %a, %b : i8", "i8", "i1", {-1, 1}), 0);
  EXPECT_EQ(evaluate("arith.maxsi %a, %b : i8", "i8", "i8", {-1, 1}), 1);
  EXPECT_EQ(evaluate("arith.maxui %a, %b : i8", "i8", "i8", {-1, 1}), -1);
}

TEST(Scalar, ShiftsAndBits) {
  EXPECT_EQ(evaluate("arith.shrsi %a, %b : i8", "i8", "i8", {-128, 3}), -16);
  EXPECT_EQ(evaluate("arith.shrui %a, %b : i8", "i8", "i8", {-128, 3}), 16);
  EXPECT_EQ(evaluateBits("arith.shli %a, %b : i8", "i8", "i8", {1, 8}), 0xA5u);
  EXPECT_EQ(evaluate("math.ctlz %a : i8", "i8", "i8", {1}), 7);
  EXPECT_EQ(evaluate("math.cttz %a : i8", "i8", "i8", {0}), 8);
  EXPECT_EQ(evaluate("math.ctpop %a : i16", "i16", "i16", {-1}), 16);
  EXPECT_EQ(evaluate("math.ipowi %a, %b : i32", "i32", "i32", {-3, 3}), -27);
  EXPECT_EQ(evaluate("math.ipowi %a, %b : i32", "i32", "i32", {-1, -3}), -1);
}

TEST(Scalar, ExtendedArithmeticGivesBothHalves) {
  RankValues results = interpret(
      R"(
    func.func @f(%a: i32, %b: i32) -> (i32, i32, i32, i1) {
      %low, %high = arith.mulsi_extended %a, %b : i32
      %unused, %unsigned = arith.mului_extended %a, %b : i32
      %sum, %carry = arith.addui_extended %a, %b : i32, i1
      return %low, %high, %unsigned, %carry : i32, i32, i32, i1
    }
  )",
      {tensor({}, {-2}, ElementType::I32), tensor({}, {3}, ElementType::I32)});
  EXPECT_EQ(results[0].getAsInteger(0), -6);
  EXPECT_EQ(results[1].getAsInteger(0), -1);
  EXPECT_EQ(results[2].getAsInteger(0), 2);
  EXPECT_EQ(results[3].getAsInteger(0), 1);
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

TEST(Scalar, Conversions) {
  EXPECT_EQ(evaluate("arith.fptosi %a : f32 to i32", "f32", "i32", {-2.9}), -2);
  EXPECT_EQ(
      evaluateBits("arith.fptosi %a : f32 to i8", "f32", "i8", {0x7FC00000}),
      0xA5u);
  EXPECT_EQ(evaluate("arith.sitofp %a : i1 to f32", "i1", "f32", {1}), -1);
  EXPECT_EQ(evaluate("arith.uitofp %a : i8 to f32", "i8", "f32", {-1}), 255);
  EXPECT_EQ(evaluate("arith.truncf %a : f64 to f32", "f64", "f32", {0.1}),
            0.1f);
  EXPECT_EQ(evaluate("arith.extf %a : bf16 to f32", "bf16", "f32", {1.5}), 1.5);
  // Rounding to f32 first would lose the last bit and then round to even.
  EXPECT_EQ(evaluate("arith.truncf %a : f64 to bf16", "f64", "bf16",
                     {1 + 0x1p-8 + 0x1p-40}),
            1 + 0x1p-7);
  EXPECT_EQ(
      evaluateBits("arith.bitcast %a : f32 to i32", "f32", "i32", {0x3F800000}),
      0x3F800000u);
  EXPECT_EQ(evaluate("arith.index_cast %a : i8 to index", "i8", "index", {-1}),
            -1);
  EXPECT_EQ(
      evaluate("arith.index_castui %a : i8 to index", "i8", "index", {-1}),
      255);
}

/// The machine is the reference: the interpreter's f32 has the bits of code
/// that a compiler makes.
TEST(Scalar, RandomF32BitsAgreeWithTheMachine) {
  std::mt19937 random(7);
  std::vector<double> left, right;
  for (int i = 0; i < 4096; ++i) {
    uint32_t words[2] = {static_cast<uint32_t>(random()),
                         static_cast<uint32_t>(random())};
    float floats[2];
    std::memcpy(floats, words, sizeof(floats));
    if (std::isnan(floats[0]) || std::isnan(floats[1]))
      continue;
    left.push_back(floats[0]);
    right.push_back(floats[1]);
  }
  auto n = static_cast<int64_t>(left.size());
  std::string type = "tensor<" + std::to_string(n) + "xf32>";
  std::string source =
      "func.func @f(%a: " + type + ", %b: " + type + ") -> (" + type + ", " +
      type + ", " + type + ") {\n" + "%0 = arith.addf %a, %b : " + type + "\n" +
      "%1 = arith.mulf %a, %b : " + type + "\n" +
      "%2 = arith.divf %a, %b : " + type + "\n" +
      "return %0, %1, %2 : " + type + ", " + type + ", " + type + "\n}";
  RankValues results =
      interpret(source, {tensor({n}, left), tensor({n}, right)});
  for (int64_t i = 0; i < n; ++i) {
    auto a = static_cast<float>(left[i]), b = static_cast<float>(right[i]);
    float expected[3] = {a + b, a * b, a / b};
    for (int k = 0; k < 3; ++k)
      if (!std::isnan(expected[k]))
        ASSERT_EQ(static_cast<float>(results[k].getAsDouble(i)), expected[k])
            << a << ' ' << b;
  }
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST(Scalar, DivisionByZeroIsAnErrorAtTheOperation) {
  std::string source =
      makeFunction("arith.divsi %a, %b : i32", "i32", "i32", 2);
  auto number = [](double value) {
    return tensor({}, {value}, ElementType::I32);
  };
  EXPECT_EQ(expectFailure(source, {{number(1), number(0)}}),
            std::vector<std::string>{"2: division by zero on rank 0"});
  EXPECT_EQ(expectFailure(source, {{number(-2147483648.0), number(-1)}}),
            std::vector<std::string>{
                "2: signed division of -2147483648 by -1 overflows on rank 0"});
}
