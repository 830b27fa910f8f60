//===- KernelCompilerTest.cpp - Kernels to object files -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelCompiler.h"

#include "regather/InitAll.h"
#include "regather/Kernel/CPU/CompileCpuKernels.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Object/ObjectFile.h"
#include "gtest/gtest.h"

using namespace regather;
using namespace regather::cpu;

/// A kernel that adds `constant` to each of four numbers.
static std::string makeKernel(int constant) {
  return R"(
tg.kernel @kernel(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = arith.constant dense<)" +
         std::to_string(constant) + R"(.0> : tensor<4xf32>
  %y = arith.addf %x, %c : tensor<4xf32>
  tg.return %y : tensor<4xf32>
}
)";
}

/// The global symbols of an object file that others define, or it itself.
static std::vector<std::string> getSymbols(llvm::StringRef object,
                                           bool undefined) {
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(object);
  auto file =
      llvm::cantFail(llvm::object::ObjectFile::createObjectFile(*buffer));
  std::vector<std::string> names;
  for (const llvm::object::SymbolRef &symbol : file->symbols()) {
    uint32_t flags = llvm::cantFail(symbol.getFlags());
    if ((flags & llvm::object::SymbolRef::SF_Global) &&
        bool(flags & llvm::object::SymbolRef::SF_Undefined) == undefined)
      names.push_back(llvm::cantFail(symbol.getName()).str());
  }
  return names;
}

namespace {
class KernelCompilerTest : public ::testing::Test {
protected:
  KernelCompilerTest()
      : target(llvm::cantFail(KernelTarget::detectHost(/*blockBytes=*/4096))) {
    registerAllDialects(dialects);
  }

  mlir::DialectRegistry dialects;
  KernelTarget target;
  KernelShape shape;
};
} // namespace

TEST_F(KernelCompilerTest, DefinesOnlyTheFunctionThatIsAskedFor) {
  KernelCompiler compiler(dialects, target);
  auto object = compiler.compile(makeKernel(1), "chosen", shape);
  ASSERT_TRUE(bool(object)) << llvm::toString(object.takeError());
  EXPECT_EQ(getSymbols(*object, /*undefined=*/false),
            std::vector<std::string>{"chosen"});
}

// A cache that both share must not give one for the other.
TEST_F(KernelCompilerTest, NamesCodeThatIsNotOptimisedOtherwise) {
  KernelTarget quick = llvm::cantFail(
      KernelTarget::detectHost(/*blockBytes=*/4096, /*optimizes=*/false));
  std::string text = makeKernel(1);
  EXPECT_NE(quick.getName(text), target.getName(text));
  KernelCompiler compiler(dialects, target), quickCompiler(dialects, quick);
  KernelShape quickShape;
  auto object = compiler.compile(text, "chosen", shape);
  auto other = quickCompiler.compile(text, "chosen", quickShape);
  ASSERT_TRUE(bool(object)) << llvm::toString(object.takeError());
  ASSERT_TRUE(bool(other)) << llvm::toString(other.takeError());
  EXPECT_NE(*object, *other);
  EXPECT_EQ(shape.numBlocks, quickShape.numBlocks);
}

TEST_F(KernelCompilerTest, ProgramsSayAllThatDecidesTheCode) {
  auto getProgram = [&](const KernelTarget &target, int constant) {
    KernelCompiler compiler(dialects, target);
    std::string seen;
    auto code =
        compiler.compile(makeKernel(constant), "chosen", shape,
                         [&](llvm::StringRef program, kernel::CodeGenerator) {
                           seen = program.str();
                           return llvm::Expected<std::string>("kept");
                         });
    EXPECT_EQ(llvm::cantFail(std::move(code)), "kept");
    return seen;
  };
  KernelTarget quick = llvm::cantFail(
      KernelTarget::detectHost(/*blockBytes=*/4096, /*optimizes=*/false));
  std::string program = getProgram(target, 1);
  EXPECT_EQ(getProgram(target, 1), program);
  EXPECT_NE(getProgram(target, 2), program);
  EXPECT_NE(getProgram(quick, 1), program);
#if defined(__x86_64__)
  KernelTarget old = llvm::cantFail(KernelTarget::getProcessor("x86-64", 4096));
  EXPECT_NE(getProgram(old, 1), program);
#endif
}

