//===- TGAttributes.td - Attributes of the tg dialect ------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_IR_TGATTRIBUTES
#define REGATHER_DIALECT_TG_IR_TGATTRIBUTES

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "regather/Dialect/TG/IR/TGBase.td"

class TG_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<TG_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

//===----------------------------------------------------------------------===//
// Phase
//===----------------------------------------------------------------------===//

def TG_Phase : I32Enum<"Phase", "Part of a training step", [
  I32EnumCase<"Forward", 0, "forward">,
  I32EnumCase<"Backward", 1, "backward">,
  I32EnumCase<"Optimizer", 2, "optimizer">
]> {
  let cppNamespace = "::regather::tg";
}

def TG_PhaseAttr : EnumAttr<TG_Dialect, TG_Phase, "phase"> {
  let summary = "part of the training step that an operation belongs to";
  let assemblyFormat = "`<` $value `>`";
}

//===----------------------------------------------------------------------===//
// Policy
//===----------------------------------------------------------------------===//

def TG_Policy : I32Enum<"Policy", "What becomes of a value that backward reads", [
  I32EnumCase<"MustSave", 0, "must_save">,
  I32EnumCase<"PreferSave", 1, "prefer_save">,
  I32EnumCase<"PreferRecompute", 2, "prefer_recompute">,
  I32EnumCase<"MustRecompute", 3, "must_recompute">,
  I32EnumCase<"Offload", 4, "offload">
]> {
  let cppNamespace = "::regather::tg";
}

