//===- RowBlocksTest.cpp - Kernels in blocks of rows ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/Kernels/KernelInPlace.h"
#include "regather/InitAll.h"
#include "regather/Kernel/CPU/CompileCpuKernels.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "gtest/gtest.h"

#include <cstring>

using namespace mlir;
using namespace regather;
using namespace regather::cpu;

namespace {
using Buffer = std::vector<char>;

/// The kernels of one module, in one way of compiling them.
class RowBlocksTest : public ::testing::Test {
protected:
  RowBlocksTest() {
    DialectRegistry dialects;
    registerAllDialects(dialects);
    context.appendDialectRegistry(dialects);
  }

  void compile(StringRef text, int64_t blockBytes);

  /// Runs the kernel on [0, rows) in `pieces` ranges, the last one first.
  std::vector<Buffer> run(const std::vector<Buffer> &arguments, int64_t pieces);

  /// Numbers that are the same every time, as f32, for each argument.
  std::vector<Buffer> makeArguments();

  /// Compiles in several block sizes and runs in several cuts; all bits must be
  /// equal.
  void expectEqualBits(StringRef text);

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  tg::KernelOp kernel;
  KernelCode code;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  KernelFunction function = nullptr;
};
} // namespace

void RowBlocksTest::compile(StringRef text, int64_t blockBytes) {
  module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
  ASSERT_TRUE(module);
  kernel = *module->getOps<tg::KernelOp>().begin();
  KernelCompileOptions options;
  options.threads = 1;
  options.blockBytes = blockBytes;
  KernelStatistics statistics;
  auto codes = compileKernels(kernel, options, statistics);
  ASSERT_TRUE(succeeded(codes));
  code = std::move(codes->front());
  jit = llvm::cantFail(llvm::orc::LLJITBuilder()
                           .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                           .create());
  llvm::cantFail(jit->addObjectFile(std::move(code.object)));
  function = llvm::cantFail(jit->lookup(code.symbol)).toPtr<KernelFunction>();
}

static size_t getBytes(Type type) {
  return tg::getTensorBytes(cast<RankedTensorType>(type));
}

std::vector<Buffer> RowBlocksTest::makeArguments() {
  std::vector<Buffer> arguments;
  uint32_t state = 1;
  for (Type type : kernel.getArgumentTypes()) {
    Buffer &buffer = arguments.emplace_back(getBytes(type));
    Type element = cast<RankedTensorType>(type).getElementType();
    size_t width = element.getIntOrFloatBitWidth() / 8;
    for (size_t i = 0; i + width <= buffer.size(); i += width) {
      state = state * 1664525 + 1013904223;
      float number = static_cast<float>(state >> 8) / (1 << 22) - 2;
      int64_t index = state >> 29;
      if (element.isInteger())
        memcpy(&buffer[i], &index, width);
      else
        // The upper bits of an f32 are a bf16.
        memcpy(&buffer[i], reinterpret_cast<char *>(&number) + 4 - width,
               width);
    }
  }
  return arguments;
}

std::vector<Buffer> RowBlocksTest::run(const std::vector<Buffer> &arguments,
                                       int64_t pieces) {
  std::vector<Buffer> results;
  for (Type type : kernel.getResultTypes())
    results.emplace_back(getBytes(type), char(0x5a));
  std::vector<void *> buffers;
  for (const Buffer &argument : arguments)
    buffers.push_back(const_cast<char *>(argument.data()));
  for (Buffer &result : results)
    buffers.push_back(result.data());
  Buffer memory(code.scratchBytes + 64);
  for (int64_t i = pieces; i-- > 0;) {
    // What is left over in scratch memory must not matter.
    memset(memory.data(), static_cast<int>(i), memory.size());
    auto scratch = llvm::alignAddr(memory.data(), llvm::Align(64));
    EXPECT_EQ(function(buffers.data(), code.rows * i / pieces,
                       code.rows * (i + 1) / pieces,
                       reinterpret_cast<void *>(scratch)),
              0);
  }
  return results;
}

void RowBlocksTest::expectEqualBits(StringRef text) {
  std::optional<std::vector<Buffer>> expected;
  std::vector<int64_t> counts;
  // One block; blocks of some rows, with and without a rest; single rows.
  for (int64_t blockBytes : {1 << 30, 40000, 12345, 4096, 1}) {
    ASSERT_NO_FATAL_FAILURE(compile(text, blockBytes));
    counts.push_back(code.rows);
    std::vector<Buffer> arguments = makeArguments();
    for (int64_t pieces : {1, 2, 7}) {
      std::vector<Buffer> results = run(arguments, pieces);
      if (!expected)
        expected = results;
      EXPECT_EQ(*expected, results)
          << blockBytes << " bytes, " << pieces << " pieces";
    }
  }
  EXPECT_EQ(counts.front(), 1);
  EXPECT_GT(counts.back(), counts.front());
}

