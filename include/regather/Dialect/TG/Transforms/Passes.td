//===- Passes.td - Passes on tg ----------------------------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_PASSES
#define REGATHER_DIALECT_TG_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"
include "regather/Dialect/TG/Transforms/AttentionPasses.td"
include "regather/Dialect/TG/Transforms/HostPasses.td"
include "regather/Dialect/TG/Transforms/ShardingPasses.td"
include "regather/Dialect/TG/Transforms/VerificationPasses.td"

def AppendOptimizerPass : Pass<"tg-append-optimizer", "::mlir::ModuleOp"> {
  let summary = "Update parameters from their gradients";
  let description = [{
    Turns a step that returns gradients into one that trains: each parameter
    with a `gradient of N` and no `update of N` gets one `linalg.generic` in
    phase optimizer that computes its new value and its new states. The
    arithmetic is that of the optimizer of the same name in `torch.optim`, in f32
    (f64 for f64) with one rounding at the end. What does not depend on the
    element is computed once a step, in f64.

    Precondition: a gradient has the type of its parameter, and lies as it does
    (whole, or in shards). The step has one block, nothing calls it, and it is
    not partitioned. A flat
    parameter (`tg.members`) gets one update; its members belong to one group.

    Postcondition: new arguments hold the optimizer states, called as PyTorch
    does (`NAME.exp_avg` and `NAME.exp_avg_sq` with AdamW), which lie as the
    parameter does and are zero before the first step (the members of a flat state are
    called after those of its parameter), the `learning_rate`, and the `step`
    where the update depends on it. New results are the `update of N` of
    parameters and states. Gradients are dropped from the results unless
    `keep-gradients`. What exists keeps its order, collectives above all.

    A parameter is updated right behind the operation that makes its gradient.
    With `max-norm`, gradients are first multiplied by
    min(1, max-norm / (norm + 1e-6)), where the norm is that of all of them
    together, and updates come last. Squares are added in f64, without padding,
    in the order in which the model registers its parameters. There is one
    scalar `tg.all_reduce` for each set of axes over which gradients are
    sharded; what is replicated counts once.

    `groups` changes the rule for some parameters:

    ```
    groups=*norm*:weight-decay=0|embedding.*:learning-rate-scale=0.1,weight-decay=0
    ```

    A pattern is a name of the parameter (`tg.name` or one of `tg.aliases`) with
    wildcards (`*`, `?`, `[a-z]`); the first group that matches counts. Settings
    are `weight-decay`, `learning-rate-scale` and, but for SGD, `eps`. A group
    that is not the first to match any parameter is an error.

    With `gradient-sums`, a step takes over what earlier batches left: new
    arguments `NAME.gradient_sum`, which lie as the parameter does, hold sums of
    gradients in the type of the update, and `batches` counts these batches and
    that of the step. Gradients, and all that is made of them, become means over
    these batches.

    With `skip-nonfinite`, the update of a step whose loss is infinite or no
    number is what was there before. Buffers are updated all the same.

    A parameter that the step updates already is left alone, with a warning. A
    step without anything to do is left alone too, with a remark if it updates
    its parameters, and with a warning if it has parameters but no gradient.
  }];
  let options = [
    Option<"optimizer", "optimizer", "OptimizerKind",
           /*default=*/"OptimizerKind::AdamW", "Rule of the updates",
           [{::llvm::cl::values(
             clEnumValN(OptimizerKind::AdamW, "adamw", "AdamW (default)"),
             clEnumValN(OptimizerKind::Adam, "adam",
                        "Adam, whose decay is part of the gradient"),
             clEnumValN(OptimizerKind::SGD, "sgd",
                        "Gradient descent, with or without momentum"),
             clEnumValN(OptimizerKind::Adagrad, "adagrad", "Adagrad"),
             clEnumValN(OptimizerKind::RMSprop, "rmsprop", "RMSprop"),
             clEnumValN(OptimizerKind::Adamax, "adamax", "Adamax"),
             clEnumValN(OptimizerKind::Adadelta, "adadelta", "Adadelta"),
             clEnumValN(OptimizerKind::RAdam, "radam", "RAdam"))}]>,
    ListOption<"betas", "betas", "double",
               "Adam and what follows it: weights of the old averages of the "
               "gradient and its square (default 0.9,0.999)">,
    Option<"eps", "eps", "double", /*default=*/"-1",
           "Added to a denominator; -1 stands for 1e-8, 1e-10 with Adagrad and "
           "1e-6 with Adadelta">,
    Option<"weightDecay", "weight-decay", "double", /*default=*/"-1",
           "Weight decay; -1 stands for 0.01 with AdamW and 0 with others">,
    Option<"isDecoupled", "decoupled-weight-decay", "bool",
           /*default=*/"false", "RAdam: decay as AdamW has it">,
    Option<"amsgrad", "amsgrad", "bool", /*default=*/"false",
           "Adam and AdamW: divide by the largest average of squares so far">,
    Option<"maximize", "maximize", "bool", /*default=*/"false",
           "Climb instead of descending">,
    Option<"momentum", "momentum", "double", /*default=*/"0",
           "SGD and RMSprop: weight of the old momentum buffer; 0 for no "
           "buffer">,
    Option<"dampening", "dampening", "double", /*default=*/"0",
           "SGD: one minus the weight of the gradient in the buffer">,
    Option<"nesterov", "nesterov", "bool", /*default=*/"false",
           "SGD: look one step ahead">,
    Option<"alpha", "alpha", "double", /*default=*/"-1",
           "RMSprop: weight of the old average of squares; -1 stands for 0.99">,
    Option<"centered", "centered", "bool", /*default=*/"false",
           "RMSprop: divide by the root of the variance">,
    Option<"rho", "rho", "double", /*default=*/"-1",
           "Adadelta: weight of old averages; -1 stands for 0.9">,
    Option<"learningRateDecay", "lr-decay", "double", /*default=*/"0",
           "Adagrad: what the learning rate loses by a step">,
    Option<"maxNorm", "max-norm", "double", /*default=*/"0",
           "Clip gradients so that their common norm is at most this; 0 for "
           "no clipping">,
    Option<"groups", "groups", "std::string", /*default=*/"",
           "Settings for parameters whose names match a pattern">,
    Option<"stateDtype", "state-dtype", "StateType",
           /*default=*/"StateType::Update", "Element type of the states",
           [{::llvm::cl::values(
             clEnumValN(StateType::Update, "auto",
                        "f32, and f64 for an f64 parameter (default)"),
             clEnumValN(StateType::F32, "f32", "f32"),
             clEnumValN(StateType::BF16, "bf16", "bf16"))}]>,
    Option<"keepGradients", "keep-gradients", "bool", /*default=*/"false",
           "Leave the gradients among the results">,
    Option<"gradientSums", "gradient-sums", "bool", /*default=*/"false",
           "Take means with gradients of earlier batches, which are arguments">,
    Option<"skipNonfinite", "skip-nonfinite", "bool", /*default=*/"false",
           "Update nothing if the loss is infinite or no number">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"numParameters", "num-parameters",
              "Number of parameters that got an update">,
    Statistic<"numStates", "num-states", "Number of states added">
  ];
}

