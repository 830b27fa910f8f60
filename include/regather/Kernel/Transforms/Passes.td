//===- Passes.td - From kernels to loops between buffers ---*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In the order of the pipelines. Kernels of a step are merged before memory is
// planned. To be compiled, a kernel is first tiled, and is then one
// function on tensors between buffers; what is fused and in which type each
// operation computes depends on the kernel alone, so that all targets give the
// same bits to what they compute element by element.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_KERNEL_TRANSFORMS_PASSES
#define REGATHER_KERNEL_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def MergeElementwisePass
    : Pass<"kernel-merge-elementwise", "::mlir::ModuleOp"> {
  let summary = "Make one operation of a kernel of elementwise ones";
  let description = [{
    Makes one `linalg.generic` of each `tg.kernel` that has several elementwise
    operations over one shape, nodes or generic ones, and nothing else but
    constants. Each element of an argument is then read once, for all results,
    before any of them is written. So a result may lie in the place of an
    argument that several operations read (`tg::getInPlacePairs`), which
    exec-plan-memory uses: gradients of a gated layer take the places of what
    they are computed from.

    Kernels with other operations, or with a result that is an argument, stay
    as they are. No bit changes.

    Precondition: none. Launches of kernels need not change.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"numMerged", "num-merged", "Number of kernels that became one operation">
  ];
}

def TilePass : Pass<"kernel-tile", "::mlir::ModuleOp"> {
  let summary = "Turn kernels into functions that loop over tiles";
  let description = [{
    Replaces each `tg.kernel` by a function of the same name that computes the
    tiles [begin, end) of it:

    ```
    func.func @kernel(arguments..., results..., %begin, %end)
    ```

    Arguments and results are buffers. A tile is the kernel for some of its
    rows, on tensors that are read from and written to views of the buffers;
    the number of tiles is `tg.num_tiles`. Where the rows are follows from the
    operations, or is said by `tg.rows` on arguments and results. Tiles can be
    computed in any order, and the numbers that they give do not depend on their
    size. A row that is too large is tiled along a second dimension, and so on.
    The last tile has a body of its own if it is smaller than the others.

    A kernel may say with `tg.tile_bytes` how large its own tiles are to be, and
    its other attributes whose names begin with `tg.` are kept on the function.

    Precondition: sizes are static, and nothing refers to the kernels.

    Postcondition: no `tg.kernel` is left. A kernel that has no rows, or in
    which rows depend on each other, is one tile.
  }];
  let options = [
    Option<"tileBytes", "tile-bytes", "int64_t", /*default=*/"64 * 1024",
           "About how many bytes a tile touches">,
    Option<"minPieceBytes", "min-piece-bytes", "int64_t", /*default=*/"512",
           "Fewest consecutive bytes of a tile that is tiled along an inner "
           "dimension">,
    Option<"minCrossPieceBytes", "min-cross-piece-bytes", "int64_t",
           /*default=*/"64",
           "The same of tensors that are small beside others, and in kernels "
           "that transpose">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::bufferization::BufferizationDialect",
    "::mlir::func::FuncDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"numKernels", "num-kernels", "Number of kernels">,
    Statistic<"numTiled", "num-tiled", "Number of kernels of several tiles">
  ];
}

def SelectSingleScattersPass
    : Pass<"kernel-select-single-scatters", "::mlir::func::FuncOp"> {
  let summary = "Write scatters of one row as selections";
  let description = [{
    Rewrites a loop that scatters one row, such as what a tile of rows has of
    one index for each row, as a selection: every element is the new one or the
    old one. Such an operation can be fused as what is computed element by
    element is, and needs no copy of the tensor. An index that is out of bounds
    becomes a `cf.assert` that fails.

    Loops that scatter several rows are left alone.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"numSelected", "num-selected", "Number of scatters rewritten">
  ];
}

def ExpandClassesPass
    : Pass<"kernel-expand-classes", "::mlir::func::FuncOp"> {
  let summary = "Write classes of numbers as comparisons";
  let description = [{
    Writes the classes of numbers that have no lowering to LLVM (`math.isinf`,
    `math.isnormal`) as comparisons of the magnitude. `math.isnan` and
    `math.isfinite` have one and are left alone.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"
  ];
  let statistics = [
    Statistic<"numExpanded", "num-expanded", "Number of operations rewritten">
  ];
}

def DecomposePass : Pass<"kernel-decompose", "::mlir::func::FuncOp"> {
  let summary = "Write operations on tensors as those that can be fused";
  let description = [{
    Rewrites what neither fusion nor bufferization knows in terms of what they
    know: aggregated operations such as `linalg.softmax` by their own
    decomposition, `tensor.concat` as insertions of slices, and
    `linalg.broadcast`, `linalg.map`, `linalg.reduce` and `linalg.transpose` as
    `linalg.generic`. The stride of a slice of one element becomes 1: another
    one crashes passes of MLIR 22 on views that drop the dimension.

    Other named operations, such as `linalg.matmul`, are left alone. An
    aggregated operation of anything but tensors of floats is an error.
  }];
  let dependentDialects = [
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"numDecomposed", "num-decomposed",
              "Number of aggregated operations">,
    Statistic<"numGeneralized", "num-generalized",
              "Number of named operations that became generic ones">
  ];
}

def InlineGathersPass
    : Pass<"kernel-inline-gathers", "::mlir::func::FuncOp"> {
  let summary = "Compute elements where a gather reads them";
  let description = [{
    Replaces each `tensor.extract` in the body of a linalg operation from what
    is computed element by element in the same block, or is a view, by the
    computation of that element: what elementwise fusion does for operands, for
    places that are computed. It does so if nothing else needs the tensor or its
    elements are cheap, and if the operation reads no element more than once on
    average.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"numInlined", "num-inlined", "Number of extractions replaced">
  ];
}

def FuseIntoReductionsPass
    : Pass<"kernel-fuse-into-reductions", "::mlir::func::FuncOp"> {
  let summary = "Compute what has no element for each step in reductions";
  let description = [{
    A reduction needs an operand with an element for each step of its loops, as
    elementwise fusion would otherwise leave it without the sizes of its loops.
    Where all that it reads is spread by cheap operations, one operand that
    covers the loops is added and the spreading is fused into the reduction.
    Reductions with such an operand are left alone.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
  let statistics = [
    Statistic<"numFused", "num-fused", "Number of producers fused">
  ];
}

def FuseElementwisePass
    : Pass<"kernel-fuse-elementwise", "::mlir::func::FuncOp"> {
  let summary = "Fuse elementwise operations into what reads them";
  let description = [{
    Computes each element that is read once, or that costs a few operations,
    where it is read. Operands that read the same elements become one, constants
    move into bodies, and operands that nothing reads are dropped. An operation
    that repeats others repeats a bounded number of operations in all, so that
    a chain of values which are each read twice grows linearly.

    Precondition: operations are elementwise generic ones, or reductions.
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::linalg::LinalgDialect"
  ];
  let statistics = [
    Statistic<"numFused", "num-fused", "Number of producers fused">
  ];
}

def GeneralizeContractionsPass
    : Pass<"kernel-generalize-contractions", "::mlir::func::FuncOp"> {
  let summary = "Give contractions of narrow floats a body";
  let description = [{
    Writes named contractions, such as `linalg.matmul`, that read or write
    floats of less than 32 bits as `linalg.generic`. The passes that follow
    compute in f32 and write conversions out, in the body; the body of a named
    contraction is fixed, and it may hold a product and a sum only.

    Contractions of wider types are left alone.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
  let statistics = [
    Statistic<"numGeneralized", "num-generalized",
              "Number of contractions that became generic operations">
  ];
}

def ExpandIntegerConversionsPass
    : Pass<"kernel-expand-integer-conversions", "::mlir::func::FuncOp"> {
  let summary = "Round integers to 16-bit floats once";
  let description = [{
    Writes conversions of integers of 32 and 64 bits to bf16 and f16 so that
    they round once: by way of f64 and an f32 that is rounded to odd. The usual
    way over f32 would round twice. Narrower integers are exact in f32 and are
    left alone. Runs on scalars, before 16-bit floats become f32.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"
  ];
  let statistics = [
    Statistic<"numExpanded", "num-expanded", "Number of conversions rewritten">
  ];
}

def RemoveFastMathPass
    : Pass<"kernel-remove-fast-math", "::mlir::func::FuncOp"> {
  let summary = "Remove fast-math flags";
  let description = [{
    Fast-math flags permit results that depend on the shape of a loop, and every
    engine must give the same bits: all such flags of operations of `arith` and
    `math` are removed. Flags of other kinds, such as what integer arithmetic may
    assume of an overflow, are left alone.
  }];
  let statistics = [
    Statistic<"numRemoved", "num-removed", "Number of operations with flags">
  ];
}

def KeepLoopBuffersPass
    : Pass<"kernel-keep-loop-buffers", "::mlir::func::FuncOp"> {
  let summary = "Write what a loop carries into one buffer";
  let description = [{
    Makes each tensor that an `scf.for` yields an update of the one that it
    carries: what is computed anew is copied into it, so that bufferization
    needs one buffer for all iterations. Values that change places do so by way
    of a copy. Updates of the carried tensor, and numbers, are left alone.
  }];
  let dependentDialects = [
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"numCopies", "num-copies", "Number of copies made">
  ];
}

def ComputeInResultsPass
    : Pass<"kernel-compute-in-results", "::mlir::ModuleOp"> {
  let summary = "Compute results where they belong";
  let description = [{
    Lets operations whose value ends in a result start from that result instead
    of an empty tensor, as `eliminate-empty-tensors` does, but only where
    nothing else reads or overwrites the memory on the way. Each operation first
    gets an empty or filled tensor of its own to start from.
  }];
  let dependentDialects = [
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"numReplaced", "num-replaced",
              "Number of empty tensors replaced by where their value ends">
  ];
}

def ExpandFloatConversionsPass
    : Pass<"kernel-expand-float-conversions", "::mlir::func::FuncOp"> {
  let summary = "Write conversions of floats so that they round once";
  let description = [{
    Expands divisions that round up or down, conversions from f64 to bf16 and to
    floats of one byte, which would round twice, and all conversions of floats
    of one byte. Without `native-bf16`, conversions to and from bf16 become
    integer arithmetic: the instructions of some CPUs flush subnormals, and the
    compiler's helper is not in every libgcc.
  }];
  let options = [
    Option<"nativeBFloat16", "native-bf16", "bool", /*default=*/"false",
           "Leave conversions between bf16 and f32 to the target">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"
  ];
  let statistics = [
    Statistic<"numExpanded", "num-expanded",
              "Number of operations rewritten, steps in between among them">
  ];
}

def PlaceScratchPass : Pass<"kernel-place-scratch", "::mlir::func::FuncOp"> {
  let summary = "Place what a function allocates in scratch memory";
  let description = [{
    Replaces each `memref.alloc` by a view of scratch memory, which the caller
    hands over: one argument is added for each region, and no two regions
    overlap. `tg.tile_scratch_offsets` says where the regions lie, in the order of
    the arguments, and `tg.tile_scratch_bytes` how much there is in all; offsets are
    multiples of 64. If all buffers together take more than
    `max-separate-bytes`, those that are not in use at the same time share a
    region; else each has one, so that the compiler sees that they are apart.

    A buffer whose size or lifetime is not known is an error. A function that
    allocates nothing is left alone.
  }];
  let options = [
    Option<"maxSeparateBytes", "max-separate-bytes", "uint64_t",
           /*default=*/"1 << 20",
           "Bytes of all buffers up to which none shares memory with another">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"
  ];
  let statistics = [
    Statistic<"numBuffers", "num-buffers", "Number of buffers placed">,
    Statistic<"numRegions", "num-regions", "Number of regions">
  ];
}

def CheckBoundsPass : Pass<"kernel-check-bounds", "::mlir::func::FuncOp"> {
  let summary = "Check indices that data decides";
  let description = [{
    Checks the indices of loads, stores and views that are not known: one that
    is out of bounds is reported, and replaced by 0. A `cf.assert`, which checks
    an index that nothing is read or written at, becomes a report. Indices of
    linalg operations, which follow from shapes, and of the tiles of a kernel
    are not looked at.

    `report=status` makes the function return an i32: 0, or 1 if an index was
    out of bounds. `report=trap` stops the kernel where that happens.

    Precondition: the function returns nothing and has one block.
  }];
  let options = [
    Option<"report", "report", "BoundsReport",
           /*default=*/"BoundsReport::Status", "What is done",
           [{::llvm::cl::values(
             clEnumValN(BoundsReport::Status, "status",
                        "Return 1 instead of 0 (default)"),
             clEnumValN(BoundsReport::Trap, "trap", "Stop the kernel"))}]>
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"
  ];
  let statistics = [
    Statistic<"numChecks", "num-checks", "Number of checks added">
  ];
}

def ExpandCopiesPass : Pass<"kernel-expand-copies", "::mlir::func::FuncOp"> {
  let summary = "Write copies of buffers as loops";
  let description = [{
    Turns each `memref.copy` into a `linalg.generic`: the lowering of a copy of
    views to LLVM would call a function of MLIR's runner library, and threads
    share loops. A copy of a buffer to itself is what is left where a result was
    computed where it belongs: LLVM removes its loop, but the barriers between
    threads would stay, so that GPUs drop it here.
  }];
  let options = [
    Option<"dropSelfCopies", "drop-self-copies", "bool", /*default=*/"false",
           "Drop copies of a buffer to itself">
  ];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
  let statistics = [
    Statistic<"numCopies", "num-copies", "Number of copies expanded">
  ];
}

#endif // REGATHER_KERNEL_TRANSFORMS_PASSES
