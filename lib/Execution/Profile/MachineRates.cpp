//===- MachineRates.cpp - What a machine reaches --------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Profile/MachineRates.h"

#include "regather/Runtime/Gemm.h"
#include "regather/Support/AtomicFile.h"
#include "regather/Support/JsonDepth.h"
#include "regather/Support/Sha256.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <new>
#include <sstream>
#include <system_error>
#include <thread>
#include <vector>

using namespace regather;

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

/// Changes whenever the same machine would be found to reach something else.
static constexpr int kProbeVersion = 1;

static constexpr double kProbeSeconds = 0.25;
static constexpr int kMostRuns = 100;
static constexpr int64_t kGemmSize = 1024;
/// Of what is read and of what is written; no cache holds both.
static constexpr size_t kCopyBytes = size_t(64) << 20;
static constexpr size_t kAlignment = 64;

namespace {
/// Memory as kernels have it.
struct AlignedFree {
  void operator()(void *memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<std::byte, AlignedFree>;
} // namespace

/// Null if the machine has not so much.
static Memory allocate(size_t bytes) {
  size_t size = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return Memory(static_cast<std::byte *>(
      std::aligned_alloc(kAlignment, std::max(size, kAlignment))));
}

/// Calls `work(thread)` on so many threads at once; false if they cannot be
/// started.
static bool runOnThreads(int32_t threads,
                         const std::function<void(int32_t)> &work) {
  std::vector<std::thread> helpers;
  bool isStarted = true;
  try {
    for (int32_t i = 1; i < threads; ++i)
      helpers.emplace_back(work, i);
  } catch (const std::system_error &) {
    isStarted = false;
  }
  work(0);
  for (std::thread &helper : helpers)
    helper.join();
  return isStarted;
}

/// Seconds of the fastest of several runs, after one that warms up; nothing, 0,
/// if a run fails.
static double measureFastest(const std::function<bool()> &run) {
  using Clock = std::chrono::steady_clock;
  auto getSeconds = [](Clock::duration time) {
    return std::chrono::duration<double>(time).count();
  };
  if (!run())
    return 0;
  double fastest = INFINITY;
  Clock::time_point begin = Clock::now();
  for (int i = 0; i < kMostRuns; ++i) {
    Clock::time_point start = Clock::now();
    if (!run())
      return 0;
    Clock::time_point end = Clock::now();
    fastest = std::min(fastest, getSeconds(end - start));
    if (getSeconds(end - begin) > kProbeSeconds)
      break;
  }
  return fastest;
}

/// Operations per second of a square GEMM.
static double measureGemm(int32_t threads, rg_dtype dtype) {
  rg_gemm_desc desc = {};
  desc.m = desc.n = desc.k = kGemmSize;
  desc.alpha = 1;
  int32_t buffer = 0;
  for (rg_gemm_operand *operand : {&desc.a, &desc.b, &desc.c}) {
    operand->buffer = buffer++;
    operand->dtype = dtype;
    operand->strides[0] = kGemmSize;
    operand->strides[1] = 1;
  }
  rg_gemm *created = nullptr;
  if (rg_gemm_create(&desc, &created) != RG_OK)
    return 0;
  std::unique_ptr<rg_gemm, void (*)(rg_gemm *)> gemm(created, rg_gemm_destroy);
  size_t bytes = size_t(kGemmSize * kGemmSize) * rg_dtype_size(dtype);
  size_t scratchBytes =
      (rg_gemm_scratch(created) + kAlignment - 1) / kAlignment * kAlignment;
  Memory matrices[3] = {allocate(bytes), allocate(bytes), allocate(bytes)};
  Memory scratch = allocate(scratchBytes * size_t(threads));
  void *buffers[3];
  for (int i = 0; i < 3; ++i) {
    if (!matrices[i] || !scratch)
      return 0;
    // Bytes of this value are small normal numbers in both types.
    std::memset(matrices[i].get(), 0x30, bytes);
    buffers[i] = matrices[i].get();
  }
  int64_t tasks = rg_gemm_tasks(created);
  double seconds = measureFastest([&] {
    std::atomic<int64_t> next{0};
    std::atomic<bool> succeeds{true};
    bool isStarted = runOnThreads(threads, [&](int32_t thread) {
      std::byte *own = scratch.get() + size_t(thread) * scratchBytes;
      for (int64_t task = next++; task < tasks; task = next++)
        if (rg_gemm_run_task(created, buffers, task, own) != RG_OK)
          succeeds = false;
    });
    return isStarted && succeeds;
  });
  double flops = 2.0 * kGemmSize * kGemmSize * kGemmSize;
  return seconds > 0 ? flops / seconds : 0;
}

/// Bytes per second of a copy, read and written.
static double measureCopy(int32_t threads) {
  Memory source = allocate(kCopyBytes), target = allocate(kCopyBytes);
  if (!source || !target)
    return 0;
  size_t part = kCopyBytes / size_t(threads) / kAlignment * kAlignment;
  // The thread that first touches a page decides where it lies.
  runOnThreads(threads, [&](int32_t thread) {
    std::memset(source.get() + size_t(thread) * part, 1, part);
    std::memset(target.get() + size_t(thread) * part, 2, part);
  });
  double seconds = measureFastest([&] {
    return runOnThreads(threads, [&](int32_t thread) {
      std::memcpy(target.get() + size_t(thread) * part,
                  source.get() + size_t(thread) * part, part);
    });
  });
  return seconds > 0 ? 2.0 * double(part) * threads / seconds : 0;
}

//===----------------------------------------------------------------------===//
// Remembering
//===----------------------------------------------------------------------===//

std::string regather::getCacheFolder() {
  if (const char *folder = std::getenv("REGATHER_CACHE_DIR"))
    return folder;
  if (const char *cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    return std::string(cache) + "/regather";
  const char *home = std::getenv("HOME");
  return home && *home ? std::string(home) + "/.cache/regather" : "";
}

static std::string getProcessor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0)
      if (size_t colon = line.find(": "); colon != std::string::npos)
        return line.substr(colon + 2);
  return "unknown processor";
}

/// What the rates depend on.
static std::string getKey(const MachineRates &rates) {
  return "probe " + std::to_string(kProbeVersion) + ", " + rates.processor +
         ", " + std::to_string(std::thread::hardware_concurrency()) +
         " processors, " + std::to_string(rates.threads) + " threads";
}

static std::string getFile(const std::string &folder, const std::string &key) {
  Sha256 hash;
  hash.add(key);
  Sha256::Digest digest = hash.finish();
  std::string name = "/machine-";
  for (size_t i = 0; i < 8; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", digest[i]);
    name += digits;
  }
  return folder + name + ".json";
}

/// The names of the rates in the file, and where they go.
static std::vector<std::pair<const char *, double *>>
listRates(MachineRates &rates) {
  return {{"f32_flops_per_second", &rates.f32Flops},
          {"bf16_flops_per_second", &rates.bf16Flops},
          {"bytes_per_second", &rates.bytesPerSecond}};
}

/// False if nothing sensible is remembered.
static bool readRates(MachineRates &rates, const std::string &key) {
  std::ostringstream stream;
  stream << std::ifstream(rates.file).rdbuf();
  std::string text = stream.str();
  // Values that are nested deeper cannot be compared.
  if (isDeeplyNested(text))
    return false;
  auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.value("machine", nlohmann::json()) != key)
    return false;
  for (auto [name, rate] : listRates(rates)) {
    auto field = json.find(name);
    if (field == json.end() || !field->is_number() ||
        !(field->get<double>() > 0))
      return false;
    *rate = field->get<double>();
  }
  return true;
}

static Failure writeRates(MachineRates &rates, const std::string &folder,
                          const std::string &key) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return Failure(error.message());
  nlohmann::ordered_json json = {{"machine", key}};
  for (auto [name, rate] : listRates(rates))
    json[name] = *rate;
  std::string text =
      json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
  return writeFileAtomically(rates.file, {text}, FileKind::Internal);
}

MachineRates regather::getMachineRates(const std::string &folder,
                                       int32_t threads, std::string &warning) {
  MachineRates rates;
  rates.processor = getProcessor();
  rates.threads = std::max(threads, 1);
  std::string key = getKey(rates);
  if (!folder.empty()) {
    rates.file = getFile(folder, key);
    if (readRates(rates, key))
      return rates;
  }
  rates.f32Flops = measureGemm(rates.threads, RG_F32);
  rates.bf16Flops = measureGemm(rates.threads, RG_BF16);
  rates.bytesPerSecond = measureCopy(rates.threads);
  if (folder.empty())
    return rates;
  if (Failure failure = writeRates(rates, folder, key)) {
    warning = "cannot remember what the machine reaches in '" + rates.file +
              "': " + failure.getMessage();
    rates.file.clear();
  }
  return rates;
}