/// The first numbers of a buffer.
static std::vector<float> getFloats(const Buffer &buffer, size_t count) {
  std::vector<float> numbers(count);
  memcpy(numbers.data(), buffer.data(), count * sizeof(float));
  return numbers;
}

TEST_F(RowBlocksTest, ElementwiseAndReductions) {
  expectEqualBits(R"(
tg.kernel @k(%x: tensor<67x203xf32> {tg.rows = 0}, %w: tensor<203xf32>)
    -> (tensor<67x203xf32> {tg.rows = 0}, tensor<67x1xf32> {tg.rows = 0}) {
  %y:3 = tg.node "aten.native_layer_norm.default"(%x, %w)
      args [#tg.operand<0>, [203], #tg.operand<1>, unit, 1.0e-5]
      : (tensor<67x203xf32>, tensor<203xf32>)
      -> (tensor<67x203xf32>, tensor<67x1xf32>, tensor<67x1xf32>)
  %z = tg.node "aten.gelu.default"(%y#0)
      : (tensor<67x203xf32>) -> tensor<67x203xf32>
  tg.return %z, %y#2 : tensor<67x203xf32>, tensor<67x1xf32>
}
)");
}

// The batch is too little to cut: its rows are cut in turn.
TEST_F(RowBlocksTest, RowsOfSeveralDimensions) {
  expectEqualBits(R"(
tg.kernel @k(%x: tensor<3x41x128xbf16> {tg.rows = 0},
             %y: tensor<3x41x128xbf16> {tg.rows = 0})
    -> (tensor<3x41x128xbf16> {tg.rows = 0}) {
  %s = tg.node "aten.silu.default"(%x)
      : (tensor<3x41x128xbf16>) -> tensor<3x41x128xbf16>
  %m = tg.node "aten.mul.Tensor"(%s, %y)
      : (tensor<3x41x128xbf16>, tensor<3x41x128xbf16>) -> tensor<3x41x128xbf16>
  %z = tg.node "aten._softmax.default"(%m) args [#tg.operand<0>, -1, false]
      : (tensor<3x41x128xbf16>) -> tensor<3x41x128xbf16>
  tg.return %z : tensor<3x41x128xbf16>
}
)");
}

// Rows of a sum over the first dimension are columns.
TEST_F(RowBlocksTest, SumsOfColumns) {
  expectEqualBits(R"(
tg.kernel @k(%x: tensor<75x2100xf32> {tg.rows = 1})
    -> (tensor<2100xf32> {tg.rows = 0}) {
  %e = tg.node "aten.tanh.default"(%x)
      : (tensor<75x2100xf32>) -> tensor<75x2100xf32>
  %s = tg.node "aten.sum.dim_IntList"(%e) args [#tg.operand<0>, [0]]
      : (tensor<75x2100xf32>) -> tensor<2100xf32>
  tg.return %s : tensor<2100xf32>
}
)");
}

TEST_F(RowBlocksTest, RowsPickedByIndices) {
  expectEqualBits(R"(
tg.kernel @k(%t: tensor<8x130xf32>, %i: tensor<500xi64> {tg.rows = 0})
    -> (tensor<500x130xf32> {tg.rows = 0}) {
  %r = tg.node "aten.embedding.default"(%t, %i)
      : (tensor<8x130xf32>, tensor<500xi64>) -> tensor<500x130xf32>
  tg.return %r : tensor<500x130xf32>
}
)");
  std::vector<Buffer> arguments = makeArguments();
  int64_t outside = 8;
  memcpy(arguments[1].data(), &outside, sizeof(outside));
  std::vector<char> result(getBytes(kernel.getResultTypes()[0]));
  void *buffers[] = {arguments[0].data(), arguments[1].data(), result.data()};
  // A row may be several blocks.
  int64_t blocks = code.rows / 500;
  EXPECT_EQ(function(buffers, 0, blocks, nullptr), 1);
  EXPECT_EQ(function(buffers, blocks, code.rows, nullptr), 0);
}

// Vectorisers have been seen to turn a sum of equal terms into one addition.
TEST_F(RowBlocksTest, SumsOfEqualTerms) {
  for (int64_t size : {16, 100, 256}) {
    std::string type = "tensor<8x" + std::to_string(size) + "xf32>";
    compile(R"(
tg.kernel @k() -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : )" +
                type + R"(
  %x = linalg.fill ins(%zero : f32) outs(%e : )" +
                type + ") -> " + type + R"(
  %r = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%r : tensor<8xf32>) -> tensor<8xf32>
  %s = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : )" +
                type + R"() outs(%z : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %b, %one : f32
    linalg.yield %c : f32
  } -> tensor<8xf32>
  tg.return %s : tensor<8xf32>
}
)",
            1 << 20);
    EXPECT_EQ(getFloats(run({}, 1).front(), 8),
              std::vector<float>(8, static_cast<float>(size)));
  }
}

