//===- ParallelCompilationTest.cpp - Kernels in parallel ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/Compilation/ParallelCompilation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"

using namespace regather::kernel;
using llvm::StringRef;
namespace fs = llvm::sys::fs;

/// Compiles texts to themselves, by way of a program that is the last word of
/// the text; `order` gets texts as they are lowered and programs as code is
/// made.
static std::vector<CompiledText> compile(llvm::ArrayRef<std::string> texts,
                                         const CompileOptions &options,
                                         KernelStatistics &statistics,
                                         std::vector<std::string> &order) {
  auto compileText = [&](StringRef text, StringRef,
                         CodeSource codes) -> llvm::Expected<std::string> {
    order.push_back(text.str());
    if (text == "wrong")
      return llvm::createStringError("it is wrong");
    StringRef program = text.rsplit(' ').second;
    auto code = codes(program, [&]() -> llvm::Expected<std::string> {
      order.push_back(program.str());
      return program.str();
    });
    if (!code)
      return code.takeError();
    return text.drop_back(program.size()).str() + *code;
  };
  return compileInParallel(
      texts, [](StringRef text) { return hashText("test", text); },
      [&]() -> TextCompiler { return compileText; }, options, statistics);
}

TEST(ParallelCompilationTest, ProcessesBeginFarFromEachOther) {
  for (uint64_t process : {1ull, 4711ull, 99998ull, 4194300ull})
    for (size_t ranks : {2, 3, 4, 8}) {
      const size_t count = 1000;
      std::vector<size_t> starts;
      for (size_t rank = 0; rank != ranks; ++rank)
        starts.push_back(getFirstText(process + rank, count));
      llvm::sort(starts);
      starts.push_back(starts.front() + count);
      // Nobody has more than about twice what would be fair.
      for (size_t rank = 0; rank != ranks; ++rank)
        EXPECT_LE(starts[rank + 1] - starts[rank], 2 * count / ranks + 1);
    }
  for (size_t count : {0, 1, 2, 7})
    for (uint64_t process = 0; process != 50; ++process)
      EXPECT_LE(getFirstText(process, count), count ? count - 1 : 0);
}

TEST(ParallelCompilationTest, ResultsAreInTheOrderOfTheTexts) {
  llvm::SmallString<128> folder;
  ASSERT_FALSE(fs::createUniqueDirectory("regather", folder));
  std::vector<std::string> texts;
  for (int i = 0; i != 20; ++i)
    texts.push_back("text " + std::to_string(i));
  texts[5] = "wrong";
  CompileOptions options;
  options.threads = 1;
  for (const std::string &cache : {std::string(), folder.str().str()})
    for (int pass = 0; pass != 2; ++pass) {
      options.cacheDirectory = cache;
      KernelStatistics statistics;
      std::vector<std::string> order;
      auto compiled = compile(texts, options, statistics, order);
      ASSERT_EQ(compiled.size(), texts.size());
      for (size_t i = 0; i != texts.size(); ++i) {
        EXPECT_EQ(compiled[i].code, i == 5 ? "" : texts[i]);
        EXPECT_EQ(compiled[i].error, i == 5 ? "it is wrong" : "");
      }
      EXPECT_EQ(statistics.count, 20);
      // What failed is not kept.
      bool isKept = !cache.empty() && pass == 1;
      EXPECT_EQ(statistics.cached, isKept ? 19 : 0);
      // Of the other 19, the code is made and not only the text lowered.
      EXPECT_EQ(order.size(), isKept ? 1u : 39u);
    }
  EXPECT_FALSE(fs::remove_directories(folder));
}

TEST(ParallelCompilationTest, CodeIsFoundByItsProgram) {
  llvm::SmallString<128> folder;
  ASSERT_FALSE(fs::createUniqueDirectory("regather", folder));
  CompileOptions options;
  options.threads = 1;
  options.cacheDirectory = folder.str().str();
  std::vector<std::string> order;
  KernelStatistics first, second;
  compile({"one program"}, options, first, order);
  EXPECT_EQ(first.compiled, 1);
  EXPECT_EQ(order, std::vector<std::string>({"one program", "program"}));
  // As after a change of Regather that lowers a text anew, but to what it was.
  order.clear();
  auto compiled =
      compile({"another program", "other code"}, options, second, order);
  EXPECT_EQ(compiled[0].code, "another program");
  EXPECT_EQ(compiled[1].code, "other code");
  EXPECT_EQ(second.cached, 1);
  EXPECT_EQ(second.compiled, 1);
  llvm::sort(order);
  EXPECT_EQ(order, std::vector<std::string>(
                       {"another program", "code", "other code"}));
  EXPECT_FALSE(fs::remove_directories(folder));
}
