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

/// Compiles texts to themselves; `order` gets them as they are compiled.
static std::vector<CompiledText> compile(llvm::ArrayRef<std::string> texts,
                                         const CompileOptions &options,
                                         KernelStatistics &statistics,
                                         std::vector<std::string> &order) {
  auto compileText = [&](StringRef text,
                         StringRef) -> llvm::Expected<std::string> {
    order.push_back(text.str());
    if (text == "wrong")
      return llvm::createStringError("it is wrong");
    return text.str();
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
      EXPECT_EQ(order.size(), isKept ? 1u : 20u);
    }
  EXPECT_FALSE(fs::remove_directories(folder));
}
