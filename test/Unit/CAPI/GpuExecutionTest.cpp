//===- GpuExecutionTest.cpp - Steps on GPUs by the C interface ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The device and its libraries are those that stand in for CUDA's.
//
//===----------------------------------------------------------------------===//

#include "regather-c/Execution.h"

#include "gtest/gtest.h"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {
/// Sets an environment variable for as long as it lives.
class Variable {
public:
  Variable(const char *name, const std::string &value) : name(name) {
    setenv(name, value.c_str(), /*overwrite=*/1);
  }
  Variable(const Variable &) = delete;
  Variable &operator=(const Variable &) = delete;
  ~Variable() { unsetenv(name); }

private:
  const char *name;
};

/// The message of a status, which is destroyed; empty for success.
std::string take(RegatherStatus *status) {
  std::string message = regatherStatusGetMessage(status);
  regatherStatusDestroy(status);
  return message;
}

testing::AssertionResult has(const std::string &text, const char *part) {
  if (text.find(part) != std::string::npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << '"' << text << "\" lacks " << part;
}

using Vector = std::vector<float>;

/// An executable with all of its values in f32.
class Executable {
public:
  Executable(const std::string &document, const char *device,
             const Executable *memory = nullptr,
             const rg_store *store = nullptr, double timeout = 0) {
    RegatherExecutableOptions options = {};
    options.store = store;
    options.timeoutSeconds = timeout;
    options.device = device;
    options.memoryOf = memory ? memory->pointer : nullptr;
    message = take(regatherExecutableCreate(document.data(), document.size(),
                                            &options, &pointer));
  }
  Executable(const Executable &) = delete;
  Executable &operator=(const Executable &) = delete;
  ~Executable() { destroy(); }

  void destroy() {
    regatherExecutableDestroy(pointer);
    pointer = nullptr;
  }
  uint32_t count() const { return regatherExecutableGetNumArguments(pointer); }
  RegatherValue getArgument(uint32_t i) const {
    return regatherExecutableGetArgument(pointer, i);
  }
  Vector read(uint32_t argument) const {
    Vector values(getArgument(argument).bytes / sizeof(float));
    EXPECT_EQ(take(regatherExecutableRead(pointer, argument, values.data())),
              "");
    return values;
  }
  void write(uint32_t argument, const Vector &values) const {
    EXPECT_EQ(take(regatherExecutableWrite(pointer, argument, values.data(),
                                           /*isOnDevice=*/0)),
              "");
  }
  /// Runs on what is given, and returns the first result.
  float run(const std::map<uint32_t, Vector> &given) const {
    std::vector<void *> arguments(count());
    std::vector<void *> results(regatherExecutableGetNumResults(pointer));
    for (const auto &[number, values] : given)
      arguments[number] = const_cast<float *>(values.data());
    float loss = 0;
    results[0] = &loss;
    EXPECT_EQ(
        take(regatherExecutableRun(pointer, arguments.data(), results.data())),
        "");
    return loss;
  }

  RegatherExecutable *pointer = nullptr;
  std::string message;
};

class GpuExecution : public testing::Test {
protected:
  /// The step of examples/mlp.mlir: six parameters, and a batch behind them.
  static constexpr uint32_t kParameters = 6;

  GpuExecution() {
    std::ifstream file(REGATHER_EXAMPLES "/mlp.mlir");
    document.assign(std::istreambuf_iterator<char>(file), {});
  }

  static Vector draw(const Executable &step, uint32_t argument) {
    Vector values(step.getArgument(argument).bytes / sizeof(float));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>((i * 7 + argument * 3) % 11) / 16 - 0.3F;
    return values;
  }
  static std::map<uint32_t, Vector> drawBatch(const Executable &step) {
    return {{6, draw(step, 6)}, {7, draw(step, 7)}};
  }
  static void writeParameters(const Executable &step) {
    for (uint32_t i = 0; i < kParameters; ++i)
      step.write(i, draw(step, i));
  }

  /// Three steps on the CPU, and what the parameters are then.
  Vector trainOnCpu(std::vector<Vector> &parameters) {
    Executable step(document, "cpu");
    EXPECT_EQ(step.message, "");
    std::vector<void *> arguments, results = {nullptr};
    for (uint32_t i = 0; i < step.count(); ++i)
      parameters.push_back(draw(step, i));
    for (Vector &values : parameters)
      arguments.push_back(values.data());
    results.resize(regatherExecutableGetNumResults(step.pointer));
    Vector losses(3);
    for (float &loss : losses) {
      results[0] = &loss;
      EXPECT_EQ(take(regatherExecutableRun(step.pointer, arguments.data(),
                                           results.data())),
                "");
    }
    return losses;
  }

  static void expectClose(const Vector &actual, const Vector &expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i)
      EXPECT_NEAR(actual[i], expected[i], 1e-5) << i;
  }

  std::string document;
  Variable cuda{"REGATHER_CUDA_LIBRARY", REGATHER_RECORDING_LIBRARY};
  Variable cublas{"REGATHER_CUBLASLT_LIBRARY", REGATHER_RECORDING_LIBRARY};
  Variable cudnn{"REGATHER_CUDNN_LIBRARY", REGATHER_RECORDING_LIBRARY};
  Variable nccl{"REGATHER_NCCL_LIBRARY", REGATHER_RECORDING_LIBRARY};
};

