//===- ShardingPasses.td - Passes that shard steps ---------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDINGPASSES
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDINGPASSES

include "mlir/Pass/PassBase.td"

def ShardStepPass : Pass<"tg-shard-step", "::mlir::ModuleOp"> {
  let summary = "Cut a step over axes of a mesh by the rules of its operations";
  let description = [{
    Shards the step that `regather run` would run, the only public function of
    the module, over the axes that `axes` names, one after the other: each turns
    the step, with the collectives of those before it, into one rank's part of
    it. Tensor, sequence, context and expert parallelism are what annotations make of
    the rules of operations (`ShardingRuleOpInterface`). The other axes of the
    mesh, over which the batch is split, are for `tg-shard-parameters`, which
    comes later. A module without parameters is left alone.

    Annotations place arguments, and outputs of modules, along one axis:

    ```
    layers.*.wq=[tp] shard 0         parameters that a module pattern matches
    tokens=[cp] shard 1              an input
    output(layers.*.wo)=[tp] shard 1 what leaves modules in forward
    norm=[tp] whole                  a parameter that is not to be cut
    ```

    All else follows in the order of the step. An operation of which an operand
    is cut is carried out on parts if its rule allows it: along the factor of an
    annotated parameter, else along that for which least is sent. The other
    operands are cut, gathered, exchanged or reduced for it; sums over the
    factor stay partial as long as operations are linear in them. What needs its
    operands whole gets them, with a remark that says how many bytes are
    gathered. A parameter without an annotation, and a state of an optimizer, is
    cut as its first use on parts wants it, and whole if there is none.

    A dimension of a parameter that the ranks do not divide is cut into equal
    parts, the last ones padded with zeros. What follows from it keeps its
    padding: zero where sums may count it, -inf in front of maxima and in a
    softmax. Means over it are computed from all of it.

    Gradients and updates lie as their arguments do. Losses are whole, other
    results may leave the step cut, with a placement. All of it is exact: but
    for the order of sums, the step computes what it did before.

    Where the matrices of grouped GEMMs are cut along their experts, a rank sorts
    the rows that go to its own first, and multiplies these. Where a sort of rows
    is not cut so, but the rows are, each rank sorts its own, unless what is made
    of them needs the order of all; a remark then says which operation does.
    With `gather-experts`, ranks sort their own rows even so, and gather the
    matrices of all experts, which `tg-dispatch-rows` turns around.

    An axis called cp without annotations cuts the sequence: dimension 1 of the
    inputs that have one. One called ep cuts the experts of grouped GEMMs, whose
    number its ranks have to divide, and the batch if all ranks that share it
    then divide it. For another axis without annotations, parameters are
    placed by cost: group by group, those of equal layers alike, as the times of
    `cluster` or, without one, the bytes that are sent and kept and the
    operations of a rank become least for the whole step; from a step in which
    nothing is cut, and from one in which the sequence of what embeddings give
    is, and from what a solver has chosen. If no cut takes less time, bytes
    decide. Choices are carried out on one of equal layers. Remarks give the
    choice as annotations, what it costs, where other beginnings led, and a bound
    that is proven for a relaxation (`placement-bound`: no placements of
    parameters and outputs of embeddings cost less, as long as equal layers are
    alike). An axis over which no cut costs less splits nothing, with a warning.
    `annotated-cost` is the cost of a cut that annotations ask for.

    With `elastic-axes=tp:S`, no bit of any result depends on the number of ranks
    of tp: what it cuts has S equal segments, and every sum over them is a
    balanced tree. All that is decided is decided as if there were S ranks, a
    search included; what S does not divide is not cut. It has to be the last
    axis, for what is cut behind it would be decided by the sizes that its ranks
    leave. The step says so with `tg.model_segments`.

    Uneven parameters are padded; dimensions of inputs and of what leaves
    modules, and those that are cut by two axes, have to be divisible.

    Precondition: a function of one block with static shapes, in which nothing
    is sharded. Postcondition: the step passes `tg-verify-step`.
  }];
  let options = [
    ListOption<"mesh", "mesh", "std::string",
               "Axes and their numbers of ranks, such as dp:2,tp:4">,
    Option<"meshName", "mesh-name", "std::string", /*default=*/"\"mesh\"",
           "Name of the mesh that is declared">,
    ListOption<"axes", "axes", "std::string",
               "Axes to shard over, in this order; by default those that "
               "annotations name and those called tp, cp or ep, first those "
               "that cut inputs">,
    ListOption<"shard", "shard", "std::string",
               "Placements of parameters, inputs and outputs of modules, such "
               "as layers.*.wq=[tp] shard 0">,
    Option<"cluster", "cluster", "std::string", /*default=*/"",
           "Cluster whose times placements that nobody has fixed are chosen by, "
           "by name or file; empty: bytes and operations are counted">,
    Option<"keptLimit", "kept-limit", "int64_t", /*default=*/"0",
           "Most bytes that placements that nobody has fixed may keep on a "
           "rank, as remark placement-cost counts them: arguments, gradients, "
           "states, and what forward keeps for backward; 0: any number">,
    Option<"gatherExperts", "gather-experts", "bool", /*default=*/"false",
           "Ranks that have parts of the experts gather the matrices of all, "
           "for tg-dispatch-rows">,
    ListOption<"elasticAxes", "elastic-axes", "std::string",
               "An axis and the number of equal segments of what it cuts over "
               "which sums are trees, whatever the ranks, such as tp:4">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"numParametersSharded", "num-parameters-sharded",
              "Number of parameters sharded, counted once for each axis">,
    Statistic<"numTried", "num-tried",
              "Number of choices of placements that were carried out">,
    Statistic<"numTied", "num-tied",
              "Number of equal layers of which one was carried out for all, "
              "counted once for each search">,
    Statistic<"numCollectives", "num-collectives",
              "Number of collectives inserted">,
    Statistic<"numSplit", "num-split",
              "Number of operations carried out on parts">,
    Statistic<"numKeptWhole", "num-kept-whole",
              "Number of operations for which values were gathered">
  ];
}

