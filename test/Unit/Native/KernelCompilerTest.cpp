//===- KernelCompilerTest.cpp - Kernels to object files -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelCompiler.h"
#include "CompileKernels.h"

#include "regather/InitAll.h"

#include "llvm/Object/ObjectFile.h"
#include "gtest/gtest.h"

using namespace regather;
using namespace regather::native;

/// A kernel that adds `constant` to each of four numbers.
static std::string makeKernel(int constant) {
  return R"(
func.func @kernel(%x: tensor<4xf32> {bufferization.writable = false})
    -> tensor<4xf32> attributes {llvm.emit_c_interface} {
  %c = arith.constant dense<)" +
         std::to_string(constant) + R"(.0> : tensor<4xf32>
  %y = arith.addf %x, %c : tensor<4xf32>
  return %y : tensor<4xf32>
}
)";
}

namespace {
class KernelCompilerTest : public ::testing::Test {
protected:
  KernelCompilerTest() : target(llvm::cantFail(KernelTarget::detectHost())) {
    registerAllDialects(dialects);
  }

  mlir::DialectRegistry dialects;
  KernelTarget target;
};
} // namespace

TEST_F(KernelCompilerTest, DefinesOnlyTheFunctionThatIsAskedFor) {
  KernelCompiler compiler(dialects, target);
  auto object = compiler.compile(makeKernel(1), "chosen");
  ASSERT_TRUE(bool(object)) << llvm::toString(object.takeError());
  auto file = llvm::object::ObjectFile::createObjectFile(**object);
  ASSERT_TRUE(bool(file));
  std::vector<std::string> names;
  for (const llvm::object::SymbolRef &symbol : (*file)->symbols()) {
    uint32_t flags = llvm::cantFail(symbol.getFlags());
    if ((flags & llvm::object::SymbolRef::SF_Global) &&
        !(flags & llvm::object::SymbolRef::SF_Undefined))
      names.push_back(llvm::cantFail(symbol.getName()).str());
  }
  EXPECT_EQ(names, std::vector<std::string>{"chosen"});
}

TEST_F(KernelCompilerTest, KeysTellKernelsApart) {
  EXPECT_EQ(target.getKey(makeKernel(1)), target.getKey(makeKernel(1)));
  EXPECT_NE(target.getKey(makeKernel(1)), target.getKey(makeKernel(2)));
}

TEST_F(KernelCompilerTest, SaysWhatIsWrong) {
  KernelCompiler compiler(dialects, target);
  auto object =
      compiler.compile("func.func @kernel() { return %x : f32 }", "k");
  ASSERT_FALSE(bool(object));
  EXPECT_NE(llvm::toString(object.takeError()).find("undeclared"),
            std::string::npos);
  // It can go on.
  EXPECT_TRUE(bool(compiler.compile(makeKernel(1), "k")));
}

TEST_F(KernelCompilerTest, ThreadsDoNotChangeTheCode) {
  std::vector<std::string> texts;
  for (int i = 0; i != 12; ++i)
    texts.push_back(makeKernel(i));
  texts.push_back("not a kernel");
  std::vector<std::vector<std::string>> objects;
  for (unsigned threads : {1, 4}) {
    EngineOptions options;
    options.compileThreads = threads;
    std::vector<int64_t> progress;
    options.onKernelReady = [&](int64_t done, int64_t total) {
      EXPECT_EQ(total, 13);
      progress.push_back(done);
    };
    KernelStatistics statistics;
    auto compiled =
        compileKernels(texts, dialects, target, options, statistics);
    EXPECT_EQ(statistics.compiled, 13);
    EXPECT_EQ(statistics.cached, 0);
    ASSERT_EQ(progress.size(), 13u);
    for (int64_t i = 0; i != 13; ++i)
      EXPECT_EQ(progress[i], i + 1);
    ASSERT_EQ(compiled.size(), texts.size());
    EXPECT_EQ(compiled.back().object, nullptr);
    EXPECT_NE(compiled.back().error, "");
    compiled.pop_back();
    auto &bytes = objects.emplace_back();
    for (const CompiledKernel &kernel : compiled) {
      ASSERT_NE(kernel.object, nullptr) << kernel.error;
      bytes.push_back(kernel.object->getBuffer().str());
    }
  }
  EXPECT_EQ(objects[0], objects[1]);
}