defvar policyPlans = [{::llvm::cl::values(
             clEnumValN(PolicyPlan::None, "none", "Mark nothing (default)"),
             clEnumValN(PolicyPlan::Full, "full", "Recompute units"),
             clEnumValN(PolicyPlan::Selective, "selective",
                        "Save what is slow to compute or small"))}];

def ApplyPolicyPass : Pass<"tg-apply-policy", "::mlir::ModuleOp"> {
  let summary = "Mark what to save for backward and what to recompute";
  let description = [{
    Gives the operations of forward that lie in a checkpointed unit a
    `tg.policy`. Units are repeated blocks (`layers.3`); without any, the
    outermost modules; and what `modules` names.

    - `none` marks nothing: what backward reads is saved.
    - `full` recomputes all of a unit: only its inputs are saved.
    - `selective` saves what is slow to compute or small: GEMMs, convolutions,
      attention (what a library has a routine for), reductions to less than a
      quarter, and collectives; it recomputes the rest. `save` lists operations
      to save instead, by the target of the node or the name of the operation;
      `every-second-product` recomputes every second library call.

    With `units`, the plan is for so many units alone, the first ones that
    forward runs: what they save would be kept longest. The units behind them
    have the plan `others`. Units that `modules` names do not count.

    Values that forward reads outside of the unit, such as those that go on to
    the next unit, are saved, and so are opaque values and effects, which would
    not come out the same again.

    - `budget` is a plan for the whole of forward, units or not: it marks what
      `tg-partition=mode=budget` would save and what it would recompute. It
      comes after `tg-reshard-after-forward`, which decides what parameters do
      not count.

    A mark on a collective speaks for its wait. Parameters and what is made of
    them alone, gathered or not, get no mark: `tg-reshard-after-forward` decides
    about them. A policy that is there already stays; that of a wait counts for
    its collective.

    Precondition: forward is marked as such. Postcondition: only `tg.policy`
    has changed; `tg-rematerialize` and `tg-partition` follow it. The marks are
    `planned`, because a record of an earlier partition counts more.
  }];
  let options = [
    Option<"policy", "policy", "PolicyPlan", /*default=*/"PolicyPlan::None",
           "Plan for all units", policyPlans>,
    ListOption<"modules", "modules", "std::string",
               "Module patterns with a plan of their own, such as "
               "layers.*:full,head:none">,
    Option<"units", "units", "int64_t", /*default=*/"-1",
           "How many units, from the first one on, have the plan; all without "
           "it">,
    Option<"others", "others", "PolicyPlan", /*default=*/"PolicyPlan::None",
           "Plan for the units behind the first ones", policyPlans>,
    ListOption<"save", "save", "std::string",
               "Operations that selective saves, such as aten.mm.*">,
    Option<"everySecondProduct", "every-second-product", "bool",
           /*default=*/"false",
           "Let selective recompute every second library call">,
    Option<"budget", "budget", "::regather::ByteCount", /*default=*/"-1",
           "Bytes that may be saved, such as 40GB; recompute as little as that "
           "allows">,
    Option<"cluster", "cluster", "std::string", /*default=*/"\"h100-nodes\"",
           "Name or file of the cluster whose costs the budget weighs">
  ];
  let statistics = [
    Statistic<"numSaved", "num-saved",
              "Number of operations marked as must_save">,
    Statistic<"numRecomputed", "num-recomputed",
              "Number of operations marked as must_recompute">
  ];
}

