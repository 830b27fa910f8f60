//===- AlgorithmChooserTest.cpp - Which algorithm computes a GEMM ---------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../RecordedDriver.h"
#include "GPU/DeviceLibrary.h"

#include <cmath>
#include <map>
#include <sstream>

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

namespace {

constexpr const char *kSeconds = "REGATHER_STAND_IN_GEMM_SECONDS";
/// A run that does not count, and five that do.
constexpr size_t kRunsOfATiming = 6;
constexpr int64_t kPlaces = 3;
constexpr int64_t kBufferBytes = 1 << 12;

/// [m, n] from factors that are as deep as wide, in row-major order.
rg_gemm_desc makeDesc(int64_t m, int64_t n) {
  rg_gemm_desc desc = {};
  desc.m = m;
  desc.n = desc.k = n;
  desc.alpha = 1;
  desc.a = {0, RG_F16, 0, {n, 1}, {}};
  desc.b = {1, RG_F16, 0, {n, 1}, {}};
  desc.c = {2, RG_F16, 0, {n, 1}, {}};
  return desc;
}

/// GEMMs of programs, on the stand-in for cuBLASLt.
class AlgorithmChooser : public testing::Test {
protected:
  AlgorithmChooser() {
    options.path = REGATHER_RECORDING_LIBRARY;
    options.deviceName = "one";
  }
  ~AlgorithmChooser() override { std::remove(path.c_str()); }

  /// A program in which each GEMM is used once.
  void setProgram(std::vector<rg_gemm_desc> newDescs) {
    descs = std::move(newDescs);
    instructions.clear();
    places.clear();
    for (size_t i = 0; i < descs.size(); ++i) {
      rg_instruction instruction = {};
      instruction.opcode = RG_OP_GEMM;
      instruction.index = static_cast<int32_t>(i);
      instruction.first_slice = static_cast<int64_t>(places.size());
      instruction.slice_count = kPlaces;
      instructions.push_back(instruction);
      for (int64_t p = 0; p < kPlaces; ++p)
        places.push_back({RG_SPACE_ARENA, 0, p * kBufferBytes, kBufferBytes});
    }
    program = {};
    program.gemm_count = static_cast<int64_t>(descs.size());
    program.gemms = descs.data();
    program.slice_count = static_cast<int64_t>(places.size());
    program.slices = places.data();
    program.instruction_count = static_cast<int64_t>(instructions.size());
    program.instructions = instructions.data();
    gpuProgram.program = &program;
  }

  bool prepare(DeviceLibrary &library) {
    Failure failure = library.prepare(gpuProgram, driver);
    if (!failure)
      failure = library.chooseAlgorithms(nullptr);
    message = getMessage(failure);
    return !failure;
  }
  bool prepare() { return prepare(*createDeviceLibrary(options)); }

  /// Number of the algorithm that the first GEMM of a program runs with.
  char run(DeviceLibrary &library) {
    CuStream stream = nullptr;
    CuAddress memory = 0, workspace = 0;
    EXPECT_EQ(driver.cuStreamCreate(&stream, kCuStreamNonBlocking), 0);
    EXPECT_EQ(driver.cuMemAlloc_v2(&memory, kPlaces * kBufferBytes), 0);
    EXPECT_EQ(driver.cuMemAlloc_v2(
                  &workspace, static_cast<size_t>(library.getWorkspaceBytes())),
              0);
    const CuAddress addresses[] = {memory, memory + kBufferBytes,
                                   memory + 2 * kBufferBytes};
    EXPECT_EQ(
        getMessage(library.run(instructions[0], addresses, workspace, stream)),
        "");
    driver.cuMemFree_v2(memory);
    driver.cuMemFree_v2(workspace);
    driver.cuStreamDestroy_v2(stream);
    std::vector<std::string> calls = record.getCalls("cublasLtMatmul");
    std::string field = "\"algorithm\": ";
    return calls.back()[calls.back().find(field) + field.size()];
  }