// Sums of integers are exact in any order, so only the order of what is not
// exact can tell.
TEST_F(RowBlocksTest, TermsAreAddedInLanes) {
  compile(R"(
tg.kernel @k(%x: tensor<1x100xf32>) -> tensor<1xf32> {
  %s = tg.node "aten.sum.dim_IntList"(%x) args [#tg.operand<0>, [1]]
      : (tensor<1x100xf32>) -> tensor<1xf32>
  tg.return %s : tensor<1xf32>
}
)",
          1 << 20);
  std::vector<Buffer> arguments = makeArguments();
  std::vector<float> x = getFloats(arguments[0], 100);
  float lanes[32] = {};
  for (int i = 0; i != 100; ++i)
    lanes[i % 32] += x[i];
  for (int width = 16; width != 0; width /= 2)
    for (int lane = 0; lane != width; ++lane)
      lanes[lane] += lanes[lane + width];
  EXPECT_EQ(getFloats(run(arguments, 1)[0], 1)[0], lanes[0]);
}

TEST_F(RowBlocksTest, ResultsInThePlaceOfArguments) {
  StringRef text = R"(
#map = affine_map<(d0) -> (d0)>
tg.kernel @k(%x: tensor<5000xf32>, %y: tensor<5000xf32>, %z: tensor<5000xf32>,
             %w: tensor<5000xf32>)
    -> (tensor<5000xf32>, tensor<5000xf32>, tensor<5000xf32>, tensor<5000xf32>,
        tensor<5000xf32>) {
  %e = tensor.empty() : tensor<5000xf32>
  %r:2 = linalg.generic {indexing_maps = [#map, #map, #map, #map],
                         iterator_types = ["parallel"]}
      ins(%x, %y : tensor<5000xf32>, tensor<5000xf32>)
      outs(%e, %e : tensor<5000xf32>, tensor<5000xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %d: f32):
    %s = arith.addf %a, %b : f32
    %t = arith.mulf %b, %b : f32
    linalg.yield %s, %t : f32, f32
  } -> (tensor<5000xf32>, tensor<5000xf32>)
  %u = arith.mulf %z, %z : tensor<5000xf32>
  %v = arith.negf %w : tensor<5000xf32>
  %q = arith.mulf %v, %v : tensor<5000xf32>
  tg.return %r#0, %r#1, %u, %v, %q : tensor<5000xf32>, tensor<5000xf32>,
      tensor<5000xf32>, tensor<5000xf32>, tensor<5000xf32>
}
)";
  compile(text, 4096);
  // The second result does not tell when the first argument has been read; the
  // third argument is read twice; and the fourth result is read for the last.
  SmallVector<tg::InPlacePair> pairs = tg::getInPlacePairs(kernel);
  EXPECT_EQ(pairs, SmallVector<tg::InPlacePair>({{0, 0}, {1, 0}, {1, 1}}));
  std::vector<Buffer> arguments = makeArguments();
  std::vector<Buffer> expected = run(arguments, 1);
  for (auto [argument, result] : pairs) {
    std::vector<Buffer> inputs = arguments, results = expected;
    for (Buffer &buffer : results)
      std::fill(buffer.begin(), buffer.end(), 0);
    std::vector<void *> buffers;
    for (std::vector<Buffer> *list : {&inputs, &results})
      for (Buffer &buffer : *list)
        buffers.push_back(buffer.data());
    buffers[inputs.size() + result] = inputs[argument].data();
    EXPECT_EQ(function(buffers.data(), 0, code.rows, nullptr), 0);
    EXPECT_EQ(inputs[argument], expected[result]);
    for (size_t i = 0; i != results.size(); ++i)
      if (i != result) {
        EXPECT_EQ(results[i], expected[i]) << argument << " " << result;
      }
  }
}
