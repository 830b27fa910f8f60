//===- ProgramTables.h - Programs as tables of the runtime ------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_PROGRAM_PROGRAMTABLES_H
#define REGATHER_PROGRAM_PROGRAMTABLES_H

#include "regather/Dialect/Exec/IR/Exec.h"
#include "regather/Runtime/GpuProgram.h"

#include "llvm/IR/Module.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/StringSaver.h"

#include <memory>
#include <vector>

namespace regather {

class DataEmitter;
struct GpuCode;

/// Where a program runs. Hosts have routines that devices lack: code is
/// generated for what they compute.
enum class ProgramPlace { Host, Device };

/// The tables that the runtime walks for one program. The code of kernels is
/// not part of it: whoever has it, fills it in.
class ProgramTables {
public:
  /// Translates a program whose memory is planned. Emits an error if it is not.
  static mlir::FailureOr<std::unique_ptr<ProgramTables>>
  build(exec::ProgramOp program, ProgramPlace place = ProgramPlace::Host);

  /// The tables; valid as long as this object.
  const rg_program &get();

  /// What is launched at once on GPUs.
  llvm::ArrayRef<rg_gpu_graph> getGraphs() const { return graphs; }

  /// Kernels by their number in the tables, in the order of their first launch,
  /// without those that a library computes.
  llvm::ArrayRef<tg::KernelOp> getKernels() const { return kernelOps; }

  /// Sets all of a kernel but its name. `function` may be null if the tables
  /// become constant data.
  void setKernel(unsigned kernel, rg_kernel_function function, int64_t rows,
                 int64_t grain, int64_t scratchBytes);

  /// What an instruction was translated from, for diagnostics.
  mlir::Operation *getOperation(int64_t instruction) const {
    return operations[instruction];
  }

  /// Adds the tables to `module` as constant data under the name `symbol`,
  /// which calls the function `symbols[i]` for kernel i.
  void emit(llvm::Module &module, llvm::ArrayRef<std::string> symbols,
            llvm::StringRef symbol = RG_PROGRAM_SYMBOL);

  /// Adds the tables under the name `symbol`, with the code of all kernels for
  /// each architecture.
  void emit(llvm::Module &module, llvm::ArrayRef<GpuCode> codes,
            llvm::StringRef symbol = RG_GPU_PROGRAM_SYMBOL);

private:
  friend class ProgramTranslator;
  ProgramTables() = default;

  /// Adds the header with all tables. Kernels have no function if there are
  /// none.
  llvm::GlobalVariable *emitProgram(DataEmitter &emitter,
                                    llvm::ArrayRef<llvm::Constant *> functions);

  /// Owns names and shapes.
  llvm::BumpPtrAllocator allocator;
  llvm::UniqueStringSaver strings{allocator};
  std::vector<rg_value> arguments, results;
  std::vector<rg_constant> constants;
  std::vector<rg_kernel> kernels;
  std::vector<rg_gemm_desc> gemms;
  std::vector<rg_attention_desc> attentions;
  std::vector<rg_convolution_desc> convolutions;
  std::vector<rg_grouped_gemm_desc> groupedGemms;
  std::vector<rg_axes> axes;
  std::vector<rg_collective_entry> collectives;
  std::vector<rg_slice> slices;
  std::vector<rg_instruction> instructions;
  std::vector<rg_gpu_graph> graphs;
  std::vector<tg::KernelOp> kernelOps;
  std::vector<mlir::Operation *> operations;
  rg_program program = {};
};

} // namespace regather

#endif // REGATHER_PROGRAM_PROGRAMTABLES_H
