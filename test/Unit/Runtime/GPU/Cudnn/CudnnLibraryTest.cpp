//===- CudnnLibraryTest.cpp - Attention by the stand-in for cuDNN ---------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../RecordedDriver.h"
#include "GPU/Cudnn/Attention.h"
#include "GPU/DeviceLibrary.h"
#include "regather/Support/Half.h"

#include <algorithm>
#include <cmath>
#include <random>

using namespace regather::runtime;
using regather::Failure;

namespace {

constexpr int64_t kMaxDnnBuffers = 9;
constexpr int64_t kDnnBufferBytes = 1 << 17;

/// The operands of a description, results last.
std::vector<rg_attention_operand *> getOperands(rg_attention_desc &desc) {
  if (desc.backward)
    return {&desc.q,      &desc.k,      &desc.v,      &desc.o,     &desc.l,
            &desc.grad_o, &desc.grad_q, &desc.grad_k, &desc.grad_v};
  return {&desc.q, &desc.k, &desc.v, &desc.o, &desc.l};
}

size_t getNumInputs(const rg_attention_desc &desc) {
  return desc.backward ? 6 : 3;
}

/// One attention after the other, each in a program of its own.
class CudnnLibrary : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_EQ(driver.cuStreamCreate(&stream, kCuStreamNonBlocking), 0);
    ASSERT_EQ(driver.cuMemAlloc_v2(&arena, kMaxDnnBuffers * kDnnBufferBytes),
              0);
  }
  void TearDown() override {
    driver.cuStreamDestroy_v2(stream);
    driver.cuMemFree_v2(arena);
  }

  static DeviceLibraryOptions getOptions() {
    DeviceLibraryOptions options;
    options.cudnnPath = REGATHER_RECORDING_LIBRARY;
    options.deviceName = "stand-in";
    constexpr int kArchitecture = 90;
    options.architecture = kArchitecture;
    return options;
  }

  /// Dense unless `isSpread`: then heads lie beside each other, with gaps.
  static void place(rg_attention_operand &operand, int32_t buffer,
                    int64_t heads, int64_t rows, int64_t width, bool isSpread,
                    int32_t dtype = RG_BF16);
  static rg_attention_desc makeDesc(bool isBackward, bool isSpread = false,
                                    int64_t heads = 4, int64_t groups = 2,
                                    int64_t rows = 24, int64_t columns = 16);

  void setProgram(std::vector<rg_attention_desc> newDescs,
                  bool withKernels = false);
  bool prepare(DeviceLibrary &library) {
    gpuProgram.program = &program;
    Failure failure = library.prepare(gpuProgram, driver);
    if (!failure)
      failure = library.chooseAlgorithms(nullptr);
    message = getMessage(failure);
    return !failure;
  }
  /// Fills the arena with numbers: what results and L are is computed by the
  /// routine for CPUs.
  std::vector<char> computeOnCpu(const rg_attention_desc &desc);
  void expectEqual(const rg_attention_desc &desc);
  void expectResults(const rg_attention_desc &desc, std::vector<char> expected);

  RecordFile record;
  DriverApi driver = loadStandIn();
  CuStream stream = nullptr;
  CuAddress arena = 0;
  std::vector<rg_attention_desc> descs;
  std::vector<rg_slice> places;
  std::vector<rg_instruction> instructions;
  std::vector<rg_gpu_kernel> kernels;
  rg_gpu_launch launch = {"generated", 1, 32, 0};
  rg_program program = {};
  rg_gpu_program gpuProgram = {};
  std::string message;
  std::mt19937 random{1};
};

void CudnnLibrary::place(rg_attention_operand &operand, int32_t buffer,
                         int64_t heads, int64_t rows, int64_t width,
                         bool isSpread, int32_t dtype) {
  constexpr int64_t kGap = 8;
  operand = {buffer, dtype, 0, {heads * rows * width, rows * width, width, 1}};
  if (isSpread)
    operand = {buffer,
               dtype,
               kGap,
               {(heads * width + kGap) * rows, width, heads * width + kGap, 1}};
}

