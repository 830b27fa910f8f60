//===- TGCollectiveOps.td - Collectives --------------------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_IR_TGCOLLECTIVEOPS
#define REGATHER_DIALECT_TG_IR_TGCOLLECTIVEOPS

include "regather/Dialect/TG/IR/TGOps.td"

/// Starting a collective allocates its future: an unused one is dead, but no
/// general pass merges, hoists, speculates or sinks one, because each of these
/// would change what other ranks see. Shapes need the mesh and are therefore
/// verified as symbol uses.
class TG_CollectiveOp<string mnemonic, dag extraArguments, list<Trait> traits = []>
    : TG_Op<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<SymbolUserOpInterface>,
        DeclareOpInterfaceMethods<TG_CollectiveOpInterface,
                                  ["verifyMember", "getReceivedBytes"]>])> {
  let arguments = !con((ins
      Variadic<TG_Tensor>:$inputs,
      FlatSymbolRefAttr:$mesh,
      TG_AxesAttr:$axes), extraArguments, (ins
      TG_PhaseAttr:$phase,
      OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$generation));
  let results = (outs Res<TG_Future, "", [MemAlloc]>:$future);
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def TG_AllGatherOp : TG_CollectiveOp<"all_gather",
    (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$dim)> {
  let summary = "Concatenate the shards of all ranks of the group";
  let description = [{
    Member i of the future is the concatenation of operand i of all ranks along
    dimension `dim`, in group order. If the gathered size G is not divisible by
    the number of ranks n, every shard has ceil(G / n) elements along `dim`;
    the elements past G are padding and are never visible in the result.

    It lowers to one NCCL group call of `ncclAllGather`, or to one call on a
    flat buffer where the members lie next to each other.
  }];
  let assemblyFormat = [{
    $inputs `on` $mesh custom<GroupAxes>($axes) `dim` $dim `phase` custom<PhaseKeyword>($phase)
    (`generation` $generation^)? attr-dict
    `:` functional-type($inputs, $future)
  }];
}

def TG_ReduceScatterOp : TG_CollectiveOp<"reduce_scatter",
    (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$dim,
         TG_ReductionAttr:$reduction,
         OptionalAttr<TypeAttr>:$accumulate)> {
  let summary = "Reduce over the group and keep one shard";
  let description = [{
    Combines operand i of all ranks in rank order and gives the rank at
    position r the r-th shard along `dim`: elements r * S to (r + 1) * S - 1,
    with S = ceil(G / n). Elements past G are padding and hold zero.

    `accumulate` is the type in which contributions are combined: f32 unless
    given, f64 for f64 tensors, the element type for integers.
    It lowers to one NCCL group call of `ncclReduceScatter`.
  }];
  let assemblyFormat = [{
    custom<ReductionKeyword>($reduction) $inputs `on` $mesh custom<GroupAxes>($axes) `dim` $dim
    (`accumulate` $accumulate^)? `phase` custom<PhaseKeyword>($phase)
    (`generation` $generation^)? attr-dict
    `:` functional-type($inputs, $future)
  }];
}

def TG_AllReduceOp : TG_CollectiveOp<"all_reduce",
    (ins TG_ReductionAttr:$reduction, OptionalAttr<TypeAttr>:$accumulate)> {
  let summary = "Reduce over the group and give the result to all ranks";
  let description = [{
    Combines operand i of all ranks in rank order; every rank receives the same
    bits. `accumulate` as in `tg.reduce_scatter`.
    It lowers to one NCCL group call of `ncclAllReduce`.
  }];
  let assemblyFormat = [{
    custom<ReductionKeyword>($reduction) $inputs `on` $mesh custom<GroupAxes>($axes)
    (`accumulate` $accumulate^)? `phase` custom<PhaseKeyword>($phase)
    (`generation` $generation^)? attr-dict
    `:` functional-type($inputs, $future)
  }];
}

def TG_AllToAllOp : TG_CollectiveOp<"all_to_all",
    (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$split_dim,
         ConfinedAttr<I64Attr, [IntNonNegative]>:$concat_dim)> {
  let summary = "Move the sharding of a tensor to another dimension";
  let description = [{
    The operand is whole along `split_dim` and sharded along `concat_dim`; the
    result is sharded along `split_dim` and whole along `concat_dim`. Each rank
    cuts its operand into n pieces of ceil(D / n) along `split_dim`, sends
    piece j to the rank at position j, and concatenates what it receives in
    group order along `concat_dim`. Uneven sizes are padded as in
    `tg.all_gather` (concat) and `tg.reduce_scatter` (split).

    With equal dimensions the size must be divisible by n: piece j of rank i
    becomes piece i of rank j.
    It lowers to `ncclAlltoAll`, or to grouped sends and receives.
  }];
  let assemblyFormat = [{
    $inputs `on` $mesh custom<GroupAxes>($axes) `split` $split_dim `concat` $concat_dim
    `phase` custom<PhaseKeyword>($phase) (`generation` $generation^)? attr-dict
    `:` functional-type($inputs, $future)
  }];
}

def TG_BroadcastOp : TG_CollectiveOp<"broadcast",
    (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$root)> {
  let summary = "Give every rank the tensors of one rank";
  let description = [{
    Member i of the future is operand i of the rank at position `root` of the
    group. It lowers to `ncclBroadcast`.
  }];
  let assemblyFormat = [{
    $inputs `on` $mesh custom<GroupAxes>($axes) `root` $root
    `phase` custom<PhaseKeyword>($phase) (`generation` $generation^)? attr-dict
    `:` functional-type($inputs, $future)
  }];
}

def TG_PermuteOp : TG_CollectiveOp<"permute",
    (ins DenseI64ArrayAttr:$sources, DenseI64ArrayAttr:$targets)> {
  let summary = "Send tensors along given pairs of ranks";
  let description = [{
    The rank at position t receives operand i of the rank at position s for
    each pair `s to t`, and zeros if no pair has t as its target. A position
    occurs at most once as a source and at most once as a target.
    It lowers to grouped `ncclSend` and `ncclRecv`.
  }];
  let assemblyFormat = [{
    $inputs `on` $mesh custom<GroupAxes>($axes) `pairs` custom<Pairs>($sources, $targets)
    `phase` custom<PhaseKeyword>($phase) (`generation` $generation^)? attr-dict
    `:` functional-type($inputs, $future)
  }];
  let extraClassDeclaration = [{
    /// One rank without a pair to itself receives zeros.
    bool isIdentityOnOneRank() { return !getSources().empty(); }
  }];
}

#endif // REGATHER_DIALECT_TG_IR_TGCOLLECTIVEOPS
