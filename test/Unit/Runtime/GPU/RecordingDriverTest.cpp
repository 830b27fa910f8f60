//===- RecordingDriverTest.cpp - What the stand-in driver checks ----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecordedDriver.h"

using namespace regather::runtime;

namespace {

class RecordingDriver : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(driver.cuStreamCreate(&stream, kCuStreamNonBlocking), 0);
    ASSERT_EQ(driver.cuStreamCreate(&other, kCuStreamNonBlocking), 0);
    ASSERT_EQ(driver.cuEventCreate(&event, kCuEventDisableTiming), 0);
    ASSERT_EQ(driver.cuMemAlloc_v2(&memory, 64), 0);
    ASSERT_EQ(driver.cuMemsetD8Async(memory, 0, 64, stream), 0);
  }
  void TearDown() override {
    EXPECT_EQ(driver.cuMemFree_v2(memory), 0);
    EXPECT_EQ(driver.cuEventDestroy_v2(event), 0);
    EXPECT_EQ(driver.cuStreamDestroy_v2(other), 0);
    EXPECT_EQ(driver.cuStreamDestroy_v2(stream), 0);
  }

  std::vector<uint16_t> download(int64_t count) {
    std::vector<uint16_t> values(static_cast<size_t>(count));
    EXPECT_EQ(driver.cuMemcpyDtoHAsync_v2(values.data(), memory,
                                          values.size() * 2, stream),
              0);
    EXPECT_EQ(driver.cuStreamSynchronize(stream), 0);
    return values;
  }

  std::string getName(CuResult result) {
    const char *name = nullptr;
    driver.cuGetErrorName(result, &name);
    return name ? name : "";
  }

  RecordFile record;
  DriverApi driver = loadStandIn();
  CuStream stream = nullptr, other = nullptr;
  CuEvent event = nullptr;
  CuAddress memory = 0;
};

TEST_F(RecordingDriver, SetsAndCopiesMemory) {
  ASSERT_EQ(driver.cuMemsetD16Async(memory, 7, 2, stream), 0);
  ASSERT_EQ(driver.cuMemcpyDtoDAsync_v2(memory + 4, memory, 4, stream), 0);
  EXPECT_EQ(download(5), (std::vector<uint16_t>{7, 7, 7, 7, 0}));
  std::vector<std::string> copies = record.getCalls("cuMemcpyDtoDAsync_v2");
  ASSERT_EQ(copies.size(), 1u);
  std::string source = std::to_string(memory);
  std::string target = std::to_string(memory + 4);
  EXPECT_NE(copies[0].find("\"reads\": [[" + source + ", 4]], \"writes\": [[" +
                           target + ", 4]]"),
            std::string::npos)
      << copies[0];
}

TEST_F(RecordingDriver, CopiesRows) {
  for (unsigned short i = 0; i < 6; ++i)
    ASSERT_EQ(driver.cuMemsetD16Async(memory + 2 * i, i, 1, stream), 0);
  CuCopy2D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = 2;
  copy.srcDevice = memory;
  copy.srcXInBytes = 2;
  copy.srcPitch = 6;
  copy.dstDevice = memory + 16;
  copy.widthInBytes = 4;
  copy.height = 2;
  ASSERT_EQ(driver.cuMemcpy2DAsync_v2(&copy, stream), 0);
  std::vector<uint16_t> values = download(12);
  EXPECT_EQ(std::vector<uint16_t>(values.begin() + 8, values.end()),
            (std::vector<uint16_t>{1, 2, 4, 5}));
}

