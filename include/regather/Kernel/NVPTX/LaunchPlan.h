//===- LaunchPlan.h - How a kernel is launched ------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_KERNEL_NVPTX_LAUNCHPLAN_H
#define REGATHER_KERNEL_NVPTX_LAUNCHPLAN_H

#include "llvm/Support/JSON.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mlir::gpu {
class GPUModuleOp;
} // namespace mlir::gpu

namespace regather::nvptx {

/// One launch of an entry. Grids and blocks have one dimension.
struct Launch {
  std::string symbol;
  int64_t blocks = 1;
  int64_t threads = 1;
  /// Shared memory that the launch asks for, beside what the code declares.
  int64_t dynamicSharedBytes = 0;
};

/// How a kernel is carried out: launches that run one after the other, on one
/// stream. The arguments of every entry are pointers to the arguments and
/// results of the kernel, aligned to 16 bytes, and to scratch memory if there
/// is any.
struct LaunchPlan {
  std::vector<Launch> launches;
  /// Device memory that nothing else uses from the first launch to the end of
  /// the last one.
  int64_t scratchBytes = 0;
};

/// How the functions of a module, which one kernel has become, are launched: as
/// their attributes say, one after the other.
LaunchPlan getLaunchPlan(mlir::gpu::GPUModuleOp module);

/// The plan as `launches` and `scratch_bytes`.
llvm::json::Object toJSON(const LaunchPlan &plan);

/// Reads what `toJSON` has written; other keys are left alone.
bool fromJSON(const llvm::json::Value &value, LaunchPlan &plan,
              llvm::json::Path path);

} // namespace regather::nvptx

#endif // REGATHER_KERNEL_NVPTX_LAUNCHPLAN_H
