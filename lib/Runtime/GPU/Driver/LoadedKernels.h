//===- LoadedKernels.h - Kernels of a program on a device -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_DRIVER_LOADEDKERNELS_H
#define REGATHER_LIB_RUNTIME_GPU_DRIVER_LOADEDKERNELS_H

#include "GpuDevice.h"

#include "regather/Runtime/GpuProgram.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace regather::runtime {

/// An image, and the program that its entries and launches are of.
struct ProgramImage {
  const rg_gpu_program *program;
  const rg_gpu_image *image;
};

/// The images of a step, for all architectures, that a device of one of them
/// runs, the best first: machine code before text that the driver has to
/// translate, then the newest.
std::vector<ProgramImage> findImages(const rg_gpu_program &programs,
                                     int architecture);

/// The kernels of a program on a device.
class LoadedKernels {
public:
  LoadedKernels() = default;
  LoadedKernels(const LoadedKernels &) = delete;
  LoadedKernels &operator=(const LoadedKernels &) = delete;
  ~LoadedKernels();

  /// Loads the best image of a step that the driver takes, and looks up all
  /// entries.
  Failure load(const GpuDevice &device, const rg_gpu_program &programs);

  /// The program of the image that was loaded.
  const rg_gpu_program &getProgram() const { return *program; }

  /// Enqueues all launches of a kernel. `buffers` are the addresses of its
  /// slices, of which there are `count`.
  Failure launch(const rg_gpu_kernel &kernel, const CuAddress *buffers,
                 int32_t count, CuAddress scratch, CuStream stream);

private:
  Failure loadImage(const rg_gpu_program &programs);
  Failure findEntry(const rg_gpu_launch &launch);
  Failure findEntries(const rg_gpu_kernel *kernels, int64_t count);

  const GpuDevice *device = nullptr;
  const rg_gpu_program *program = nullptr;
  CuModule module = nullptr;
  /// By launch.
  std::unordered_map<const rg_gpu_launch *, CuFunction> functions;
  std::vector<const CuAddress *> parameters;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_DRIVER_LOADEDKERNELS_H
