//===- Gemm.h - One prepared GEMM -------------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_CPU_GEMM_GEMM_H
#define REGATHER_LIB_RUNTIME_CPU_GEMM_GEMM_H

#include "GemmTasks.h"

#include "regather/Runtime/Gemm.h"

#include <cstddef>
#include <memory>

namespace regather::runtime {

/// What computes the tiles of a GEMM. Several threads may do so at a time.
class GemmRoutine {
public:
  explicit GemmRoutine(const rg_gemm_desc &desc, GemmTasks tasks)
      : desc(desc), tasks(tasks) {}
  virtual ~GemmRoutine() = default;

  /// Computes the tiles of one task; false if it failed.
  bool run(void *const *buffers, int64_t task, void *scratch) const;

  /// Bytes of scratch memory that one tile needs.
  virtual size_t getScratchBytes() const = 0;
  int64_t getNumTasks() const { return tasks.getNumTasks(); }

protected:
  virtual bool runTile(void *const *buffers, const GemmTile &tile,
                       void *scratch) const = 0;

  rg_gemm_desc desc;
  GemmTasks tasks;
};

/// A GEMM by the block kernels, on every machine.
std::unique_ptr<GemmRoutine> createBlockedGemm(const rg_gemm_desc &desc);

/// A GEMM of bf16 by oneDNN; null if this machine does not have the library,
/// or the library has no code for the description but its slow reference.
std::unique_ptr<GemmRoutine> createOneDNNGemm(const rg_gemm_desc &desc);

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_CPU_GEMM_GEMM_H