  std::string read() const {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// The times of the first GEMM in the file. What calls really take is far
  /// below half a second.
  std::vector<int64_t> readSeconds() const {
    std::string text = read();
    const std::string field = "\"microseconds\": [";
    std::istringstream stream(text.substr(text.find(field) + field.size()));
    std::vector<int64_t> seconds;
    double microseconds = 0;
    for (char comma = ','; comma == ',' && stream >> microseconds;
         stream >> comma)
      seconds.push_back(std::llround(microseconds / 1e6));
    return seconds;
  }
  void write(const std::string &text) const { std::ofstream(path) << text; }
  size_t countGemms() const { return record.getCalls("cublasLtMatmul").size(); }

  RecordFile record;
  DriverApi driver = loadStandIn();
  DeviceLibraryOptions options;
  std::vector<rg_gemm_desc> descs;
  std::vector<rg_slice> places;
  std::vector<rg_instruction> instructions;
  rg_program program = {};
  rg_gpu_program gpuProgram = {};
  std::string message;
  std::string path = getTemporaryPath("algorithms.json");
};

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

TEST_F(AlgorithmChooser, TakesTheFirstProposal) {
  ScopedVariable seconds(kSeconds, "3,1,2");
  setProgram({makeDesc(4, 4)});
  auto library = createDeviceLibrary(options);
  ASSERT_TRUE(prepare(*library)) << message;
  EXPECT_EQ(countGemms(), 0U);
  EXPECT_EQ(run(*library), '0');
}

TEST_F(AlgorithmChooser, TakesTheFastestProposal) {
  ScopedVariable seconds(kSeconds, "3,1,2");
  options.timesAlgorithms = true;
  options.algorithmFile = path;
  setProgram({makeDesc(4, 4)});
  auto library = createDeviceLibrary(options);
  ASSERT_TRUE(prepare(*library)) << message;
  EXPECT_EQ(countGemms(), 3 * kRunsOfATiming);
  EXPECT_EQ(run(*library), '1');
  // Each algorithm of the stand-in asks for 4096 bytes more.
  EXPECT_EQ(library->getWorkspaceBytes(), 8192);
  EXPECT_NE(read().find("\"proposal\": 1"), std::string::npos) << read();
  EXPECT_EQ(readSeconds(), (std::vector<int64_t>{3, 1, 2})) << read();
}

TEST_F(AlgorithmChooser, PrefersTheFirstOfEquals) {
  ScopedVariable seconds(kSeconds, "1,0.99,2");
  options.timesAlgorithms = true;
  setProgram({makeDesc(4, 4)});
  auto library = createDeviceLibrary(options);
  ASSERT_TRUE(prepare(*library)) << message;
  EXPECT_EQ(run(*library), '0');
}

TEST_F(AlgorithmChooser, TimesEightProposals) {
  ScopedVariable seconds(kSeconds, "9,8,7,6,5,4,3,2,1");
  options.timesAlgorithms = true;
  setProgram({makeDesc(4, 4)});
  auto library = createDeviceLibrary(options);
  ASSERT_TRUE(prepare(*library)) << message;
  EXPECT_EQ(run(*library), '7');
}

TEST_F(AlgorithmChooser, LeavesOutWhatFails) {
  ScopedVariable seconds(kSeconds, "-1,2,1.5");
  options.timesAlgorithms = true;
  options.algorithmFile = path;
  setProgram({makeDesc(4, 4)});
  auto library = createDeviceLibrary(options);
  ASSERT_TRUE(prepare(*library)) << message;
  EXPECT_EQ(run(*library), '2');
  EXPECT_NE(read().find("null"), std::string::npos) << read();
}

TEST_F(AlgorithmChooser, SaysThatAllProposalsFail) {
  ScopedVariable seconds(kSeconds, "-1,-1");
  options.timesAlgorithms = true;
  setProgram({makeDesc(4, 4)});
  EXPECT_FALSE(prepare());
  EXPECT_NE(message.find("GEMM 0: cuBLASLt runs none of the "
                         "algorithms that it proposes for a=f16[4,4:4,0]"),
            std::string::npos)
      << message;
}

TEST_F(AlgorithmChooser, TimesEqualGemmsOnce) {
  ScopedVariable seconds(kSeconds, "3,1,2");
  options.timesAlgorithms = true;
  setProgram({makeDesc(4, 4), makeDesc(8, 4), makeDesc(4, 4)});
  ASSERT_TRUE(prepare()) << message;
  EXPECT_EQ(countGemms(), 2 * 3 * kRunsOfATiming);
  EXPECT_EQ(record.getCalls("cublasLtMatmulAlgoGetHeuristic").size(), 2U);
}

TEST_F(AlgorithmChooser, FreesTheMemoryForTiming) {
  ScopedVariable seconds(kSeconds, "3,1,2");
  options.timesAlgorithms = true;
  setProgram({makeDesc(4, 4)});
  auto getFree = [&] {
    size_t free = 0, total = 0;
    EXPECT_EQ(driver.cuMemGetInfo_v2(&free, &total), 0);
    return free;
  };
  size_t before = getFree();
  ASSERT_TRUE(prepare()) << message;
  EXPECT_EQ(getFree(), before);
}

TEST_F(AlgorithmChooser, SaysThatThereIsNoMemoryForTiming) {
  {
    ScopedVariable memory("REGATHER_STAND_IN_MEMORY", "1000000");
    driver = loadStandIn();
  }
  options.timesAlgorithms = true;
  setProgram({makeDesc(4, 4)});
  EXPECT_FALSE(prepare());
  EXPECT_NE(message.find("timing GEMMs needs 33555"), std::string::npos)
      << message;
  EXPECT_NE(message.find("of 1000000 bytes are free"), std::string::npos)
      << message;
  driver = loadStandIn();
}

//===----------------------------------------------------------------------===//
// Large GEMMs
//===----------------------------------------------------------------------===//

// The library may propose for sizes like these what it cannot run.
constexpr int64_t kLargeSize = 1 << 21;

TEST_F(AlgorithmChooser, TriesLargeGemms) {
  ScopedVariable seconds(kSeconds, "-1,3,1");
  options.algorithmFile = path;
  setProgram({makeDesc(kLargeSize, 1), makeDesc(kLargeSize - 1, 1),
              makeDesc(kLargeSize, 1)});
  auto library = createDeviceLibrary(options);
  ASSERT_TRUE(prepare(*library)) << message;
  // The second proposal runs; it is no question which one is faster.
  EXPECT_EQ(countGemms(), 2U);
  EXPECT_NE(read().find("\"proposal\": 1"), std::string::npos) << read();
  EXPECT_EQ(read().find("microseconds"), std::string::npos) << read();
}

TEST_F(AlgorithmChooser, TriesWhatTheFileSaysOfLargeGemms) {
  options.algorithmFile = path;
  setProgram({makeDesc(kLargeSize, 1)});
  ASSERT_TRUE(prepare()) << message;
  EXPECT_NE(read().find("\"proposal\": 0"), std::string::npos) << read();
  ScopedVariable seconds(kSeconds, "-1,0");
  ASSERT_TRUE(prepare()) << message;
  EXPECT_NE(read().find("\"proposal\": 1"), std::string::npos) << read();
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

TEST_F(AlgorithmChooser, WritesAndKeepsTheFile) {
  options.algorithmFile = path;
  setProgram({makeDesc(4, 4), makeDesc(8, 4)});
  ASSERT_TRUE(prepare()) << message;
  std::string first = read();
  EXPECT_NE(first.find("\"device\": \"one\""), std::string::npos) << first;
  EXPECT_NE(first.find("\"library\": \"cuBLASLt 13.1.2\""), std::string::npos);
  EXPECT_EQ(first.find("microseconds"), std::string::npos);
  // What another run adds leaves the rest alone.
  setProgram({makeDesc(4, 8)});
  ASSERT_TRUE(prepare()) << message;
  setProgram({makeDesc(4, 4), makeDesc(8, 4), makeDesc(4, 8)});
  std::string second = read();
  EXPECT_GT(second.size(), first.size());
  ASSERT_TRUE(prepare()) << message;
  EXPECT_EQ(read(), second);
}

TEST_F(AlgorithmChooser, TakesWhatTheFileSays) {
  options.timesAlgorithms = true;
  options.algorithmFile = path;
  setProgram({makeDesc(4, 4)});
  {
    ScopedVariable seconds(kSeconds, "3,1,2");
    ASSERT_TRUE(prepare()) << message;
  }
  // Another run would measure something else.
  ScopedVariable seconds(kSeconds, "1,2,3");
  std::string text = read();
  for (bool isTimed : {true, false}) {
    options.timesAlgorithms = isTimed;
    size_t before = countGemms();
    auto library = createDeviceLibrary(options);
    ASSERT_TRUE(prepare(*library)) << message;
    EXPECT_EQ(countGemms(), before);
    EXPECT_EQ(run(*library), '1');
    EXPECT_EQ(read(), text);
  }
}

TEST_F(AlgorithmChooser, TimesWhatTheFileHasWithoutTimes) {
  ScopedVariable seconds(kSeconds, "3,1,2");
  options.algorithmFile = path;
  setProgram({makeDesc(4, 4)});
  ASSERT_TRUE(prepare()) << message;
  options.timesAlgorithms = true;
  auto library = createDeviceLibrary(options);
  ASSERT_TRUE(prepare(*library)) << message;
  EXPECT_EQ(run(*library), '1');
  EXPECT_NE(read().find("microseconds"), std::string::npos);
}

TEST_F(AlgorithmChooser, ReplacesFilesOfOtherDevicesAndVersions) {
  options.timesAlgorithms = true;
  options.algorithmFile = path;
  setProgram({makeDesc(4, 4)});
  {
    ScopedVariable seconds(kSeconds, "3,1,2");
    ASSERT_TRUE(prepare()) << message;
  }
  ScopedVariable seconds(kSeconds, "1,2,3");
  options.deviceName = "another";
  auto library = createDeviceLibrary(options);
  ASSERT_TRUE(prepare(*library)) << message;
  EXPECT_EQ(run(*library), '0');
  EXPECT_NE(read().find("\"device\": \"another\""), std::string::npos);
  ScopedVariable version("REGATHER_STAND_IN_CUBLASLT", "130203");
  ASSERT_TRUE(prepare()) << message;
  EXPECT_NE(read().find("cuBLASLt 13.2.3"), std::string::npos) << read();
}

TEST_F(AlgorithmChooser, ReplacesFilesThatAreDamaged) {
  options.algorithmFile = path;
  setProgram({makeDesc(4, 4)});
  ASSERT_TRUE(prepare()) << message;
  std::string good = read();
  std::string header =
      "{\"library\": \"cuBLASLt 13.1.2\", \"device\": \"one\", "
      "\"algorithms\": ";
  std::string bad = good;
  bad.replace(bad.find("\"proposal\": 0"), 13, "\"proposal\": \"0\"");
  std::string large = good;
  large.replace(large.find("\"proposal\": 0"), 13,
                "\"proposal\": 18446744073709551615");
  // A copy of it would need more than the stack.
  constexpr size_t kDepth = 200'000;
  std::string nested = std::string(kDepth, '[') + std::string(kDepth, ']');
  for (const std::string &text :
       {std::string(), std::string("[]"), std::string("{\"library\": 7}"),
        std::string("{\"algorithms\": 1"), header + "{\"x\": [\"zz\"]}}",
        header + "{\"x\": {\"words\": [\"zz\"]}}}", bad, large,
        "{\"library\": " + nested + "}", header + nested + "}",
        "{\"attention\": " + nested + "}"}) {
    write(text);
    ASSERT_TRUE(prepare()) << message;
    EXPECT_EQ(read(), good);
  }
}

// As after an update of the library that did not change its version.
TEST_F(AlgorithmChooser, ReplacesAlgorithmsThatTheLibraryDoesNotTake) {
  options.timesAlgorithms = true;
  options.algorithmFile = path;
  setProgram({makeDesc(4, 4)});
  {
    ScopedVariable seconds(kSeconds, "3,1,2");
    ASSERT_TRUE(prepare()) << message;
  }
  auto library = createDeviceLibrary(options);
  ASSERT_TRUE(prepare(*library)) << message;
  EXPECT_EQ(run(*library), '0');
}

TEST_F(AlgorithmChooser, NeedsTheFileThatWasAskedFor) {
  options.algorithmFile = "/nonexistent/algorithms.json";
  setProgram({makeDesc(4, 4)});
  auto library = createDeviceLibrary(options);
  EXPECT_FALSE(prepare(*library));
  std::string problem = "cannot write '/nonexistent/algorithms.json': ";
  EXPECT_EQ(message.rfind(problem, 0), 0U) << message;
  EXPECT_EQ(library->getNote(), "");
  // No one has asked for it.
  options.needsAlgorithmFile = false;
  library = createDeviceLibrary(options);
  EXPECT_TRUE(prepare(*library));
  EXPECT_EQ(library->getNote().rfind(problem, 0), 0U) << library->getNote();
}

//===----------------------------------------------------------------------===//
// Ranks of a job
//===----------------------------------------------------------------------===//

class Store final : public RankStore {
public:
  Failure set(const std::string &key, const std::string &value) override {
    values[key] = value;
    return Failure();
  }
  Result<std::string> get(const std::string &key, int32_t owner) override {
    auto it = values.find(key);
    if (it == values.end())
      return Failure("nobody has set " + key);
    return it->second;
  }
  Failure callRoll(const std::string &name, const std::vector<int32_t> &group,
                   double seconds) override {
    return Failure("nobody answers");
  }
  Failure barrier(const std::string &) override { return Failure(); }

private:
  std::map<std::string, std::string> values;
};

TEST_F(AlgorithmChooser, LetsAllRanksUseOneAlgorithm) {
  options.timesAlgorithms = true;
  options.algorithmFile = path;
  setProgram({makeDesc(4, 4), makeDesc(8, 4)});
  Store store;
  auto begin = [&](int rank) {
    auto library = createDeviceLibrary(options);
    EXPECT_EQ(getMessage(library->prepare(gpuProgram, driver)), "");
    EXPECT_EQ(getMessage(chooseAlgorithmsTogether(*library, store, rank)), "");
    return library;
  };
  {
    ScopedVariable seconds(kSeconds, "3,1,2");
    EXPECT_EQ(run(*begin(0)), '1');
  }
  // Each rank would measure other times, and find another file.
  ScopedVariable seconds(kSeconds, "1,2,3");
  std::remove(path.c_str());
  size_t before = countGemms();
  auto library = begin(1);
  EXPECT_EQ(countGemms(), before);
  EXPECT_EQ(run(*library), '1');
  EXPECT_EQ(read(), "");
  // What rank 0 says is of no use on another device.
  options.deviceName = "another";
  EXPECT_EQ(run(*begin(2)), '0');
}

TEST_F(AlgorithmChooser, SaysWhyThereIsNothingFromRankZero) {
  setProgram({makeDesc(4, 4)});
  Store store;
  auto library = createDeviceLibrary(options);
  ASSERT_EQ(getMessage(library->prepare(gpuProgram, driver)), "");
  EXPECT_EQ(getMessage(chooseAlgorithmsTogether(*library, store, 1)),
            "nobody has set algorithms");
}

} // namespace
