//===- CublasLtLibraryTest.cpp - GEMMs by the stand-in for cuBLASLt -------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../RecordedDriver.h"
#include "GPU/CublasLt/GemmPlan.h"
#include "GPU/DeviceLibrary.h"
#include "regather/Support/Half.h"

#include <algorithm>
#include <dlfcn.h>
#include <numeric>
#include <random>

using namespace regather::runtime;
using regather::Failure;

namespace {

int64_t getElementBytes(int32_t dtype) { return dtype == RG_F32 ? 4 : 2; }

/// Memory of the device, which is memory of the host.
struct DeviceBuffer {
  DeviceBuffer(const DriverApi &driver, size_t bytes) : driver(driver) {
    EXPECT_EQ(driver.cuMemAlloc_v2(&address, bytes), 0);
  }
  DeviceBuffer(const DeviceBuffer &) = delete;
  DeviceBuffer &operator=(const DeviceBuffer &) = delete;
  ~DeviceBuffer() { driver.cuMemFree_v2(address); }

  char *data() const { return reinterpret_cast<char *>(address); }

  const DriverApi &driver;
  CuAddress address = 0;
};

/// One GEMM after the other, each in a program of its own.
class CublasLtLibrary : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(driver.cuStreamCreate(&stream, kCuStreamNonBlocking), 0);
  }
  void TearDown() override { driver.cuStreamDestroy_v2(stream); }

  DeviceLibraryOptions getOptions() const {
    DeviceLibraryOptions options;
    options.path = REGATHER_RECORDING_LIBRARY;
    options.deviceName = "stand-in";
    options.architecture = 90;
    options.timesAlgorithms = timesAlgorithms;
    return options;
  }

  /// A program of GEMMs, each used once. Its buffers begin at `offset`.
  void setProgram(std::vector<rg_gemm_desc> newDescs, int64_t offset = 0);
  bool prepare(DeviceLibrary &library) {
    gpuProgram.program = &program;
    Failure failure = library.prepare(gpuProgram, driver);
    if (!failure)
      failure = library.chooseAlgorithms(nullptr);
    message = getMessage(failure);
    return !failure;
  }

  bool timesAlgorithms = false;

  /// Runs a GEMM by the library and by the CPU, on small integers, for which
  /// sums are exact in any order, and compares all bytes of all buffers.
  void expectEqual(const rg_gemm_desc &desc, int64_t offset = 0);

  RecordFile record;
  DriverApi driver = loadStandIn();
  CuStream stream = nullptr;
  std::vector<rg_gemm_desc> descs;
  std::vector<rg_slice> places;
  std::vector<rg_instruction> instructions;
  rg_program program = {};
  rg_gpu_program gpuProgram = {};
  std::string message;
  std::mt19937 random{1};
};

/// The operands, and what each is; the result is the third.
std::vector<rg_gemm_operand *> getOperands(rg_gemm_desc &desc) {
  std::vector<rg_gemm_operand *> operands = {&desc.a, &desc.b, &desc.c};
  for (int32_t i = 0; i < desc.addend_count; ++i)
    operands.push_back(&desc.addends[i]);
  return operands;
}

constexpr int64_t kMaxBuffers = 5;
constexpr int64_t kGemmBytes = 1 << 17;

void CublasLtLibrary::setProgram(std::vector<rg_gemm_desc> newDescs,
                                 int64_t offset) {
  descs = std::move(newDescs);
  instructions.clear();
  places.clear();
  for (size_t i = 0; i < descs.size(); ++i) {
    rg_instruction instruction = {};
    instruction.opcode = RG_OP_GEMM;
    instruction.index = static_cast<int32_t>(i);
    instruction.first_slice = static_cast<int64_t>(places.size());
    instruction.slice_count = kMaxBuffers;
    instruction.description = "kernel at step.mlir:7:3";
    instructions.push_back(instruction);
    for (int64_t p = 0; p < kMaxBuffers; ++p)
      places.push_back(
          {RG_SPACE_ARENA, 0, p * 2 * kGemmBytes + offset, kGemmBytes});
  }
  program = {};
  program.gemm_count = static_cast<int64_t>(descs.size());
  program.gemms = descs.data();
  program.slice_count = static_cast<int64_t>(places.size());
  program.slices = places.data();
  program.instruction_count = static_cast<int64_t>(instructions.size());
  program.instructions = instructions.data();
}