TEST_F(RecordingDriver, RejectsAddressesThatAreNotAllocated) {
  EXPECT_EQ(getName(driver.cuMemsetD8Async(memory + 60, 0, 5, stream)),
            "CUDA_ERROR_ILLEGAL_ADDRESS");
  CuAddress freed = 0;
  ASSERT_EQ(driver.cuMemAlloc_v2(&freed, 16), 0);
  ASSERT_EQ(driver.cuMemFree_v2(freed), 0);
  EXPECT_EQ(getName(driver.cuMemcpyDtoDAsync_v2(memory, freed, 16, stream)),
            "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(getName(driver.cuMemFree_v2(freed)), "CUDA_ERROR_INVALID_VALUE");
  EXPECT_NE(record.getCalls("cuMemcpyDtoDAsync_v2")[0].find("\"problem\""),
            std::string::npos);
}

TEST_F(RecordingDriver, RejectsMoreMemoryThanThereIs) {
  ScopedVariable memorySize("REGATHER_STAND_IN_MEMORY", "1000");
  DriverApi small = loadStandIn();
  CuAddress address = 0;
  EXPECT_EQ(small.cuMemAlloc_v2(&address, 937), kCuOutOfMemory);
  size_t free = 0, total = 0;
  EXPECT_EQ(small.cuMemGetInfo_v2(&free, &total), 0);
  EXPECT_EQ(free, 936u);
  EXPECT_EQ(total, 1000u);
}

TEST_F(RecordingDriver, RejectsWaitsForEventsNeverRecorded) {
  EXPECT_EQ(getName(driver.cuStreamWaitEvent(stream, event, 0)),
            "CUDA_ERROR_INVALID_HANDLE");
}

TEST_F(RecordingDriver, RunsCapturedWorkWhenItsGraphIsLaunched) {
  ASSERT_EQ(driver.cuStreamBeginCapture_v2(stream, kCuCaptureThreadLocal), 0);
  ASSERT_EQ(driver.cuMemsetD16Async(memory, 3, 1, stream), 0);
  ASSERT_EQ(driver.cuEventRecord(event, stream), 0);
  ASSERT_EQ(driver.cuStreamWaitEvent(other, event, 0), 0);
  ASSERT_EQ(driver.cuMemcpyDtoDAsync_v2(memory + 2, memory, 2, other), 0);
  ASSERT_EQ(driver.cuEventRecord(event, other), 0);
  ASSERT_EQ(driver.cuStreamWaitEvent(stream, event, 0), 0);
  CuGraph graph = nullptr;
  ASSERT_EQ(driver.cuStreamEndCapture(stream, &graph), 0);
  CuGraphExec exec = nullptr;
  ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&exec, graph, 0), 0);
  ASSERT_EQ(driver.cuGraphDestroy(graph), 0);
  EXPECT_EQ(download(2), (std::vector<uint16_t>{0, 0}));
  ASSERT_EQ(driver.cuGraphLaunch(exec, stream), 0);
  EXPECT_EQ(download(2), (std::vector<uint16_t>{3, 3}));
  EXPECT_EQ(driver.cuGraphExecDestroy(exec), 0);
}

TEST_F(RecordingDriver, RejectsCapturesThatAreNotJoined) {
  ASSERT_EQ(driver.cuStreamBeginCapture_v2(stream, kCuCaptureThreadLocal), 0);
  ASSERT_EQ(driver.cuEventRecord(event, stream), 0);
  ASSERT_EQ(driver.cuStreamWaitEvent(other, event, 0), 0);
  ASSERT_EQ(driver.cuMemsetD8Async(memory, 1, 1, other), 0);
  CuGraph graph = nullptr;
  EXPECT_EQ(getName(driver.cuStreamEndCapture(stream, &graph)),
            "CUDA_ERROR_STREAM_CAPTURE_UNJOINED");
}

TEST_F(RecordingDriver, RejectsWaitsDuringCapture) {
  ASSERT_EQ(driver.cuStreamBeginCapture_v2(stream, kCuCaptureThreadLocal), 0);
  EXPECT_EQ(getName(driver.cuStreamSynchronize(other)),
            "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED");
  CuGraph graph = nullptr;
  EXPECT_EQ(getName(driver.cuStreamEndCapture(stream, &graph)),
            "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED");
}

TEST_F(RecordingDriver, RejectsEventsFromOutsideOfTheCapture) {
  ASSERT_EQ(driver.cuEventRecord(event, other), 0);
  ASSERT_EQ(driver.cuStreamBeginCapture_v2(stream, kCuCaptureThreadLocal), 0);
  EXPECT_EQ(getName(driver.cuStreamWaitEvent(stream, event, 0)),
            "CUDA_ERROR_STREAM_CAPTURE_ISOLATION");
  CuGraph graph = nullptr;
  EXPECT_NE(driver.cuStreamEndCapture(stream, &graph), 0);
}

constexpr char kPtx[] = R"(
.version 8.0
.target sm_90a
.address_size 64
.visible .entry scale(
  .param .u64 .ptr .global .align 16 scale_param_0,
  .param .u64 .ptr .global .align 16 scale_param_1
)
{ ret; }
)";