def ShardParametersPass : Pass<"tg-shard-parameters", "::mlir::ModuleOp"> {
  let summary = "Turn a step on one device into one rank's part of it";
  let description = [{
    Shards the step that `regather run` would run, the only public function of
    the module, over a new mesh. A module without parameters is left alone.

    Precondition: a function of one block with static shapes, in which no
    argument is sharded yet, but for the axes `model-axes` of the same mesh,
    over which `tg-shard-step` has sharded it, and a batch (dimension 0 of the first input) that
    the ranks divide, unless it is one rank's.

    With `batch=global`, the batch is split over all data axes: inputs whose
    dimension 0 is the batch become the rank's part; other inputs, buffers and
    random state stay whole. Every operation is carried out on parts if its
    sharding rule (`ShardingRuleOpInterface`) allows it, and on whole values if
    not, with the collectives that this takes; a rank sorts the rows of its own
    part if each is computed from its own, as experts do. This is exact: a mean over tokens
    that are not masked counts those of all ranks. Losses and updates of buffers
    become whole, other results may leave the step split, with a placement.

    With `batch=per-rank`, the captured batch is that of one rank, as where FSDP
    is applied before capturing: the ranks have as many batches together, one
    behind the other. Every operation stays as it is captured, on one rank's
    batch. The loss, gradients, and updates of buffers that depend on the batch
    become means over the ranks, which is what the whole batch would give if the
    loss is a plain mean. So do other results of floating point, but those whose
    dimension 0 is the batch leave the step split. Each rank draws random
    numbers of its own: those that it would have if its batch were its part of
    the whole. The optimizer reads nothing but gradients of what depends on the
    batch. `batch=auto` is `global` if the ranks divide the batch, and
    `per-rank`, with a warning, if not.

    Parameters are sharded over the shard axis, in one of two layouts. Before
    the first use of a unit, one `tg.all_gather` for each element type puts its
    parameters together; one gather serves forward and backward (see
    `tg-reshard-after-forward`). Where the last gradient of a unit is computed,
    one `tg.reduce_scatter` leaves each rank its shards; with a replicate axis,
    a `tg.all_reduce` over that axis follows. Parameters named by `ignore` stay
    whole and their gradients are all-reduced. An optimizer in the step reads
    the shards, and its states are sharded with the parameters. Shards are rows,
    but where a model axis has cut these into parts that the shard axis does not
    divide: then they are parts of the next dimension that it does divide, or
    the parameter stays whole over it.

    With `layout=flat`, the parameters of a unit lie behind each other in one
    buffer, of which every rank holds an equal, contiguous slice. The buffer is
    one argument, whose `tg.members` say where each parameter lies, with one
    gradient. `tg.unflatten` takes the gathered buffer apart, `tg.flatten` puts
    gradients behind each other, and both can be planned away: what is gathered
    and scattered moves in place. A buffer holds parameters that an optimizer
    treats alike: of equal element types, all trained or all frozen, and either
    matrices or vectors and scalars, because weight decay is for matrices;
    parameters whose names match a pattern of `optimizer-groups` get buffers of
    their own, and those that `model-axes` cut are not in any. Parameters, and the slices of ranks, begin at multiples of
    `alignment` bytes; what lies between them is zero. A parameter that the step
    updates or returns itself has an argument of its own.

    What an axis of `copy-axes`, which has cut the step before, leaves whole is
    shared by its ranks as well: parameters in flat buffers whose gradients are
    sums over these ranks, and frozen ones. They are gathered, and their gradients
    reduced and scattered, over the shard axis and those axes together, and what
    summed over these before is taken out. With a batch for each rank, the sum
    over these axes is their number of ranks times the mean over all. Without a
    shard axis they are shared by these ranks alone.

    With `layout=per-parameter`, each parameter is cut into shards of
    ceil(size / ranks) rows, and scalars stay whole. The bits of losses and
    gradients do not depend on the layout.

    Units: the modules that `units` names, what none of them claims being the
    root's; with `units=none` each parameter on its own. By default, repeated
    blocks (`layers.3`), each module beside them, and as one unit those that
    are first used after all blocks: final norm and head.

    Element types: casts of a parameter that all its uses share move before the
    gather. `compute-dtype` is what is gathered, `parameter-dtype` what the
    argument and its gradient hold, `reduce-dtype` what gradients are reduced in.

    With `micro-batches=k` the inputs hold k batches, one after the other along
    dimension 0. Loss and gradients are means over them, buffers go from one to
    the next; parameters are gathered once, and gradients reduced once.
    Operations carry the number of their batch, `tg.micro_batch`. Inputs
    are gathered, because the rows that a rank holds are not those of its part
    of each batch, unless its batches are its own. There is no optimizer yet.

    With `elastic=S`, every sum over the batch is a balanced tree over S equal
    segments of the global batch, so that no bit of any result depends on the
    number of ranks: a power of two that divides S, or S. Operations that reduce
    the batch are carried out on one segment after the other, and combined as
    soon as they can be; the ranks combine their sums as a tree, too, by
    `tg.all_to_all` or `tg.all_gather` and additions of their own. The step
    says so with `tg.elastic`, and with `tg.model_segments` over which axes of
    `model-axes` it was cut before: their sums stay as they are.

    Postcondition: the step passes `tg-verify-step`. On a mesh of one rank it
    computes, bit for bit, what it did before, unless it is elastic.
  }];
  let options = [
    ListOption<"mesh", "mesh", "std::string",
               "Axes and their numbers of ranks, such as rep:2,dp:4">,
    Option<"meshName", "mesh-name", "std::string", /*default=*/"\"mesh\"",
           "Name of the mesh that is declared">,
    Option<"shardAxis", "shard-axis", "std::string", /*default=*/"",
           "Axis to shard parameters over; by default the one that does not "
           "replicate">,
    Option<"replicateAxis", "replicate-axis", "std::string", /*default=*/"",
           "Axis that splits the batch, but replicates parameters">,
    ListOption<"modelAxes", "model-axes", "std::string",
               "Axes over which the step has been sharded by tg-shard-step">,
    ListOption<"copyAxes", "copy-axes", "std::string",
               "Those of them over which parameters that they leave whole are "
               "sharded as well">,
    ListOption<"units", "units", "std::string",
               "Module patterns of what is gathered together, such as "
               "layers.*; or none">,
    ListOption<"ignore", "ignore", "std::string",
               "Patterns of parameters and modules to leave whole">,
    Option<"batch", "batch", "BatchMode", /*default=*/"BatchMode::Global",
           "Whose batch the captured step has",
           [{::llvm::cl::values(
             clEnumValN(BatchMode::Global, "global",
                        "that of all ranks, which divide it (default)"),
             clEnumValN(BatchMode::PerRank, "per-rank", "that of one rank"),
             clEnumValN(BatchMode::Auto, "auto",
                        "that of one rank if the ranks do not divide it"))}]>,
    Option<"layout", "layout", "ParameterLayout",
           /*default=*/"ParameterLayout::Flat", "How parameters are stored",
           [{::llvm::cl::values(
             clEnumValN(ParameterLayout::Flat, "flat",
                        "those of a unit behind each other in one buffer "
                        "(default)"),
             clEnumValN(ParameterLayout::PerParameter, "per-parameter",
                        "each in an argument of its own"))}]>,
    Option<"alignment", "alignment", "int64_t", /*default=*/"64",
           "Bytes that parameters in flat buffers, and shards of them, are "
           "aligned to">,
    ListOption<"optimizerGroups", "optimizer-groups", "std::string",
               "Patterns of names of parameters that get flat buffers of their "
               "own, because an optimizer treats them differently">,
    Option<"computeDtype", "compute-dtype", "std::string", /*default=*/"",
           "Element type in which parameters are gathered">,
    Option<"parameterDtype", "parameter-dtype", "std::string", /*default=*/"",
           "Element type of parameters and their gradients">,
    Option<"reduceDtype", "reduce-dtype", "std::string", /*default=*/"",
           "Element type in which gradients are reduced">,
    Option<"microBatches", "micro-batches", "int64_t", /*default=*/"1",
           "Number of batches that one step accumulates gradients over">,
    Option<"elastic", "elastic", "int64_t", /*default=*/"0",
           "Number of equal segments of the batch over which sums are trees, "
           "whatever the ranks; 0: sums are in the order of the ranks">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"
  ];
  let statistics = [
    Statistic<"numParametersSharded", "num-parameters-sharded",
              "Number of parameters sharded">,
    Statistic<"numCopiesSharded", "num-copies-sharded",
              "Number of parameters sharded over 'copy-axes', too">,
    Statistic<"numUnits", "num-units", "Number of units">,
    Statistic<"numFlatBuffers", "num-flat-buffers", "Number of flat buffers">,
    Statistic<"numCollectives", "num-collectives",
              "Number of collectives inserted">,
    Statistic<"numSplit", "num-split",
              "Number of operations carried out on parts">,
    Statistic<"numKeptWhole", "num-kept-whole",
              "Number of operations for which values were gathered">
  ];
}

