//===- Passes.td - Conversions between dialects ------------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_CONVERSION_PASSES
#define REGATHER_CONVERSION_PASSES

include "mlir/Pass/PassBase.td"

def ConvertShardToTGPass : Pass<"convert-shard-to-tg", "::mlir::ModuleOp"> {
  let summary = "Turn a partitioned module of the shard dialect into a step";
  let description = [{
    Takes what the upstream passes `sharding-propagation` and `shard-partition`
    leave: every `shard.grid` becomes a `tg.mesh` of the same name, every
    collective an asynchronous one that is waited for at once, and positions in
    the grid become `tg.axis_index`. Axes are called `axis0`, `axis1`, ...
    unless names are given. A collective belongs to the phase that its
    `tg.phase` says, else to the forward pass. A slice needs no communication,
    nor does a collective over no axes. Upstream partitions never reduce and
    scatter at once; an all-reduce whose only user slices it over the same axes
    becomes a reduce-scatter. What nobody uses is dropped.

    The upstream partition drops the shardings of arguments and results, which
    are then known as parts only. `shard-record-placements`, run before it,
    keeps them as `tg.planned_placement`; here they become `tg.placement`, so
    that the step can be run on global tensors:

    ```
    builtin.module(func.func(sharding-propagation), shard-record-placements,
                   func.func(shard-partition), convert-shard-to-tg,
                   lower-affine)
    ```

    The partition numbers devices of several axes with `affine.apply`, which
    the engines leave to `lower-affine`.

    Results that `shard` leaves undefined on some devices are defined here:
    what is gathered or reduced to a root is given to all, and a shift that
    does not rotate brings zeros. A shift by k sends from position i to i + k.
    A minimum is a maximum of numbers in reversed order.

    Precondition: sizes of grids and tensors are static. Sends, receives,
    halos, roots that the device computes, reductions other than sum, max, min
    and average, those that change the element type, and annotations that were
    not partitioned are errors. All are reported together, and then nothing is
    changed.

    Postcondition: nothing of the shard dialect is left.
  }];
  let options = [
    ListOption<"axisNames", "axis-names", "std::string",
               "Names of the axes of all grids, outermost first">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect",
    "::regather::tg::TGDialect"
  ];
  let statistics = [
    Statistic<"numCollectives", "num-collectives",
              "Number of collectives converted">
  ];
}

