//===- BundleTest.cpp - A compiled step in a file -------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Bundle/Bundle.h"
#include "regather/Execution/Bundle/TargetMachine.h"

#include "gtest/gtest.h"

#include <filesystem>

using namespace regather;

namespace {
Manifest makeManifest(const char *entry) {
  Manifest manifest;
  manifest.step.entry = entry;
  manifest.step.ranks = 1;
  manifest.machine = getHostMachine();
  return manifest;
}

std::string loadError(const std::string &path, const Manifest &manifest) {
  auto engine = loadBundle(path, manifest, {}, [](const std::string &) {});
  return engine ? "" : engine.getMessage();
}
} // namespace

// A bundle is compiled anew while a run of the old one begins.
TEST(BundleTest, RefusesWhatWasReplacedAfterItWasChecked) {
  std::string path =
      (std::filesystem::temp_directory_path() / "regather-replaced.rgb");
  ASSERT_FALSE(bool(writeBundle(path, "no code", makeManifest("first"))));
  Result<Manifest> manifest = readManifest(path);
  ASSERT_TRUE(bool(manifest)) << manifest.getMessage();
  EXPECT_EQ(manifest->step.entry, "first");
  std::string message = "cannot run bundle '" + path +
                        "': it was replaced after it had been checked";
  // It gets as far as the loader, which knows no such code.
  EXPECT_NE(loadError(path, *manifest), message);
  ASSERT_FALSE(bool(writeBundle(path, "no code", makeManifest("second"))));
  EXPECT_EQ(loadError(path, *manifest), message);
  std::filesystem::remove(path);
  EXPECT_EQ(loadError(path, *manifest), message);
}