def BucketCollectivesPass : Pass<"tg-bucket-collectives", "::mlir::ModuleOp"> {
  let summary = "Let collectives of several parameters start as one";
  let description = [{
    Replaces gathers of parameters, and reductions of gradients, by variadic
    ones. Collectives can be one if they agree in kind, mesh and axes,
    dimension, phase, generation, reduction and accumulation type, and in
    `tg.policy`. Reductions must also agree in element type; gathers move bytes,
    and may differ as long as each shard is a multiple of the largest element, so
    that all of them are aligned behind each other.

    With `mode=plan`, the option `plan` says what belongs together:

    ```
    plan     = bucket { "," bucket }
    bucket   = item | list [ "each" ]
    list     = "[" element { "," element } "]"
    element  = item | list
    item     = PATTERN | "/" REGEX "/"
    ```

    Each bucket of the plan is one for each kind of collective that its
    parameters have, and lists inside of it share it. With `each`, every module
    that a pattern matches has a bucket of its own: `[layers.*] each`. A pattern
    names modules as everywhere (`layers.*` is `layers.3` with all that is in
    it, and `.` the root module without what is in it); a regular expression has
    to match the path of a module that the parameter is in. `plan=@FILE` reads
    the plan from a file, in which `#` begins a comment. It is an error if a pattern matches no module of a
    parameter that is gathered or reduced, or if two of them match the same. A
    collective whose parameters belong to several buckets is taken apart.

    What carries `tg.bucket` belongs to the bucket of this name instead, whatever
    the plan says, and whatever it gathers or reduces. Other collectives, such as
    those of tensor parallelism on activations, are left alone.

    With `mode=auto`, schedules decide, with times of `cluster`: the step is
    ordered, in a quick form of tg-schedule that keeps to 1.05 times its peak
    (or 1 MiB more), without buckets and with some of several sizes, and the
    shortest one counts; of those as short, the one that merges less. Buckets
    are filled in the order in which members are needed, or are there, up to a
    multiple of the bytes that saturate the link (`saturation`) and to
    `max-bytes`, or a fraction of that; the first gathers and the last
    reductions, which nothing hides, less. What a smaller `max-bytes` allows is tried with a larger one,
    too, as long as the step is not too long to judge all of it. Operands of one
    reduction are at most `max-compute` apart. Another choice is that of a dry
    run in the order of the step, which joins neighbours that wait.

    Members come in the order in which the model registers their parameters. A
    merged collective starts where its last operand is there, but not before its
    first member did; casts of shards move up for it. Its wait stands before
    what first reads a member, but not behind the last wait that it replaces.
    Where a member depends on another one, directly or through other buckets,
    the bucket is cut. What has effects, and control flow that communicates, is
    not crossed. Other operations move only if they have to.

    Precondition: none. Postcondition: the step computes the same values, bit
    for bit on engines that reduce in rank order. Merged collectives carry the
    name of their bucket (`tg.bucket`), and the `tg.id`s of their members,
    separated by commas. Remarks say what was merged, what stays apart, and why.
  }];
  let options = [
    Option<"mode", "mode", "BucketMode", /*default=*/"BucketMode::Plan",
           "How to choose buckets",
           [{::llvm::cl::values(
             clEnumValN(BucketMode::Auto, "auto", "As schedules tell"),
             clEnumValN(BucketMode::Plan, "plan",
                        "As the plan says (default)"))}]>,
    Option<"plan", "plan", "std::string", /*default=*/"",
           "Buckets of modules, such as [embedding],[layers.*]each,[norm,head]; "
           "or @FILE">,
    Option<"cluster", "cluster", "std::string", /*default=*/"\"h100-nodes\"",
           "mode=auto: cluster whose times count, by name or file">,
    Option<"saturation", "saturation", "double", /*default=*/"0.9",
           "mode=auto: part of the bandwidth that saturates a link">,
    Option<"maxBytes", "max-bytes", "int64_t", /*default=*/"0",
           "mode=auto: most bytes that the whole tensors of a bucket may have; 0 "
           "for those of the largest unit (see tg-shard-parameters) or, where "
           "nothing is gathered, what saturates the link">,
    Option<"maxCompute", "max-compute", "double", /*default=*/"0",
           "mode=auto: most seconds of computation between the operands of one "
           "reduction; 0 to leave that to the schedule">
  ];
  let statistics = [
    Statistic<"numBuckets", "num-buckets",
              "Number of collectives that stand for several">,
    Statistic<"numMerged", "num-merged", "Number of collectives merged">,
    Statistic<"numTakenApart", "num-taken-apart",
              "Number of collectives that belonged to several buckets">,
    Statistic<"numCuts", "num-cuts",
              "Number of buckets, or parts, cut because members depend on each "
              "other">
  ];
}