rg_attention_desc CudnnLibrary::makeDesc(bool isBackward, bool isSpread,
                                         int64_t heads, int64_t groups,
                                         int64_t rows, int64_t columns) {
  rg_attention_desc desc = {};
  desc.batch = 2;
  desc.heads = heads;
  desc.groups = groups;
  desc.rows = rows;
  desc.columns = columns;
  desc.width = 16;
  desc.value_width = 8;
  desc.scale = 0.25F;
  desc.causal = 1;
  desc.backward = isBackward;
  int64_t shared = heads / groups;
  place(desc.q, 0, heads, rows, desc.width, isSpread);
  place(desc.k, 1, shared, columns, desc.width, isSpread);
  place(desc.v, 2, shared, columns, desc.value_width, isSpread);
  place(desc.o, 3, heads, rows, desc.value_width, isSpread);
  place(desc.l, 4, heads, rows, 1, /*isSpread=*/false, RG_F32);
  if (isBackward) {
    place(desc.grad_o, 5, heads, rows, desc.value_width, isSpread);
    place(desc.grad_q, 6, heads, rows, desc.width, isSpread);
    place(desc.grad_k, 7, shared, columns, desc.width, isSpread);
    place(desc.grad_v, 8, shared, columns, desc.value_width, isSpread);
  }
  return desc;
}

void CudnnLibrary::setProgram(std::vector<rg_attention_desc> newDescs,
                              bool withKernels) {
  descs = std::move(newDescs);
  instructions.clear();
  places.clear();
  for (size_t i = 0; i < descs.size(); ++i) {
    rg_instruction instruction = {};
    instruction.opcode = RG_OP_ATTENTION;
    instruction.index = static_cast<int32_t>(i);
    instruction.first_slice = static_cast<int64_t>(places.size());
    instruction.slice_count = kMaxDnnBuffers;
    instruction.description = "attention at step.mlir:7:3";
    instructions.push_back(instruction);
    for (int64_t p = 0; p < kMaxDnnBuffers; ++p)
      places.push_back(
          {RG_SPACE_ARENA, 0, p * kDnnBufferBytes, kDnnBufferBytes});
  }
  program = {};
  program.attention_count = static_cast<int64_t>(descs.size());
  program.attentions = descs.data();
  program.slice_count = static_cast<int64_t>(places.size());
  program.slices = places.data();
  program.instruction_count = static_cast<int64_t>(instructions.size());
  program.instructions = instructions.data();
  kernels.assign(descs.size(), {&launch, 1, 0, kMaxDnnBuffers});
  gpuProgram.attentions = withKernels ? kernels.data() : nullptr;
}

std::vector<char> CudnnLibrary::computeOnCpu(const rg_attention_desc &desc) {
  auto *data = reinterpret_cast<char *>(arena);
  auto *halves = reinterpret_cast<uint16_t *>(arena);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (int64_t i = 0; i < kMaxDnnBuffers * kDnnBufferBytes / 2; ++i)
    halves[i] = desc.q.dtype == RG_F16 ? toF16(uniform(random))
                                       : toBF16(uniform(random));
  auto run = [](const rg_attention_desc &routine, char *memory) {
    std::vector<void *> buffers;
    for (int64_t p = 0; p < kMaxDnnBuffers; ++p)
      buffers.push_back(memory + p * kDnnBufferBytes);
    rg_attention *attention = nullptr;
    ASSERT_EQ(rg_attention_create(&routine, &attention), RG_OK);
    EXPECT_EQ(rg_attention_run(attention, buffers.data()), RG_OK);
    rg_attention_destroy(attention);
  };
  if (desc.backward) {
    rg_attention_desc forward = desc;
    forward.backward = 0;
    run(forward, data);
  }
  std::vector<char> expected(data, data + kMaxDnnBuffers * kDnnBufferBytes);
  run(desc, expected.data());
  return expected;
}

