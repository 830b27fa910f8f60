//===- LoadedKernels.cpp - Kernels of a program on a device ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoadedKernels.h"

#include <algorithm>
#include <tuple>

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

static bool runsOn(const rg_gpu_image &image, int architecture) {
  if (image.kind == RG_GPU_IMAGE_HOST)
    return true;
  if (image.specific)
    return image.architecture == architecture;
  if (image.kind == RG_GPU_IMAGE_PTX)
    return image.architecture <= architecture;
  return image.architecture <= architecture &&
         image.architecture / 10 == architecture / 10;
}

std::vector<ProgramImage>
regather::runtime::findImages(const rg_gpu_program &programs,
                              int architecture) {
  std::vector<ProgramImage> found;
  for (const rg_gpu_program *program = &programs; program;
       program = program->next)
    for (int64_t i = 0; i < program->image_count; ++i)
      if (runsOn(program->images[i], architecture))
        found.push_back({program, &program->images[i]});
  // Images of one kind and architecture stay in their order.
  auto getRank = [](const ProgramImage &found) {
    const rg_gpu_image &image = *found.image;
    return std::make_tuple(-image.kind, -image.architecture, -image.specific,
                           &image);
  };
  std::sort(found.begin(), found.end(),
            [&](const ProgramImage &a, const ProgramImage &b) {
              return getRank(a) < getRank(b);
            });
  return found;
}

static std::string describe(const rg_gpu_image &image) {
  if (image.kind == RG_GPU_IMAGE_HOST)
    return "a shared object for the host";
  std::string text = "sm_" + std::to_string(image.architecture);
  text += image.specific ? "a" : "";
  return text + (image.kind == RG_GPU_IMAGE_PTX ? " (PTX)" : "");
}

static std::string describeImages(const rg_gpu_program &programs) {
  std::string text;
  for (const rg_gpu_program *program = &programs; program;
       program = program->next)
    for (int64_t i = 0; i < program->image_count; ++i)
      text += (text.empty() ? "" : ", ") + describe(program->images[i]);
  return text.empty() ? "no architecture" : text;
}

Failure LoadedKernels::loadImage(const rg_gpu_program &programs) {
  std::vector<ProgramImage> images =
      findImages(programs, device->getArchitecture());
  if (images.empty())
    return "the program has code for " + describeImages(programs) + ", but " +
           device->describe() + " is sm_" +
           std::to_string(device->getArchitecture());
  std::string problems;
  for (auto [owner, image] : images) {
    program = owner;
    Result<CuModule> loaded = device->getDriver().loadModule(image->data);
    if (loaded) {
      module = *loaded;
      return Failure();
    }
    problems += (problems.empty() ? "" : "; ") + loaded.getMessage();
  }
  return "the kernels cannot be loaded: " + problems;
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

LoadedKernels::~LoadedKernels() {
  if (module)
    device->getDriver().cuModuleUnload(module);
}

Failure LoadedKernels::findEntry(const rg_gpu_launch &launch) {
  const DriverApi &driver = device->getDriver();
  CuFunction &function = functions[&launch];
  Failure failure = device->check(
      driver.cuModuleGetFunction(&function, module, launch.symbol),
      "cuModuleGetFunction");
  // Without that a launch may ask for 48 KiB less the static shared memory of
  // the kernel, which only the driver knows.
  if (!failure && launch.dynamic_shared_bytes > 0)
    failure = device->check(
        driver.cuFuncSetAttribute(function, kCuFunctionDynamicShared,
                                  launch.dynamic_shared_bytes),
        "cuFuncSetAttribute");
  if (!failure)
    return failure;
  return failure.getMessage() + " (kernel '" + launch.symbol + "')";
}

Failure LoadedKernels::findEntries(const rg_gpu_kernel *kernels,
                                   int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    for (int64_t k = 0; k < kernels[i].launch_count; ++k)
      if (Failure failure = findEntry(kernels[i].launches[k]))
        return failure;
  return Failure();
}

Failure LoadedKernels::load(const GpuDevice &onDevice,
                            const rg_gpu_program &programs) {
  device = &onDevice;
  program = &programs;
  const rg_program &tables = *programs.program;
  if (programs.image_count == 0 && tables.kernel_count == 0)
    return Failure();
  Failure failure = loadImage(programs);
  if (!failure)
    failure = findEntries(program->kernels, tables.kernel_count);
  if (!failure)
    failure = findEntries(program->gemms, tables.gemm_count);
  return failure ? failure
                 : findEntries(program->attentions, tables.attention_count);
}

Failure LoadedKernels::launch(const rg_gpu_kernel &kernel,
                              const CuAddress *buffers, int32_t count,
                              CuAddress scratch, CuStream stream) {
  parameters.clear();
  for (int32_t i = 0; i < count; ++i)
    parameters.push_back(&buffers[i]);
  if (kernel.scratch_bytes)
    parameters.push_back(&scratch);
  // The driver takes pointers to values that it only reads.
  auto **values =
      reinterpret_cast<void **>(const_cast<CuAddress **>(parameters.data()));
  for (int64_t i = 0; i < kernel.launch_count; ++i) {
    const rg_gpu_launch &launch = kernel.launches[i];
    if (Failure failure = device->check(
            device->getDriver().cuLaunchKernel(
                functions.at(&launch), unsigned(launch.blocks), 1, 1,
                unsigned(launch.threads), 1, 1,
                unsigned(launch.dynamic_shared_bytes), stream, values, nullptr),
            "cuLaunchKernel"))
      return failure;
  }
  return Failure();
}
