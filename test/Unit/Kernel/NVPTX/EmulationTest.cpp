//===- EmulationTest.cpp - Kernels for GPUs against those for CPUs --------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuEmulator.h"

#include "regather/Dialect/TG/Kernels/KernelInPlace.h"
#include "regather/InitAll.h"
#include "regather/Kernel/CPU/CompileCpuKernels.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstring>

using namespace mlir;
using namespace regather;
using namespace regather::nvptx;

namespace {
/// Aligned as kernels expect it.
struct Buffer {
  explicit Buffer(size_t bytes) : words(bytes / 16 + 1), bytes(bytes) {
    memset(words.data(), 0x5a, words.size() * 16);
  }
  char *data() { return reinterpret_cast<char *>(words.data()); }

  struct alignas(16) Word {
    char bytes[16];
  };
  std::vector<Word> words;
  size_t bytes;
};

enum class Equality {
  /// Every bit.
  Bits,
  /// Within what the order of a sum of f32 changes.
  Rounding,
};

/// One kernel, compiled for the CPU and for GPUs.
class EmulationTest : public ::testing::Test {
protected:
  EmulationTest() {
    DialectRegistry dialects;
    registerAllDialects(dialects);
    context.appendDialectRegistry(dialects);
  }

  /// Runs a kernel on the CPU and emulated, in both orders of threads, and
  /// compares what comes out.
  /// With `inPlace`, the first result takes the place of the first argument.
  void expectEqual(StringRef text, Equality equality, bool inPlace = false);

  /// Runs a kernel, emulated, that an index out of bounds has to stop.
  void expectStop(StringRef text);

  std::vector<Buffer> makeArguments();
  std::vector<Buffer> makeResults();
  void runOnCPU(std::vector<Buffer> &arguments, std::vector<Buffer> &results);
  void compare(std::vector<Buffer> &expected, std::vector<Buffer> &actual,
               Equality equality);

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  tg::KernelOp kernel;
  LaunchPlan plan;
};
} // namespace

static size_t getBytes(Type type) {
  return tg::getTensorBytes(cast<RankedTensorType>(type));
}

static std::vector<void *> getPointers(std::vector<Buffer> &arguments,
                                       std::vector<Buffer> &results) {
  std::vector<void *> pointers;
  for (std::vector<Buffer> *buffers : {&arguments, &results})
    for (Buffer &buffer : *buffers)
      pointers.push_back(buffer.data());
  return pointers;
}

/// Numbers that are the same every time: floats in ±2, integers 0 to 7.
std::vector<Buffer> EmulationTest::makeArguments() {
  std::vector<Buffer> arguments;
  uint32_t state = 1;
  for (Type type : kernel.getArgumentTypes()) {
    Buffer &buffer = arguments.emplace_back(getBytes(type));
    Type element = cast<RankedTensorType>(type).getElementType();
    size_t width = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
    for (size_t i = 0; i + width <= buffer.bytes; i += width) {
      state = state * 1664525 + 1013904223;
      float number = static_cast<float>(state >> 8) / (1 << 22) - 2;
      int64_t index = element.isInteger(1) ? state >> 31 : state >> 29;
      if (element.isInteger())
        memcpy(buffer.data() + i, &index, width);
      else
        // The upper bits of an f32 are a bf16.
        memcpy(buffer.data() + i, reinterpret_cast<char *>(&number) + 4 - width,
               width);
    }
  }
  return arguments;
}

std::vector<Buffer> EmulationTest::makeResults() {
  std::vector<Buffer> results;
  for (Type type : kernel.getResultTypes())
    results.emplace_back(getBytes(type));
  return results;
}