def ConvertTGFlatToTensorPass
    : Pass<"convert-tg-flat-to-tensor", "::mlir::ModuleOp"> {
  let summary = "Take flat tensors apart with slices";
  let description = [{
    Replaces every `tg.unflatten` by slices and reshapes, and every
    `tg.flatten` by reshapes and insertions into a new tensor, whose gaps are
    filled with zeros. Everything else is left as it is.

    Precondition: none.

    Postcondition: no `tg.unflatten` and no `tg.flatten` is left. The new
    operations carry the `tg.*` attributes and the location of the old one,
    except for `tg.saved_results`, which numbers its results.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"numConverted", "num-converted", "Number of operations converted">
  ];
}

def ConvertMathToArithPass : Pass<"convert-math-to-arith"> {
  let summary = "Write elementary functions as plain arithmetic";
  let description = [{
    Replaces `math.exp`, `math.expm1`, `math.log`, `math.log1p`, `math.erf`,
    `math.tanh`, `math.sin` and `math.cos` on f32, f16 and bf16, on scalars, vectors or tensors, by arithmetic without branches and
    tables: range reduction, a polynomial, and selections for special values.
    Loops over it vectorise, and vectors and scalars give the same bits on every
    CPU, which a library of vector functions does not do. Multiply-adds are
    explicit (`math.fma`). All other functions, and all of f64, are left to the
    library of the machine.

    Against exact results over all f32 numbers the error is below 0.9 ulp for
    exp and log, 1 ulp for erf, 1.4 ulp for tanh and expm1, 1.5 ulp for sin
    and cos, and 1.6 ulp for log1p, whatever their argument; zeros, subnormal numbers,
    infinities and NaN are as in C.

    Precondition: none.

    Postcondition: none of these functions is left on 32 bits or less.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"
  ];
}

def ExpandTGComplexNodesPass
    : Pass<"expand-tg-complex-nodes", "::mlir::ModuleOp"> {
  let summary = "Take complex nodes apart into real ones";
  let description = [{
    Replaces every node with complex operands or results by nodes of the real
    and the imaginary part. Collectives, rules of sharding and optimizers are
    for real numbers, so steps go through this before they get any. A complex
    argument or result of a function becomes one real tensor with a last
    dimension of 2, the real part first.

    Precondition: only nodes and returns use complex tensors, and each node
    calls a target that can be taken apart. Otherwise there is one error for
    each that does not, all of a function at once.
  }];
  let dependentDialects = ["::regather::tg::TGDialect"];
}

def ConvertTGNodesToLinalgPass
    : Pass<"convert-tg-nodes-to-linalg", "::mlir::ModuleOp"> {
  let summary = "Replace the nodes of a step by structured operations";
  let description = [{
    Replaces every `tg.node` by operations of `linalg`, `tensor`, `arith`,
    `math` and `scf` that compute what the target means. Collectives and all
    other operations are left as they are.

    Precondition: every node is pure, or an assertion, which is dropped, and
    calls a target that the conversion knows. Otherwise there is one error for
    each unknown target, with the number of its nodes and the place of the
    first. A known target with arguments that do not fit is an error at the
    node. Only nodes use tensors of `complex` and `ui8`.

    Complex tensors become two real ones; as arguments and results of functions,
    one real tensor with a last dimension for real and imaginary part. Tensors
    of `ui8` become ones of `i8` there, and of `i16` with the same numbers
    elsewhere.

    Postcondition: no `tg.node` is left, and all new types are static. The
    operation that computes a result carries the `tg.*` attributes of the node,
    and every new operation its location. A kernel keeps its `library_call` if a
    library still reads the body (a GEMM), and loses it otherwise (attention), so
    that code is generated.

    Numbers: pointwise arithmetic on bf16 and f16 is carried out in f32 and
    rounded once, at the end of the node; reductions and GEMMs
    accumulate in f32 for both, in f64 for f64, and in the result type for
    integers. Sorting is stable, with NaN as the largest number. Contributions
    to one element are added in row-major order of what they come from, so
    results do not depend on the schedule.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"numConverted", "num-converted", "Number of nodes converted">,
    Statistic<"numOperations", "num-operations",
              "Number of operations that took their place">
  ];
}

def ConvertTGRandomToLinalgPass
    : Pass<"convert-tg-random-to-linalg", "::mlir::ModuleOp"> {
  let summary = "Replace random bits by integer arithmetic";
  let description = [{
    Replaces every `tg.random` by one `linalg.generic` that computes each
    element from its position: the ten rounds of Philox4x32, one block for each
    element, so that the operation fuses with what uses it. Everything else is
    left as it is.

    Precondition: none.

    Postcondition: no `tg.random` is left, and every tensor has the bits that
    the description of `tg.random` says. The new operation carries the `tg.*`
    attributes and the location of the old one.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"numConverted", "num-converted", "Number of operations converted">
  ];
}

def ConvertTGToExecPass : Pass<"convert-tg-to-exec", "::mlir::ModuleOp"> {
  let summary = "Lower a step to a linear program over buffers";
  let description = [{
    Replaces the step by an `exec.program` of the same name: every tensor gets a
    buffer, compute is launched on stream 0, and collectives on streams of
    their own. Slices of the arena get no places; `exec-plan-memory` finds them.

    Precondition: calls are inlined, shapes are static, and elements are of a
    type that engines compute with. Assertions about data are dropped, as by
    `convert-tg-nodes-to-linalg`; other nodes with effects are not allowed.
    What a program cannot hold is reported together, each kind with the place of
    the first.

    - What computes and is not in a kernel yet gets a kernel of its own; equal
      ones are merged. Scalars are tensors of rank 0 there.
    - Views that move no bytes (reshapes, slices without gaps, `tg.unflatten`)
      become views of the buffer. What `tg.flatten` puts together is computed in
      its place where a kernel makes it, else copied.
    - Collectives of one group of ranks share a stream; groups take the streams
      in turn. A collective starts after everything that was issued before it on
      stream 0, so that the schedule of the step decides when; stream 0 waits
      for it where the step has `tg.wait`, or at the end of the region if nobody
      waits. An all-reduce or a broadcast whose input nobody else reads runs in
      its place.
    - `scf.if` and `scf.for` around collectives become `exec.if` and `exec.for`.
      Loop-carried values have buffers that are copied to at the end of each
      iteration. Other control flow is part of kernels.
    - Small constants become `exec.constant`; large ones of equal elements, and
      `tensor.empty`, are filled.

    Postcondition: the step is gone, and the program reads, writes and sends
    what the step did. Kernels, meshes and other functions are left as they are;
    nodes in kernels are for code generation to lower.
  }];
  let options = [
    Option<"entry", "entry", "std::string", /*default=*/"",
           "The function to lower; by default the only public one">,
    Option<"commStreams", "comm-streams", "unsigned", /*default=*/"1",
           "Number of streams that collectives may use, at least 1">
  ];
  let dependentDialects = [
    "::mlir::tensor::TensorDialect", "::regather::exec::ExecDialect",
    "::regather::tg::TGDialect"
  ];
  let statistics = [
    Statistic<"numOutlined", "num-outlined",
              "Number of operations that got a launch of their own">,
    Statistic<"numCollectives", "num-collectives",
              "Number of collectives lowered">,
    Statistic<"numInPlace", "num-in-place",
              "Number of buffers that are reduced or broadcast in place">,
    Statistic<"numTransfers", "num-transfers",
              "Number of copies between device and host lowered">
  ];
}

def ShardRecordPlacementsPass
    : Pass<"shard-record-placements", "::mlir::ModuleOp"> {
  let summary = "Keep the shardings of arguments and results";
  let description = [{
    Writes how an annotated function wants its arguments and results to lie
    over the grid as `tg.planned_placement` on them. The upstream
    `shard-partition` changes their types and drops the annotations, but keeps
    attributes; `convert-shard-to-tg` turns the plan into `tg.placement`.

    Precondition: as for `shard-partition`, every argument is used once, by a
    `shard.shard`, and what is returned is the result of one. Shards are equal;
    halos and shards of given sizes are errors. All are reported together, and
    then nothing is changed.

    Postcondition: arguments and results of rank 1 and more have a planned
    placement; the axes in it are called `axis0`, `axis1`, ...
  }];
  let dependentDialects = ["::regather::tg::TGDialect"];
  let statistics = [
    Statistic<"numRecorded", "num-recorded", "Number of placements recorded">
  ];
}

#endif // REGATHER_CONVERSION_PASSES