/// Calls `visit` with the offset of each element.
template <typename Visit>
void forEach(const rg_attention_operand &operand, int64_t batch, int64_t heads,
             int64_t rows, int64_t width, Visit visit) {
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t w = 0; w < width; ++w)
          visit(operand.offset + b * operand.strides[0] +
                h * operand.strides[1] + r * operand.strides[2] +
                w * operand.strides[3]);
}

void CudnnLibrary::expectEqual(const rg_attention_desc &desc) {
  setProgram({desc});
  auto library = createDeviceLibrary(getOptions());
  ASSERT_TRUE(prepare(*library)) << message;
  ASSERT_TRUE(library->computes(instructions[0]));
  std::vector<char> expected = computeOnCpu(desc);
  CuAddress workspace = 0;
  ASSERT_EQ(
      driver.cuMemAlloc_v2(&workspace, size_t(library->getWorkspaceBytes())),
      0);
  std::vector<CuAddress> addresses;
  for (const rg_slice &place : places)
    addresses.push_back(arena + CuAddress(place.offset));
  ASSERT_EQ(getMessage(library->run(instructions[0], addresses.data(),
                                    workspace, stream)),
            "");
  driver.cuMemFree_v2(workspace);
  expectResults(desc, std::move(expected));
}

/// Results are near those that are expected, and all else is as it was.
void CudnnLibrary::expectResults(const rg_attention_desc &desc,
                                 std::vector<char> expected) {
  auto *actual = reinterpret_cast<char *>(arena);
  rg_attention_desc copy = desc;
  std::vector<rg_attention_operand *> operands = getOperands(copy);
  for (size_t i = getNumInputs(desc); i < operands.size(); ++i) {
    const rg_attention_operand &operand = *operands[i];
    if (operand.buffer < 0)
      continue;
    bool isRows = operands[i] == &copy.o || operands[i] == &copy.l ||
                  operands[i] == &copy.grad_q;
    bool isValue = operands[i] == &copy.o || operands[i] == &copy.grad_v;
    double error = 0, norm = 0;
    forEach(operand, desc.batch, isRows ? desc.heads : desc.heads / desc.groups,
            isRows ? desc.rows : desc.columns,
            operands[i] == &copy.l ? 1
            : isValue              ? desc.value_width
                                   : desc.width,
            [&](int64_t offset) {
              auto read = [&](char *memory) -> double {
                char *base = memory + operand.buffer * kDnnBufferBytes;
                if (operand.dtype == RG_F32)
                  return reinterpret_cast<float *>(base)[offset];
                uint16_t bits = reinterpret_cast<uint16_t *>(base)[offset];
                return operand.dtype == RG_F16 ? fromF16(bits) : fromBF16(bits);
              };
              double want = read(expected.data()), got = read(actual);
              error += (got - want) * (got - want);
              norm += want * want;
              size_t bytes = operand.dtype == RG_F32 ? 4 : 2;
              size_t at = size_t(operand.buffer * kDnnBufferBytes) +
                          size_t(offset) * bytes;
              std::copy_n(actual + at, bytes, expected.data() + at);
            });
    // The library keeps P, and the gradients of K and V of each head, in bf16.
    constexpr double kTolerance = 0.01;
    EXPECT_LE(std::sqrt(error), kTolerance * std::sqrt(norm)) << i;
  }
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), actual));
}

TEST_F(CudnnLibrary, ComputesWhatTheCpuComputes) {
  for (bool isBackward : {false, true})
    for (bool isSpread : {false, true})
      for (int64_t groups : {1, 2, 4}) {
        rg_attention_desc desc = makeDesc(isBackward, isSpread, 4, groups);
        expectEqual(desc);
        desc.causal = 0;
        expectEqual(desc);
        // More columns than rows.
        expectEqual(makeDesc(isBackward, isSpread, 4, groups, 9, 21));
      }
  rg_attention_desc desc = makeDesc(/*isBackward=*/false);
  desc.l.buffer = -1;
  expectEqual(desc);
}