TEST_F(GpuExecution, TrainsAsTheCpuDoes) {
  std::vector<Vector> expected;
  Vector losses = trainOnCpu(expected);
  Executable step(document, "cuda");
  ASSERT_EQ(step.message, "");
  EXPECT_EQ(regatherExecutableGetDevice(step.pointer), 0);
  EXPECT_GT(regatherExecutableGetBytes(step.pointer), 0u);
  for (uint32_t i = 1; i <= kParameters; ++i)
    EXPECT_TRUE(regatherExecutableGetResult(step.pointer, i).isDonated);
  writeParameters(step);
  // The batch stays on the device, too.
  EXPECT_NEAR(step.run(drawBatch(step)), losses[0], 1e-5);
  EXPECT_NEAR(step.run({}), losses[1], 1e-5);
  EXPECT_NEAR(step.run(drawBatch(step)), losses[2], 1e-5);
  EXPECT_LT(losses[2], losses[0]);
  for (uint32_t i = 0; i < kParameters; ++i)
    expectClose(step.read(i), expected[i]);
}

TEST_F(GpuExecution, TwoStepsHaveOneMemoryOfParameters) {
  std::vector<Vector> expected;
  Vector losses = trainOnCpu(expected);
  Executable first(document, "cuda:0");
  ASSERT_EQ(first.message, "");
  writeParameters(first);
  Executable second(document, "cuda:0", &first);
  ASSERT_EQ(second.message, "");
  EXPECT_NEAR(first.run(drawBatch(first)), losses[0], 1e-5);
  EXPECT_NEAR(second.run(drawBatch(second)), losses[1], 1e-5);
  // Inputs are its own.
  EXPECT_NE(second.read(6), Vector(second.read(6).size()));
  first.destroy();
  EXPECT_NEAR(second.run({}), losses[2], 1e-5);
  expectClose(second.read(0), expected[0]);
}

TEST_F(GpuExecution, ReadsMemoryOfTheDevice) {
  Executable step(document, "cuda");
  ASSERT_EQ(step.message, "");
  writeParameters(step);
  std::map<uint32_t, Vector> batch = drawBatch(step);
  step.write(7, batch[7]);
  // What stands in for a device has memory of the host, and refuses all that it
  // has not given.
  EXPECT_TRUE(
      has(take(regatherExecutableWrite(step.pointer, 6, batch[6].data(), 1)),
          "cuMemcpyDtoDAsync has failed"));
}

TEST_F(GpuExecution, SaysAllThatIsMissing) {
  Variable noCuda("REGATHER_CUDA_LIBRARY", "/no/cuda");
  Variable noCublas("REGATHER_CUBLASLT_LIBRARY", "/no/cublas");
  std::string message = Executable(document, "cuda").message;
  EXPECT_TRUE(has(message, "cannot open the CUDA driver: /no/cuda")) << message;
  EXPECT_TRUE(has(message, "\ncannot open cuBLASLt: /no/cublas")) << message;
}