void EmulationTest::runOnCPU(std::vector<Buffer> &arguments,
                             std::vector<Buffer> &results) {
  cpu::KernelCompileOptions options;
  options.threads = 1;
  kernel::KernelStatistics statistics;
  auto codes = cpu::compileKernels(kernel, options, statistics);
  ASSERT_TRUE(succeeded(codes));
  cpu::KernelCode &code = codes->front();
  auto jit =
      llvm::cantFail(llvm::orc::LLJITBuilder()
                         .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                         .create());
  llvm::cantFail(jit->addObjectFile(std::move(code.object)));
  auto function =
      llvm::cantFail(jit->lookup(code.symbol)).toPtr<cpu::KernelFunction>();
  std::vector<void *> pointers = getPointers(arguments, results);
  std::vector<char> memory(code.scratchBytes + 64);
  auto scratch = llvm::alignAddr(memory.data(), llvm::Align(64));
  ASSERT_EQ(function(pointers.data(), 0, code.rows,
                     reinterpret_cast<void *>(scratch)),
            0);
}

static float readFloat(const char *bytes, size_t width) {
  float number = 0;
  memcpy(reinterpret_cast<char *>(&number) + 4 - width, bytes, width);
  return number;
}

void EmulationTest::compare(std::vector<Buffer> &expected,
                            std::vector<Buffer> &actual, Equality equality) {
  for (auto [number, type] : llvm::enumerate(kernel.getResultTypes())) {
    Type element = cast<RankedTensorType>(type).getElementType();
    size_t width = llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
    bool hasBits = equality == Equality::Bits || element.isInteger();
    char *a = expected[number].data(), *b = actual[number].data();
    float scale = 0;
    for (size_t i = 0; !hasBits && i < expected[number].bytes; i += width)
      scale = std::max(scale, std::abs(readFloat(a + i, width)));
    for (size_t i = 0; i < expected[number].bytes; i += width) {
      if (memcmp(a + i, b + i, width) == 0)
        continue;
      ASSERT_FALSE(hasBits)
          << "element " << i / width << " of result " << number << " differs";
      ASSERT_NEAR(readFloat(a + i, width), readFloat(b + i, width),
                  scale * (width == 4 ? 5e-5f : 1e-2f))
          << "element " << i / width << " of result " << number;
    }
  }
}

void EmulationTest::expectEqual(StringRef text, Equality equality,
                                bool inPlace) {
  module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
  ASSERT_TRUE(module);
  kernel = *module->getOps<tg::KernelOp>().begin();
  std::vector<Buffer> arguments = makeArguments(), expected = makeResults();
  ASSERT_NO_FATAL_FAILURE(runOnCPU(arguments, expected));
  auto emulator = GpuEmulator::create(kernel);
  ASSERT_TRUE(bool(emulator)) << llvm::toString(emulator.takeError());
  plan = (*emulator)->getPlan();
  for (ThreadOrder order : {ThreadOrder::Ascending, ThreadOrder::Descending}) {
    std::vector<Buffer> inputs = arguments, actual = makeResults();
    std::vector<void *> pointers = getPointers(inputs, actual);
    if (inPlace) {
      ASSERT_TRUE(llvm::is_contained(tg::getInPlacePairs(kernel),
                                     tg::InPlacePair(0, 0)));
      pointers[inputs.size()] = pointers[0];
    }
    llvm::Error error = (*emulator)->run(pointers, order);
    ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
    if (inPlace)
      actual[0] = inputs[0];
    compare(expected, actual, equality);
  }
}

void EmulationTest::expectStop(StringRef text) {
  module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
  ASSERT_TRUE(module);
  kernel = *module->getOps<tg::KernelOp>().begin();
  std::vector<Buffer> arguments = makeArguments(), results = makeResults();
  auto emulator = llvm::cantFail(GpuEmulator::create(kernel));
  llvm::Error error =
      emulator->run(getPointers(arguments, results), ThreadOrder::Ascending);
  EXPECT_EQ(llvm::toString(std::move(error)),
            "the kernel stops itself: an index is out of bounds");
}

