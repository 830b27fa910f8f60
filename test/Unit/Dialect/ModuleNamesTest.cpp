//===- ModuleNamesTest.cpp - The modules that paths name ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/Modules/ModuleNames.h"

#include "gtest/gtest.h"

using namespace regather;

static std::string summarize(std::vector<llvm::StringRef> paths) {
  return summarizePaths(paths);
}

TEST(ModuleNames, AddsWhatAModuleIsIn) {
  ModuleNames names;
  unsigned wq = names.add("layers.0.wq");
  unsigned wk = names.add("layers.0.wk");
  EXPECT_EQ(names.add("layers.0.wq"), wq);
  EXPECT_EQ(names.add(""), 0u);
  EXPECT_EQ(names.getNumModules(), 5u);
  EXPECT_EQ(names.getParent(wk), names.getParent(wq));
  EXPECT_LT(names.getParent(wq), wq);
  EXPECT_EQ(names.getPath(wq), "layers.0.wq");
  EXPECT_EQ(names.getPath(names.getParent(wq)), "layers.0");
  EXPECT_EQ(names.getName(wk), "wk");
  EXPECT_EQ(names.getPath(0), "");
}

// However deep a path is, the tree is not.
TEST(ModuleNames, BoundsTheDepth) {
  std::string path = "a";
  for (int i = 0; i < 100000; ++i)
    path += ".a";
  ModuleNames names;
  unsigned module = names.add(path);
  EXPECT_EQ(names.getNumModules(), ModuleNames::kMaxDepth + 1);
  EXPECT_EQ(names.getPath(module), path);
}

TEST(ModuleNames, FoldsNumbersThatFollowEachOther) {
  ModuleNames names;
  for (const char *path : {"0", "1", "2", "4", "norm", "5", "6"})
    names.add(path);
  auto fold = [&](auto areAlike) {
    std::vector<std::string> result;
    for (const ModuleRun &run : foldChildren(names, 0, areAlike))
      result.push_back(run.name);
    return result;
  };
  EXPECT_EQ(fold([](unsigned, unsigned) { return true; }),
            (std::vector<std::string>{"{0..2}", "4", "norm", "{5..6}"}));
  EXPECT_EQ(fold([&](unsigned first, unsigned) {
              return names.getName(first) != "1";
            }),
            (std::vector<std::string>{"{0..1}", "2", "4", "norm", "{5..6}"}));
}

TEST(ModuleNames, SummarizesPaths) {
  EXPECT_EQ(summarize({"embedding", "layers.0.wq", "layers.1.wq", "norm"}),
            "embedding, layers.{0..1}, norm");
  // What all are in says nothing by itself.
  EXPECT_EQ(summarize({"model.norm", "model.layers.0.w", "model.layers.1.w"}),
            "model.norm, model.layers.{0..1}");
  EXPECT_EQ(summarize({}), "none");
  EXPECT_EQ(summarize({"", "a"}), "., a");
  EXPECT_EQ(summarize({""}), ".");
  EXPECT_EQ(summarize({"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}),
            "a, b, c, d, e, f, g, h, 2 more");
}