void CublasLtLibrary::expectEqual(const rg_gemm_desc &desc, int64_t offset) {
  setProgram({desc}, offset);
  auto library = createDeviceLibrary(getOptions());
  ASSERT_TRUE(prepare(*library)) << message;
  ASSERT_TRUE(library->computes(instructions[0]));
  DeviceBuffer arena(driver, kMaxBuffers * 2 * kGemmBytes);
  DeviceBuffer workspace(driver,
                         static_cast<size_t>(library->getWorkspaceBytes()) + 1);
  std::vector<CuAddress> addresses;
  std::vector<std::vector<char>> copies;
  std::vector<void *> pointers;
  for (const rg_slice &place : places)
    addresses.push_back(arena.address + CuAddress(place.offset));
  rg_gemm_desc operands = desc;
  for (const rg_gemm_operand *operand : getOperands(operands)) {
    auto *data = reinterpret_cast<char *>(addresses[operand->buffer]);
    for (int64_t i = 0; i < kGemmBytes / getElementBytes(operand->dtype); ++i) {
      float value = static_cast<float>(random() % 7) - 3;
      if (operand->dtype != RG_F32)
        reinterpret_cast<uint16_t *>(data)[i] =
            operand->dtype == RG_BF16 ? toBF16(value) : toF16(value);
      else
        reinterpret_cast<float *>(data)[i] = value;
    }
  }
  for (CuAddress address : addresses) {
    const char *data = reinterpret_cast<const char *>(address);
    copies.emplace_back(data, data + kGemmBytes);
  }
  for (std::vector<char> &copy : copies)
    pointers.push_back(copy.data());
  rg_gemm *gemm = nullptr;
  ASSERT_EQ(rg_gemm_create(&desc, &gemm), RG_OK);
  ASSERT_EQ(rg_gemm_run(gemm, pointers.data()), RG_OK);
  rg_gemm_destroy(gemm);
  ASSERT_EQ(getMessage(library->run(instructions[0], addresses.data(),
                                    workspace.address, stream)),
            "");
  for (size_t i = 0; i < copies.size(); ++i)
    ASSERT_EQ(memcmp(copies[i].data(),
                     reinterpret_cast<const void *>(addresses[i]), kGemmBytes),
              0)
        << "buffer " << i << " of " << planGemm(desc).plan->describe();
}

/// [m, k] times [k, n], in row-major order.
rg_gemm_desc makeDesc(int64_t m, int64_t n, int64_t k, int32_t dtype = RG_F32) {
  rg_gemm_desc desc = {};
  desc.m = m;
  desc.n = n;
  desc.k = k;
  desc.alpha = 1;
  desc.a = {0, dtype, 0, {k, 1}, {}};
  desc.b = {1, dtype, 0, {n, 1}, {}};
  desc.c = {2, dtype, 0, {n, 1}, {}};
  return desc;
}

/// Draws how an operand lies: its dimensions in any order, with gaps, and for
/// inputs also one matrix for a dimension of the batch.
void drawLayout(std::mt19937 &random, const rg_gemm_desc &desc, int64_t rows,
                int64_t columns, bool isInput, rg_gemm_operand &operand) {
  struct Dim {
    int64_t size;
    int64_t *stride;
  };
  std::vector<Dim> dims = {{columns, &operand.strides[1]},
                           {rows, &operand.strides[0]}};
  for (int64_t i = desc.batch_rank; i-- > 0;) {
    if (isInput && random() % 4 == 0)
      operand.batch_strides[i] = 0;
    else
      dims.push_back({desc.batch_sizes[i], &operand.batch_strides[i]});
  }
  if (random() % 2)
    std::shuffle(dims.begin(), dims.end(), random);
  int64_t stride = 1;
  for (const Dim &dim : dims) {
    *dim.stride = stride;
    stride = stride * dim.size + (random() % 4 == 0 ? random() % 3 : 0);
  }
  operand.offset = random() % 4 == 0 ? random() % 9 : 0;
}

