//===- GpuExecutorTest.cpp - Steps on the stand-in driver -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuTestProgram.h"
#include "RecordedDriver.h"

#include "GPU/Driver/LoadedKernels.h"

using namespace regather::runtime;
using namespace regather::test;

using Vector = std::vector<int64_t>;

/// Names of the calls that a step makes.
static std::vector<std::string> getStepCalls(GpuTestExecutor &executor,
                                             const RecordFile &record) {
  size_t before = record.getCalls().size();
  EXPECT_EQ(executor.run(), RG_OK) << executor.getError();
  std::vector<std::string> names;
  std::vector<std::string> lines = record.getCalls();
  for (size_t i = before; i < lines.size(); ++i) {
    size_t begin = lines[i].find(": \"") + 3;
    names.push_back(lines[i].substr(begin, lines[i].find('"', begin) - begin));
  }
  return names;
}

//===----------------------------------------------------------------------===//
// What instructions do
//===----------------------------------------------------------------------===//

TEST(GpuExecutor, RunsLaunchesInOrderWithTheirScratchMemory) {
  GpuTestProgram test;
  int32_t a = test.addArgument(3);
  int32_t kernel = test.addKernel({"twice", "plus_scratch"}, 1, 3, 64);
  test.add(RG_OP_LAUNCH, kernel, {argument(a, 3), arena(8, 3)});
  test.addResult(3, arena(8, 3));
  GpuTestExecutor executor(test);
  ASSERT_EQ(executor.status, RG_OK) << executor.getError();
  ASSERT_EQ(executor.upload(0, 0, {1, 2, 3}), RG_OK);
  ASSERT_EQ(executor.run(), RG_OK) << executor.getError();
  EXPECT_EQ(executor.getResult(), (Vector{3, 6, 9}));
  EXPECT_EQ(executor.getBytes(), 4096 + 256);
}

TEST(GpuExecutor, CopiesAndFills) {
  GpuTestProgram test;
  // A pattern of one byte, one of four, one of eight, and one that is not
  // constant.
  int32_t values = test.addConstant({-1, 0x0000000700000007, 42, 5});
  auto element = [&](int64_t i) {
    return rg_slice{RG_SPACE_CONSTANT, values, 8 * i, 8};
  };
  for (int64_t i = 0; i < 3; ++i)
    test.add(RG_OP_FILL, 0, {arena(5 * i, 5), element(i)});
  test.add(RG_OP_COPY, 0, {arena(15), element(3)});
  test.add(RG_OP_FILL, 0, {arena(16, 3), arena(15)});
  test.addResult(19, arena(0, 19));
  GpuTestExecutor executor(test);
  ASSERT_EQ(executor.run(), RG_OK) << executor.getError();
  int64_t seven = 0x0000000700000007;
  EXPECT_EQ(executor.getResult(),
            (Vector{-1, -1, -1, -1, -1, seven, seven, seven, seven, seven, 42,
                    42, 42, 42, 42, 5, 5, 5, 5}));
}

