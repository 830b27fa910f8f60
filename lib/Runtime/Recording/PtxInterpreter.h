//===- PtxInterpreter.h - Simple kernels in PTX, run here -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs kernels whose threads do not depend on each other, written in the part
// of PTX that the runtime's own kernels use, with the bits that a GPU gives: a
// NaN that an instruction makes, for example, is not the one that x86 makes.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_RECORDING_PTXINTERPRETER_H
#define REGATHER_LIB_RUNTIME_RECORDING_PTXINTERPRETER_H

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace regather::runtime {

/// An instruction whose operands are numbers of registers. Immediate operands
/// have registers of their own.
struct PtxInstruction {
  enum class Kind { Compute, Load, Store, Branch, Return };

  Kind kind = Kind::Compute;
  uint64_t (*compute)(uint64_t, uint64_t, uint64_t) = nullptr;
  /// Of memory, in bytes; negative if what is loaded has a sign.
  int bytes = 0;
  /// Register of the predicate; -1 if it always runs.
  int predicate = -1;
  int result = 0;
  int operands[3] = {0, 0, 0};
  size_t target = 0; ///< of a branch
};

class PtxKernel {
public:
  /// Parameters of 64 bits each.
  void run(const uint64_t *parameters, int64_t blocks, int64_t threads) const;

private:
  friend class PtxReader;

  void runThread(std::vector<uint64_t> &registers) const;

  std::vector<PtxInstruction> instructions;
  /// What registers hold before: immediate operands, or zero.
  std::vector<uint64_t> initial;
  /// Registers of the parameters, in order.
  std::vector<int> parameterRegisters;
  int thread = 0, threads = 0, block = 0, blocks = 0;
};

/// The kernels of a module that are written in that part of PTX, by name.
std::map<std::string, std::shared_ptr<const PtxKernel>>
readPtxKernels(std::string_view text);

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_RECORDING_PTXINTERPRETER_H