TEST_F(CudnnLibrary, ComputesF16) {
  for (bool isBackward : {false, true}) {
    rg_attention_desc desc = makeDesc(isBackward);
    for (rg_attention_operand *operand : getOperands(desc))
      if (operand != &desc.l)
        operand->dtype = RG_F16;
    expectEqual(desc);
  }
}

TEST_F(CudnnLibrary, ComputesRandomDescriptions) {
  constexpr int kCount = 40;
  for (int i = 0; i < kCount; ++i) {
    int64_t groups = 1 + int64_t(random() % 3);
    expectEqual(makeDesc(
        random() % 2, random() % 2, groups * (1 + int64_t(random() % 3)),
        groups, 1 + int64_t(random() % 30), 1 + int64_t(random() % 30)));
  }
}

TEST_F(CudnnLibrary, TakesWhatGivesTheSameBits) {
  setProgram({makeDesc(/*isBackward=*/true)});
  auto library = createDeviceLibrary(getOptions());
  ASSERT_TRUE(prepare(*library)) << message;
  // The stand-in proposes engine 0 first, which may give others.
  EXPECT_EQ(library->describe(),
            "attention 0 (attention at step.mlir:7:3): cuDNN 9.28.0, engine 1, "
            "knobs 24=1, 4864 bytes of workspace\n");
}

TEST_F(CudnnLibrary, SumsGradientsOfQInMemory) {
  // Taken for long sequences only.
  CudnnAttentionPlan plan;
  plan.gradient = QueryGradient::Ordered;
  plan.engine = {6, {{kDnnKnobStages, 4}}};
  rg_attention_desc desc = makeDesc(/*isBackward=*/true);
  CudnnApi api;
  ASSERT_EQ(getMessage(api.load(REGATHER_RECORDING_LIBRARY)), "");
  DnnTarget target;
  ASSERT_EQ(api.cudnnCreate(&target.handle), kDnnSuccess);
  {
    CudnnAttention attention(api, target);
    ASSERT_EQ(getMessage(attention.prepare(desc, plan, {})), "");
    std::vector<char> expected = computeOnCpu(desc);
    CuAddress workspace = 0;
    ASSERT_EQ(
        driver.cuMemAlloc_v2(&workspace, size_t(attention.getWorkspaceBytes())),
        0);
    std::vector<CuAddress> addresses;
    for (int64_t p = 0; p < kMaxDnnBuffers; ++p)
      addresses.push_back(arena + CuAddress(p * kDnnBufferBytes));
    EXPECT_EQ(getMessage(attention.run(addresses.data(), workspace, stream)),
              "");
    driver.cuMemFree_v2(workspace);
    expectResults(desc, std::move(expected));
  }
  api.cudnnDestroy(target.handle);
}

TEST_F(CudnnLibrary, IsGivenAddressesOnce) {
  setProgram({makeDesc(/*isBackward=*/false)});
  auto library = createDeviceLibrary(getOptions());
  ASSERT_TRUE(prepare(*library)) << message;
  computeOnCpu(descs[0]);
  CuAddress workspace = 0;
  ASSERT_EQ(
      driver.cuMemAlloc_v2(&workspace, size_t(library->getWorkspaceBytes())),
      0);
  std::vector<CuAddress> addresses;
  for (const rg_slice &place : places)
    addresses.push_back(arena + CuAddress(place.offset));
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(getMessage(library->run(instructions[0], addresses.data(),
                                      workspace, stream)),
              "");
  std::vector<std::string> calls = record.getCalls("cudnnBackendExecute");
  ASSERT_EQ(calls.size(), 3U);
  EXPECT_NE(calls[0].find("\"engine\": 1"), std::string::npos) << calls[0];
  EXPECT_NE(calls[0].find("\"reads\""), std::string::npos) << calls[0];
  EXPECT_NE(calls[0].find("\"writes\""), std::string::npos) << calls[0];
  // No workspace, though the engine needs one.
  EXPECT_EQ(
      getMessage(library->run(instructions[0], addresses.data(), 0, stream)),
      "cuDNN has failed: CUDNN_STATUS_EXECUTION_FAILED: the "
      "call is wrong");
  driver.cuMemFree_v2(workspace);
}