def ChunkRowsPass : Pass<"tg-chunk-rows", "::mlir::ModuleOp"> {
  let summary = "Carry out a chain over independent rows in blocks";
  let description = [{
    Logits of a large vocabulary are the largest tensors of a step, in several
    copies: as the product, as f32, as logarithms, and as their gradients. Each
    row of them is computed from one row of activations. This pass finds the
    large value of a step around which such a chain lies, from forward into
    backward, with the most bytes that need not be whole, and carries the chain out on one block of rows after the other:
    no large value of it exists whole but those that something else reads.

    The chain holds the operations that compute or read a value of at least
    half as many elements as the largest one, if their sharding rules say that
    every result has the rows as a parallel factor. Small results, such as the
    loss of each row, are put together. So is a large one that an operation
    needs whole: the gradient of the logits for that of the weight, which sums
    over rows. With `sums=whole`, no sum over rows is cut, so no bit changes, but
    for products of bf16 on CPUs, for which a library chooses the order by the
    number of rows. With `sums=blocks`, sums over the rows of large values belong
    to the chain: blocks are added up from the first to the last, in f32 at
    least. Then no logits exist whole, and the gradient of the weight has other
    bits.

    All of the chain, and what it reads of backward (the gradient of the loss,
    which is a constant), moves to forward. What only lends its type to an
    operation is replaced by zeros, as in `full_like(%loss, 1)`. A chain that
    needs a value made of all its rows is left alone, with a remark.

    `chunks` must divide the outermost dimension of the rows: the sequences of
    the batch, where products see them behind each other.

    Precondition: the step has a backward phase about which nothing has been
    decided: the pass comes before resharding and recomputation. A chain that
    begins in forward and reads a parameter that backward gathers again, by
    `tg.reshard`, is left alone, with a remark: as a part of forward, it would
    keep the parameter.

    Postcondition: the step passes `tg-verify-step` and computes the same.
    Operations on a block carry `tg.row_chunk = [number, count]`, by which
    kernels of different blocks stay apart.
  }];
  let options = [
    Option<"chunks", "chunks", "int64_t", /*default=*/"0",
           "Number of blocks; 0: the largest that divides the rows, at most "
           "16">,
    Option<"sums", "sums", "ChunkSums", /*default=*/"ChunkSums::Whole",
           "How sums over the rows are made",
           [{::llvm::cl::values(
             clEnumValN(ChunkSums::Whole, "whole",
                        "Of all rows, with the same bits (default)"),
             clEnumValN(ChunkSums::Blocks, "blocks",
                        "Of the rows of a block, added up"))}]>
  ];
  let dependentDialects = [
    "::regather::tg::TGDialect", "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"numOps", "num-ops", "Number of operations carried out in blocks">,
    Statistic<"numChunks", "num-chunks", "Number of blocks">
  ];
}

def CutBatchPass : Pass<"tg-cut-batch", "::mlir::ModuleOp"> {
  let summary = "Cut the batch of a step into micro-batches";
  let description = [{
    The step takes the same batch and gives the same results, but computes one
    micro-batch after the other, forward and backward, so that only the
    activations of one live at a time. Sums over the batch, such as gradients,
    are added up from the first micro-batch to the last, in their own type; means
    are divided at the end. A value that inputs alone decide, such as the number of targets
    that count, is computed of all rows before the first micro-batch. So
    the loss is that of the whole batch, up to rounding, whatever its weights.
    Random numbers of a row are those of the whole batch.

    Each operation is carried out on a part of the rows by the same sharding rules as
    on one rank of several. A step in which rows of one micro-batch need what
    parameters and other rows decide, such as statistics of a batch
    normalisation, is refused, with the operation.

    Precondition: one captured step, about which nothing has been decided, on
    one device; `parts` divides its batch, that of the first input.

    Postcondition: operations on a micro-batch carry its number,
    `tg.micro_batch`, slices of inputs too. What is done once for all of them has none.
    Arguments and results are as they were.
  }];
  let options = [
    Option<"parts", "parts", "int64_t", /*default=*/"1",
           "Number of micro-batches; 1: the step stays as it is">
  ];
  let dependentDialects = [
    "::regather::tg::TGDialect", "::mlir::arith::ArithDialect",
    "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"numParts", "num-parts", "Number of micro-batches">,
    Statistic<"numCombined", "num-combined",
              "Number of values combined of those of all micro-batches">
  ];
}

