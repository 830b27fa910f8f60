//===- PtxInterpreter.h - Kernels in PTX, run here --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels run from their text, so that a step runs on a machine without a GPU
// with the very instructions that a GPU would get. The part of PTX is that
// which generated kernels are written in: grids and blocks of one dimension,
// shared memory, barriers, shuffles, tensor cores, functions without barriers.
//
// The threads of a block run one after the other, each until it waits at a
// barrier or at an instruction of its warp. Accesses outside of memory, and
// threads that do not meet where they should, are errors; with a monitor, so
// are races and reads of what nothing has written. What cp.async copies is
// there when the thread has waited for it.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_STANDIN_PTX_PTXINTERPRETER_H
#define REGATHER_TEST_STANDIN_PTX_PTXINTERPRETER_H

#include "GPU/Driver/DriverApi.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace regather::runtime {

/// Computes on the bits of registers, which lie in their low end.
using PtxCompute = uint64_t (*)(uint64_t, uint64_t, uint64_t);

/// The operation of an opcode such as "add.rn.f32"; null if there is none.
PtxCompute findPtxOperation(std::string_view opcode);

/// The same for floats of 16 bits and pairs of them. Comparisons of pairs have
/// two results; that of the upper half is the operation `OPCODE.high`.
PtxCompute findPtxHalfOperation(std::string_view opcode);

/// Where shared memory begins among generic addresses, behind all memory of the
/// host.
inline constexpr uint64_t kSharedWindow = uint64_t(1) << 62;

struct PtxFunction;

/// An instruction whose operands are numbers of registers. Immediate operands
/// have registers of their own.
struct PtxInstruction {
  enum class Kind : uint8_t {
    Compute,
    /// From one register to several, and back.
    Unpack,
    Pack,
    /// From what the address says: global or shared memory.
    LoadGeneric,
    LoadGlobal,
    LoadShared,
    LoadLocal,
    StoreGeneric,
    StoreGlobal,
    StoreShared,
    StoreLocal,
    /// A product of 32 bits, plus the last operand, with carry.
    MultiplyAdd,
    Branch,
    Call,
    Return,
    Barrier,
    Shuffle,
    /// Matrices of 8 x 8, and products of 16 x 16 and 16 x 8.
    LoadMatrices,
    Multiply,
    /// From global to shared memory, later.
    Copy,
    CommitCopies,
    WaitForCopies,
    Trap
  };
  enum class ShuffleMode : uint8_t { Butterfly, Down, Up, Index };

  Kind kind = Kind::Compute;
  ShuffleMode mode = ShuffleMode::Butterfly;
  /// Of MultiplyAdd: takes the high half, adds the carry, leaves a carry.
  bool isHigh = false, addsCarry = false, setsCarry = false;
  /// Of LoadMatrices.
  bool isTransposed = false;
  /// Of Multiply: factors are f16, else bf16.
  bool isF16 = false;
  /// Runs if the predicate is not set.
  bool isNegated = false;
  /// Register of the predicate; -1 if it always runs.
  int predicate = -1;
  PtxCompute compute = nullptr;
  /// Of each element in memory; negative if what is loaded has a sign. Of packs
  /// the bits of each element.
  int bytes = 0;
  int64_t offset = 0; ///< of an address
  /// Of Copy: of the address that it reads. It is the second operand; the third
  /// is the number of bytes to read.
  int64_t sourceOffset = 0;
  /// Registers of results, of which -1 is left out, and of operands. An address
  /// is the first operand.
  std::vector<int> results, operands;
  size_t target = 0; ///< of a branch
  const PtxFunction *callee = nullptr;
};

struct PtxFunction {
  std::string name;
  std::vector<PtxInstruction> instructions;
  /// What registers hold before: immediate operands, or zero.
  std::vector<uint64_t> initial;
  /// Registers of the parameters and of results.
  std::vector<int> parameters, results;
  /// Registers of %tid.x, %ntid.x, %ctaid.x and %nctaid.x.
  int thread = 0, threads = 0, block = 0, blocks = 0;
  /// Register of the carry.
  int carry = 0;
  /// Of a thread.
  int64_t localBytes = 0;
  /// Of a block, without what launches ask for: that of all kernels of the
  /// file.
  int64_t sharedBytes = 0;
  /// What a device gives a block: the variables that the function itself names.
  int64_t staticSharedBytes = 0;
  /// The first opcode that is not known; the function cannot run then.
  std::string unknown;
};

/// A file of PTX.
struct PtxModule {
  /// Tables that it holds.
  std::vector<std::unique_ptr<std::string>> constants;
  std::map<std::string, std::unique_ptr<PtxFunction>, std::less<>> functions;
};

std::shared_ptr<const PtxModule> readPtx(std::string_view text);

class MemoryMonitor;

/// The order in which the threads of a block run between barriers. What a
/// kernel computes depends on it only if it lacks a barrier.
enum class ThreadOrder { Ascending, Descending };

struct PtxLaunch {
  int64_t blocks, threads, dynamicSharedBytes;
  /// Of 64 bits each.
  std::vector<uint64_t> parameters;
  /// Memory of the device that is not watched.
  std::vector<DeviceRange> memory;
  ThreadOrder order = ThreadOrder::Ascending;
  /// Has all memory else, and is told of each access to it and to shared
  /// memory. Null if nothing is watched.
  MemoryMonitor *monitor = nullptr;
};

/// What went wrong; empty if nothing has.
std::string runPtx(const PtxFunction &kernel, const PtxLaunch &launch);

} // namespace regather::runtime

#endif // REGATHER_TEST_STANDIN_PTX_PTXINTERPRETER_H
