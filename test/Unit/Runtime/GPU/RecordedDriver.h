//===- RecordedDriver.h - The stand-in driver in tests ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_UNITTEST_RUNTIME_GPU_RECORDEDDRIVER_H
#define REGATHER_UNITTEST_RUNTIME_GPU_RECORDEDDRIVER_H

#include "../FailureMessage.h"
#include "GPU/Driver/DriverApi.h"
#include "GPU/Driver/NvtxRange.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace regather::runtime {

/// Sets an environment variable for as long as it lives.
class ScopedVariable {
public:
  ScopedVariable(const char *name, const std::string &value) : name(name) {
    setenv(name, value.c_str(), /*overwrite=*/1);
  }
  ScopedVariable(const ScopedVariable &) = delete;
  ScopedVariable &operator=(const ScopedVariable &) = delete;
  ~ScopedVariable() { unsetenv(name); }

private:
  const char *name;
};

/// A path for a file of this process.
inline std::string getTemporaryPath(const std::string &name) {
  return testing::TempDir() + "regather-" + std::to_string(getpid()) + '-' +
         name;
}

/// A file of recorded calls with a name of its own in each test.
class RecordFile {
public:
  RecordFile() : variable("REGATHER_RECORD", getPath()) {}
  ~RecordFile() { std::remove(getPath().c_str()); }

  /// The lines of calls of the given name, or all.
  std::vector<std::string> getCalls(const std::string &name = "") const {
    std::vector<std::string> lines;
    std::ifstream file(getPath());
    for (std::string line; std::getline(file, line);)
      if (name.empty() || line.find("\"call\": \"" + name + '"') == 1)
        lines.push_back(line);
    return lines;
  }

private:
  static std::string getPath() {
    const testing::TestInfo *test =
        testing::UnitTest::GetInstance()->current_test_info();
    return getTemporaryPath(std::string(test->test_suite_name()) + '.' +
                            test->name() + ".jsonl");
  }

  ScopedVariable variable;
};

/// The stand-in records what calls belong to, as a tool of NVTX. The first
/// range of the process decides whether there is one, whichever test that is
/// in.
inline const int kToolIsSet = setenv(
    "NVTX_INJECTION64_PATH", REGATHER_RECORDING_LIBRARY, /*overwrite=*/1);

/// Opens the stand-in driver.
inline DriverApi loadStandIn() {
  DriverApi driver;
  EXPECT_EQ(getMessage(driver.load(REGATHER_RECORDING_LIBRARY)), "");
  return driver;
}

} // namespace regather::runtime

#endif // REGATHER_UNITTEST_RUNTIME_GPU_RECORDEDDRIVER_H