def FormKernelsPass : Pass<"tg-form-kernels", "::mlir::ModuleOp"> {
  let summary = "Group operations that generated code runs as one";
  let description = [{
    Replaces groups of connected operations by a `tg.launch` of a `tg.kernel`
    that holds them. Groups that compute the same, such as those of equal layers,
    share one kernel. Constants are repeated in the kernels that read them.

    What a library computes (GEMMs in f32, bf16 and f16, attention without
    dropout, convolutions) comes first and becomes a kernel with a `library_call`,
    which says what is computed, from which elements of the operands (`#tg.gemm`,
    `#tg.attention`, `#tg.convolution`). It takes over views of what it reads (transposes,
    reshapes, slices, copies), and what alone reads its result, as long as every
    bit stays that of operations that run one after the other: views again;
    additions behind the complete sum in f32, and nothing behind a rounding to
    bf16 but `relu`, which does not round; a conversion to bf16 at the end.
    Views are copied into each such kernel. In an elastic step, additions as a
    balanced tree over GEMMs of consecutive slices of two operands are one GEMM
    of segments, with the bits of separate ones; other trees stay apart, with a
    remark that says why. GEMMs and convolutions of at most
    32 x 32 x 32 multiply-adds are left to generated code.

    The node that computes all gradients of a layer norm or RMS norm becomes two
    first: the gradient of the input is computed row by row, those of weight and
    bias column by column. So does one that sums up all elements of a large
    tensor or takes their mean: sums of rows, which join what makes the elements,
    and the sum of these.

    Other members are pure: nodes, `tg.random`, and operations of `linalg`,
    `tensor`, `arith` and `math` on tensors of static shape. What only other
    libraries have routines for (`CostOpInterface`) is a kernel alone, and values
    of complex and unsigned numbers stay out. A single operation becomes a kernel
    too, unless it is a view:
    groups of views alone are left as they are, and so are views at the border
    of a group that would make it write or read the same value twice.

    All members of a group belong to one phase and one micro-batch, all or none
    of them must be recomputed, and they can be carried out row by row: by their sharding rules
    they have a parallel factor of the same size, and a member reads rows where
    another one has written them. So there are reductions over other dimensions,
    normalizations and gathers in a group, but none over its rows. The
    attribute `tg.rows` says which dimension of an argument or a result holds
    the rows; an argument that is needed whole has none. A value read in both
    ways is passed twice. Small values without rows join their only reader.

    Fewer than 16 rows of 1 MiB or more each must be divided further, to fit
    caches and to be enough for threads. So an operation that cannot, such as a
    sum over channels or a shift along the sequence, does not join a group that
    can.

    Operations are visited in program order, and merged first with what gives
    them most bytes. Then groups that read the same values become one, if these
    can go earlier by it, and are no fewer bytes than what the later group
    computes, which comes earlier. No group depends on itself through an
    operation outside; a search for such a path that takes too long counts as
    having found one. For
    each pair of neighbours that stay apart there is a remark, as for each
    neighbour that a library call does not take over.

    Precondition: none. Functions of several blocks, and regions of other
    operations, are left alone.

    Postcondition: the step computes the same values. Operations come in an
    order that is stable but for what the groups need; collectives, waits and
    operations with effects keep their order. Launches carry `tg.phase` and the
    `tg.module` that all members are in; members carry no `tg.*` attributes.
  }];
  let options = [
    Option<"maxOps", "max-ops", "unsigned", /*default=*/"64",
           "The most operations that one kernel may have">,
    Option<"maxOperands", "max-operands", "unsigned", /*default=*/"32",
           "The most values from outside that the operations of one kernel may "
           "read">
  ];
  let dependentDialects = ["::regather::tg::TGDialect"];
  let statistics = [
    Statistic<"numKernels", "num-kernels", "Number of kernels">,
    Statistic<"numLaunches", "num-launches", "Number of launches">,
    Statistic<"numLibraryLaunches", "num-library-launches",
              "Number of launches of kernels that a library has">,
    Statistic<"numSplitNorms", "num-split-norms",
              "Number of gradients of norms that became two nodes">,
    Statistic<"numSplitSums", "num-split-sums",
              "Number of sums to one number that became sums of rows">,
    Statistic<"numOps", "num-ops", "Number of operations moved to kernels">
  ];
}

