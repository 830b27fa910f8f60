//===- Passes.td - Kernels on GPUs -------------------------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In the order of the pipelines. docs/gpu.md says what is decided and why.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_KERNEL_NVPTX_PASSES
#define REGATHER_KERNEL_NVPTX_PASSES

include "mlir/Pass/PassBase.td"

def DivideStagesPass : Pass<"kernel-divide-stages", "::mlir::ModuleOp"> {
  let summary = "Divide kernels into the stages that launches compute";
  let description = [{
    Adds a `gpu.module @kernels` that holds, for each `tg.kernel` that no routine
    of a library computes, a module of its stages: a launch each, in order.
    Kernels with equal bodies share the stages of the first. A stage is a module
    with one `tg.kernel`, which says how large its tiles are to be
    (`tg.tile_bytes`), and which buffers its arguments and results are
    (`tg.buffers`): those of the kernel come first, arguments before results, and
    then the temporaries that stages hand on. Of these the module of the stages
    gives the types (`tg.temporaries`), beside the type of the kernel
    (`tg.signature`).

    Most kernels are one stage. Others are divided where tiles could not share
    the work: a reduction over most of the elements into one of parts and one
    that combines them, a scatter of many rows into a sort and sums of what
    comes to each row. What costs next to nothing is repeated in each stage that
    reads it.

    Precondition: sizes are static.

    Postcondition: kernels are left as they are. One with nodes that cannot be
    lowered is an error; all are reported.
  }];
  let options = [
    Option<"tileBytes", "tile-bytes", "int64_t", /*default=*/"32 * 1024",
           "About how many bytes a tile touches, so that the threads of a block "
           "have a few accesses each">,
    Option<"minPieceBytes", "min-piece-bytes", "int64_t", /*default=*/"128",
           "Fewest consecutive bytes of a tile that is tiled along an inner "
           "dimension: an access of a warp">,
    Option<"elastic", "elastic", "bool", /*default=*/"false",
           "Divide reductions by what they reduce alone, so that their bits do "
           "not depend on the number of rows">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::gpu::GPUDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"numKernels", "num-kernels", "Number of kernels">,
    Statistic<"numStages", "num-stages", "Number of stages">
  ];
}

def OutlineLaunchesPass
    : Pass<"kernel-outline-launches", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Turn the stages of kernels into functions of a GPU";
  let description = [{
    Replaces each module of stages, whose stages are functions on buffers by now
    (`kernel-tile` to `kernel-expand-copies`), by a `gpu.func` for each stage.
    A block of threads computes a tile. The functions of one kernel take the
    same arguments: the kernel's arguments and results, and device memory where
    temporaries or the scratch memory of tiles lie in it (`tg.scratch_bytes`).
    Scratch memory of up to 32 KiB is static shared memory, of up to 144 KiB
    what the launch asks for (`tg.dynamic_shared_bytes`). If all tiles together
    need more than 128 MiB of device memory, fewer blocks are launched and each
    computes several tiles.

    `known_grid_size` and `known_block_size` say how a function is launched: with
    as many threads as its operations can make use of.

    Postcondition: the functions hold structured operations between buffers that
    one thread would carry out (`kernel-distribute-threads`).
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::scf::SCFDialect"
  ];
  let statistics = [
    Statistic<"numLaunches", "num-launches", "Number of functions">
  ];
}

def DistributeThreadsPass
    : Pass<"kernel-distribute-threads", "::mlir::gpu::GPUFuncOp"> {
  let summary = "Share operations among the threads of a block";
  let description = [{
    Replaces each linalg operation by loops over the part of it that a thread
    computes, one of several schedules that its loops decide: pointwise
    operations access 16 bytes at a time where shapes and addresses allow it,
    reductions combine partial results of lanes, warps or the block in an order
    that their shapes decide, transposes pass through shared memory. All threads
    run the control flow, views and numbers of the function; one of them stores
    single elements. Barriers separate an operation from those before it that
    touch the same memory.

    A function that does not say its `known_block_size`, and an operation that
    cannot be shared, is an error. A function that knows the number of its thread
    already is left alone.
  }];
  let options = [
    Option<"elastic", "elastic", "bool", /*default=*/"false",
           "Choose the order of reductions by what they reduce alone, not by "
           "the addresses of rows">
  ];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect"
  ];
}

def UseIntrinsicsPass
    : Pass<"kernel-use-intrinsics", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Call intrinsics of LLVM for functions of numbers";
  let description = [{
    Replaces functions of f32 and f64 that are one instruction, or that LLVM
    expands to the same operations for all targets, by intrinsics: `math.absf`,
    `ceil`, `copysign`, `floor`, `fma`, `roundeven`, `sqrt` and `trunc`.
    `math.absi` and `math.rsqrt` become arithmetic, as on CPUs. What is left is
    called in libdevice.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect"
  ];
}

def EmitPtxPass : Pass<"kernel-emit-ptx", "::mlir::ModuleOp"> {
  let summary = "Compile modules of NVVM functions to PTX";
  let description = [{
    Replaces each `gpu.module` by a `gpu.binary` of the same name whose object
    is the PTX of the functions, as text, with an NVVM target that says for
    which architecture it is. Names of all but the entries begin with that of the
    module.

    Precondition: the functions are in the LLVM and NVVM dialects
    (`kernel-to-nvvm`).

    Postcondition: no `gpu.module` is left, and the PTX calls only what it
    defines. Functions that are not defined, in libdevice neither, are an error
    that lists all of them.
  }];
  let options = [
    Option<"architecture", "architecture", "std::string", "\"sm_80\"",
           "Architecture to compile for: sm_80, sm_90a or sm_100a">,
    Option<"libdevice", "libdevice", "std::string", "\"\"",
           "Path of NVIDIA's libdevice; none is linked without it">
  ];
  let dependentDialects = [
    "::mlir::gpu::GPUDialect", "::mlir::NVVM::NVVMDialect"
  ];
  let statistics = [
    Statistic<"numModules", "num-modules", "Number of modules compiled">
  ];
}

#endif // REGATHER_KERNEL_NVPTX_PASSES