TEST_F(EmulationTest, ComputesPointwise) {
  expectEqual(R"(
tg.kernel @kernel(%x: tensor<64x512xf32>, %y: tensor<64x512xf32>) -> tensor<64x512xf32> {
  %s = tg.node "aten.silu.default"(%x) : (tensor<64x512xf32>) -> tensor<64x512xf32>
  %z = tg.node "aten.mul.Tensor"(%s, %y) : (tensor<64x512xf32>, tensor<64x512xf32>) -> tensor<64x512xf32>
  tg.return %z : tensor<64x512xf32>
}
)",
              Equality::Bits);
  EXPECT_GT(plan.launches.front().blocks, 1);
}

TEST_F(EmulationTest, ComputesInBF16WithOddSizes) {
  expectEqual(R"(
tg.kernel @kernel(%x: tensor<7x333xbf16>, %y: tensor<7x333xbf16>) -> tensor<7x333xbf16> {
  %s = tg.node "aten.gelu.default"(%x) : (tensor<7x333xbf16>) -> tensor<7x333xbf16>
  %z = tg.node "aten.mul.Tensor"(%s, %y) : (tensor<7x333xbf16>, tensor<7x333xbf16>) -> tensor<7x333xbf16>
  tg.return %z : tensor<7x333xbf16>
}
)",
              Equality::Bits);
}

// A block for each row, and a warp for each row.
TEST_F(EmulationTest, ReducesRows) {
  for (StringRef columns : {"2048", "96", "2050"}) {
    std::string type = "tensor<24x" + columns.str() + "xf32>";
    expectEqual("tg.kernel @kernel(%x: " + type + ") -> " + type + R"( {
  %y = tg.node "aten._softmax.default"(%x) args [#tg.operand<0>, -1, false] : ()" +
                    type + ") -> " + type + R"(
  tg.return %y : )" +
                    type + "\n}\n",
                Equality::Rounding);
  }
}

TEST_F(EmulationTest, NormalizesRows) {
  expectEqual(R"(
tg.kernel @kernel(%x: tensor<16x1024xbf16>, %w: tensor<1024xbf16>)
    -> (tensor<16x1024xbf16>, tensor<16x1xf32>) {
  %y:2 = tg.node "aten._fused_rms_norm.default"(%x, %w) args [#tg.operand<0>, [1024], #tg.operand<1>, 1.0e-5]
      : (tensor<16x1024xbf16>, tensor<1024xbf16>) -> (tensor<16x1024xbf16>, tensor<16x1xf32>)
  tg.return %y#0, %y#1 : tensor<16x1024xbf16>, tensor<16x1xf32>
}
)",
              Equality::Rounding);
}

TEST_F(EmulationTest, ReducesColumns) {
  for (StringRef columns : {"64", "40"}) {
    std::string type = "tensor<300x" + columns.str() + "xf32>";
    std::string sum = "tensor<" + columns.str() + "xf32>";
    expectEqual("tg.kernel @kernel(%g: " + type + ") -> " + sum + R"( {
  %s = tg.node "aten.sum.dim_IntList"(%g) args [#tg.operand<0>, [0]] : ()" +
                    type + ") -> " + sum + R"(
  tg.return %s : )" +
                    sum + "\n}\n",
                Equality::Rounding);
  }
}

TEST_F(EmulationTest, ReducesEverything) {
  expectEqual(R"(
tg.kernel @kernel(%g: tensor<60x70xf32>) -> tensor<f32> {
  %s = tg.node "aten.sum.dim_IntList"(%g) args [#tg.operand<0>, [0, 1]] : (tensor<60x70xf32>) -> tensor<f32>
  tg.return %s : tensor<f32>
}
)",
              Equality::Rounding);
}

// Parts in one launch, what they have become in another one.
TEST_F(EmulationTest, ReducesEverythingInParts) {
  for (StringRef type :
       {"tensor<64x1024xf32>", "tensor<2x8x4099xf32>", "tensor<70003xf32>"}) {
    expectEqual("tg.kernel @kernel(%g: " + type.str() +
                    R"() -> tensor<f32> {
  %s = tg.node "aten.sum.dim_IntList"(%g) args [#tg.operand<0>, []] : ()" +
                    type.str() + R"() -> tensor<f32>
  tg.return %s : tensor<f32>
}
)",
                Equality::Rounding);
    EXPECT_GE(plan.launches.size(), 2u) << type.str();
    EXPECT_GE(plan.launches.front().blocks, 8) << type.str();
  }
}