def MergeGathersPass : Pass<"tg-merge-gathers", "::mlir::ModuleOp"> {
  let summary = "Gather a parameter once in each phase";
  let description = [{
    Captured graphs gather a parameter wherever a module reads it: a weight read
    twice, or tied to another one, arrives twice. Now each phase gathers it once.

    Two members of gathers are one if they gather the same value of a parameter
    over the same axes and along the same dimension, in the same phase and
    generation. The value decides, not the shape of the chain: casts and views
    of a parameter are merged first, on both sides of the gather, where they
    have equal attributes and phases. The first gather stays, its wait moves up
    to the first of both waits, and a gather of several parameters loses the
    members that are gathered before.

    The operation that stays takes over the policy of the other one if that one
    says more: `must_save`, `offload` and `must_recompute` win over preferences.
    It is an error if one must be saved and the other one recomputed.

    Precondition: none. Gathers of what is no parameter, and other collectives,
    are left alone.

    Postcondition: the step computes the same values, collectives in their order.
  }];
  let statistics = [
    Statistic<"numGathers", "num-gathers",
              "Number of gathers, by member, that another one stands for">,
    Statistic<"numOps", "num-ops",
              "Number of other operations of chains merged">
  ];
}

def PartitionPass : Pass<"tg-partition", "::mlir::ModuleOp"> {
  let summary = "Split a step into forward and backward";
  let description = [{
    Replaces the step, the only public function of the module, by two: `forward`
    computes what is marked as forward, and returns what backward needs of it;
    `backward` takes these values (role `saved`, equal names) and computes the
    rest. Both take the arguments of the step, which cost nothing to save. What
    backward needs and is not saved it computes again, as late as possible.

    - `default` saves whatever backward reads.
    - `min-cut` saves the fewest bytes: an exact minimum cut. What a library has
      a routine for, reductions to less than a quarter, and collectives are not
      computed again, unless a mark asks for it. Of several minimum cuts, it
      takes the one that recomputes least. Preferences weigh: a value marked
      `prefer_save` counts half, one marked `prefer_recompute` twice its bytes.
      With `match-pytorch`, it saves what `min_cut_rematerialization_partition`
      of PyTorch 2.13 saves of the same captured graph, by the same rules and
      weights: the cut has the same value. Duplicates are merged as there, marks
      mean what they mean there, `tg.reshard` means nothing, and operations of
      backward whose results PyTorch saves become forward. It takes the
      operations of a captured graph only.
    - `replay` saves exactly what `tg.saved_results` records, from an earlier
      partition or from the option `saved`, and consults nothing else: a second
      partition does not drift from the first.
    - `budget` saves at most `budget` bytes, and of all such choices takes the
      one that recomputes for the least time, by the cost model for `cluster`
      and up to a thousandth where the search ends (a remark names the seconds
      and their lower bound). Whatever can be computed again may be, except for
      collectives that no mark asks for; preferences do not count. Gathered
      parameters count as far as `tg.reshard` does not release them. A budget
      below the minimum is an error that names the minimum.

    In all modes `must_recompute` comes first, and then `must_save`, which saves
    all results of an operation. Where there is a record to replay, this holds
    for marks of the model, and not for those that are `planned`. Where the
    gather of a parameter is to be recomputed, so is what is made of it and has
    no mark of its own, and where what reads random bits is, so are they. Except
    for `replay`, parameters that `tg.reshard` releases after forward are not
    saved but gathered again. What would not give the same again (opaque values,
    effects) is always saved; numbers and constants never are. Operations of
    backward that nobody reads keep nothing alive.

    Precondition: forward reads no value of backward, as it does with
    micro-batches. A step without backward gets an empty one, with a remark.

    Postcondition: `regather run` computes the same, bit for bit. Operations
    whose results are saved have `tg.saved_results`; with `split=false`, this
    record, and copies in backward, are all that changes. A remark names each
    saved value, as `saved` takes it, its bytes, and the arithmetic that saving it avoids; others say
    how much is saved and computed again in all, and the value of the cut.
  }];
  let options = [
    Option<"mode", "mode", "PartitionMode", /*default=*/"PartitionMode::Default",
           "What to save",
           [{::llvm::cl::values(
             clEnumValN(PartitionMode::MinCut, "min-cut",
                        "The fewest bytes"),
             clEnumValN(PartitionMode::Default, "default",
                        "Whatever backward reads (default)"),
             clEnumValN(PartitionMode::Replay, "replay",
                        "What has been recorded"),
             clEnumValN(PartitionMode::Budget, "budget",
                        "What recomputes least, within the budget"))}]>,
    Option<"budget", "budget", "::regather::ByteCount", /*default=*/"-1",
           "Bytes that mode budget may save, such as 40GB">,
    Option<"cluster", "cluster", "std::string", /*default=*/"\"h100-nodes\"",
           "Name or file of the cluster by whose costs budget decides, and "
           "remarks give seconds">,
    Option<"matchPyTorch", "match-pytorch", "bool", /*default=*/"false",
           "With min-cut: decide by the rules and weights of PyTorch">,
    ListOption<"saved", "saved", "std::string",
               "Record to replay: ids, or id:result for one of several results">,
    Option<"split", "split", "bool", /*default=*/"true",
           "Make two functions; if not, the step stays one">
  ];
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let statistics = [
    Statistic<"numSaved", "num-saved", "Number of values saved">,
    Statistic<"savedBytes", "saved-bytes", "Bytes saved">,
    Statistic<"numRecomputed", "num-recomputed",
              "Number of operations that backward repeats">,
    Statistic<"recomputedFlops", "recomputed-flops",
              "Arithmetic operations of these">
  ];
}

