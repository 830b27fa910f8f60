//===- ExecCollectiveOps.td - Collectives over buffers -----*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_EXEC_IR_EXECCOLLECTIVEOPS
#define REGATHER_DIALECT_EXEC_IR_EXECCOLLECTIVEOPS

include "regather/Dialect/Exec/IR/ExecEnums.td"
include "regather/Dialect/Exec/IR/ExecOps.td"

def Exec_CommunicatorOp : Exec_Op<"communicator", [
    Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "The groups of ranks along axes of a mesh";
  let description = [{
    The group of a rank is made of the ranks that differ from it in these axes
    only, counted row-major in the order in which the axes are listed.
  }];
  let arguments = (ins FlatSymbolRefAttr:$mesh, TG_AxesAttr:$axes);
  let results = (outs Exec_Communicator:$communicator);
  let assemblyFormat = "`on` $mesh custom<GroupAxes>($axes) attr-dict";
}

def Exec_CollectiveOp : Exec_StreamOp<"collective", [
    AttrSizedOperandSegments, MemoryEffects<[MemRead, MemWrite]>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Exchange buffers between the ranks of a group";
  let description = [{
    Starts a collective of `tg` on buffers: output i receives what member i of
    the future would hold. Which attributes are present depends on the kind:

    | kind             | attributes                      |
    |------------------|---------------------------------|
    | `all_gather`     | `dim`                           |
    | `reduce_scatter` | `dim`, `reduction`, `accumulate` |
    | `all_reduce`     | `reduction`, `accumulate`       |
    | `all_to_all`     | `split_dim`, `concat_dim`       |
    | `broadcast`      | `root`                          |
    | `permute`        | `sources`, `targets`            |

    Without `accumulate` contributions are combined in the type that
    `tg.reduce_scatter` describes. `tag` identifies the operation in the step:
    two collectives in different branches may stand for each other if their tags
    are equal. The discardable `tg.phase`, `tg.module` and `tg.id` are those of
    the step.

    An output shares no byte with another operand, with one exception: that of
    an `all_reduce` or a `broadcast` may lie in the place of its input.
  }];
  let arguments = (ins
    Exec_CollectiveKindAttr:$kind,
    Arg<Variadic<Exec_Buffer>, "", [MemRead]>:$inputs,
    Arg<Variadic<Exec_Buffer>, "", [MemWrite]>:$outputs,
    Exec_Communicator:$communicator,
    Exec_Stream:$stream,
    OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$dim,
    OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$split_dim,
    OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$concat_dim,
    OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$root,
    OptionalAttr<DenseI64ArrayAttr>:$sources,
    OptionalAttr<DenseI64ArrayAttr>:$targets,
    OptionalAttr<TG_ReductionAttr>:$reduction,
    OptionalAttr<TypeAttr>:$accumulate,
    DefaultValuedAttr<I64Attr, "0">:$tag
  );
  let assemblyFormat = [{
    custom<CollectiveKeyword>($kind) (`dim` $dim^)? (`split` $split_dim^)? (`concat` $concat_dim^)?
    (`root` $root^)? (`sources` $sources^)? (`targets` $targets^)?
    (`reduction` $reduction^)? (`accumulate` $accumulate^)?
    ` ` `(` $inputs `)` `to` ` ` `(` $outputs `)` `over` $communicator
    `stream` $stream (`tag` $tag^)? attr-dict
    `:` functional-type($inputs, $outputs)
  }];
  let hasVerifier = 1;
}

#endif // REGATHER_DIALECT_EXEC_IR_EXECCOLLECTIVEOPS
