//===- LibraryCalls.h - Routines that a program calls -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_CPU_LIBRARYCALLS_H
#define REGATHER_LIB_RUNTIME_CPU_LIBRARYCALLS_H

#include "regather/Runtime/Program.h"
#include "regather/Support/Result.h"

#include <vector>

namespace regather::runtime {

/// The GEMMs, attentions and convolutions of a program, ready to run. All ranks
/// share them.
class LibraryCalls {
public:
  LibraryCalls() = default;
  LibraryCalls(const LibraryCalls &) = delete;
  LibraryCalls &operator=(const LibraryCalls &) = delete;
  ~LibraryCalls();

  /// Prepares all of them. A failure names what is malformed.
  Failure create(const rg_program &program);

  /// Bytes of scratch memory that every task finds enough.
  int64_t getScratchBytes() const { return scratchBytes; }

  /// The number of tasks of an instruction, and one of them.
  int64_t getNumTasks(const rg_instruction &instruction) const;
  rg_status runTask(const rg_instruction &instruction, void *const *buffers,
                    int64_t task, void *scratch) const;

private:
  std::vector<rg_gemm *> gemms;
  std::vector<rg_attention *> attentions;
  std::vector<rg_convolution *> convolutions;
  std::vector<rg_grouped_gemm *> groupedGemms;
  int64_t scratchBytes = 0;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_CPU_LIBRARYCALLS_H