#if defined(__x86_64__)
// Not every CPU converts to bf16 with an instruction, and where none does, LLVM
// calls a helper that libgcc 12 lacks.
TEST_F(KernelCompilerTest, CallsNoHelperForBFloat16) {
  // Rows of three by vectors that are computed before them: LLVM shuffles
  // vectors of bf16.
  constexpr llvm::StringLiteral kernel = R"(
#row = affine_map<(i) -> (i)>
#rows = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
tg.kernel @kernel(%w: tensor<3xbf16> {tg.rows = 0 : i64},
                  %x: tensor<2x3xbf16> {tg.rows = 1 : i64})
    -> (tensor<2x3xbf16> {tg.rows = 1 : i64}) {
  %two = arith.constant 2.0 : bf16
  %row = tensor.empty() : tensor<3xbf16>
  %twice = linalg.generic {indexing_maps = [#row, #row],
                           iterator_types = ["parallel"]}
      ins(%w : tensor<3xbf16>) outs(%row : tensor<3xbf16>) {
  ^bb0(%a: bf16, %out: bf16):
    %product = arith.mulf %a, %two : bf16
    linalg.yield %product : bf16
  } -> tensor<3xbf16>
  %rowToo = tensor.empty() : tensor<3xbf16>
  %square = linalg.generic {indexing_maps = [#row, #row],
                            iterator_types = ["parallel"]}
      ins(%w : tensor<3xbf16>) outs(%rowToo : tensor<3xbf16>) {
  ^bb0(%a: bf16, %out: bf16):
    %product = arith.mulf %a, %a : bf16
    linalg.yield %product : bf16
  } -> tensor<3xbf16>
  %rows = tensor.empty() : tensor<2x3xbf16>
  %y = linalg.generic {indexing_maps = [#rows, #column, #column, #rows],
                       iterator_types = ["parallel", "parallel"]}
      ins(%x, %twice, %square : tensor<2x3xbf16>, tensor<3xbf16>,
                                tensor<3xbf16>)
      outs(%rows : tensor<2x3xbf16>) {
  ^bb0(%a: bf16, %b: bf16, %c: bf16, %out: bf16):
    %left = arith.mulf %a, %b : bf16
    %right = arith.mulf %a, %c : bf16
    %sum = arith.addf %left, %right : bf16
    linalg.yield %sum : bf16
  } -> tensor<2x3xbf16>
  tg.return %y : tensor<2x3xbf16>
}
)";
  for (llvm::StringRef name : {"x86-64-v2", "x86-64-v3", "sapphirerapids"}) {
    SCOPED_TRACE(name.str());
    KernelCompiler compiler(
        dialects, llvm::cantFail(KernelTarget::getProcessor(name, 4096)));
    auto object = compiler.compile(kernel, "chosen", shape);
    ASSERT_TRUE(bool(object)) << llvm::toString(object.takeError());
    EXPECT_EQ(getSymbols(*object, /*undefined=*/true),
              std::vector<std::string>{});
  }
}
#endif

TEST_F(KernelCompilerTest, KeysTellKernelsApart) {
  EXPECT_EQ(target.getName(makeKernel(1)), target.getName(makeKernel(1)));
  EXPECT_NE(target.getName(makeKernel(1)), target.getName(makeKernel(2)));
}

TEST_F(KernelCompilerTest, SaysWhatIsWrong) {
  KernelCompiler compiler(dialects, target);
  auto object =
      compiler.compile("func.func @kernel() { return %x : f32 }", "k", shape);
  ASSERT_FALSE(bool(object));
  EXPECT_NE(llvm::toString(object.takeError()).find("undeclared"),
            std::string::npos);
  // It can go on.
  EXPECT_TRUE(bool(compiler.compile(makeKernel(1), "k", shape)));
}

TEST_F(KernelCompilerTest, ThreadsDoNotChangeTheCode) {
  mlir::MLIRContext context(dialects);
  std::string text;
  for (int i = 0; i != 12; ++i)
    text += makeKernel(i);
  for (size_t at = 0, i = 0; (at = text.find("@kernel", at)) != text.npos; ++i)
    text.insert(at += 7, std::to_string(i));
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      text, mlir::ParserConfig(&context));
  ASSERT_TRUE(module);
  std::vector<std::vector<std::string>> objects;
  for (unsigned threads : {1, 4}) {
    KernelCompileOptions options;
    options.threads = threads;
    std::vector<int64_t> progress;
    options.onKernelReady = [&](int64_t done, int64_t total) {
      EXPECT_EQ(total, 12);
      progress.push_back(done);
    };
    KernelStatistics statistics;
    auto compiled = compileKernels(
        llvm::to_vector(module->getOps<tg::KernelOp>()), options, statistics);
    ASSERT_TRUE(mlir::succeeded(compiled));
    EXPECT_EQ(statistics.compiled, 12);
    EXPECT_EQ(statistics.cached, 0);
    ASSERT_EQ(progress.size(), 12u);
    for (int64_t i = 0; i != 12; ++i)
      EXPECT_EQ(progress[i], i + 1);
    ASSERT_EQ(compiled->size(), 12u);
    auto &bytes = objects.emplace_back();
    for (const KernelCode &kernel : *compiled)
      bytes.push_back(kernel.object->getBuffer().str());
  }
  EXPECT_EQ(objects[0], objects[1]);
}