def TG_PolicyAttr : TG_Attr<"Policy", "policy"> {
  let summary = "save or recompute the results of an operation for backward";
  let description = [{
    `must_save` and `must_recompute` are constraints, `prefer_save` and
    `prefer_recompute` finite costs. `offload` saves to memory of the host:
    backward reads the value itself, which `tg-offload` copies away in between.

    What `tg-apply-policy` has decided is `planned`. It counts as much as what
    the model says itself, except beside a record of an earlier partition.

    ```
    #tg.policy<must_save>
    #tg.policy<must_recompute, planned>
    ```
  }];
  let parameters = (ins "::regather::tg::Policy":$value, "bool":$planned);
  let builders = [
    AttrBuilder<(ins "::regather::tg::Policy":$value), [{
      return $_get($_ctxt, value, /*planned=*/false);
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
}

//===----------------------------------------------------------------------===//
// Host
//===----------------------------------------------------------------------===//

def TG_HostAttr : TG_Attr<"Host", "host"> {
  let summary = "memory of the host";
  let description = [{
    As the encoding of a tensor: it lies in memory of the host, where only
    `tg.fetch` reads it. As the memory space of a buffer: the same.

    ```
    tensor<64x64xf32, #tg.host>
    memref<64x64xf32, #tg.host>
    ```
  }];
}

//===----------------------------------------------------------------------===//
// Reshard
//===----------------------------------------------------------------------===//

def TG_ReshardKind : I32Enum<"ReshardKind", "What becomes of a gathered parameter after forward", [
  I32EnumCase<"Always", 0, "always">,
  I32EnumCase<"Never", 1, "never">,
  I32EnumCase<"Group", 2, "group">
]> {
  let cppNamespace = "::regather::tg";
}

def TG_ReshardAttr : TG_Attr<"Reshard", "reshard"> {
  let summary = "what becomes of a gathered parameter after forward";
  let description = [{
    `always`: it is released, and backward gathers it again. `never`: it is
    kept. `group of N`: this rank keeps its part of it over a group of N ranks,
    in which backward gathers it again.

    ```
    #tg.reshard<always>
    #tg.reshard<group of 8>
    ```
  }];
  let parameters = (ins "::regather::tg::ReshardKind":$kind, "int64_t":$ranks);
  let builders = [
    AttrBuilder<(ins "::regather::tg::ReshardKind":$kind), [{
      return $_get($_ctxt, kind, /*ranks=*/0);
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
}

//===----------------------------------------------------------------------===//
// Reduction
//===----------------------------------------------------------------------===//

def TG_Reduction : I32Enum<"Reduction", "Kind of a reducing collective", [
  I32EnumCase<"Sum", 0, "sum">,
  I32EnumCase<"Avg", 1, "avg">,
  I32EnumCase<"Max", 2, "max">
]> {
  let cppNamespace = "::regather::tg";
}

def TG_ReductionAttr : EnumAttr<TG_Dialect, TG_Reduction, "reduction"> {
  let summary = "how the contributions of the ranks are combined";
  let description = [{
    Contributions are combined in rank order 0..n-1 in the accumulation type.
    `avg` divides the sum by the number of ranks in that type.
  }];
  let assemblyFormat = "`<` $value `>`";
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

def TG_AxesAttr : TG_Attr<"Axes", "axes"> {
  let summary = "mesh axes that a collective runs over";
  let description = [{
    Axis names of one mesh, without repetition. The group of a rank is made of
    the ranks that differ from it in these axes only. Its members are counted
    row-major in the order in which the axes are listed, so `[dp, tp]` and
    `[tp, dp]` are different groups over the same ranks.

    Operations and placements write the list alone:

    ```
    [dp]        one axis
    [dp, tp]    two axes, flattened
    ```
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Builds the attribute from plain strings.
    static AxesAttr get(::mlir::MLIRContext *context,
                        ::llvm::ArrayRef<::llvm::StringRef> names);
  }];
}

//===----------------------------------------------------------------------===//
// Placement
//===----------------------------------------------------------------------===//

def TG_PlacementKind : I32Enum<"PlacementKind", "How a tensor lies over mesh axes", [
  I32EnumCase<"Shard", 0, "shard">,
  I32EnumCase<"Partial", 1, "partial">
]> {
  let cppNamespace = "::regather::tg";
}

def TG_AxisPlacementAttr : TG_Attr<"AxisPlacement", "axis_placement"> {
  let summary = "how a tensor lies over one axis or several flattened axes";
  let description = [{
    `shard D`: dimension D is cut into equal shards of ceil(size / ranks), the
    last ones padded. `partial sum`: the global value is the reduction of the
    values of all ranks.
  }];
  let parameters = (ins
    "::regather::tg::AxesAttr":$axes,
    "::regather::tg::PlacementKind":$kind,
    "int64_t":$dim,
    "::regather::tg::Reduction":$reduction
  );
  let hasCustomAssemblyFormat = 1;
}

def TG_PlacementAttr : TG_Attr<"Placement", "placement"> {
  let summary = "how a global tensor lies over a mesh";
  let description = [{
    Lists the axes over which the tensor is not replicated; the other axes of
    the mesh hold copies. `of` gives the global shape where it cannot be
    derived from the local one, that is, for uneven shards.

    ```
    #tg.placement<@mesh []>                            replicated
    #tg.placement<@mesh [[dp] = shard 0]>              sharded along dimension 0
    #tg.placement<@mesh [[dp] = shard 0] of [10, 64]>  10 rows over dp ranks
    #tg.placement<@mesh [[dp, tp] = shard 0]>          over two flattened axes
    #tg.placement<@mesh [[dp] = partial sum]>          sum over dp still to do
    ```
  }];
  let parameters = (ins
    "::mlir::FlatSymbolRefAttr":$mesh,
    OptionalArrayRefParameter<"::regather::tg::AxisPlacementAttr">:$axes,
    OptionalArrayRefParameter<"int64_t">:$globalShape
  );
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Role
//===----------------------------------------------------------------------===//

def TG_RoleKind : I32Enum<"RoleKind", "What an argument or result of a step is", [
  I32EnumCase<"Parameter", 0, "parameter">,
  I32EnumCase<"Buffer", 1, "buffer">,
  I32EnumCase<"Input", 2, "input">,
  I32EnumCase<"OptimizerState", 3, "optimizer_state">,
  I32EnumCase<"Rng", 4, "rng">,
  I32EnumCase<"LearningRate", 5, "learning_rate">,
  I32EnumCase<"Step", 6, "step">,
  I32EnumCase<"Loss", 7, "loss">,
  I32EnumCase<"Gradient", 8, "gradient">,
  I32EnumCase<"Update", 9, "update">,
  I32EnumCase<"Saved", 10, "saved">,
  I32EnumCase<"Overflow", 11, "overflow">
]> {
  let cppNamespace = "::regather::tg";
}

def TG_RoleAttr : TG_Attr<"Role", "role"> {
  let summary = "what an argument or a result of a step is";
  let description = [{
    Arguments: `parameter`, `buffer`, `input`, `optimizer_state`, `rng`,
    `learning_rate` (a `tensor<f32>`) and `step` (a `tensor<i64>`: the number of
    the step, from 1 up).
    Results: `loss`, `gradient of N`, `update of N`, where N is the number of
    an argument: a gradient belongs to a parameter; an update is the new value
    of a parameter, buffer, optimizer state or random state, which the next
    step receives as argument N; `overflow` is one `tensor<i64>` that is above zero if the step had too little room for its rows, so that its
    results are not to be used (see `tg-dispatch-rows`).
    Both: `saved`, a value that the forward part of a partitioned step hands to
    the backward part, under the same `tg.name`.

    ```
    #tg.role<parameter>
    #tg.role<update of 0>
    ```
  }];
  let parameters = (ins
    "::regather::tg::RoleKind":$kind,
    "int64_t":$argument
  );
  let builders = [
    AttrBuilder<(ins "::regather::tg::RoleKind":$kind), [{
      return $_get($_ctxt, kind, /*argument=*/-1);
    }]>
  ];
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// True for the roles that an argument can have.
    bool isForArgument() const {
      return getKind() < RoleKind::Loss || getKind() == RoleKind::Saved;
    }
    /// True for the roles that a result can have.
    bool isForResult() const { return getKind() >= RoleKind::Loss; }
    /// True for the roles of arguments that the step may replace.
    bool isForUpdate() const {
      return getKind() == RoleKind::Parameter ||
             getKind() == RoleKind::Buffer ||
             getKind() == RoleKind::OptimizerState ||
             getKind() == RoleKind::Rng;
    }
    /// True for the roles that name an argument.
    bool namesArgument() const {
      return getKind() == RoleKind::Gradient || getKind() == RoleKind::Update;
    }
  }];
}

//===----------------------------------------------------------------------===//
// Members
//===----------------------------------------------------------------------===//

def TG_MemberAttr : TG_Attr<"Member", "member"> {
  let summary = "where one tensor lies in a flat argument";
  let description = [{
    The elements of the tensor, row-major, begin at element `offset` of the
    global flat tensor. `registration` and `aliases` are what the attributes of
    these names say of an argument; a negative registration is none.
  }];
  let parameters = (ins
    "::mlir::StringAttr":$name,
    "int64_t":$offset,
    OptionalArrayRefParameter<"int64_t">:$shape,
    "int64_t":$registration,
    OptionalArrayRefParameter<"::mlir::StringAttr">:$aliases
  );
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    int64_t getNumElements() const;
    /// The first element behind the tensor.
    int64_t getEnd() const { return getOffset() + getNumElements(); }
  }];
}

def TG_MembersAttr : TG_Attr<"Members", "members"> {
  let summary = "the tensors that a flat argument holds";
  let description = [{
    Tensors of one name each, one behind the other; what lies between them, and
    behind the last one, is zero.

    ```
    #tg.members<["norm.weight" at 0 of [64] registration 0,
                 "head.bias" at 64 of [10] registration 2 aliases ["tied"]]>
    ```
  }];
  let parameters =
      (ins ArrayRefParameter<"::regather::tg::MemberAttr">:$members);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The same places, with other names.
    MembersAttr rename(
        ::llvm::function_ref<std::string(::llvm::StringRef)> newName) const;
  }];
}

//===----------------------------------------------------------------------===//
// Operand
//===----------------------------------------------------------------------===//

def TG_OperandAttr : TG_Attr<"Operand", "operand"> {
  let summary = "stands for an operand in the arguments of a node";
  let description = [{
    `#tg.operand<2>` in `args` or `kwargs` of a `tg.node` is operand 2.
  }];
  let parameters = (ins "int64_t":$index);
  let assemblyFormat = "`<` $index `>`";
}

#endif // REGATHER_DIALECT_TG_IR_TGATTRIBUTES