rg_gemm_desc drawGemm(std::mt19937 &random) {
  const rg_dtype types[] = {RG_F32, RG_BF16, RG_F16};
  rg_gemm_desc desc = makeDesc(1 + random() % 12, 1 + random() % 12,
                               1 + random() % 12, types[random() % 3]);
  if (random() % 2)
    desc.c.dtype = RG_F32;
  desc.batch_rank = random() % 4;
  for (int64_t i = 0; i < desc.batch_rank; ++i)
    desc.batch_sizes[i] = 1 + random() % 4;
  drawLayout(random, desc, desc.m, desc.k, true, desc.a);
  drawLayout(random, desc, desc.k, desc.n, true, desc.b);
  drawLayout(random, desc, desc.m, desc.n, false, desc.c);
  desc.alpha = random() % 2 ? 1.0f : 0.5f;
  desc.relu = random() % 2;
  if (random() % 2) {
    rg_gemm_operand &bias = desc.addends[desc.addend_count++];
    bias = {3, desc.c.dtype, int64_t(random() % 5), {0, 1}, {}};
  }
  if (random() % 2) {
    // In place, or elsewhere in another layout.
    rg_gemm_operand &addend = desc.addends[desc.addend_count++];
    addend = desc.c;
    if (random() % 2) {
      addend.buffer = 4;
      drawLayout(random, desc, desc.m, desc.n, true, addend);
    }
  }
  return desc;
}

TEST_F(CublasLtLibrary, ComputesRandomGemms) {
  // Of two algorithms, the second is the faster one.
  ScopedVariable seconds("REGATHER_STAND_IN_GEMM_SECONDS", "2,1");
  int planned = 0;
  constexpr int count = 400;
  for (int i = 0; i < count; ++i) {
    rg_gemm_desc desc = drawGemm(random);
    if (!planGemm(desc).plan)
      continue;
    ++planned;
    timesAlgorithms = random() % 8 == 0;
    ASSERT_NO_FATAL_FAILURE(expectEqual(desc)) << "product " << i;
  }
  EXPECT_GT(planned, count / 3);
}

// Places at any multiple of an element: algorithms for aligned matrices would
// be rejected.
TEST_F(CublasLtLibrary, AsksForTheAlignmentThatThereIs) {
  expectEqual(makeDesc(5, 6, 7, RG_BF16), 2);
  expectEqual(makeDesc(5, 6, 7, RG_F32), 4);
  expectEqual(makeDesc(16, 16, 16, RG_BF16), 16);
}

TEST_F(CublasLtLibrary, AccumulatesGradientsInPlace) {
  rg_gemm_desc desc = makeDesc(24, 16, 40, RG_BF16);
  desc.c.dtype = RG_F32;
  // The transpose of activations times gradients.
  desc.a.strides[0] = 1;
  desc.a.strides[1] = 24;
  desc.addends[0] = desc.c;
  desc.addend_count = 1;
  expectEqual(desc);
  EXPECT_EQ(record.getCalls("cublasLtMatmul").size(), 1u);
}

TEST_F(CublasLtLibrary, SplitsNoSums) {
  expectEqual(makeDesc(4, 4, 4));
  std::vector<std::string> calls = record.getCalls("cublasLtMatmul");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_NE(calls[0].find("\"reduction_schemes\": 0"), std::string::npos)
      << calls[0];
}

TEST_F(CublasLtLibrary, ListsAllThatNothingComputes) {
  rg_gemm_desc strided = makeDesc(4, 4, 4), mixed = makeDesc(4, 4, 4);
  strided.a.strides[0] = 16;
  strided.a.strides[1] = 3;
  mixed.addends[0] = {3, RG_BF16, 0, {0, 1}, {}};
  mixed.addend_count = 1;
  setProgram({strided, makeDesc(4, 4, 4), mixed});
  rg_attention_desc attention = {};
  program.attention_count = 1;
  program.attentions = &attention;
  auto library = createDeviceLibrary(getOptions());
  EXPECT_FALSE(prepare(*library));
  EXPECT_EQ(message, "nothing computes\n"
                     "GEMM 0 (kernel at step.mlir:7:3): a factor lies along "
                     "none of its dimensions, and no kernel was generated\n"
                     "GEMM 2 (kernel at step.mlir:7:3): an addend has another "
                     "type than the result, and no kernel was generated\n"
                     "nothing computes\n"
                     "attention 0: it is empty, and no kernel was generated");
}