def RematerializePass : Pass<"tg-rematerialize", "::mlir::ModuleOp"> {
  let summary = "Recompute in backward what is not to be saved";
  let description = [{
    Follows `must_recompute` in a step that stays one function: each marked
    value that backward reads is computed again in backward, in front of the
    first operation there that needs it, with everything that this takes and
    that is marked as `must_recompute` or `prefer_recompute`, too. What is not
    marked is saved. The original dies where forward has last read it.

    A copy of a random operation draws the numbers of the original (equal seed,
    offset and stream); without a mark, it has that of what is computed from its
    bits. A collective is copied only if it is marked as `must_recompute`
    itself; its wait follows, as do all results of an operation. What would not
    give the same again (opaque values, effects, nodes that draw numbers of their
    own) is saved, with a remark.

    What is recomputed reads parameters that are released after forward
    (`tg.reshard`) from gathers of backward, of which each is gathered once. A
    mark on the gather of a parameter holds for all that is made of the
    parameter alone and has no mark of its own: no view keeps it.

    Precondition: none; a step without marks or without a backward part is left
    alone. Postcondition: the step computes the same values, bit for bit, and
    no operation of backward reads a value of forward that must be recomputed.
    Copies have phase backward and no policy. A remark names each operation that
    has come to backward, with the bytes of its results and its arithmetic.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"numOps", "num-ops",
              "Number of operations that have come to backward">
  ];
}

def ReshardAfterForwardPass : Pass<"tg-reshard-after-forward", "::mlir::ModuleOp"> {
  let summary = "Release gathered parameters after forward";
  let description = [{
    Gives backward its own gather of each parameter, so that the one of forward
    dies where forward has last read it. The whole chain is copied: what comes
    between the argument and the gather (casts), the gather, its wait, and
    whatever is made of the gathered parameter alone (views, casts, splits and
    concatenations) up to the computations that read it. A chain with several
    ends is copied as far as backward reads them. Copies stand in front of the
    first operation of backward that needs them; they have phase backward and
    the next generation, which keeps them apart from the originals. A gather of
    several parameters is copied with the members that backward needs; a member
    of the original that only backward needs goes away.

    `mode` decides: `always`; `never`; `default`, which keeps the unit that
    forward comes to last, because backward begins with it. Units are repeated
    blocks and the modules beside them, as in `tg-shard-parameters`. `modules`
    decides for parameters of some modules. A parameter that has a `tg.reshard`
    keeps it. With `group=N`, forward keeps of a released parameter this rank's
    part over a group of N neighbours, and backward gathers in these groups
    (ZeRO++ hpZ); a mesh with the axis cut in two is declared where it takes
    one. Groups of all ranks that gather are an error; where other parameters
    are gathered by more ranks, these are gathered again as they were.

    The policies of operations do not matter, with one exception: a value in a
    chain that is marked as `must_save` or `offload` is kept, and what backward
    makes of it is copied from there on. Such a parameter counts as kept.

    Gathers of anything but a parameter, such as those of tensor parallelism,
    are left alone, and so are the parts of a step that is partitioned. What
    backward gathers already is not gathered once more.
    With micro-batches, one copy serves the backward parts of all of them.

    Postcondition: the step computes the same values, bit for bit. Each
    gathered parameter has a `tg.reshard`, which `tg-verify-step` checks: none
    that is `always` or `group` lives on from forward to backward. A remark
    names each parameter, what has become of it and why, with the bytes that
    live on in the step that results, and those that no longer do.
  }];
  let options = [
    Option<"mode", "mode", "ReshardMode", /*default=*/"ReshardMode::Default",
           "Parameters to release",
           [{::llvm::cl::values(
             clEnumValN(ReshardMode::Always, "always", "All"),
             clEnumValN(ReshardMode::Never, "never", "None"),
             clEnumValN(ReshardMode::Default, "default",
                        "All but those of the last unit (default)"))}]>,
    ListOption<"modules", "modules", "std::string",
               "Module patterns with a mode of their own, such as "
               "layers.*:always,head:never">,
    Option<"group", "group", "int64_t", /*default=*/"0",
           "Number of neighbouring ranks among which backward gathers; 0 for "
           "all that gathered in forward">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"numReleased", "num-released",
              "Number of parameters released after forward">,
    Statistic<"numKept", "num-kept", "Number of parameters kept">,
    Statistic<"numGathers", "num-gathers",
              "Number of gathers, by member, added to backward">,
    Statistic<"numOps", "num-ops",
              "Number of other operations added to backward">
  ];
}

def SchedulePass : Pass<"tg-schedule", "::mlir::ModuleOp"> {
  let summary = "Order a step so that it computes while it communicates";
  let description = [{
    Moves the operations of each step, nodes and launches of kernels alike, to
    other places, and nothing else: collectives start earlier, their waits come
    later, and what depends on neither is computed meanwhile.

    With `mode=auto`, times come from the cost model of `cluster`, and memory is
    what is live at each place. List schedules begin with the order of the step,
    or with one of little memory, in which each collective is waited for at
    once. They start collectives as early as their stream, the limit on memory
    and that on collectives in flight allow, the ones that are needed first
    first; a reduction goes before a gather that has time to spare. Where the
    device would wait, they compute something else. A local search improves the
    best of them until a lower bound is reached or its effort, which is counted,
    is spent. So the order, a function of step and options, is that of all ranks.

    With `mode=manual`, the distance is fixed, as in SimpleFSDP: gathers of
    parameters start before the wait of the one `prefetch` gathers earlier, in
    forward and backward apart; reductions of gradients are waited for before
    the next one starts. Neither times nor memory count.

    No two collectives are in flight together whose groups of ranks, over
    different axes, have more than one rank in common: a cycle of such calls
    can hang. `overlap-groups` allows it where the target says that it is safe.

    `memory-limit` is the most memory at any place, arguments of the step
    included: a number of bytes such as `40GB`, or a multiple of the peak of the
    step as it comes, such as `1.05x`. It is an error if no order is found that
    keeps to it: finding the one of least memory is hard, so the error says what the best
    order found takes, and what every order takes at least.

    Precondition: none. Steps without collectives, and functions of several
    blocks, are left alone. Regions are not looked into.

    Postcondition: the step computes the same values, bit for bit; operations
    with effects keep their order. A remark names each wait that the device
    spends time at, the milliseconds, and why they could not be hidden: the
    inputs of the collective come too late, there is too little to compute,
    memory, or other collectives on its stream. Another one has the step's time,
    exposed time and peak, how much of what some order might hide is hidden, and
    lower bounds: computation, links, the longest path, and all of them together.
  }];
  let options = [
    Option<"mode", "mode", "ScheduleMode", /*default=*/"ScheduleMode::Auto",
           "How to choose the order",
           [{::llvm::cl::values(
             clEnumValN(ScheduleMode::Auto, "auto",
                        "Take the least time that is found (default)"),
             clEnumValN(ScheduleMode::Manual, "manual",
                        "Move collectives by a fixed distance"),
             clEnumValN(ScheduleMode::None, "none", "Leave it as it is"))}]>,
    Option<"prefetch", "prefetch", "unsigned", /*default=*/"1",
           "mode=manual: number of gathers that are in flight ahead of the one "
           "that is waited for">,
    Option<"memoryLimit", "memory-limit", "std::string",
           /*default=*/"getDefaultMemoryLimit()",
           "mode=auto: most memory, in bytes, or as a multiple (x) of the peak "
           "of the step as it comes">,
    Option<"inFlight", "in-flight", "unsigned", /*default=*/"16",
           "mode=auto: most collectives in flight over one set of axes; 0 for "
           "any number">,
    Option<"cluster", "cluster", "std::string", /*default=*/"\"h100-nodes\"",
           "Cluster whose times count, by name or file">,
    Option<"effort", "effort", "unsigned", /*default=*/"100",
           "mode=auto: work of the local search for each operation; 0 for "
           "none">,
    Option<"overlapGroups", "overlap-groups", "bool", /*default=*/"false",
           "Let collectives be in flight together whose groups share ranks">
  ];
  let statistics = [
    Statistic<"numMoved", "num-moved",
              "Number of collectives and waits that changed places with "
              "another operation">,
    Statistic<"numExposed", "num-exposed",
              "Number of waits that take time, as estimated">
  ];
}

#endif // REGATHER_DIALECT_TG_TRANSFORMS_PASSES
