//===- ReductionKernelTest.cpp - Reductions on GPUs -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text of the kernels runs in the stand-in driver, which interprets it as a
// GPU would, and must give the bits of Reduction.cpp.
//
//===----------------------------------------------------------------------===//

#include "GPU/Communication/ReductionKernel.h"
#include "../RecordedDriver.h"
#include "regather/Runtime/Runtime.h"
#include "regather/Support/Half.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <random>
#include <sys/wait.h>
#include <unistd.h>

using namespace regather::runtime;

namespace {

class ReductionKernelTest : public testing::Test {
protected:
  ReductionKernelTest() : driver(loadStandIn()) {
    EXPECT_EQ(driver.cuModuleLoadDataEx(&module,
                                        writeReductionKernels().c_str(), 0,
                                        nullptr, nullptr),
              kCuSuccess);
    EXPECT_EQ(driver.cuStreamCreate(&stream, 0), kCuSuccess);
  }
  ~ReductionKernelTest() override {
    driver.cuStreamDestroy_v2(stream);
    driver.cuModuleUnload(module);
  }

  /// Reduces `count` elements of `ranks` contributions both ways.
  void check(const ReductionType &type, std::vector<char> data, int64_t ranks,
             int64_t count) {
    auto bytes = size_t(count) * rg_dtype_size(type.dtype);
    CuAddress address = 0;
    ASSERT_EQ(driver.cuMemAlloc_v2(&address, bytes * size_t(ranks + 1) + 1),
              kCuSuccess);
    std::memcpy(reinterpret_cast<void *>(address), data.data(), data.size());
    CuFunction function = nullptr;
    std::string name = getReductionKernelName(type);
    ASSERT_EQ(driver.cuModuleGetFunction(&function, module, name.c_str()),
              kCuSuccess)
        << name;
    uint64_t target = address + bytes * size_t(ranks), stride = bytes;
    auto numRanks = uint64_t(ranks), numElements = uint64_t(count);
    void *arguments[] = {&target, &address, &stride, &numRanks, &numElements};
    // Fewer threads than elements, so that they go on.
    ASSERT_EQ(driver.cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, stream,
                                    arguments, nullptr),
              kCuSuccess);
    std::vector<const char *> sources;
    for (int64_t rank = 0; rank < ranks; ++rank)
      sources.push_back(data.data() + size_t(rank) * bytes);
    std::vector<char> expected(bytes + 1);
    reduceRun(type, sources, {expected.data()}, count);
    EXPECT_EQ(
        std::memcmp(expected.data(), reinterpret_cast<void *>(target), bytes),
        0)
        << name << " of " << ranks << " ranks";
    driver.cuMemFree_v2(address);
  }

  DriverApi driver;
  CuModule module = nullptr;
  CuStream stream = nullptr;
};

bool isFloat(rg_dtype dtype) {
  return dtype == RG_F32 || dtype == RG_F64 || dtype == RG_BF16 ||
         dtype == RG_F16;
}

// Arbitrary bits, so that NaN, infinities and subnormals are among floats.
TEST_F(ReductionKernelTest, EqualsHost) {
  std::mt19937_64 random(7);
  for (int32_t dtype = RG_F32; dtype <= RG_I64; ++dtype)
    for (rg_reduction reduction : {RG_SUM, RG_AVG, RG_MAX})
      for (rg_dtype accumulate : {RG_DTYPE_AUTO, RG_F64})
        for (int64_t ranks : {1, 2, 3, 8}) {
          auto type = rg_dtype(dtype);
          if (!isFloat(type) && reduction == RG_AVG)
            continue;
          const int64_t count = 999;
          std::vector<char> data(size_t(count * ranks) * rg_dtype_size(type));
          for (char &byte : data)
            byte = char(type == RG_I1 ? random() & 1 : random());
          check({reduction, type, accumulate}, data, ranks, count);
        }
}

/// The bits of a value in a type that has at most 32 of them.
void append(std::vector<char> &data, rg_dtype dtype, float value) {
  uint32_t bits = dtype == RG_BF16  ? toBF16(value)
                  : dtype == RG_F16 ? toF16(value)
                                    : bitCast<uint32_t>(value);
  char bytes[sizeof(bits)];
  std::memcpy(bytes, &bits, sizeof(bits));
  data.insert(data.end(), bytes, bytes + rg_dtype_size(dtype));
}

// Sums half the way between two numbers of the type, and a little more or less:
// rounded to f32 first, they would be ties.
TEST_F(ReductionKernelTest, RoundsOnce) {
  for (auto [dtype, mantissa] :
       {std::make_pair(RG_BF16, 7), std::make_pair(RG_F16, 10),
        std::make_pair(RG_F32, 23)}) {
    std::vector<float> values;
    for (int i = 0; i < 64; ++i)
      for (float sign : {1.0f, -1.0f})
        values.push_back(sign *
                         (1 + std::ldexp(float(i), -std::min(mantissa, 7))));
    std::vector<char> data;
    for (float value : values)
      append(data, dtype, value);
    for (size_t i = 0; i < values.size(); ++i)
      append(data, dtype, std::ldexp(i % 3 ? 1.0f : -1.0f, -mantissa - 1));
    for (size_t i = 0; i < values.size(); ++i)
      append(data, dtype,
             std::ldexp(i % 5 ? 1.0f : -1.0f, dtype == RG_F16 ? -24 : -40));
    for (rg_reduction reduction : {RG_SUM, RG_AVG, RG_MAX})
      for (rg_dtype accumulate : {RG_F32, RG_F64})
        check({reduction, dtype, accumulate}, data, 3, int64_t(values.size()));
  }
}

TEST_F(ReductionKernelTest, MaximumOrdersZeros) {
  const float zeros[] = {-0.0f, 0.0f, 0.0f, -0.0f, -0.0f, -0.0f};
  std::vector<char> data(sizeof(zeros));
  std::memcpy(data.data(), zeros, sizeof(zeros));
  check({RG_MAX, RG_F32, RG_DTYPE_AUTO}, data, 2, 3);
}

/// Runs a program, which writes to a file; returns its exit code, 127 if there
/// is none of its name.
int runProgram(std::vector<std::string> words, const std::string &output) {
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t process = fork();
  if (process == 0) {
    int file = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The assembler of the CUDA toolkit takes the text, where there is one.
TEST_F(ReductionKernelTest, Assembles) {
  std::string path = getTemporaryPath("reductions.ptx");
  std::string log = getTemporaryPath("reductions.log");
  std::ofstream(path) << writeReductionKernels();
  for (const char *architecture : {"sm_80", "sm_90a", "sm_100a"}) {
    int code = runProgram({"ptxas", "-v", std::string("-arch=") + architecture,
                           "-o", "/dev/null", path},
                          log);
    if (code == 127) {
      std::remove(path.c_str());
      std::remove(log.c_str());
      GTEST_SKIP() << "no ptxas";
    }
    std::ifstream file(log);
    std::string output((std::istreambuf_iterator<char>(file)),
                       std::istreambuf_iterator<char>());
    EXPECT_EQ(code, 0) << output;
    EXPECT_EQ(output.find("warning"), std::string::npos) << output;
    size_t numKernels = 0;
    for (size_t at = output.find(" bytes spill stores");
         at != std::string::npos;
         at = output.find(" bytes spill stores", at + 1), ++numKernels)
      EXPECT_EQ(output.substr(at - 2, 2), " 0") << output;
    EXPECT_EQ(numKernels, 31u);
  }
  std::remove(path.c_str());
  std::remove(log.c_str());
}

} // namespace
