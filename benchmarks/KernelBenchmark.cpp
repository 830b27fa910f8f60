//===- KernelBenchmark.cpp - Generated kernels beside memcpy --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: regather-kernel-bench [--num-threads N] [--repeats N] [--block-bytes
// BYTES]
//                              [--only NAME] [--object FILE.o] FILE.mlir
//
// Runs each `tg.kernel` of the file on random numbers, and in turns with it
// memcpy of half the bytes that the kernel reads and writes, so that as many
// bytes are moved, on as many threads. Prints one line of JSON for each kernel,
// with medians. The object file is that of the last kernel.
//
//===----------------------------------------------------------------------===//

#include "regather/InitAll.h"
#include "regather/Kernel/CPU/CompileCpuKernels.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <cstring>
#include <functional>
#include <thread>
#include <time.h>

using namespace mlir;
using namespace regather;
using namespace regather::cpu;

static llvm::cl::opt<std::string> file(llvm::cl::Positional,
                                       llvm::cl::Required);
static llvm::cl::opt<std::string> only("only");
static llvm::cl::opt<std::string> objectFile("object");
static llvm::cl::opt<int64_t> threads("num-threads", llvm::cl::init(1));
static llvm::cl::opt<int64_t> repeats("repeats", llvm::cl::init(7));
static llvm::cl::opt<int64_t>
    block("block-bytes", llvm::cl::init(KernelCompileOptions().blockBytes));

using Clock = std::chrono::steady_clock;

static double getSeconds(llvm::function_ref<void()> work) {
  auto start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Time that the calling thread has run. What waits for other programs of the
/// machine does not count.
static double getThreadSeconds() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Calls `work` for each thread, on that thread; the time of the slowest.
static double runParallel(const std::function<void(int64_t)> &work) {
  std::vector<double> seconds(threads);
  auto run = [&](int64_t i) {
    double start = getThreadSeconds();
    work(i);
    seconds[i] = getThreadSeconds() - start;
  };
  std::vector<std::thread> others;
  for (int64_t i = 1; i < threads; ++i)
    others.emplace_back(run, i);
  run(0);
  for (std::thread &other : others)
    other.join();
  return *llvm::max_element(seconds);
}

namespace {
/// Memory that is there: every page has been written.
struct Buffer {
  explicit Buffer(RankedTensorType type) : bytes(tg::getTensorBytes(type)) {
    data.reset(static_cast<char *>(aligned_alloc(64, (bytes + 127) / 64 * 64)));
    fill(type.getElementType());
  }
  void fill(Type element);

  struct Free {
    void operator()(char *pointer) const { free(pointer); }
  };
  size_t bytes;
  std::unique_ptr<char, Free> data;
};
} // namespace

/// Numbers between -2 and 2; small indices.
void Buffer::fill(Type element) {
  memset(data.get(), 0, bytes);
  uint32_t state = 1;
  size_t width = element.getIntOrFloatBitWidth() / 8;
  for (size_t i = 0; i + width <= bytes; i += width) {
    state = state * 1664525 + 1013904223;
    float number = static_cast<float>(state >> 8) / (1 << 22) - 2;
    uint32_t bits;
    memcpy(&bits, &number, 4);
    if (element.isBF16())
      memcpy(data.get() + i, reinterpret_cast<char *>(&bits) + 2, 2);
    else if (element.isF32())
      memcpy(data.get() + i, &bits, 4);
    else
      data.get()[i] = static_cast<char>(state >> 28);
  }
}

static double getMedian(std::vector<double> values) {
  llvm::sort(values);
  return values[values.size() / 2];
}

static void measure(tg::KernelOp kernel) {
  KernelCompileOptions options;
  options.threads = 1;
  options.blockBytes = block;
  KernelStatistics statistics;
  FailureOr<std::vector<KernelCode>> codes = failure();
  double compileSeconds =
      getSeconds([&] { codes = compileKernels(kernel, options, statistics); });
  if (failed(codes))
    exit(1);
  KernelCode code = std::move(codes->front());
  if (!objectFile.empty()) {
    std::error_code error;
    llvm::raw_fd_ostream(objectFile, error) << code.object->getBuffer();
  }
  auto jit =
      llvm::cantFail(llvm::orc::LLJITBuilder()
                         .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                         .create());
  llvm::cantFail(jit->addObjectFile(std::move(code.object)));
  auto function =
      llvm::cantFail(jit->lookup(code.symbol)).toPtr<KernelFunction>();

  std::vector<Buffer> buffers;
  std::vector<void *> pointers;
  size_t bytes = 0;
  auto add = [&](Type type) {
    buffers.emplace_back(cast<RankedTensorType>(type));
    pointers.push_back(buffers.back().data.get());
    bytes += buffers.back().bytes;
  };
  llvm::for_each(kernel.getArgumentTypes(), add);
  llvm::for_each(kernel.getResultTypes(), add);
  auto half = RankedTensorType::get(bytes / 2,
                                    IntegerType::get(kernel.getContext(), 8));
  Buffer from(half), to(half);
  std::vector<Buffer> scratch;
  for (int64_t i = 0; i < threads; ++i)
    scratch.emplace_back(RankedTensorType::get(
        code.scratchBytes, IntegerType::get(kernel.getContext(), 8)));

  auto run = [&](int64_t i) {
    function(pointers.data(), code.rows * i / threads,
             code.rows * (i + 1) / threads, scratch[i].data.get());
  };
  auto copy = [&](int64_t i) {
    size_t begin = half.getNumElements() * i / threads;
    size_t end = half.getNumElements() * (i + 1) / threads;
    memcpy(to.data.get() + begin, from.data.get() + begin, end - begin);
  };
  std::vector<double> kernelTimes, copyTimes;
  for (int64_t i = 0; i <= repeats; ++i) {
    double kernelTime = runParallel(run);
    double copyTime = runParallel(copy);
    // The first turn warms up.
    if (i == 0 && repeats > 0)
      continue;
    kernelTimes.push_back(kernelTime);
    copyTimes.push_back(copyTime);
  }
  auto gigabytes = static_cast<double>(bytes) / 1e9;
  llvm::outs() << llvm::json::Value(llvm::json::Object{
                      {"kernel", kernel.getSymName()},
                      {"threads", threads.getValue()},
                      {"blocks", code.rows},
                      {"scratch_bytes", code.scratchBytes},
                      {"gigabytes", gigabytes},
                      {"compile_ms", compileSeconds * 1e3},
                      {"kernel_gb_s", gigabytes / getMedian(kernelTimes)},
                      {"memcpy_gb_s", gigabytes / getMedian(copyTimes)},
                      {"ratio", getMedian(copyTimes) / getMedian(kernelTimes)}})
               << '\n';
  llvm::outs().flush();
}

int main(int argc, char **argv) {
  llvm::cl::ParseCommandLineOptions(argc, argv);
  DialectRegistry dialects;
  registerAllDialects(dialects);
  MLIRContext context(dialects);
  auto module = parseSourceFile<ModuleOp>(file, ParserConfig(&context));
  if (!module)
    return 1;
  for (auto kernel : module->getOps<tg::KernelOp>())
    if (only.empty() || kernel.getSymName() == only)
      measure(kernel);
  return 0;
}
