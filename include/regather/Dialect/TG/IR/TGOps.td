//===- TGOps.td - Mesh, wait, node and random --------------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_IR_TGOPS
#define REGATHER_DIALECT_TG_IR_TGOPS

include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "regather/Dialect/TG/IR/TGAttributes.td"
include "regather/Dialect/TG/IR/TGBase.td"
include "regather/Dialect/TG/IR/TGInterfaces.td"
include "regather/Dialect/TG/IR/TGTypes.td"

def TG_MeshOp : TG_Op<"mesh", [Symbol]> {
  let summary = "Declare the ranks of a step as a grid with named axes";
  let description = [{
    Ranks are numbered row-major: the last axis varies fastest. The number of
    ranks is the product of the sizes.

    The operation lowers to nothing; it is read by the collectives, placements
    and tools that name it.
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    TG_AxesAttr:$axes,
    DenseI64ArrayAttr:$sizes
  );
  let assemblyFormat = [{
    $sym_name custom<MeshAxes>($axes, $sizes) attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Number of ranks of the whole mesh.
    int64_t getNumRanks();
    /// Size of the axis called `name`, or nothing if there is none.
    std::optional<int64_t> getAxisSize(::llvm::StringRef name);
    /// Number of ranks in a group over `axes`; every axis must exist.
    int64_t getGroupSize(AxesAttr axes);
    /// Position of `rank` in its group over `axes`, row-major in their order.
    int64_t getIndexInGroup(int64_t rank, AxesAttr axes);
    /// The ranks of the group of `rank` over `axes`, by position.
    ::llvm::SmallVector<int64_t> getGroup(int64_t rank, AxesAttr axes);
  }];
}

def TG_AxisIndexOp : TG_Op<"axis_index", [
    Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Position of the running rank along axes of the mesh";
  let description = [{
    Row-major in the order in which the axes are listed, from 0 up. This is the
    only operation whose result differs between ranks that were given the same
    operands. It lowers to a load from the rank's description.
  }];
  let arguments = (ins FlatSymbolRefAttr:$mesh, TG_AxesAttr:$axes);
  let results = (outs Index:$index);
  let assemblyFormat = "`on` $mesh custom<GroupAxes>($axes) attr-dict";
}

def TG_WaitOp : TG_Op<"wait", [
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "Wait until data in flight has arrived";
  let description = [{
    Blocks until the collective, or the copy between device and host, that made
    the future has completed on this rank and returns its tensors. What made the
    future must be in the same block.

    A wait reads its future: it is erased when no result is used, and is
    neither merged, hoisted nor sunk into a region by general passes.
    It lowers to a wait on the event of the communication stream.
  }];
  let arguments = (ins Arg<TG_Future, "", [MemRead]>:$future);
  let results = (outs Variadic<TG_PlacedTensor>:$tensors);
  let assemblyFormat = "$future attr-dict `:` qualified(type($future))";
  let hasVerifier = 1;
}

def TG_NodeOp : TG_Op<"node", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<ConditionallySpeculatable>,
    DeclareOpInterfaceMethods<TG_CostOpInterface, ["isLibraryCall"]>]> {
  let summary = "One call of the captured graph";
  let description = [{
    Calls `target`, an operator of the framework that the graph was captured
    from, such as `aten.mm.default`. `args` lists its positional arguments,
    `kwargs` the named ones; `#tg.operand<i>` stands for operand i, `unit` for
    none, a type for a dtype. Without `args`, the operands are the positional
    arguments.

    A node is functional. It is pure unless `effects` is present, which marks
    targets that are called for what they do, such as assertions: those are
    never erased, merged or moved.

    Targets that no table knows are legal: graph passes work on types and on
    `CostOpInterface`. Lowering reports all unknown targets together.
  }];
  let arguments = (ins
    StrAttr:$target,
    Variadic<TG_NodeValue>:$inputs,
    OptionalAttr<ArrayAttr>:$args,
    OptionalAttr<DictionaryAttr>:$kwargs,
    UnitAttr:$effects
  );
  let results = (outs Variadic<TG_NodeValue>:$outputs);
  let assemblyFormat = [{
    $target `(` $inputs `)` (`args` $args^)? (`kwargs` $kwargs^)?
    (`effects` $effects^)? attr-dict `:` functional-type($inputs, $outputs)
  }];
  let hasVerifier = 1;
}

def TG_RandomOp : TG_Op<"random", [
    Pure, DeclareOpInterfaceMethods<TG_CostOpInterface>]> {
  let summary = "Random bits from a counter-based generator";
  let description = [{
    Fills a tensor with independent, uniformly distributed bits. An element is
    a function of `seed`, `offset`, `stream`, its number and the width of its
    type alone, so that a tensor can be computed again, in part, or on another
    rank, bit for bit.

    - `seed` belongs to the run.
    - `offset` is the number of the step; its lower 32 bits count.
    - `stream` tells the random values of one step apart: two operations with
      the same stream draw the same numbers.
    - `first` is the number of the first element, 0 by default. A rank that
      holds a block of the rows of a tensor passes the number of elements
      before its block. Numbers are row-major and wrap around at 64 bits.

    The generator is Philox4x32-10 (Salmon et al., SC 2011). Its key is the
    seed, lower word first; its counter is the number of the block (64 bits),
    the stream and the offset, lower word first. A block has four words of 32
    bits: element e of type i32 is word e mod 4 of block e / 4; element e of
    type i64 is made of words 2 (e mod 2), the lower half, and
    2 (e mod 2) + 1 of block e / 2.

    It lowers to one `linalg.generic` of integer arithmetic
    (`convert-tg-random-to-linalg`).
  }];
  let arguments = (ins
    TG_RandomState:$seed,
    TG_RandomState:$offset,
    Optional<Index>:$first,
    ConfinedAttr<I64Attr, [IntNonNegative, IntMaxValue<4294967295>]>:$stream
  );
  let results = (outs TG_RandomBits:$bits);
  let assemblyFormat = [{
    $seed `,` $offset (`first` $first^)? `stream` $stream attr-dict
    `:` type($bits)
  }];
}

#endif // REGATHER_DIALECT_TG_IR_TGOPS