//===----------------------------------------------------------------------===//
// Generated kernels
//===----------------------------------------------------------------------===//

TEST_F(CudnnLibrary, LeavesTheRestToGeneratedKernels) {
  rg_attention_desc masked = makeDesc(/*isBackward=*/false);
  masked.masked = 1;
  setProgram({makeDesc(/*isBackward=*/false), masked}, /*withKernels=*/true);
  auto library = createDeviceLibrary(getOptions());
  ASSERT_TRUE(prepare(*library)) << message;
  EXPECT_TRUE(library->computes(instructions[0]));
  EXPECT_FALSE(library->computes(instructions[1]));
  EXPECT_NE(library->describe().find("attention 1 (attention at step.mlir:7:3):"
                                     " generated kernels: it has a mask\n"),
            std::string::npos)
      << library->describe();
}

class CudnnFallback : public CudnnLibrary {
protected:
  /// Prepares with kernels to fall back to, and with cuDNN being required.
  void expectReason(DeviceLibraryOptions options, const std::string &reason) {
    setProgram({makeDesc(/*isBackward=*/false)}, /*withKernels=*/true);
    auto library = createDeviceLibrary(options);
    ASSERT_TRUE(prepare(*library)) << message;
    EXPECT_FALSE(library->computes(instructions[0]));
    EXPECT_EQ(library->getWorkspaceBytes(), 0);
    EXPECT_NE(library->describe().find("generated kernels: " + reason),
              std::string::npos)
        << library->describe();
    options.attention = "cudnn";
    EXPECT_FALSE(prepare(*createDeviceLibrary(options)));
    EXPECT_EQ(
        message.find("cuDNN has to compute attention, but it does not "
                     "compute\nattention 0 (attention at step.mlir:7:3): " +
                     reason),
        0U)
        << message;
  }
};

TEST_F(CudnnFallback, IfTheLibraryIsMissing) {
  DeviceLibraryOptions options = getOptions();
  options.cudnnPath = "/nonexistent/libcudnn.so";
  expectReason(options, "cannot open cuDNN: /nonexistent/libcudnn.so: ");
}

TEST_F(CudnnFallback, IfTheLibraryIsTooOld) {
  ScopedVariable version("REGATHER_STAND_IN_CUDNN", "91000");
  expectReason(getOptions(), "cuDNN '" REGATHER_RECORDING_LIBRARY
                             "' is version 9.10.0, but 9.10.2 or newer is "
                             "needed");
}

TEST_F(CudnnFallback, IfItIsNoCudnn) {
  DeviceLibraryOptions options = getOptions();
  options.cudnnPath = REGATHER_HOST_KERNELS;
  expectReason(options, "cuDNN '" REGATHER_HOST_KERNELS
                        "' is older than needed: it lacks cudnnGetVersion, ");
}

TEST_F(CudnnFallback, IfTheLibraryRefuses) {
  ScopedVariable refuses("REGATHER_STAND_IN_CUDNN_REFUSES", "1");
  expectReason(getOptions(), "cuDNN 9.28.0: no engine of the library takes it");
}

TEST_F(CudnnFallback, IfTheDeviceIsUnknown) {
  DeviceLibraryOptions options = getOptions();
  options.architecture = 120;
  expectReason(options, "only devices from sm_80 to sm_103 are known");
}

TEST_F(CudnnFallback, IfItIsAskedFor) {
  setProgram({makeDesc(/*isBackward=*/false)}, /*withKernels=*/true);
  DeviceLibraryOptions options = getOptions();
  options.attention = "generated";
  auto library = createDeviceLibrary(options);
  ASSERT_TRUE(prepare(*library)) << message;
  EXPECT_FALSE(library->computes(instructions[0]));
  EXPECT_TRUE(record.getCalls("cudnnCreate").empty());
  options.attention = "flash";
  EXPECT_FALSE(prepare(*createDeviceLibrary(options)));
  EXPECT_EQ(message, "attention is computed by 'cudnn' or by 'generated' "
                     "kernels, not by 'flash'");
}

TEST_F(CudnnFallback, ListsAllThatNothingComputes) {
  rg_attention_desc wide = makeDesc(/*isBackward=*/false);
  wide.width = 264;
  rg_attention_desc masked = makeDesc(/*isBackward=*/true);
  masked.masked = 1;
  setProgram({wide, makeDesc(/*isBackward=*/true), masked});
  EXPECT_FALSE(prepare(*createDeviceLibrary(getOptions())));
  EXPECT_EQ(message,
            "nothing computes\n"
            "attention 0 (attention at step.mlir:7:3): heads are 264 elements "
            "wide, more than 128, and no kernel was generated\n"
            "attention 2 (attention at step.mlir:7:3): it has a mask, and no "
            "kernel was generated");
}

//===----------------------------------------------------------------------===//
// The file of algorithms
//===----------------------------------------------------------------------===//

class EngineFiles : public CudnnLibrary {
protected:
  ~EngineFiles() override { std::remove(path.c_str()); }

  /// What computes the attention.
  std::string prepareWith(const std::string &deviceName) {
    DeviceLibraryOptions options = getOptions();
    options.algorithmFile = path;
    options.deviceName = deviceName;
    auto library = createDeviceLibrary(options);
    EXPECT_TRUE(prepare(*library)) << message;
    return library->describe();
  }
  std::string read() const {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void replace(const std::string &before, const std::string &after) const {
    std::string text = read();
    size_t at = text.find(before);
    ASSERT_NE(at, std::string::npos) << text;
    text.replace(at, before.size(), after);
    std::ofstream(path) << text;
  }

  std::string path = getTemporaryPath("engines.json");
};

TEST_F(EngineFiles, PinWhatWasChosen) {
  setProgram({makeDesc(/*isBackward=*/false)});
  std::ofstream(path) << R"({"library": "other", "algorithms": {"a": 1}})";
  prepareWith("one");
  std::string first = read();
  EXPECT_NE(first.find("\"library\": \"cuDNN 9.28.0\""), std::string::npos)
      << first;
  EXPECT_NE(first.find("\"engine 1, knobs 24=1\""), std::string::npos);
  // What products have there stays.
  EXPECT_NE(first.find("\"library\": \"other\""), std::string::npos);
  replace("engine 1, knobs 24=1", "engine 3, knobs 24=7");
  EXPECT_NE(prepareWith("one").find("engine 3, knobs 24=7"), std::string::npos);
  // For another device it is chosen anew.
  EXPECT_NE(prepareWith("two").find("engine 1, knobs 24=1"), std::string::npos);
}

TEST_F(EngineFiles, DoNotPinWhatTheLibraryHasNot) {
  setProgram({makeDesc(/*isBackward=*/false)});
  for (const char *wrong : {"engine 99, knobs 24=1", "engine 3", "nonsense"}) {
    prepareWith("one");
    replace("engine 1, knobs 24=1", wrong);
    EXPECT_NE(prepareWith("one").find("engine 1, knobs 24=1"),
              std::string::npos)
        << wrong;
    EXPECT_NE(read().find("engine 1, knobs 24=1"), std::string::npos);
  }
}

TEST_F(EngineFiles, DoNotTakeWhatIsNestedTooDeep) {
  setProgram({makeDesc(/*isBackward=*/false)});
  constexpr size_t kDepth = 200'000;
  std::ofstream(path) << "{\"attention\": {\"library\": "
                      << std::string(kDepth, '[') << std::string(kDepth, ']')
                      << "}}";
  EXPECT_NE(prepareWith("one").find("engine 1, knobs 24=1"), std::string::npos);
  EXPECT_EQ(read().find("[["), std::string::npos);
}

} // namespace
