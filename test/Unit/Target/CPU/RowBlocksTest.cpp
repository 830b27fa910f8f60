//===- RowBlocksTest.cpp - Kernels in blocks of rows ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/InitAll.h"
#include "regather/Target/CPU/CompileKernels.h"

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
    bool isFloat = cast<RankedTensorType>(type).getElementType().isF32();
    for (size_t i = 0; i + 4 <= buffer.size(); i += 4) {
      state = state * 1664525 + 1013904223;
      float number = static_cast<float>(state >> 8) / (1 << 22) - 2;
      int32_t index = state >> 29;
      memcpy(&buffer[i], isFloat ? (void *)&number : (void *)&index, 4);
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
  EXPECT_GT(counts.back(), counts[1]);
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
