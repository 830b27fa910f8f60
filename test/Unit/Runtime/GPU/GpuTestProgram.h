//===- GpuTestProgram.h - Programs for GPUs written by hand -----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_UNIT_RUNTIME_GPU_GPUTESTPROGRAM_H
#define REGATHER_TEST_UNIT_RUNTIME_GPU_GPUTESTPROGRAM_H

#include "../Program/TestProgram.h"

#include "regather/Runtime/GpuExecutor.h"

#include <fstream>
#include <iterator>

namespace regather::test {

/// The kernels of HostKernels.cpp, as an image.
inline const std::string &getHostImage() {
  static const std::string image = [] {
    std::ifstream file(REGATHER_HOST_KERNELS, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  return image;
}

/// Tables for a device that grow. The image is that of HostKernels.cpp unless
/// others are added.
class GpuTestProgram : public TestProgram {
public:
  /// A kernel of several launches, each of so many blocks of one element.
  int32_t addKernel(const std::vector<const char *> &symbols, int64_t arguments,
                    int64_t blocks, int64_t scratch = 0) {
    std::vector<rg_gpu_launch> &list = launches.emplace_back();
    for (const char *symbol : symbols)
      list.push_back({symbol, blocks, 32, 0});
    kernels.push_back({list.data(), int64_t(list.size()), scratch, arguments});
    return TestProgram::addKernel(nullptr);
  }
  /// Shared memory that the launches of the last kernel ask for.
  void setDynamicSharedBytes(int32_t bytes) {
    for (rg_gpu_launch &launch : launches.back())
      launch.dynamic_shared_bytes = bytes;
  }
  void addImage(int32_t kind, int32_t architecture, int32_t specific,
                const std::string &data) {
    texts.push_back(data);
    const std::string &text = texts.back();
    // With the zero at the end.
    images.push_back({kind, architecture, specific, 0, text.c_str(),
                      int64_t(text.size()) + 1});
  }
  void addGraph(const char *name, int64_t first, int64_t end) {
    graphs.push_back({name, first, end});
  }

  /// The tables; valid as long as this object does not change.
  rg_gpu_program get() {
    if (images.empty())
      addImage(RG_GPU_IMAGE_HOST, 0, 0, getHostImage());
    program = TestProgram::get();
    rg_gpu_program gpu = {};
    gpu.version = RG_GPU_PROGRAM_VERSION;
    gpu.program = &program;
    gpu.image_count = int64_t(images.size());
    gpu.images = images.data();
    gpu.kernels = kernels.data();
    gpu.graph_count = int64_t(graphs.size());
    gpu.graphs = graphs.data();
    return gpu;
  }

private:
  rg_program program;
  std::deque<std::vector<rg_gpu_launch>> launches;
  std::deque<std::string> texts;
  std::vector<rg_gpu_kernel> kernels;
  std::vector<rg_gpu_image> images;
  std::vector<rg_gpu_graph> graphs;
};

/// Runs a program on the stand-in driver.
class GpuTestExecutor {
public:
  explicit GpuTestExecutor(GpuTestProgram &test,
                           rg_gpu_executor_options options = {})
      : gpu(test.get()) {
    if (!options.cuda_library)
      options.cuda_library = REGATHER_RECORDING_LIBRARY;
    status = rg_gpu_executor_create(&gpu, &options, &executor);
  }
  ~GpuTestExecutor() { rg_gpu_executor_destroy(executor); }
  GpuTestExecutor(const GpuTestExecutor &) = delete;

  rg_status upload(int32_t rank, int64_t argument,
                   const std::vector<int64_t> &values) {
    return rg_gpu_executor_upload(executor, rank, argument, values.data());
  }
  rg_status run() { return rg_gpu_executor_run(executor); }
  rg_status runWith(const rg_gpu_copies &copies) {
    return rg_gpu_executor_run_with(executor, &copies);
  }
  rg_status take(int64_t argument, uint64_t address) {
    return rg_gpu_executor_take(executor, 0, argument, address);
  }
  uint64_t getAddress(int64_t argument) const {
    return rg_gpu_executor_argument_address(executor, 0, argument);
  }
  std::vector<int64_t> getResult(int32_t rank = 0, int64_t result = 0) {
    std::vector<int64_t> values(
        static_cast<size_t>(*gpu.program->results[result].shape));
    EXPECT_EQ(rg_gpu_executor_download(executor, rank, result, values.data()),
              RG_OK);
    return values;
  }
  std::vector<int64_t> getArgument(int32_t rank, int64_t argument) {
    std::vector<int64_t> values(
        static_cast<size_t>(*gpu.program->arguments[argument].shape));
    EXPECT_EQ(rg_gpu_executor_download_argument(executor, rank, argument,
                                                values.data()),
              RG_OK);
    return values;
  }
  std::string getError() const { return rg_gpu_executor_error(executor); }
  rg_failure getFailure() const { return rg_gpu_executor_failure(executor); }
  int64_t getTouched() { return rg_gpu_executor_touched_bytes(executor); }
  int64_t getBytes() const { return rg_gpu_executor_bytes(executor); }

  rg_status status = RG_OK;

private:
  rg_gpu_program gpu;
  rg_gpu_executor *executor = nullptr;
};

} // namespace regather::test

#endif // REGATHER_TEST_UNIT_RUNTIME_GPU_GPUTESTPROGRAM_H
