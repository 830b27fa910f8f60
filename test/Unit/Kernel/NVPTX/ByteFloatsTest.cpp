//===- ByteFloatsTest.cpp - Conversions of floats of one byte -------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuEmulator.h"

#include "regather/InitAll.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace regather;
using namespace regather::nvptx;

namespace {
struct Format {
  const char *name;
  const llvm::fltSemantics &semantics;
};

class ByteFloatsTest : public ::testing::TestWithParam<Format> {
protected:
  /// Converts `count` numbers of type `from` to type `to`.
  void convert(const std::string &from, const std::string &to, size_t count,
               void *source, void *target);

  /// The f32 that a byte is.
  float widen(uint8_t byte) {
    llvm::APFloat number(GetParam().semantics, llvm::APInt(8, byte));
    bool losesInfo;
    number.convert(llvm::APFloat::IEEEsingle(),
                   llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return number.convertToFloat();
  }

  /// The byte that is nearest to an f32.
  uint8_t narrow(float value) {
    llvm::APFloat number(value);
    bool losesInfo;
    number.convert(GetParam().semantics, llvm::APFloat::rmNearestTiesToEven,
                   &losesInfo);
    return number.bitcastToAPInt().getZExtValue();
  }
};
} // namespace

void ByteFloatsTest::convert(const std::string &from, const std::string &to,
                             size_t count, void *source, void *target) {
  DialectRegistry dialects;
  registerAllDialects(dialects);
  MLIRContext context(dialects);
  std::string shape = "tensor<" + std::to_string(count) + "x";
  std::string operand = shape + from + ">", result = shape + to + ">";
  std::string cast = to == "f32" ? "arith.extf" : "arith.truncf";
  std::string text = "tg.kernel @kernel(%x: " + operand + ") -> " + result +
                     " {\n  %e = tensor.empty() : " + result + R"(
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x : )" + operand +
                     ") outs(%e : " + result + R"() {
  ^bb0(%in: )" + from +
                     ", %out: " + to + "):\n    %v = " + cast +
                     " %in : " + from + " to " + to + R"(
    linalg.yield %v : )" +
                     to + "\n  } -> " + result +
                     "\n  tg.return %y : " + result + "\n}\n";
  auto module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
  ASSERT_TRUE(module);
  auto emulator = GpuEmulator::create(*module->getOps<tg::KernelOp>().begin());
  ASSERT_TRUE(bool(emulator)) << llvm::toString(emulator.takeError());
  llvm::Error error =
      (*emulator)->run({source, target}, ThreadOrder::Ascending);
  ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
}

TEST_P(ByteFloatsTest, WidensAllBytes) {
  std::vector<uint8_t> bytes(256);
  for (size_t i = 0; i != bytes.size(); ++i)
    bytes[i] = i;
  std::vector<float> numbers(bytes.size());
  ASSERT_NO_FATAL_FAILURE(convert(GetParam().name, "f32", bytes.size(),
                                  bytes.data(), numbers.data()));
  for (size_t i = 0; i != bytes.size(); ++i) {
    float expected = widen(bytes[i]);
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(numbers[i])) << i;
    else
      EXPECT_EQ(llvm::bit_cast<uint32_t>(numbers[i]),
                llvm::bit_cast<uint32_t>(expected))
          << i;
  }
}

// Every number of the format, what is half way to the next one, the f32 beside
// both, and f32 of all magnitudes.
TEST_P(ByteFloatsTest, RoundsToNearest) {
  std::vector<float> numbers;
  for (uint32_t byte = 0; byte != 255; ++byte) {
    float number = widen(byte), next = widen(byte + 1);
    for (float value : {number, (number + next) / 2})
      for (int32_t offset : {-1, 0, 1})
        numbers.push_back(
            llvm::bit_cast<float>(llvm::bit_cast<uint32_t>(value) + offset));
  }
  for (uint32_t i = 0; i != 4096 - 6 * 255; ++i)
    numbers.push_back(llvm::bit_cast<float>(i * 0x9e3779b1u));
  std::vector<uint8_t> bytes(numbers.size());
  ASSERT_NO_FATAL_FAILURE(convert("f32", GetParam().name, numbers.size(),
                                  numbers.data(), bytes.data()));
  for (size_t i = 0; i != numbers.size(); ++i) {
    uint8_t expected = narrow(numbers[i]);
    if (std::isnan(widen(expected)))
      EXPECT_TRUE(std::isnan(widen(bytes[i]))) << numbers[i];
    else
      EXPECT_EQ(int(bytes[i]), int(expected)) << numbers[i];
  }
}

INSTANTIATE_TEST_SUITE_P(
    Formats, ByteFloatsTest,
    ::testing::Values(Format{"f8E4M3FN", llvm::APFloat::Float8E4M3FN()},
                      Format{"f8E5M2", llvm::APFloat::Float8E5M2()}),
    [](const auto &info) { return std::string(info.param.name); });