TEST_F(EmulationTest, ReducesColumnsInParts) {
  for (StringRef rows : {"1024", "1031"}) {
    std::string type = "tensor<" + rows.str() + "x96xbf16>";
    expectEqual("tg.kernel @kernel(%g: " + type + R"() -> tensor<96xbf16> {
  %s = tg.node "aten.sum.dim_IntList"(%g) args [#tg.operand<0>, [0]] : ()" +
                    type + R"() -> tensor<96xbf16>
  tg.return %s : tensor<96xbf16>
}
)",
                Equality::Rounding);
    EXPECT_GE(plan.launches.size(), 2u);
    EXPECT_GE(plan.launches.front().blocks, 5);
  }
}

// Rows and columns of the same values: both are reduced where the values are
// computed.
TEST_F(EmulationTest, ReducesRowsAndColumns) {
  expectEqual(R"(
tg.kernel @kernel(%g: tensor<512x128xf32>, %x: tensor<512x128xf32>)
    -> (tensor<512x128xf32>, tensor<128xf32>, tensor<128xf32>) {
  %p = tg.node "aten.mul.Tensor"(%g, %x) : (tensor<512x128xf32>, tensor<512x128xf32>) -> tensor<512x128xf32>
  %r = tg.node "aten.sum.dim_IntList"(%p) args [#tg.operand<0>, [1], true] : (tensor<512x128xf32>) -> tensor<512x1xf32>
  %d = tg.node "aten.sub.Tensor"(%g, %r) : (tensor<512x128xf32>, tensor<512x1xf32>) -> tensor<512x128xf32>
  %w = tg.node "aten.sum.dim_IntList"(%p) args [#tg.operand<0>, [0]] : (tensor<512x128xf32>) -> tensor<128xf32>
  %b = tg.node "aten.sum.dim_IntList"(%g) args [#tg.operand<0>, [0]] : (tensor<512x128xf32>) -> tensor<128xf32>
  tg.return %d, %w, %b : tensor<512x128xf32>, tensor<128xf32>, tensor<128xf32>
}
)",
              Equality::Rounding);
  ASSERT_EQ(plan.launches.size(), 2u);
  EXPECT_GE(plan.launches[0].blocks, 16);
  EXPECT_GE(plan.launches[1].blocks, 2);
}

// A sum has the same bits whatever it is computed with, in blocks of other
// sizes and with other numbers of threads.
TEST_F(EmulationTest, KeepsOrderOfSums) {
  auto run = [&](StringRef text) {
    module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
    kernel = *module->getOps<tg::KernelOp>().begin();
    std::vector<Buffer> arguments = makeArguments(), results = makeResults();
    auto emulator = llvm::cantFail(GpuEmulator::create(kernel));
    plan = emulator->getPlan();
    llvm::cantFail(
        emulator->run(getPointers(arguments, results), ThreadOrder::Ascending));
    return std::string(results[0].data(), results[0].bytes);
  };
  std::string alone = run(R"(
tg.kernel @kernel(%x: tensor<40x2048xf32>) -> tensor<40xf32> {
  %r = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [1]] : (tensor<40x2048xf32>) -> tensor<40xf32>
  tg.return %r : tensor<40xf32>
}
)");
  ASSERT_EQ(plan.launches.front().threads, 256);
  std::string together = run(R"(
tg.kernel @kernel(%x: tensor<40x2048xf32>, %y: tensor<40x40x2xbf16>) -> (tensor<40xf32>, tensor<40x40xbf16>) {
  %r = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [1]] : (tensor<40x2048xf32>) -> tensor<40xf32>
  %s = tg.node "aten.sum.dim_IntList"(%y) args [#tg.operand<0>, [2]] : (tensor<40x40x2xbf16>) -> tensor<40x40xbf16>
  tg.return %r, %s : tensor<40xf32>, tensor<40x40xbf16>
}
)");
  EXPECT_EQ(alone, together);
  std::string withColumns = run(R"(
tg.kernel @kernel(%x: tensor<40x2048xf32>, %y: tensor<40x40x32xbf16>) -> (tensor<40xf32>, tensor<40x32xbf16>) {
  %r = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [1]] : (tensor<40x2048xf32>) -> tensor<40xf32>
  %s = tg.node "aten.sum.dim_IntList"(%y) args [#tg.operand<0>, [1]] : (tensor<40x40x32xbf16>) -> tensor<40x32xbf16>
  tg.return %r, %s : tensor<40xf32>, tensor<40x32xbf16>
}
)");
  ASSERT_EQ(plan.launches.front().threads, 512);
  EXPECT_EQ(alone, withColumns);
  std::string few = run(R"(
tg.kernel @kernel(%x: tensor<3x2048xf32>) -> tensor<3xf32> {
  %r = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [1]] : (tensor<3x2048xf32>) -> tensor<3xf32>
  tg.return %r : tensor<3xf32>
}
)");
  std::string withLongRows = run(R"(
tg.kernel @kernel(%x: tensor<3x2048xf32>, %y: tensor<3x16400xbf16>, %z: tensor<3x40x32xbf16>)
    -> (tensor<3xf32>, tensor<3xbf16>, tensor<3x32xbf16>) {
  %r = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [1]] : (tensor<3x2048xf32>) -> tensor<3xf32>
  %s = tg.node "aten.sum.dim_IntList"(%y) args [#tg.operand<0>, [1]] : (tensor<3x16400xbf16>) -> tensor<3xbf16>
  %t = tg.node "aten.sum.dim_IntList"(%z) args [#tg.operand<0>, [1]] : (tensor<3x40x32xbf16>) -> tensor<3x32xbf16>
  tg.return %r, %s, %t : tensor<3xf32>, tensor<3xbf16>, tensor<3x32xbf16>
}
)");
  ASSERT_EQ(plan.launches.front().threads, 1024);
  EXPECT_EQ(few, withLongRows);
}

// A result may lie where an argument lies: nothing reads the argument once the
// result is written, though what is reduced would be cheap to compute again.
TEST_F(EmulationTest, ReducesResults) {
  expectEqual(R"(
tg.kernel @kernel(%g: tensor<512x128xf32>, %x: tensor<512x128xf32>) -> (tensor<512x128xf32>, tensor<128xf32>) {
  %s = tg.node "aten.add.Tensor"(%g, %x) : (tensor<512x128xf32>, tensor<512x128xf32>) -> tensor<512x128xf32>
  %b = tg.node "aten.sum.dim_IntList"(%s) args [#tg.operand<0>, [0]] : (tensor<512x128xf32>) -> tensor<128xf32>
  tg.return %s, %b : tensor<512x128xf32>, tensor<128xf32>
}
)",
              Equality::Rounding);
  expectEqual(R"(
tg.kernel @kernel(%g: tensor<512x128xf32>, %x: tensor<512x128xf32>) -> (tensor<512x128xf32>, tensor<128xf32>) {
  %s = tg.node "aten.add.Tensor"(%g, %x) : (tensor<512x128xf32>, tensor<512x128xf32>) -> tensor<512x128xf32>
  %b = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [0]] : (tensor<512x128xf32>) -> tensor<128xf32>
  tg.return %s, %b : tensor<512x128xf32>, tensor<128xf32>
}
)",
              Equality::Rounding, /*inPlace=*/true);
}