TEST(GpuExecutor, KnowsThePositionOfEachRank) {
  GpuTestProgram test;
  test.ranks = 4;
  test.add(RG_OP_AXIS_INDEX, test.addAxes({2, 2}, {1, 2}), {arena(0)});
  test.addResult(1, arena(0));
  GpuTestExecutor executor(test);
  ASSERT_EQ(executor.run(), RG_OK) << executor.getError();
  // The last axis runs fastest.
  int64_t positions[] = {0, 2, 1, 3};
  for (int32_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ(executor.getResult(rank), Vector{positions[rank]});
}

TEST(GpuExecutor, RunsLoopsAndConditions) {
  GpuTestProgram test;
  int32_t upper = test.addArgument(1);
  int32_t numbers = test.addConstant({0, 1});
  rg_slice zero = {RG_SPACE_CONSTANT, numbers, 0, 8};
  rg_slice one = {RG_SPACE_CONSTANT, numbers, 8, 8};
  int32_t kernel = test.addKernel({"add"}, 2, 1);
  // for (i = 0; i < upper; ++i) if (i) sum += i
  test.add(RG_OP_FILL, 0, {arena(8), zero});
  test.add(RG_OP_LOOP, 0, {arena(0), zero, argument(upper), one}, 0, 7);
  test.add(RG_OP_JUMP_IF_ZERO, 0, {arena(0)}, 0, 5);
  test.add(RG_OP_LAUNCH, kernel, {arena(0), arena(8), arena(16)});
  test.add(RG_OP_COPY, 0, {arena(8), arena(16)});
  test.add(RG_OP_SYNC, 0);
  test.add(RG_OP_NEXT, 0, {arena(0)}, 0, 2);
  test.addResult(1, arena(8));
  GpuTestExecutor executor(test);
  for (int64_t n : {5, 0, 3}) {
    ASSERT_EQ(executor.upload(0, 0, {n}), RG_OK);
    ASSERT_EQ(executor.run(), RG_OK) << executor.getError();
    EXPECT_EQ(executor.getResult(), Vector{n * (n - 1) / 2});
  }
}

TEST(GpuExecutor, LetsARankCommunicateWithItself) {
  GpuTestProgram test;
  int32_t a = test.addArgument(2);
  int32_t entry =
      test.addCollective(RG_ALL_REDUCE, test.addAxes({1}, {1}), 2, 2);
  test.add(RG_OP_COLLECTIVE, entry, {argument(a, 2), arena(0, 2)}, 1);
  test.addResult(2, arena(0, 2));
  GpuTestExecutor executor(test);
  ASSERT_EQ(executor.upload(0, 0, {4, 5}), RG_OK);
  ASSERT_EQ(executor.run(), RG_OK) << executor.getError();
  EXPECT_EQ(executor.getResult(), (Vector{4, 5}));
}

//===----------------------------------------------------------------------===//
// What a step costs
//===----------------------------------------------------------------------===//

TEST(GpuExecutor, KeepsArgumentsOnTheDevice) {
  RecordFile record;
  GpuTestProgram test;
  int32_t weights = test.addArgument(2, /*donated=*/true);
  int32_t step = test.addArgument(2);
  int32_t kernel = test.addKernel({"add"}, 2, 2);
  test.add(RG_OP_LAUNCH, kernel,
           {argument(weights, 2), argument(step, 2), argument(weights, 2)});
  test.addResult(2, argument(weights, 2));
  GpuTestExecutor executor(test);
  ASSERT_EQ(executor.upload(0, weights, {1, 2}), RG_OK);
  ASSERT_EQ(executor.upload(0, step, {10, 20}), RG_OK);
  size_t uploads = record.getCalls("cuMemcpyHtoDAsync_v2").size();
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(executor.run(), RG_OK) << executor.getError();
  EXPECT_EQ(executor.getArgument(0, weights), (Vector{31, 62}));
  EXPECT_EQ(executor.getResult(), (Vector{31, 62}));
  EXPECT_EQ(record.getCalls("cuMemcpyHtoDAsync_v2").size(), uploads);
}

TEST(GpuExecutor, KeepsArgumentsOnTheHost) {
  RecordFile record;
  {
    GpuTestProgram test;
    int32_t state = test.addHostArgument(2);
    int32_t kernel = test.addKernel({"add"}, 2, 2);
    test.add(RG_OP_COPY, 0, {arena(0, 2), argument(state, 2)}, 2);
    test.add(RG_OP_RECORD, 0, {}, 2);
    test.add(RG_OP_WAIT, 0);
    test.add(RG_OP_LAUNCH, kernel, {arena(0, 2), arena(0, 2), arena(8, 2)});
    test.add(RG_OP_RECORD, 1);
    test.add(RG_OP_WAIT, 1, {}, 1);
    test.add(RG_OP_COPY, 0, {argument(state, 2), arena(8, 2)}, 1);
    test.addResult(2, argument(state, 2), /*onHost=*/true);
    GpuTestExecutor executor(test);
    ASSERT_EQ(executor.upload(0, state, {3, 4}), RG_OK) << executor.getError();
    EXPECT_EQ(executor.getArgument(0, state), (Vector{3, 4}));
    EXPECT_EQ(record.getCalls("cuMemcpyHtoDAsync_v2").size(), 0u);
    for (int i = 0; i < 2; ++i)
      ASSERT_EQ(executor.run(), RG_OK) << executor.getError();
    EXPECT_EQ(record.getCalls("cuMemcpyHtoDAsync_v2").size(), 2u);
    EXPECT_EQ(record.getCalls("cuMemcpyDtoHAsync_v2").size(), 2u);
    EXPECT_EQ(executor.getResult(), (Vector{12, 16}));
    EXPECT_EQ(executor.getArgument(0, state), (Vector{12, 16}));
    // Around a step, only memory of the device is copied.
    Vector values(2);
    rg_gpu_host_value given = {state, values.data()};
    rg_gpu_copies copies = {};
    copies.argument_count = 1;
    copies.arguments = &given;
    EXPECT_EQ(executor.runWith(copies), RG_ERROR_ARGUMENT);
  }
  EXPECT_EQ(record.getCalls("cuMemHostAlloc").size(), 2u);
  EXPECT_EQ(record.getCalls("cuMemFreeHost").size(), 2u);
}

/// Swaps its two donated arguments, by results that lie in the place of the
/// other one, and doubles the third into the arena.
static void addSwap(GpuTestProgram &test) {
  for (int i = 0; i < 3; ++i)
    test.addArgument(2, /*donated=*/true);
  int32_t kernel = test.addKernel({"add"}, 2, 2);
  test.add(RG_OP_LAUNCH, kernel, {argument(2, 2), argument(2, 2), arena(0, 2)});
  test.addResult(2, argument(1, 2));
  test.addResult(2, argument(0, 2));
  test.addResult(2, arena(0, 2));
}

TEST(GpuExecutor, CopiesAroundAStep) {
  GpuTestProgram test;
  addSwap(test);
  GpuTestExecutor executor(test);
  Vector values[] = {{1, 2}, {3, 4}, {5, 6}}, result(2), swapped(2);
  rg_gpu_host_value arguments[] = {
      {0, values[0].data()}, {1, values[1].data()}, {2, values[2].data()}};
  rg_gpu_host_value results[] = {{2, result.data()}, {1, swapped.data()}};
  int64_t updates[] = {0, 1, 2}, updated[] = {0, 1, 2};
  rg_gpu_copies copies = {3, arguments, 3, updates, updated, 2, results};
  ASSERT_EQ(executor.runWith(copies), RG_OK) << executor.getError();
  EXPECT_EQ(result, (Vector{10, 12}));
  // As the step left it: argument 0, before updates take their places.
  EXPECT_EQ(swapped, (Vector{1, 2}));
  EXPECT_EQ(executor.getArgument(0, 0), (Vector{3, 4}));
  EXPECT_EQ(executor.getArgument(0, 1), (Vector{1, 2}));
  EXPECT_EQ(executor.getArgument(0, 2), (Vector{10, 12}));
  copies.argument_count = 0;
  ASSERT_EQ(executor.runWith(copies), RG_OK) << executor.getError();
  EXPECT_EQ(executor.getArgument(0, 0), (Vector{1, 2}));
  EXPECT_EQ(result, (Vector{20, 24}));
  updated[2] = 3;
  EXPECT_EQ(executor.runWith(copies), RG_ERROR_ARGUMENT);
}

TEST(GpuExecutor, ArgumentsLieInMemoryOfAnother) {
  GpuTestProgram test;
  addSwap(test);
  GpuTestExecutor owner(test);
  Vector first = {7, 8};
  ASSERT_EQ(owner.upload(0, 2, first), RG_OK);
  uint64_t addresses[] = {0, 0, owner.getAddress(2)};
  rg_gpu_executor_options options = {};
  options.argument_addresses = addresses;
  GpuTestProgram other;
  addSwap(other);
  GpuTestExecutor user(other, options);
  ASSERT_EQ(user.run(), RG_OK) << user.getError();
  EXPECT_EQ(user.getResult(0, 2), (Vector{14, 16}));
  EXPECT_EQ(user.getAddress(2), addresses[2]);
  EXPECT_NE(user.getAddress(1), owner.getAddress(1));
  EXPECT_EQ(user.getAddress(3), 0u);
  // Taken from memory of the device.
  EXPECT_EQ(user.take(1, addresses[2]), RG_OK);
  EXPECT_EQ(user.getArgument(0, 1), first);
}

TEST(GpuExecutor, LeavesThreadsOnTheirOwnDevice) {
  DriverApi driver = loadStandIn();
  auto *own = reinterpret_cast<CuContext>(&driver);
  driver.cuCtxSetCurrent(own);
  CuContext now = nullptr;
  {
    GpuTestProgram test;
    addSwap(test);
    GpuTestExecutor executor(test);
    driver.cuCtxGetCurrent(&now);
    EXPECT_EQ(now, own);
    ASSERT_EQ(executor.run(), RG_OK) << executor.getError();
    driver.cuCtxGetCurrent(&now);
    EXPECT_EQ(now, own);
  }
  driver.cuCtxGetCurrent(&now);
  EXPECT_EQ(now, own);
  driver.cuCtxSetCurrent(nullptr);
}

/// What is missing for steps; empty for nothing.
static std::string findDevice(int32_t number, int32_t needsNccl,
                              rg_gpu_device &device) {
  char *missing = rg_gpu_find_device(number, needsNccl, &device);
  std::string text = missing ? missing : "";
  std::free(missing);
  return text;
}

TEST(GpuDevice, IsFoundWithAllThatIsMissing) {
  rg_gpu_device device = {};
  {
    ScopedVariable cuda("REGATHER_CUDA_LIBRARY", REGATHER_RECORDING_LIBRARY);
    ScopedVariable devices("REGATHER_STAND_IN_DEVICES", "4");
    ScopedVariable architecture("REGATHER_STAND_IN_ARCHITECTURE", "86");
    EXPECT_EQ(findDevice(2, 0, device), "");
    EXPECT_EQ(device.number, 2);
    EXPECT_EQ(device.architecture, 86);
    EXPECT_EQ(findDevice(-1, 0, device), "");
    EXPECT_EQ(device.number, 0);
    ScopedVariable local("LOCAL_RANK", "3"), rank("RANK", "3"),
        ranks("WORLD_SIZE", "4"), address("MASTER_ADDR", "127.0.0.1"),
        port("MASTER_PORT", "29500");
    EXPECT_EQ(findDevice(-1, 0, device), "");
    EXPECT_EQ(device.number, 3);
    ScopedVariable cublas("REGATHER_CUBLASLT_LIBRARY",
                          REGATHER_RECORDING_LIBRARY);
    EXPECT_EQ(findDevice(4, 0, device),
              "there is no device 4: the CUDA driver shows 4 devices");
  }
  ScopedVariable cuda("REGATHER_CUDA_LIBRARY", "/no/cuda"),
      nccl("REGATHER_NCCL_LIBRARY", "/no/nccl"),
      cublas("REGATHER_CUBLASLT_LIBRARY", "/no/cublas");
  std::string missing = findDevice(0, 1, device);
  for (const char *part :
       {"cannot open the CUDA driver: /no/cuda", "\ncannot open NCCL: /no/nccl",
        "\ncannot open cuBLASLt: /no/cublas"})
    EXPECT_NE(missing.find(part), std::string::npos) << missing;
}

TEST(GpuExecutor, OnlyEnqueuesWithinAStep) {
  RecordFile record;
  GpuTestProgram test;
  int32_t a = test.addArgument(1);
  int32_t kernel = test.addKernel({"add"}, 2, 1);
  test.add(RG_OP_WAIT, 1);
  test.add(RG_OP_LAUNCH, kernel, {argument(a), argument(a), arena(0)});
  test.add(RG_OP_RECORD, 0, {}, 0);
  test.add(RG_OP_WAIT, 0, {}, 1);
  test.add(RG_OP_COPY, 0, {arena(8), arena(0)}, 1);
  test.add(RG_OP_RECORD, 1, {}, 1);
  test.add(RG_OP_WAIT, 1);
  test.addResult(1, arena(8));
  GpuTestExecutor executor(test);
  ASSERT_EQ(executor.upload(0, a, {21}), RG_OK);
  // The first wait is for an event that no earlier instruction has recorded.
  std::vector<std::string> expected = {
      "cuCtxSetCurrent", "cuEventRecord",
      // The other two streams begin behind the first one.
      "cuEventRecord", "cuStreamWaitEvent", "cuStreamWaitEvent",
      "cuLaunchKernel", "cuEventRecord", "cuStreamWaitEvent",
      "cuMemcpyDtoDAsync_v2", "cuEventRecord", "cuStreamWaitEvent",
      // It ends behind them.
      "cuEventRecord", "cuStreamWaitEvent", "cuEventRecord",
      "cuStreamWaitEvent", "cuEventRecord", "cuStreamQuery",
      // The thread had no device before.
      "cuCtxSetCurrent"};
  EXPECT_EQ(getStepCalls(executor, record), expected);
  EXPECT_EQ(getStepCalls(executor, record), expected);
  EXPECT_EQ(executor.getResult(), Vector{42});
  std::string launch = record.getCalls("cuLaunchKernel")[0];
  EXPECT_NE(launch.find("\"rank\": 0, \"instruction\": 1"), std::string::npos);
}

TEST(GpuExecutor, FreesWhatItHasMade) {
  RecordFile record;
  {
    GpuTestProgram test;
    int32_t a = test.addArgument(4);
    test.add(RG_OP_COPY, 0, {arena(0, 4), argument(a, 4)});
    GpuTestExecutor executor(test);
    ASSERT_EQ(executor.run(), RG_OK) << executor.getError();
  }
  auto count = [&](const char *name) { return record.getCalls(name).size(); };
  EXPECT_GT(count("cuMemAlloc_v2"), 0u);
  EXPECT_EQ(count("cuMemAlloc_v2"), count("cuMemFree_v2"));
  EXPECT_EQ(count("cuMemHostAlloc"), count("cuMemFreeHost"));
  EXPECT_EQ(count("cuStreamCreateWithPriority"), count("cuStreamDestroy_v2"));
  EXPECT_EQ(count("cuEventCreate"), count("cuEventDestroy_v2"));
  for (const std::string &line : record.getCalls())
    EXPECT_EQ(line.find("\"problem\""), std::string::npos) << line;
}

TEST(GpuExecutor, FindsWhatIsTouched) {
  GpuTestProgram test;
  int32_t values = test.addConstant({1});
  test.add(RG_OP_FILL, 0, {arena(4, 9), constant(values)});
  rg_gpu_executor_options options = {};
  options.watch_arena = 1;
  GpuTestExecutor executor(test, options);
  ASSERT_EQ(executor.run(), RG_OK) << executor.getError();
  EXPECT_EQ(executor.getTouched(), 128);
}

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

static std::string getPtx(const char *target) {
  return std::string(".version 8.0\n.target ") + target +
         "\n.address_size 64\n.visible .entry add(.param .u64 a, .param .u64 "
         "b, .param .u64 c) { ret; }\n";
}

TEST(GpuImages, BestOneComesFirst) {
  GpuTestProgram test;
  test.addImage(RG_GPU_IMAGE_PTX, 80, 0, getPtx("sm_80"));
  test.addImage(RG_GPU_IMAGE_PTX, 90, 1, getPtx("sm_90a"));
  test.addImage(RG_GPU_IMAGE_CUBIN, 80, 0, "code");
  test.addImage(RG_GPU_IMAGE_CUBIN, 90, 1, "code");
  rg_gpu_program gpu = test.get();
  auto find = [&](int architecture) {
    Vector numbers;
    for (const ProgramImage &found : findImages(gpu, architecture))
      numbers.push_back(found.image - gpu.images);
    return numbers;
  };
  EXPECT_EQ(find(90), (Vector{3, 1, 0}));
  EXPECT_EQ(find(86), (Vector{2, 0}));
  EXPECT_EQ(find(100), (Vector{0}));
  EXPECT_EQ(find(75), Vector{});
}

/// The launches of an entry that differs between two architectures, on a device
/// of one of them.
static std::string getLaunch(const RecordFile &record,
                             const char *architecture) {
  ScopedVariable device("REGATHER_STAND_IN_ARCHITECTURE", architecture);
  GpuTestProgram test, newer;
  for (auto [program, number, target, blocks] :
       {std::tuple(&test, 80, "sm_80", 7), {&newer, 90, "sm_90a", 5}}) {
    program->addImage(RG_GPU_IMAGE_PTX, number, number == 90, getPtx(target));
    int32_t kernel = program->addKernel({"add"}, 2, blocks, 256 * blocks);
    program->add(RG_OP_LAUNCH, kernel,
                 {arena(0, 7), arena(8, 7), arena(16, 7)});
  }
  rg_gpu_program gpu = test.get(), next = newer.get();
  next.program = gpu.program;
  next.graphs = gpu.graphs;
  gpu.next = &next;
  rg_gpu_executor_options options = {};
  options.cuda_library = REGATHER_RECORDING_LIBRARY;
  rg_gpu_executor *executor = nullptr;
  rg_status status = rg_gpu_executor_create(&gpu, &options, &executor);
  EXPECT_TRUE(status != RG_OK || rg_gpu_executor_run(executor) == RG_OK);
  std::string launch = status == RG_OK
                           ? record.getCalls("cuLaunchKernel").back()
                           : rg_gpu_executor_error(executor);
  rg_gpu_executor_destroy(executor);
  return launch;
}

TEST(GpuImages, DeviceDecidesBetweenArchitectures) {
  RecordFile record;
  auto expect = [&](const char *architecture, const std::string &words) {
    std::string launch = getLaunch(record, architecture);
    EXPECT_NE(launch.find(words), std::string::npos) << launch;
  };
  expect("80", "\"blocks\": 7");
  expect("90", "\"blocks\": 5");
  // The text for sm_80 is translated.
  expect("100", "\"blocks\": 7");
  expect("75", "has code for sm_80 (PTX), sm_90a (PTX), but device 0");
}

// Static memory leaves less than 48 KiB to a launch that has not asked.
TEST(GpuImages, AsksForDynamicSharedMemoryBelow48KiB) {
  GpuTestProgram test;
  test.addImage(RG_GPU_IMAGE_PTX, 90, 1,
                ".version 8.0\n.target sm_90a\n.address_size 64\n"
                ".shared .align 16 .b8 tile[4224];\n"
                ".extern .shared .align 16 .b8 scratch[];\n"
                ".visible .entry add(.param .u64 a) {\n"
                "\tmov.b64 %rd1, tile;\n\tmov.b64 %rd2, scratch;\n"
                "\tret;\n}\n");
  int32_t kernel = test.addKernel({"add"}, 0, 7);
  test.setDynamicSharedBytes(47232);
  test.add(RG_OP_LAUNCH, kernel, {arena(0, 7)});
  GpuTestExecutor executor(test);
  EXPECT_EQ(executor.run(), RG_OK) << executor.getError();
}

TEST(GpuImages, RecordsLaunchesOfPtx) {
  RecordFile record;
  GpuTestProgram test;
  test.addImage(RG_GPU_IMAGE_PTX, 90, 1, getPtx("sm_90a"));
  int32_t kernel = test.addKernel({"add"}, 2, 7);
  test.add(RG_OP_LAUNCH, kernel, {arena(0, 7), arena(8, 7), arena(16, 7)});
  GpuTestExecutor executor(test);
  ASSERT_EQ(executor.run(), RG_OK) << executor.getError();
  std::vector<std::string> launches = record.getCalls("cuLaunchKernel");
  ASSERT_EQ(launches.size(), 1u);
  EXPECT_NE(launches[0].find("\"kernel\": \"add\", \"blocks\": 7"),
            std::string::npos);
}

TEST(GpuImages, TellsTheScratchMemoryOfKernels) {
  RecordFile record;
  GpuTestProgram test;
  test.addImage(RG_GPU_IMAGE_PTX, 90, 1, getPtx("sm_90a"));
  int32_t kernel = test.addKernel({"add"}, 2, 7, /*scratch=*/512);
  test.add(RG_OP_LAUNCH, kernel, {arena(0, 7), arena(8, 7), arena(16, 7)});
  GpuTestExecutor executor(test);
  ASSERT_EQ(executor.run(), RG_OK) << executor.getError();
  std::string launch = record.getCalls("cuLaunchKernel")[0];
  size_t field = launch.find("\"scratch\": [[");
  ASSERT_NE(field, std::string::npos) << launch;
  EXPECT_NE(launch.find(", 512]]", field), std::string::npos) << launch;
}

//===----------------------------------------------------------------------===//
// What goes wrong
//===----------------------------------------------------------------------===//

static void expectError(GpuTestProgram &test, rg_status status,
                        const std::string &message,
                        rg_gpu_executor_options options = {}) {
  GpuTestExecutor executor(test, options);
  EXPECT_EQ(executor.status, status);
  EXPECT_NE(executor.getError().find(message), std::string::npos)
      << executor.getError();
  EXPECT_EQ(executor.run(), RG_ERROR_ABORTED);
}

TEST(GpuBadInput, NoDriver) {
  GpuTestProgram test;
  rg_gpu_executor_options options = {};
  options.cuda_library = "/nowhere/libcuda.so.1";
  expectError(test, RG_ERROR_DEVICE,
              "cannot open the CUDA driver: /nowhere/libcuda.so.1: cannot open "
              "shared object file",
              options);
}

TEST(GpuBadInput, LibraryWithoutTheFunctions) {
  GpuTestProgram test;
  rg_gpu_executor_options options = {};
  options.cuda_library = REGATHER_HOST_KERNELS;
  expectError(test, RG_ERROR_DEVICE, "is older than needed: it lacks cuInit, ",
              options);
}

TEST(GpuBadInput, OldDriver) {
  ScopedVariable version("REGATHER_STAND_IN_DRIVER", "12020");
  GpuTestProgram test;
  expectError(test, RG_ERROR_DEVICE,
              "supports CUDA 12.2, but 12.4 or newer is needed");
}

TEST(GpuBadInput, NoSuchDevice) {
  GpuTestProgram test;
  rg_gpu_executor_options options = {};
  options.device = 1;
  expectError(test, RG_ERROR_DEVICE,
              "there is no device 1: the CUDA driver shows 1 device", options);
}

TEST(GpuBadInput, OtherArchitecture) {
  ScopedVariable architecture("REGATHER_STAND_IN_ARCHITECTURE", "80");
  GpuTestProgram test;
  test.addImage(RG_GPU_IMAGE_PTX, 90, 1, getPtx("sm_90a"));
  test.addImage(RG_GPU_IMAGE_CUBIN, 100, 1, "code");
  expectError(test, RG_ERROR_DEVICE,
              "the program has code for sm_90a (PTX), sm_100a, but device 0 "
              "('stand-in device') is sm_80");
}

TEST(GpuBadInput, PtxThatIsTooNewForTheDriver) {
  ScopedVariable version("REGATHER_STAND_IN_DRIVER", "12040");
  GpuTestProgram test;
  test.addImage(RG_GPU_IMAGE_PTX, 90, 0,
                ".version 8.6\n.target sm_90\n.address_size 64\n");
  expectError(test, RG_ERROR_DEVICE,
              "the kernels cannot be loaded: cuModuleLoadDataEx has failed: "
              "CUDA_ERROR_UNSUPPORTED_PTX_VERSION: reported by the stand-in "
              "driver:\nstand-in: PTX 8.6 is newer than 8.4, the newest of the "
              "driver");
}

TEST(GpuBadInput, NotEnoughMemory) {
  ScopedVariable memory("REGATHER_STAND_IN_MEMORY", "5000");
  GpuTestProgram test;
  test.ranks = 2;
  test.addArgument(3);
  expectError(test, RG_ERROR_MEMORY,
              "the step needs 8704 bytes on device 0 ('stand-in device'): for "
              "each of 2 ranks 4096 for its arena, 256 for its arguments and 0 "
              "for its kernels, and for all 0 for constants; but 5000 of 5000 "
              "bytes are free, of which 268435456 are left to libraries "
              "(REGATHER_LIBRARY_MEMORY)");
}

TEST(GpuBadInput, NotEnoughMemoryForLibraries) {
  constexpr int64_t need = 4096 + 256, left = int64_t(256) << 20;
  GpuTestProgram test;
  test.addArgument(3);
  auto create = [&](int64_t bytes) {
    ScopedVariable memory("REGATHER_STAND_IN_MEMORY", std::to_string(bytes));
    return GpuTestExecutor(test).status;
  };
  EXPECT_EQ(create(need + left), RG_OK);
  EXPECT_EQ(create(need + left - 1), RG_ERROR_MEMORY);
  ScopedVariable none("REGATHER_LIBRARY_MEMORY", "0");
  EXPECT_EQ(create(need), RG_OK);
  ScopedVariable wrong("REGATHER_LIBRARY_MEMORY", "1G");
  expectError(test, RG_ERROR_ARGUMENT,
              "REGATHER_LIBRARY_MEMORY is '1G', expected a number of bytes");
}

TEST(GpuBadInput, KernelThatTheImageLacks) {
  GpuTestProgram test;
  int32_t kernel = test.addKernel({"absent"}, 0, 1);
  test.add(RG_OP_LAUNCH, kernel, {arena(0)});
  expectError(test, RG_ERROR_DEVICE,
              "cuModuleGetFunction has failed: CUDA_ERROR_NOT_FOUND: reported "
              "by the stand-in driver (kernel 'absent')");
}

TEST(GpuBadInput, OtherNumberOfRanks) {
  GpuTestProgram test;
  test.ranks = 4;
  rg_gpu_executor_options options = {};
  options.ranks = 2;
  expectError(test, RG_ERROR_ARGUMENT,
              "the program was compiled for 4 ranks, not for 2", options);
}

TEST(GpuBadInput, BuffersThatAreNotAligned) {
  GpuTestProgram test;
  int32_t kernel = test.addKernel({"add"}, 2, 1);
  test.add(RG_OP_LAUNCH, kernel, {arena(0), arena(1), arena(2)});
  expectError(test, RG_ERROR_ARGUMENT,
              "place 1 of instruction 0 is not aligned to 16 bytes");
}

TEST(GpuBadInput, MalformedGraph) {
  GpuTestProgram test;
  test.addGraph("all", 0, 1);
  expectError(test, RG_ERROR_ARGUMENT, "graph 0 is malformed");
}

TEST(GpuFailure, NamesCallRankAndInstruction) {
  GpuTestProgram test;
  test.ranks = 2;
  test.add(RG_OP_SYNC, 0);
  test.add(RG_OP_LAUNCH, test.addKernel({"fail"}, 0, 1), {arena(0)});
  GpuTestExecutor executor(test);
  EXPECT_EQ(executor.run(), RG_ERROR_DEVICE);
  EXPECT_EQ(executor.getError(), "cuLaunchKernel has failed: "
                                 "CUDA_ERROR_LAUNCH_FAILED: reported by the "
                                 "stand-in driver");
  EXPECT_EQ(executor.getFailure().rank, 0);
  EXPECT_EQ(executor.getFailure().instruction, 1);
  EXPECT_EQ(executor.run(), RG_ERROR_ABORTED);
}

TEST(GpuFailure, GivesUpWhenTheDeviceIsNeverDone) {
  ScopedVariable hangs("REGATHER_STAND_IN_HANGS", "1");
  GpuTestProgram test;
  int32_t zero = test.addConstant({0});
  test.add(RG_OP_JUMP_IF_ZERO, 0, {constant(zero)}, 0, 1);
  rg_gpu_executor_options options = {};
  options.first_timeout_seconds = 0.01;
  GpuTestExecutor executor(test, options);
  EXPECT_EQ(executor.run(), RG_ERROR_TIMEOUT);
  EXPECT_EQ(executor.getError(),
            "device 0 ('stand-in device') is not done after 0.01 seconds");
  EXPECT_EQ(executor.getFailure().instruction, 0);
}