TEST_F(RecordingDriver, RecordsLaunches) {
  CuModule module = nullptr;
  ASSERT_EQ(driver.cuModuleLoadDataEx(&module, kPtx, 0, nullptr, nullptr), 0);
  CuFunction function = nullptr;
  EXPECT_EQ(getName(driver.cuModuleGetFunction(&function, module, "other")),
            "CUDA_ERROR_NOT_FOUND");
  ASSERT_EQ(driver.cuModuleGetFunction(&function, module, "scale"), 0);
  CuAddress first = memory, second = memory + 32;
  void *arguments[] = {&first, &second};
  auto launch = [&](uint64_t bytesWritten) {
    NvtxRange range({2, 17, "exec.launch"},
                    {{{first, 16}}, {{second, bytesWritten}}, {}});
    return driver.cuLaunchKernel(function, 4, 1, 1, 128, 1, 1, 0, stream,
                                 arguments, nullptr);
  };
  EXPECT_EQ(launch(16), 0);
  EXPECT_EQ(getName(launch(33)), "CUDA_ERROR_ILLEGAL_ADDRESS");
  EXPECT_EQ(driver.cuModuleUnload(module), 0);
  std::string line = record.getCalls("cuLaunchKernel")[0];
  for (const char *part :
       {"\"rank\": 2, \"instruction\": 17, \"description\": \"exec.launch\"",
        "\"kernel\": \"scale\", \"blocks\": 4, \"threads\": 128",
        "\"reads\": [[", "\"writes\": [["})
    EXPECT_NE(line.find(part), std::string::npos) << line;
}

TEST_F(RecordingDriver, KnowsTheInnermostRange) {
  auto clear = [&] {
    EXPECT_EQ(driver.cuMemsetD8Async(memory, 0, 1, stream), 0);
    return record.getCalls("cuMemsetD8Async").back();
  };
  {
    NvtxRange outer({2, 17, "outer"});
    {
      NvtxRange inner({3, 18, nullptr});
      EXPECT_NE(clear().find("\"rank\": 3, \"instruction\": 18, \"stream\""),
                std::string::npos);
    }
    EXPECT_NE(clear().find("\"rank\": 2, \"instruction\": 17, "
                           "\"description\": \"outer\""),
              std::string::npos);
  }
  EXPECT_NE(clear().find("\"rank\": 0, \"stream\""), std::string::npos);
}

constexpr char kSharedPtx[] = R"(
.version 8.0
.target sm_80
.address_size 64
.shared .align 16 .b8 tile[4224];
.shared .align 16 .b8 unused[30000];
.extern .shared .align 16 .b8 scratch[];
.visible .entry kernel()
{
	mov.b64 %rd1, tile;
	mov.b64 %rd2, scratch;
	ret;
}
)";

/// Dynamic shared memory that a launch of the kernel above gets, at most.
CuResult launchWithShared(const DriverApi &driver, CuStream stream, int bytes,
                          bool asks) {
  CuModule module = nullptr;
  CuFunction function = nullptr;
  EXPECT_EQ(driver.cuModuleLoadDataEx(&module, kSharedPtx, 0, nullptr, nullptr),
            0);
  EXPECT_EQ(driver.cuModuleGetFunction(&function, module, "kernel"), 0);
  CuResult result =
      asks
          ? driver.cuFuncSetAttribute(function, kCuFunctionDynamicShared, bytes)
          : kCuSuccess;
  if (result == kCuSuccess)
    result = driver.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, unsigned(bytes),
                                   stream, nullptr, nullptr);
  EXPECT_EQ(driver.cuModuleUnload(module), 0);
  return result;
}

TEST_F(RecordingDriver, StaticSharedMemoryCountsForTheLimits) {
  constexpr int standard = 49152 - 4224;
  EXPECT_EQ(launchWithShared(driver, stream, standard, /*asks=*/false), 0);
  EXPECT_EQ(getName(launchWithShared(driver, stream, standard + 1,
                                     /*asks=*/false)),
            "CUDA_ERROR_INVALID_VALUE");
  for (auto [architecture, limit] :
       {std::pair("80", 166912), {"86", 101376}, {"90", 232448}}) {
    ScopedVariable variable("REGATHER_STAND_IN_ARCHITECTURE", architecture);
    DriverApi other = loadStandIn();
    EXPECT_EQ(launchWithShared(other, stream, limit - 4224, /*asks=*/true), 0);
    EXPECT_EQ(getName(launchWithShared(other, stream, limit - 4223,
                                       /*asks=*/true)),
              "CUDA_ERROR_INVALID_VALUE");
  }
}

TEST_F(RecordingDriver, RejectsImagesForOtherArchitectures) {
  ScopedVariable architecture("REGATHER_STAND_IN_ARCHITECTURE", "100");
  DriverApi newer = loadStandIn();
  CuModule module = nullptr;
  EXPECT_EQ(newer.cuModuleLoadDataEx(&module, kPtx, 0, nullptr, nullptr),
            kCuNoBinaryForDevice);
}

//===----------------------------------------------------------------------===//
// Delays
//===----------------------------------------------------------------------===//

