//===- CudnnDevicelessTest.cpp - Attention by the real cuDNN --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cuDNN makes plans for devices that are only described to it. So the library
// itself checks the graphs that attention is described by, and compiles their
// kernels: nothing but their execution needs a device.
//
// The library is REGATHER_TEST_CUDNN, or was found when the build was
// configured; NVRTC lies where that of its package searches. Of the driver and
// cuBLASLt, which are not called, libraries without contents take the place.
//
//===----------------------------------------------------------------------===//

#include "GPU/Cudnn/Attention.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <dlfcn.h>
#include <ostream>

using namespace regather::runtime;
using regather::Failure;

namespace {

struct Device {
  const char *name;
  int architecture;
  /// From the data sheets of the SXM modules: multiprocessors, shared memory of
  /// a block and L2 in bytes, clocks in MHz, and bits of the memory bus.
  int multiprocessors, sharedBytes, cacheBytes, clock, memoryClock, busBits;
  int64_t memoryBytes;
};

constexpr Device kDevices[] = {{"NVIDIA A100-SXM4-80GB", 80, 108, 166912,
                                41943040, 1410, 1593, 5120, int64_t(80) << 30},
                               {"NVIDIA H100 80GB HBM3", 90, 132, 232448,
                                52428800, 1980, 2619, 5120, int64_t(80) << 30},
                               {"NVIDIA B200", 100, 148, 232448, 132644864,
                                1965, 3996, 8192, int64_t(180) << 30}};

/// For messages of tests.
std::ostream &operator<<(std::ostream &os, const Device &device) {
  return os << device.name;
}

/// As the library reads and writes it.
std::string describe(const Device &device) {
  auto number = [](const char *name, int64_t value) {
    return std::string(", \"") + name + "\": " + std::to_string(value);
  };
  constexpr int kKiloHertz = 1000;
  return std::string("{\"deviceName\": \"") + device.name + "\"" +
         number("cudaDeviceId", 0) +
         number("deviceVer", device.architecture * 10) +
         number("driverVer", 13000) + number("smCountOrigin", 0) +
         number("multiProcessorCount", device.multiprocessors) +
         number("smClockRateKHz", device.clock * kKiloHertz) +
         number("memClockRateKHz", device.memoryClock * kKiloHertz) +
         number("memoryBusWidth", device.busBits) +
         number("l2CacheSize", device.cacheBytes) +
         number("totalGlobalMem", device.memoryBytes) +
         number("maxSharedMemoryPerBlock", 49152) +
         number("maxSharedMemoryPerBlockOptin", device.sharedBytes) +
         number("oversizedSharedMemoryPerBlock", 0) +
         number("reservedSharedMemoryPerBlock", 1024) +
         number("regsPerBlock", 65536) + number("maxRegistersPerSM", 65536) +
         number("warpSize", 32) + number("maxCtasPerSM", 32) +
         number("maxThreadsPerBlock", 1024) + number("maxThreadsPerSM", 2048) +
         number("pciDeviceId", 0) + number("isTccDriver", 0) +
         number("supportCoopLaunch", 1) +
         ", \"maxGridSize\": [2147483647, 65535, 65535]"
         ", \"maxBlockSize\": [1024, 1024, 64]}";
}

std::string getLibrary() {
  const char *path = std::getenv("REGATHER_TEST_CUDNN");
  return path ? path : REGATHER_FOUND_CUDNN;
}

/// A library is not opened again if one with its name is open.
void replace(const char *name, const char *path) {
  if (!dlopen(name, RTLD_NOW | RTLD_GLOBAL))
    ASSERT_TRUE(dlopen(path, RTLD_NOW | RTLD_GLOBAL)) << dlerror();
}

class CudnnDeviceless : public testing::TestWithParam<Device> {
protected:
  void SetUp() override {
    if (getLibrary().empty())
      GTEST_SKIP() << "no cuDNN was found: REGATHER_TEST_CUDNN names one";
    // Even where there is a driver, the devices are those that are described.
    ASSERT_TRUE(dlopen(REGATHER_NO_DRIVER, RTLD_NOW | RTLD_GLOBAL))
        << dlerror();
    replace("libcublasLt.so.12", REGATHER_NO_CUBLASLT_12);
    replace("libcublasLt.so.13", REGATHER_NO_CUBLASLT_13);
    if (Failure failure = api.load(getLibrary()))
      FAIL() << failure.getMessage();
    // Devices that the library does not know are not described to it.
    constexpr size_t kDescriptions = 91002;
    if (api.cudnnGetVersion() < kDescriptions)
      GTEST_SKIP() << "cuDNN is too old to make plans without a device";
    std::string json = describe(GetParam());
    DnnDescriptor properties = descriptors.create(kDnnDeviceProperties);
    descriptors.set(properties, kDnnDeviceJson, kDnnTypeChar,
                    int64_t(json.size()), json.data());
    descriptors.finalize(properties);
    ASSERT_FALSE(descriptors.getFailure())
        << descriptors.getFailure().getMessage();
    target.properties = properties;
  }

