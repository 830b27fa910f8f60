//===- KernelImage.h - What an image of kernels holds -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_STANDIN_DRIVER_KERNELIMAGE_H
#define REGATHER_TEST_STANDIN_DRIVER_KERNELIMAGE_H

#include <cstdint>
#include <string>
#include <vector>

namespace regather::runtime {

/// An entry of an image, and its parameters; -1 if the image does not say.
struct ImageEntry {
  std::string name;
  int64_t parameters = -1;
};

enum class ImageFormat { Ptx, Cubin, HostObject };

/// What the stand-in driver has to know of an image.
struct KernelImage {
  ImageFormat format = ImageFormat::Ptx;
  /// Ten times the major number and the minor one; of host objects 0.
  int64_t architecture = 0;
  /// For this architecture alone, such as sm_90a.
  bool isSpecific = false;
  std::vector<ImageEntry> entries;
  /// Of PTX: ten times the major number and the minor one; else 0.
  int64_t ptxVersion = 0;
  /// Of a shared object.
  int64_t bytes = 0;

  /// Reads text of PTX, which ends with a zero byte, or an ELF file. False if
  /// it is neither.
  bool read(const void *image);
  /// True if a device of an architecture runs it.
  bool runsOn(int64_t deviceArchitecture) const;

private:
  bool readPtx(const char *text);
  bool readElf(const void *image);
};

} // namespace regather::runtime

#endif // REGATHER_TEST_STANDIN_DRIVER_KERNELIMAGE_H