class DelayedDriver : public RecordingDriver {
protected:
  /// Sets memory to 7 on a stream and copies it on another one.
  uint16_t copyOnOtherStream(const char *seed, bool waits) {
    ScopedVariable delays("REGATHER_STAND_IN_DELAYS", seed);
    EXPECT_EQ(driver.cuInit(0), 0);
    EXPECT_EQ(driver.cuMemsetD16Async(memory, 0, 2, stream), 0);
    EXPECT_EQ(driver.cuStreamSynchronize(stream), 0);
    EXPECT_EQ(driver.cuMemsetD16Async(memory, 7, 1, stream), 0);
    EXPECT_EQ(driver.cuEventRecord(event, stream), 0);
    if (waits)
      EXPECT_EQ(driver.cuStreamWaitEvent(other, event, 0), 0);
    EXPECT_EQ(driver.cuMemcpyDtoDAsync_v2(memory + 2, memory, 2, other), 0);
    EXPECT_EQ(driver.cuCtxSynchronize(), 0);
    return download(2)[1];
  }
  void TearDown() override {
    // Without delays.
    EXPECT_EQ(driver.cuInit(0), 0);
    RecordingDriver::TearDown();
  }

  static constexpr const char *kSeeds[] = {"0", "1", "2", "3", "4", "5"};
};

TEST_F(DelayedDriver, AMissingWaitShows) {
  int64_t right = 0;
  for (const char *seed : kSeeds) {
    EXPECT_EQ(copyOnOtherStream(seed, /*waits=*/true), 7);
    right += copyOnOtherStream(seed, /*waits=*/false) == 7;
  }
  EXPECT_LT(right, int64_t(std::size(kSeeds)));
}

TEST_F(DelayedDriver, HostMemoryThatIsUsedAgainShows) {
  void *host = nullptr;
  ASSERT_EQ(driver.cuMemHostAlloc(&host, 2, 0), 0);
  auto &pinned = *static_cast<uint16_t *>(host);
  uint16_t plain = 0;
  int64_t right = 0;
  for (const char *seed : kSeeds) {
    ScopedVariable delays("REGATHER_STAND_IN_DELAYS", seed);
    ASSERT_EQ(driver.cuInit(0), 0);
    pinned = plain = 7;
    ASSERT_EQ(driver.cuMemcpyHtoDAsync_v2(memory, &pinned, 2, stream), 0);
    ASSERT_EQ(driver.cuMemcpyHtoDAsync_v2(memory + 2, &plain, 2, stream), 0);
    pinned = plain = 9;
    std::vector<uint16_t> values = download(2);
    right += values[0] == 7;
    EXPECT_EQ(values[1], 7);
  }
  EXPECT_LT(right, int64_t(std::size(kSeeds)));
  EXPECT_EQ(driver.cuMemFreeHost(host), 0);
}

TEST_F(DelayedDriver, SaysThatWorkIsNotDone) {
  bool isEverBusy = false;
  for (const char *seed : kSeeds) {
    ScopedVariable delays("REGATHER_STAND_IN_DELAYS", seed);
    ASSERT_EQ(driver.cuInit(0), 0);
    for (int i = 0; i < 8; ++i)
      ASSERT_EQ(driver.cuMemsetD8Async(memory, 1, 1, stream), 0);
    CuResult result = driver.cuStreamQuery(stream);
    isEverBusy |= result == kCuNotReady;
    EXPECT_TRUE(result == kCuSuccess || result == kCuNotReady);
    EXPECT_EQ(driver.cuStreamSynchronize(stream), 0);
    EXPECT_EQ(driver.cuStreamQuery(stream), 0);
  }
  EXPECT_TRUE(isEverBusy);
}

TEST(StandInDriver, SaysThatThereIsNoDevice) {
  ScopedVariable devices("REGATHER_STAND_IN_DEVICES", "0");
  DriverApi driver;
  std::string message = getMessage(driver.load(REGATHER_RECORDING_LIBRARY));
  EXPECT_NE(message.find("CUDA_ERROR_NO_DEVICE"), std::string::npos) << message;
}

TEST(StandInDriver, SaysThatTheDriverIsTooOld) {
  ScopedVariable version("REGATHER_STAND_IN_DRIVER", "12010");
  DriverApi driver;
  EXPECT_EQ(getMessage(driver.load(REGATHER_RECORDING_LIBRARY)),
            "the CUDA driver supports CUDA 12.1, but 12.4 or newer is needed");
}

TEST(StandInDriver, SaysThatTheLibraryIsMissing) {
  DriverApi driver;
  std::string message = getMessage(driver.load("/nowhere/libcuda.so"));
  EXPECT_NE(message.find("cannot open the CUDA driver: /nowhere/libcuda.so"),
            std::string::npos)
      << message;
}

} // namespace