  /// What computes a description, or why nothing does.
  std::string prepare(const rg_attention_desc &desc, int64_t *workspace);
  void expectPlan(const rg_attention_desc &desc);

  CudnnApi api;
  DnnDescriptors descriptors{api};
  DnnTarget target;
};

/// `isMixed`: rows of all heads follow each other.
rg_attention_operand makeOperand(int32_t buffer, int64_t heads, int64_t rows,
                                 int64_t width, bool isMixed) {
  if (isMixed)
    return {
        buffer, RG_BF16, 0, {rows * heads * width, width, heads * width, 1}};
  return {buffer, RG_BF16, 0, {heads * rows * width, rows * width, width, 1}};
}

rg_attention_desc makeDesc(bool isBackward, int64_t groups, int64_t length,
                           int64_t width, bool isMixed) {
  constexpr int64_t kHeads = 32;
  rg_attention_desc desc = {};
  desc.batch = 1;
  desc.heads = kHeads;
  desc.groups = groups;
  desc.rows = desc.columns = length;
  desc.width = desc.value_width = width;
  desc.scale = 0.125F;
  desc.causal = 1;
  desc.backward = isBackward;
  auto rows = [&](int32_t buffer) {
    return makeOperand(buffer, kHeads, length, width, isMixed);
  };
  auto columns = [&](int32_t buffer) {
    return makeOperand(buffer, kHeads / groups, length, width, isMixed);
  };
  desc.q = rows(0);
  desc.k = columns(1);
  desc.v = columns(2);
  desc.o = rows(3);
  desc.l = {4, RG_F32, 0, {kHeads * length, length, 1, 1}};
  desc.grad_o = rows(5);
  desc.grad_q = rows(6);
  desc.grad_k = columns(7);
  desc.grad_v = columns(8);
  return desc;
}

std::string CudnnDeviceless::prepare(const rg_attention_desc &desc,
                                     int64_t *workspace) {
  CudnnAttentionPlan plan = planCudnnAttention(
      desc, {{}, GetParam().architecture, api.cudnnGetVersion()});
  if (!plan.reason.empty())
    return plan.reason;
  CudnnAttention attention(api, target);
  if (Failure failure = attention.prepare(desc, plan, {}))
    return failure.getMessage();
  *workspace = attention.getWorkspaceBytes();
  return "";
}

void CudnnDeviceless::expectPlan(const rg_attention_desc &desc) {
  int64_t workspace = -1;
  EXPECT_EQ(prepare(desc, &workspace), "") << describeAttention(desc);
  // Besides sums, there is one number for each score at most.
  constexpr int64_t kMaxBytes = int64_t(1100) << 20;
  EXPECT_GE(workspace, 0);
  EXPECT_LE(workspace, kMaxBytes);
}

TEST_P(CudnnDeviceless, PlansForward) {
  expectPlan(makeDesc(/*isBackward=*/false, 1, 512, 64, /*isMixed=*/false));
  expectPlan(makeDesc(/*isBackward=*/false, 4, 4096, 128, /*isMixed=*/true));
  rg_attention_desc desc =
      makeDesc(/*isBackward=*/false, 1, 200, 40, /*isMixed=*/true);
  desc.l.buffer = -1;
  desc.causal = 0;
  desc.columns = 72;
  expectPlan(desc);
}

TEST_P(CudnnDeviceless, PlansBackward) {
  constexpr size_t kBlackwell = 91800;
  constexpr int kBlackwellArchitecture = 100;
  if (GetParam().architecture == kBlackwellArchitecture &&
      api.cudnnGetVersion() < kBlackwell)
    GTEST_SKIP() << "this cuDNN has no engine that always gives the same bits";
  expectPlan(makeDesc(/*isBackward=*/true, 1, 512, 64, /*isMixed=*/false));
  expectPlan(makeDesc(/*isBackward=*/true, 4, 512, 128, /*isMixed=*/true));
  // The scores of 32 heads are 1 GiB.
  expectPlan(makeDesc(/*isBackward=*/true, 4, 4096, 128, /*isMixed=*/true));
}

TEST_P(CudnnDeviceless, DeclinesWideHeads) {
  CudnnAttention attention(api, target);
  constexpr int64_t kWidth = 512;
  Failure failure = attention.prepare(
      makeDesc(/*isBackward=*/true, 1, 512, kWidth, /*isMixed=*/false), {}, {});
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure.getMessage(), "no engine of the library takes it");
}

std::string getArchitecture(const testing::TestParamInfo<Device> &info) {
  return "sm_" + std::to_string(info.param.architecture);
}

INSTANTIATE_TEST_SUITE_P(Devices, CudnnDeviceless, testing::ValuesIn(kDevices),
                         getArchitecture);

} // namespace