TEST_F(CublasLtLibrary, LeavesTheRestToGeneratedKernels) {
  rg_gemm_desc strided = makeDesc(4, 4, 4);
  strided.a.strides[0] = 16;
  strided.a.strides[1] = 3;
  setProgram({makeDesc(4, 4, 4), strided});
  rg_gpu_launch launch = {"generated", 1, 32, 0};
  rg_gpu_kernel kernels[] = {{nullptr, 0, 0, 0}, {&launch, 1, 0, 2}};
  gpuProgram.gemms = kernels;
  auto library = createDeviceLibrary(getOptions());
  ASSERT_TRUE(prepare(*library)) << message;
  EXPECT_TRUE(library->computes(instructions[0]));
  EXPECT_FALSE(library->computes(instructions[1]));
}

TEST_F(CublasLtLibrary, IsNotNeededIfKernelsComputeEverything) {
  setProgram({makeDesc(4, 4, 4)});
  rg_gpu_launch launch = {"generated", 1, 32, 0};
  rg_gpu_kernel kernel = {&launch, 1, 0, 2};
  gpuProgram.gemms = &kernel;
  DeviceLibraryOptions options;
  options.path = "/nonexistent/libcublasLt.so";
  auto library = createDeviceLibrary(options);
  ASSERT_TRUE(prepare(*library)) << message;
  EXPECT_FALSE(library->computes(instructions[0]));
}

TEST_F(CublasLtLibrary, SaysThatTheLibraryIsMissing) {
  setProgram({makeDesc(4, 4, 4)});
  DeviceLibraryOptions options;
  options.path = "/nonexistent/libcublasLt.so";
  auto library = createDeviceLibrary(options);
  EXPECT_FALSE(prepare(*library));
  EXPECT_NE(message.find("cannot open cuBLASLt"), std::string::npos) << message;
}

TEST_F(CublasLtLibrary, SaysThatTheLibraryIsTooOld) {
  ScopedVariable version("REGATHER_STAND_IN_CUBLASLT", "120103");
  setProgram({makeDesc(4, 4, 4)});
  auto library = createDeviceLibrary(getOptions());
  EXPECT_FALSE(prepare(*library));
  EXPECT_NE(message.find("is version 12.1.3, but 12.4.0 or newer is needed"),
            std::string::npos)
      << message;
}

TEST_F(CublasLtLibrary, SaysWhichLibraryDoesNotStart) {
  setProgram({makeDesc(4, 4, 4)});
  DeviceLibraryOptions options;
  options.path = REGATHER_NEWER_CUBLASLT;
  auto library = createDeviceLibrary(options);
  EXPECT_FALSE(prepare(*library));
  EXPECT_EQ(message, "cuBLASLt '" REGATHER_NEWER_CUBLASLT
                     "', version 13.1.2, does not start on a driver for CUDA "
                     "13.0: CUBLAS_STATUS_NOT_INITIALIZED");
}

TEST_F(CublasLtLibrary, TakesAnOlderLibraryIfTheNewestDoesNotStart) {
  // The search by name then finds these.
  void *newer = dlopen(REGATHER_NEWER_CUBLASLT, RTLD_NOW | RTLD_LOCAL);
  void *older = dlopen(REGATHER_OLDER_CUBLASLT, RTLD_NOW | RTLD_LOCAL);
  ASSERT_TRUE(newer && older) << dlerror();
  setProgram({makeDesc(4, 4, 4)});
  auto library = createDeviceLibrary({});
  EXPECT_TRUE(prepare(*library)) << message;
  dlclose(newer);
  dlclose(older);
}

TEST_F(CublasLtLibrary, ReportsWhatTheLibraryRejects) {
  setProgram({makeDesc(4, 4, 4)});
  auto library = createDeviceLibrary(getOptions());
  ASSERT_TRUE(prepare(*library)) << message;
  DeviceBuffer arena(driver, kMaxBuffers * 2 * kGemmBytes);
  std::vector<CuAddress> addresses;
  for (const rg_slice &place : places)
    addresses.push_back(arena.address + CuAddress(place.offset));
  // No workspace, though the algorithm needs one.
  EXPECT_EQ(
      getMessage(library->run(instructions[0], addresses.data(), 0, stream)),
      "cuBLASLt has failed: CUBLAS_STATUS_INVALID_VALUE");
}

} // namespace
