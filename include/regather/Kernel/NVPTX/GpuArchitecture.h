//===- GpuArchitecture.h - GPUs that code is made for -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_KERNEL_NVPTX_GPUARCHITECTURE_H
#define REGATHER_KERNEL_NVPTX_GPUARCHITECTURE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <vector>

namespace regather::nvptx {

/// GPUs of one generation.
struct GpuArchitecture {
  /// As LLVM and ptxas call it.
  llvm::StringLiteral name;
  /// The version of PTX that code is written in: the least that knows the
  /// architecture and what the code generator writes for it.
  llvm::StringLiteral ptxFeature;

  /// Ten times the major number and the minor one, such as 90.
  int getNumber() const;
  /// True if code is for this architecture alone, as that of `sm_90a` is.
  bool isSpecific() const { return name.ends_with("a"); }
};

llvm::ArrayRef<GpuArchitecture> getGpuArchitectures();

/// Null if there is none of that name.
const GpuArchitecture *findGpuArchitecture(llvm::StringRef name);

/// The one whose code is best for devices of a number such as 90; null if none
/// runs there.
const GpuArchitecture *chooseGpuArchitecture(int number);

/// The architectures of a list such as `sm_80,sm_90a`. The error names the one
/// that does not exist or is there twice.
llvm::Expected<std::vector<const GpuArchitecture *>>
parseGpuArchitectures(llvm::StringRef list);

} // namespace regather::nvptx

#endif // REGATHER_KERNEL_NVPTX_GPUARCHITECTURE_H