TEST_F(EmulationTest, ComputesCrossEntropy) {
  expectEqual(R"(
tg.kernel @kernel(%x: tensor<64x1024xf32>, %t: tensor<64xi64>) -> (tensor<64x1024xf32>, tensor<f32>) {
  %y = tg.node "aten._log_softmax.default"(%x) args [#tg.operand<0>, -1, false] : (tensor<64x1024xf32>) -> tensor<64x1024xf32>
  %l:2 = tg.node "aten.nll_loss_forward.default"(%y, %t) args [#tg.operand<0>, #tg.operand<1>, unit, 1, -100]
      : (tensor<64x1024xf32>, tensor<64xi64>) -> (tensor<f32>, tensor<f32>)
  tg.return %y, %l#0 : tensor<64x1024xf32>, tensor<f32>
}
)",
              Equality::Rounding);
  ASSERT_EQ(plan.launches.size(), 2u);
  EXPECT_GE(plan.launches[0].blocks, 8);
}

// The loss as PyTorch decomposes it: one number of each row is all that is read
// of the logarithms, and the gradient is zero but for one number of each row.
// Neither needs memory for a row.
TEST_F(EmulationTest, ComputesCrossEntropyOfLongRows) {
  expectEqual(R"(
tg.kernel @kernel(%x: tensor<3x16392xbf16>, %t: tensor<3xi64>) -> tensor<3xf32> {
  %c = tg.node "aten._to_copy.default"(%x) kwargs {dtype = f32} : (tensor<3x16392xbf16>) -> tensor<3x16392xf32>
  %y = tg.node "aten._log_softmax.default"(%c) args [#tg.operand<0>, 1, false] : (tensor<3x16392xf32>) -> tensor<3x16392xf32>
  %u = tg.node "aten.unsqueeze.default"(%t) args [#tg.operand<0>, 1] : (tensor<3xi64>) -> tensor<3x1xi64>
  %g = tg.node "aten.gather.default"(%y, %u) args [#tg.operand<0>, 1, #tg.operand<1>] : (tensor<3x16392xf32>, tensor<3x1xi64>) -> tensor<3x1xf32>
  %s = tg.node "aten.squeeze.dims"(%g) args [#tg.operand<0>, [1]] : (tensor<3x1xf32>) -> tensor<3xf32>
  tg.return %s : tensor<3xf32>
}
)",
              Equality::Rounding);
  EXPECT_EQ(plan.launches.front().threads, 1024);
  EXPECT_EQ(plan.launches.front().dynamicSharedBytes + plan.scratchBytes, 0);
  expectEqual(R"(
tg.kernel @kernel(%y: tensor<3x16392xf32>, %t: tensor<3xi64>, %g: tensor<3x1xf32>) -> tensor<3x16392xbf16> {
  %u = tg.node "aten.unsqueeze.default"(%t) args [#tg.operand<0>, 1] : (tensor<3xi64>) -> tensor<3x1xi64>
  %z = tg.node "aten.full_like.default"(%y) args [#tg.operand<0>, 0] : (tensor<3x16392xf32>) -> tensor<3x16392xf32>
  %o = tg.node "aten.scatter.value"(%z, %u) args [#tg.operand<0>, 1, #tg.operand<1>, -1.0] : (tensor<3x16392xf32>, tensor<3x1xi64>) -> tensor<3x16392xf32>
  %a = tg.node "aten.mul.Tensor"(%o, %g) : (tensor<3x16392xf32>, tensor<3x1xf32>) -> tensor<3x16392xf32>
  %d = tg.node "aten._log_softmax_backward_data.default"(%a, %y) args [#tg.operand<0>, #tg.operand<1>, 1, f32] : (tensor<3x16392xf32>, tensor<3x16392xf32>) -> tensor<3x16392xf32>
  %r = tg.node "aten._to_copy.default"(%d) kwargs {dtype = bf16} : (tensor<3x16392xf32>) -> tensor<3x16392xbf16>
  tg.return %r : tensor<3x16392xbf16>
}
)",
              Equality::Rounding);
  EXPECT_EQ(plan.launches.front().dynamicSharedBytes + plan.scratchBytes, 0);
}

// Statistics over all rows, and then what is computed from them for each.
TEST_F(EmulationTest, NormalizesBatches) {
  expectEqual(R"(
tg.kernel @kernel(%x: tensor<16x4x32x32xf32>) -> tensor<16x4x32x32xf32> {
  %v:2 = tg.node "aten.var_mean.correction"(%x) args [#tg.operand<0>, [0, 2, 3]] kwargs {correction = 0, keepdim = true}
      : (tensor<16x4x32x32xf32>) -> (tensor<1x4x1x1xf32>, tensor<1x4x1x1xf32>)
  %c = tg.node "aten.sub.Tensor"(%x, %v#1) : (tensor<16x4x32x32xf32>, tensor<1x4x1x1xf32>) -> tensor<16x4x32x32xf32>
  %s = tg.node "aten.rsqrt.default"(%v#0) : (tensor<1x4x1x1xf32>) -> tensor<1x4x1x1xf32>
  %y = tg.node "aten.mul.Tensor"(%c, %s) : (tensor<16x4x32x32xf32>, tensor<1x4x1x1xf32>) -> tensor<16x4x32x32xf32>
  tg.return %y : tensor<16x4x32x32xf32>
}
)",
              Equality::Rounding);
  EXPECT_GE(plan.launches.size(), 2u);
}

TEST_F(EmulationTest, Transposes) {
  for (StringRef rows : {"128", "100", "7"}) {
    std::string from = "tensor<" + rows.str() + "x64xf32>";
    std::string to = "tensor<64x" + rows.str() + "xf32>";
    expectEqual("tg.kernel @kernel(%x: " + from + ", %y: " + to + ") -> " + to +
                    R"( {
  %e = tensor.empty() : )" +
                    to + R"(
  %t = linalg.transpose ins(%x : )" +
                    from + ") outs(%e : " + to +
                    R"() permutation = [1, 0]
  %z = tg.node "aten.add.Tensor"(%t, %y) : ()" +
                    to + ", " + to + ") -> " + to + R"(
  tg.return %z : )" +
                    to + "\n}\n",
                Equality::Bits);
  }
}

TEST_F(EmulationTest, Gathers) {
  expectEqual(R"(
tg.kernel @kernel(%w: tensor<8x64xf32>, %i: tensor<40xi64>) -> tensor<40x64xf32> {
  %y = tg.node "aten.embedding.default"(%w, %i) : (tensor<8x64xf32>, tensor<40xi64>) -> tensor<40x64xf32>
  tg.return %y : tensor<40x64xf32>
}
)",
              Equality::Bits);
}

TEST_F(EmulationTest, Scatters) {
  expectEqual(R"(
tg.kernel @kernel(%g: tensor<20x64xf32>, %i: tensor<20xi64>) -> tensor<8x64xf32> {
  %y = tg.node "aten.embedding_dense_backward.default"(%g, %i) args [#tg.operand<0>, #tg.operand<1>, 8, -1, false]
      : (tensor<20x64xf32>, tensor<20xi64>) -> tensor<8x64xf32>
  tg.return %y : tensor<8x64xf32>
}
)",
              Equality::Bits);
  EXPECT_EQ(plan.launches.size(), 1u);
}

// Many rows are sorted by where they belong: in one launch if they are small,
// else in several. What is added is added in the order of the indices.
TEST_F(EmulationTest, ScattersManyRows) {
  for (auto [count, extent, width] :
       {std::tuple("40", "8", "64"), std::tuple("1000", "300", "72"),
        std::tuple("600", "9", "1"), std::tuple("300", "4000", "5")}) {
    std::string grad =
        "tensor<2x" + Twine(count).str() + "x" + width + "xbf16>";
    std::string indices = "tensor<2x" + Twine(count).str() + "xi64>";
    std::string result =
        "tensor<" + Twine(extent).str() + "x" + width + "xbf16>";
    expectEqual("tg.kernel @kernel(%g: " + grad + ", %i: " + indices + ") -> " +
                    result + R"( {
  %y = tg.node "aten.embedding_dense_backward.default"(%g, %i) args [#tg.operand<0>, #tg.operand<1>, )" +
                    extent + R"(, 3, false] : ()" + grad + ", " + indices +
                    ") -> " + result + "\n  tg.return %y : " + result + "\n}\n",
                Equality::Bits);
    // Sums are never in memory.
    EXPECT_LT(plan.scratchBytes, 200 * 1000);
  }
}

// Numbers that are added to others, or of which the last one stays.
TEST_F(EmulationTest, ScattersElements) {
  for (StringRef accumulate : {"true", "false"})
    for (StringRef indexType : {"tensor<700xi64>", "tensor<700xi32>"}) {
      std::string type = indexType.str();
      expectEqual("tg.kernel @kernel(%x: tensor<5000xf32>, %i: " + type +
                      R"(, %v: tensor<700xf32>) -> tensor<5000xf32> {
  %y = tg.node "aten.index_put.default"(%x, %i, %v) args [#tg.operand<0>, [#tg.operand<1>], #tg.operand<2>, )" +
                      accumulate.str() + R"(] : (tensor<5000xf32>, )" + type +
                      R"(, tensor<700xf32>) -> tensor<5000xf32>
  tg.return %y : tensor<5000xf32>
}
)",
                  Equality::Bits);
    }
}

// Another operation than a sum, and computed positions.
TEST_F(EmulationTest, ScattersMaxima) {
  expectEqual(R"(
tg.kernel @kernel(%x: tensor<12x90xf32>, %i: tensor<10x90xi64>, %v: tensor<10x90xf32>) -> tensor<12x90xf32> {
  %y = tg.node "aten.scatter_reduce.two"(%x, %i, %v) args [#tg.operand<0>, 0, #tg.operand<1>, #tg.operand<2>, "amax"]
      : (tensor<12x90xf32>, tensor<10x90xi64>, tensor<10x90xf32>) -> tensor<12x90xf32>
  tg.return %y : tensor<12x90xf32>
}
)",
              Equality::Bits);
}

TEST_F(EmulationTest, StopsAtElementsOutOfBounds) {
  StringRef text = R"(
tg.kernel @kernel(%x: tensor<1x1xf32>, %v: tensor<1x1xf32>, %i: tensor<1x1xi64>) -> tensor<1x1xf32> {
  %y = tg.node "aten.scatter_add.default"(%x, %i, %v) args [#tg.operand<0>, 1, #tg.operand<1>, #tg.operand<2>]
      : (tensor<1x1xf32>, tensor<1x1xi64>, tensor<1x1xf32>) -> tensor<1x1xf32>
  tg.return %y : tensor<1x1xf32>
}
)";
  expectStop(text);
}

TEST_F(EmulationTest, StopsAtRowsOutOfBounds) {
  StringRef text = R"(
tg.kernel @kernel(%g: tensor<400x64xf32>, %i: tensor<400xi64>) -> tensor<5x64xf32> {
  %y = tg.node "aten.embedding_dense_backward.default"(%g, %i) args [#tg.operand<0>, #tg.operand<1>, 5, -1, false]
      : (tensor<400x64xf32>, tensor<400xi64>) -> tensor<5x64xf32>
  tg.return %y : tensor<5x64xf32>
}
)";
  expectStop(text);
}

TEST_F(EmulationTest, StopsAtIndicesOutOfBounds) {
  StringRef text = R"(
tg.kernel @kernel(%w: tensor<4x64xf32>, %i: tensor<40xi64>) -> tensor<40x64xf32> {
  %y = tg.node "aten.embedding.default"(%w, %i) : (tensor<4x64xf32>, tensor<40xi64>) -> tensor<40x64xf32>
  tg.return %y : tensor<40x64xf32>
}
)";
  expectStop(text);
}