TEST_F(GpuExecution, RefusesDevices) {
  EXPECT_EQ(Executable(document, "gpu").message,
            "unknown device 'gpu'; devices are cpu, cuda and cuda:N");
  EXPECT_EQ(Executable(document, "cuda:-1").message,
            "unknown device 'cuda:-1'; devices are cpu, cuda and cuda:N");
  EXPECT_EQ(Executable(document, "cuda:1").message,
            "there is no device 1: the CUDA driver shows 1 device");
  Variable old("REGATHER_STAND_IN_ARCHITECTURE", "75");
  EXPECT_TRUE(has(Executable(document, "cuda").message,
                  "device 0 is sm_75, but kernels are compiled for sm_80 and "
                  "newer"));
}

TEST_F(GpuExecution, CompilesForOtherArchitectures) {
  Variable other("REGATHER_STAND_IN_ARCHITECTURE", "89");
  EXPECT_EQ(Executable(document, "cuda").message, "");
}

TEST_F(GpuExecution, ListsKernelsThatHaveNoCode) {
  std::string text = R"(
    func.func @step(
        %x: tensor<4xf64> {tg.role = #tg.role<input>, tg.name = "x"},
        %y: tensor<6xf64> {tg.role = #tg.role<input>, tg.name = "y"})
        -> (tensor<4xf64>, tensor<6xf64>) {
      %a = math.sin %x : tensor<4xf64>
      %b = math.cos %y : tensor<6xf64>
      return %a, %b : tensor<4xf64>, tensor<6xf64>
    })";
  // NVIDIA's library has these functions, and this is none.
  std::string toolkit = testing::TempDir() + "regather-no-toolkit";
  std::filesystem::create_directories(toolkit + "/nvvm/libdevice");
  std::ofstream(toolkit + "/nvvm/libdevice/libdevice.10.bc") << "nothing";
  Variable home("CUDA_HOME", toolkit), noCache("REGATHER_CACHE_DIR", "");
  std::string message = Executable(text, "cuda").message;
  EXPECT_TRUE(has(message, "step:6:12: cannot compile the kernel")) << message;
  EXPECT_TRUE(has(message, "\nstep:7:12: cannot compile the kernel"))
      << message;
}

TEST_F(GpuExecution, RefusesWhatProcessorsHaveNot) {
  Executable step(document, nullptr);
  ASSERT_EQ(step.message, "");
  EXPECT_EQ(regatherExecutableGetDevice(step.pointer), -1);
  float value = 0;
  EXPECT_EQ(take(regatherExecutableWrite(step.pointer, 0, &value, 0)),
            "on processors arguments lie in memory of the caller");
  EXPECT_EQ(take(regatherExecutableRead(step.pointer, 0, &value)),
            "on processors arguments lie in memory of the caller");
  EXPECT_EQ(Executable(document, "cuda", &step).message,
            "on processors executables have no memory of arguments");
  Executable onDevice(document, "cuda");
  EXPECT_EQ(take(regatherExecutableRead(onDevice.pointer, 8, &value)),
            "there is no argument 8: the step has 8");
  EXPECT_EQ(take(regatherExecutableRead(onDevice.pointer, 0, nullptr)),
            "an argument is null");
}
//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

/// A store that ranks of this process see.
class SharedStore {
public:
  explicit SharedStore(int32_t ranks) : ranks(ranks) {}

  rg_store getTable(int32_t rank) {
    return {this, rank, ranks, set, get, [](void *) { return "no reason"; }};
  }

private:
  static int32_t set(void *context, const char *key, const void *value,
                     int64_t bytes) {
    auto &store = *static_cast<SharedStore *>(context);
    std::lock_guard<std::mutex> lock(store.mutex);
    store.values[key].assign(static_cast<const char *>(value),
                             static_cast<size_t>(bytes));
    return 0;
  }
  static int32_t get(void *context, const char *key, void *value,
                     int64_t capacity, int64_t *bytes) {
    auto &store = *static_cast<SharedStore *>(context);
    std::lock_guard<std::mutex> lock(store.mutex);
    auto found = store.values.find(key);
    *bytes = -1;
    if (found == store.values.end())
      return 0;
    *bytes = static_cast<int64_t>(found->second.size());
    found->second.copy(static_cast<char *>(value),
                       static_cast<size_t>(capacity));
    return 0;
  }

  int32_t ranks;
  std::mutex mutex;
  std::map<std::string, std::string> values;
};

class GpuRanks : public GpuExecution {
protected:
  static constexpr int32_t kRanks = 4;

  /// Calls a function for each rank, on a thread of its own.
  template <typename Function> static void forRanks(Function function) {
    SharedStore store(kRanks);
    std::vector<std::thread> threads;
    for (int32_t rank = 0; rank < kRanks; ++rank)
      threads.emplace_back([&, rank] {
        rg_store table = store.getTable(rank);
        function(rank, &table);
      });
    for (std::thread &thread : threads)
      thread.join();
  }

  static std::string readExample(const char *name) {
    std::ifstream file(std::string(REGATHER_EXAMPLES "/") + name);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// A rank's rows of a whole value.
  static Vector cut(const Executable &step, uint32_t argument, int32_t rank,
                    const Vector &whole) {
    RegatherValue value = step.getArgument(argument);
    auto size = static_cast<std::ptrdiff_t>(value.bytes / sizeof(float));
    return {whole.begin() + size * rank, whole.begin() + size * (rank + 1)};
  }
};

TEST_F(GpuRanks, TrainAsOneDoes) {
  std::vector<Vector> expected;
  Vector losses = trainOnCpu(expected);
  std::string sharded = readExample("mlp-fsdp.mlir");
  Executable whole(document, "cpu");
  forRanks([&](int32_t rank, const rg_store *store) {
    Executable step(sharded, "cuda", nullptr, store);
    ASSERT_EQ(step.message, "");
    RegatherValue weight = step.getArgument(0);
    ASSERT_EQ(weight.numShards, 1u);
    EXPECT_EQ(weight.shards[0].index, static_cast<uint32_t>(rank));
    std::map<uint32_t, Vector> batch;
    for (uint32_t i = 0; i < step.count(); ++i) {
      Vector part = cut(step, i, rank, draw(whole, i));
      if (i < kParameters)
        step.write(i, part);
      else
        batch[i] = part;
    }
    for (float loss : losses)
      EXPECT_NEAR(step.run(batch), loss, 1e-5);
    expectClose(step.read(0), cut(step, 0, rank, expected[0]));
  });
}

TEST_F(GpuRanks, WithOtherStepsAreToldBeforeTheyCommunicate) {
  std::string sharded = readExample("mlp-fsdp.mlir"), other = sharded;
  std::string reduction = "tg.all_reduce avg %loss_local";
  size_t place = other.find(reduction);
  ASSERT_NE(place, std::string::npos);
  other.replace(place, reduction.size(), "tg.all_reduce max %loss_local");
  std::array<std::string, kRanks> messages;
  forRanks([&](int32_t rank, const rg_store *store) {
    messages[rank] =
        Executable(rank == 2 ? other : sharded, "cuda", nullptr, store).message;
  });
  for (const std::string &message : messages)
    EXPECT_TRUE(has(message, "rank 0 and rank 2 differ in the collectives of "
                             "their steps"));
}

TEST_F(GpuRanks, ThatAreMissingAreNamed) {
  std::string sharded = readExample("mlp-fsdp.mlir");
  std::array<std::string, kRanks> messages;
  forRanks([&](int32_t rank, const rg_store *store) {
    if (rank != 2)
      messages[rank] =
          Executable(sharded, "cuda", nullptr, store, /*timeout=*/4).message;
  });
  for (int32_t rank : {0, 1, 3})
    EXPECT_TRUE(has(messages[rank], "rank 2 has not come to 'the collectives "
                                    "of their steps' within"));
}

TEST_F(GpuRanks, NeedStoreAndLibrary) {
  SharedStore store(1);
  rg_store table = store.getTable(0);
  EXPECT_EQ(Executable(document, "cpu", nullptr, &table).message,
            "on processors ranks communicate by messages: expects a transport, "
            "got a store");
  Variable noNccl("REGATHER_NCCL_LIBRARY", "/no/nccl");
  EXPECT_TRUE(has(Executable(document, "cuda", nullptr, &table).message,
                  "cannot open NCCL: /no/nccl"));
}
} // namespace
