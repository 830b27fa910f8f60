//===- Passes.td - Kernels on CPUs -------------------------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_KERNEL_CPU_PASSES
#define REGATHER_KERNEL_CPU_PASSES

include "mlir/Pass/PassBase.td"

def CollapseLoopsPass
    : Pass<"kernel-collapse-loops", "::mlir::func::FuncOp"> {
  let summary = "Run over contiguous dimensions in one loop";
  let description = [{
    Makes one loop of neighbouring parallel loops of a structured operation on
    buffers where all operands have the dimensions of both one behind the other
    in memory, or neither. An innermost loop of 3 or 7 steps, as over the window
    of a convolution, is too short for vectors. No sum changes its order.

    Operations that use the number of a step are left alone.
  }];
  let dependentDialects = [
    "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect"
  ];
  let statistics = [
    Statistic<"numCollapsed", "num-collapsed", "Number of operations">
  ];
}

def KeepShortLoopsPass
    : Pass<"kernel-keep-short-loops", "::mlir::func::FuncOp"> {
  let summary = "Keep LLVM from unrolling what is to become a vector";
  let description = [{
    Marks innermost loops of 8 to 64 steps over consecutive elements, which LLVM
    would replace by a copy of the body for each step, before it looks for
    vectors. It would then find them in a loop further out, whose steps read and
    write elements far apart.

    Loops that carry values, or whose steps access other elements than the next
    one or the same one, are left alone. No value changes.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let statistics = [
    Statistic<"numKept", "num-kept", "Number of loops">
  ];
}

def LowerLaneReductionsPass
    : Pass<"kernel-lower-lane-reductions", "::mlir::func::FuncOp"> {
  let summary = "Write reductions in lanes as loops";
  let description = [{
    Replaces structured operations on buffers that reduce in lanes by loops: 32
    partial results, to which the terms go in turn, are combined by a fixed
    tree, so that the order of a sum is a function of its length alone. The
    lanes are one vector where all that a step reads is contiguous or the same
    for all steps, else an array.

    Reductions over several dimensions, and operations that combine in another
    way, are left to `convert-linalg-to-loops`.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
  let statistics = [
    Statistic<"numReductions", "num-reductions", "Number of reductions">
  ];
}

def StoreBFloat16AsBitsPass
    : Pass<"kernel-store-bf16-as-bits", "::mlir::ModuleOp"> {
  let summary = "Give every bf16 the type i16";
  let description = [{
    Gives every bf16 of a module in the LLVM dialect the type i16. Its
    arithmetic and conversions have been expanded before; what is left moves
    bits. LLVM may move a bf16 through f32, and needs for the way back an
    instruction that flushes subnormals (AVX512-BF16), or a helper that not
    every libgcc has (`__truncsfbf2`): which one depends on the CPU.

    Precondition: no operation computes with bf16
    (`kernel-expand-float-conversions`).
  }];
  let statistics = [
    Statistic<"numResults", "num-results", "Number of results of type bf16">
  ];
}

def StoreBooleansAsBytesPass
    : Pass<"kernel-store-booleans-as-bytes", "::mlir::ModuleOp"> {
  let summary = "Load and store booleans as whole bytes";
  let description = [{
    A boolean in a buffer is a byte, 0 or 1, but LLVM makes no vector of what is
    loaded or stored as an i1: a loop that reads a mask runs element by element,
    with all that it computes. And a vector of booleans it takes for packed
    bits. Here loads give bytes that are compared with zero, and stores write
    extended booleans. No value and no byte of a buffer changes.

    Precondition: a module in the LLVM dialect, in which every vector of
    booleans that is loaded or stored is one of consecutive elements of a buffer.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let statistics = [
    Statistic<"numAccesses", "num-accesses", "Number of loads and stores">
  ];
}

#endif // REGATHER_KERNEL_CPU_PASSES