def DispatchRowsPass : Pass<"tg-dispatch-rows", "::mlir::ModuleOp"> {
  let summary = "Send rows to the ranks of their experts";
  let description = [{
    Where ranks sort the rows of their own batch by expert and gather the
    matrices of all experts, turns this around: rows are sent to the ranks that
    have their expert, in one `tg.all_to_all`, multiplied there, and sent back
    in another. What is done to each row in between is done there, too, or by
    the rank that the row comes from, where less is sent for it. The gradients of
    matrices are then whole sums, which are not reduced any more. A rank sorts
    what it receives by expert, all in static shapes.

    One rank has room for `capacity` times as many rows of another as it would
    get if all experts got equally many. So no row is dropped: the step has one
    more result, of the role `overflow`, equal on all ranks, which is above
    zero if rows are missing somewhere. Results of such a step are not to be
    used; it is carried out again without this pass, or with more room.
    `tg-append-optimizer` updates nothing in it.

    With `chunks=2`, the rows of each rank are cut into as many equal parts along
    its batch, each of which is sent, multiplied and sent back by itself, so
    that a schedule computes one while another one travels. Each has room for
    its own rows, and those of all are put together where they are summed over.
    The numbers of experts are exchanged once, for all chunks.

    A row of a result has the bits that it has without this pass. Sums for the
    gradients of matrices are over the rows of an expert in the order of ranks,
    in chunks or not.

    Precondition: a step that `tg-shard-step` has cut with `gather-experts`, and
    `tg-shard-parameters` after it; `chunks` divides the rows that a rank sorts.
    Matrices that are gathered otherwise, and
    sorts whose order something else needs, are left alone, with a remark.
  }];
  let options = [
    Option<"capacity", "capacity", "double", /*default=*/"1.25",
           "Room for rows from each rank, in shares of equally many for all "
           "experts; no more than all rows of a rank are reserved">,
    Option<"chunks", "chunks", "int64_t", /*default=*/"1",
           "Equal parts of a rank's rows, each of which is exchanged and "
           "multiplied by itself; they divide the rows">,
    Option<"poison", "poison", "bool", /*default=*/"false",
           "Room without a row is no number instead of another row, so that "
           "results that depend on it show; for tests">
  ];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numDispatched", "num-dispatched",
              "Number of sorts whose rows are sent to their experts">,
    Statistic<"numKept", "num-kept",
              "Number of sorts for which all experts are gathered">
  ];
}

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDINGPASSES
