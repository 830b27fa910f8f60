//===- LibraryBenchmark.cpp - Time the routines of the runtime ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads one case from each line of the input and answers with the median
// seconds of some runs:
//
//   gemm M N K TRANSPOSED_A TRANSPOSED_B [bf16]
//   attention BATCH HEADS LENGTH WIDTH CAUSAL BACKWARD [bf16]
//
// Without `bf16`, all tensors are f32.
//
// The first argument is the number of threads, the second that of runs.
//
//===----------------------------------------------------------------------===//

#include "CPU/TaskPool.h"

#include "regather/Support/Half.h"

#include "regather/Runtime/Attention.h"
#include "regather/Runtime/Gemm.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

using namespace regather::runtime;

namespace {
/// Buffers of random numbers.
class Numbers {
public:
  int32_t add(int64_t count, int32_t dtype) {
    std::mt19937 random(static_cast<unsigned>(values.size()));
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<char> &buffer =
        values.emplace_back(static_cast<size_t>(count) * rg_dtype_size(dtype));
    for (int64_t i = 0; i < count; ++i)
      if (dtype == RG_BF16)
        reinterpret_cast<uint16_t *>(buffer.data())[i] =
            toBF16(uniform(random));
      else
        reinterpret_cast<float *>(buffer.data())[i] = uniform(random);
    return static_cast<int32_t>(values.size()) - 1;
  }
  std::vector<void *> getBuffers() {
    std::vector<void *> buffers;
    for (std::vector<char> &buffer : values)
      buffers.push_back(buffer.data());
    return buffers;
  }

private:
  std::vector<std::vector<char>> values;
};

class Timer {
public:
  Timer(int64_t threads, int64_t runs) : runs(runs) {
    if (!pool.start(threads - 1, /*canSpin=*/true))
      abort();
  }

  /// The median seconds of running all tasks.
  template <typename F>
  double measure(int64_t tasks, size_t scratchBytes, F runTask) {
    constexpr size_t line = 64;
    size_t stride = (scratchBytes + line - 1) / line * line + line;
    std::vector<char> scratch(
        stride * static_cast<size_t>(pool.getNumThreads()) + line);
    auto first =
        (reinterpret_cast<uintptr_t>(scratch.data()) + line - 1) / line * line;
    std::vector<double> seconds;
    for (int64_t run = 0; run < runs; ++run) {
      auto begin = std::chrono::steady_clock::now();
      pool.run(tasks, [&](int64_t task, int64_t thread) {
        runTask(task, reinterpret_cast<void *>(
                          first + stride * static_cast<size_t>(thread)));
      });
      std::chrono::duration<double> taken =
          std::chrono::steady_clock::now() - begin;
      seconds.push_back(taken.count());
    }
    std::nth_element(seconds.begin(), seconds.begin() + runs / 2,
                     seconds.end());
    return seconds[static_cast<size_t>(runs / 2)];
  }

private:
  TaskPool pool;
  int64_t runs;
};
} // namespace

/// The type of all tensors, which ends the line.
static int32_t readType(std::istream &line) {
  std::string name;
  line >> name;
  return name == "bf16" ? RG_BF16 : RG_F32;
}

static double timeGemm(std::istream &line, Timer &timer) {
  rg_gemm_desc desc = {};
  bool transposedA = false, transposedB = false;
  line >> desc.m >> desc.n >> desc.k >> transposedA >> transposedB;
  int32_t dtype = readType(line);
  Numbers numbers;
  auto describe = [&](int64_t rows, int64_t columns, bool transposed) {
    rg_gemm_operand operand = {
        numbers.add(rows * columns, dtype), dtype, 0, {}, {}};
    operand.strides[0] = transposed ? 1 : columns;
    operand.strides[1] = transposed ? rows : 1;
    return operand;
  };
  desc.alpha = 1;
  desc.a = describe(desc.m, desc.k, transposedA);
  desc.b = describe(desc.k, desc.n, transposedB);
  desc.c = describe(desc.m, desc.n, false);
  rg_gemm *gemm = nullptr;
  if (rg_gemm_create(&desc, &gemm) != RG_OK)
    return NAN;
  std::vector<void *> buffers = numbers.getBuffers();
  double seconds = timer.measure(rg_gemm_tasks(gemm), rg_gemm_scratch(gemm),
                                 [&](int64_t task, void *scratch) {
                                   (void)rg_gemm_run_task(gemm, buffers.data(),
                                                          task, scratch);
                                 });
  rg_gemm_destroy(gemm);
  return seconds;
}

static double timeAttention(std::istream &line, Timer &timer) {
  rg_attention_desc desc = {};
  line >> desc.batch >> desc.heads >> desc.rows >> desc.width >> desc.causal >>
      desc.backward;
  desc.groups = 1;
  desc.columns = desc.rows;
  desc.value_width = desc.width;
  desc.scale = 1 / std::sqrt(static_cast<float>(desc.width));
  int32_t dtype = readType(line);
  Numbers numbers;
  int64_t head = desc.rows * desc.width;
  for (rg_attention_operand *operand :
       {&desc.q, &desc.k, &desc.v, &desc.o, &desc.grad_o, &desc.grad_q,
        &desc.grad_k, &desc.grad_v})
    *operand = {numbers.add(desc.batch * desc.heads * head, dtype),
                dtype,
                0,
                {desc.heads * head, head, desc.width, 1}};
  desc.l = {numbers.add(desc.batch * desc.heads * desc.rows, RG_F32),
            RG_F32,
            0,
            {desc.heads * desc.rows, desc.rows, 1, 0}};
  rg_attention *attention = nullptr;
  if (rg_attention_create(&desc, &attention) != RG_OK)
    return NAN;
  std::vector<void *> buffers = numbers.getBuffers();
  double seconds = timer.measure(
      rg_attention_tasks(attention), rg_attention_scratch(attention),
      [&](int64_t task, void *scratch) {
        (void)rg_attention_run_task(attention, buffers.data(), task, scratch);
      });
  rg_attention_destroy(attention);
  return seconds;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: regather-library-bench THREADS RUNS < CASES\n");
    return 2;
  }
  int64_t threads = strtoll(argv[1], nullptr, 10);
  int64_t runs = strtoll(argv[2], nullptr, 10);
  if (threads < 1 || runs < 1) {
    fprintf(stderr, "expects at least 1 thread and 1 run, got '%s' and '%s'\n",
            argv[1], argv[2]);
    return 2;
  }
  Timer timer(threads, runs);
  for (std::string text; std::getline(std::cin, text);) {
    std::istringstream line(text);
    std::string kind;
    line >> kind;
    double seconds =
        kind == "gemm" ? timeGemm(line, timer) : timeAttention(line, timer);
    printf("%.9f\n", seconds);
    fflush(stdout);
  }
  return 0;
}
