//===- ExecOps.td - Programs, buffers, launches, events ----*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_EXEC_IR_EXECOPS
#define REGATHER_DIALECT_EXEC_IR_EXECOPS

include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "regather/Dialect/Exec/IR/ExecInterfaces.td"
include "regather/Dialect/Exec/IR/ExecTypes.td"
include "regather/Dialect/TG/IR/TGAttributes.td"

def Exec_Bytes : ConfinedAttr<I64Attr, [IntNonNegative]>;
def Exec_Stream : ConfinedAttr<I64Attr, [IntNonNegative]>;

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

def Exec_ProgramOp : Exec_Op<"program", [
    FunctionOpInterface, IsolatedFromAbove, SingleBlock, Symbol]> {
  let summary = "A step as a linear program";
  let description = [{
    Arguments are buffers of the caller; results are buffers that hold what the
    step computed when the program ends, in places that `exec.return` names.
    Both carry the attributes of the step (`tg.role`, `tg.name`, ...). Arguments
    may lie on the host (`#tg.host`), and so may results, which lie in such
    arguments or in the arena of the host.

    - `streams`: how many there are.
    - `arena`: bytes of memory that the program needs besides its arguments and
      constants. Absent until `exec-plan-memory` has placed the slices.
    - `lower_bound`: the most bytes of the arena that are in use at one time;
      no plan needs less.
    - `host_arena`, `host_lower_bound`: the same for memory of the host, absent
      if there is none.
    - `alignment`: of the arenas, in bytes.

    It lowers to tables that the runtime walks.
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    TypeAttrOf<FunctionType>:$function_type,
    ConfinedAttr<I64Attr, [IntPositive, IntMaxValue<256>]>:$streams,
    OptionalAttr<Exec_Bytes>:$arena,
    OptionalAttr<Exec_Bytes>:$lower_bound,
    OptionalAttr<Exec_Bytes>:$host_arena,
    OptionalAttr<Exec_Bytes>:$host_lower_bound,
    DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "64">:$alignment,
    OptionalAttr<DictArrayAttr>:$arg_attrs,
    OptionalAttr<DictArrayAttr>:$res_attrs
  );
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() {
      return getFunctionType().getInputs();
    }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() {
      return getFunctionType().getResults();
    }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    /// True if every slice has a place.
    bool isPlanned() { return getArena().has_value(); }
  }];
}

def Exec_ReturnOp : Exec_Op<"return", [
    HasParent<"ProgramOp">, MemoryEffects<[MemRead]>, ReturnLike,
    Terminator]> {
  let summary = "Wait for all streams and end the program";
  let description = [{
    The operands are where the results lie. They stay there until the program
    is run again, or the memory of an argument is used for something else.
  }];
  let arguments = (ins Variadic<Exec_PlacedBuffer>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

def Exec_SliceOp : Exec_Op<"slice"> {
  let summary = "One buffer of the arena";
  let description = [{
    Takes the bytes of the arena from `offset` on. Without an offset the buffer
    has no place yet: `exec-plan-memory` gives it one.

    Each slice is a buffer of its own, even at the place of another one. What it
    holds is undefined until the program has written it, and again after the
    program has written other slices that share bytes with it.
  }];
  let arguments = (ins OptionalAttr<Exec_Bytes>:$offset);
  let results = (outs Res<Exec_Buffer, "", [MemAlloc]>:$buffer);
  let assemblyFormat = "($offset^)? attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Exec_HostSliceOp : Exec_Op<"host_slice"> {
  let summary = "One buffer of the host's arena";
  let description = [{
    The same as `exec.slice` in memory of the host, which only `exec.transfer`
    touches.
  }];
  let arguments = (ins OptionalAttr<Exec_Bytes>:$offset);
  let results = (outs Res<Exec_HostBuffer, "", [MemAlloc]>:$buffer);
  let assemblyFormat = "($offset^)? attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Exec_DestinationOp : Exec_Op<"destination"> {
  let summary = "Memory of the caller for a result";
  let description = [{
    Who runs the program hands over memory for result `number`. The program
    returns this buffer as that result; until then it uses it like a slice. What
    it holds when the program begins is undefined.

    A result has at most one destination. Results without one lie in the arena,
    in an argument or in a constant.
  }];
  let arguments = (ins ConfinedAttr<I64Attr, [IntNonNegative]>:$number);
  let results = (outs Res<Exec_Buffer, "", [MemAlloc]>:$buffer);
  let assemblyFormat = "$number attr-dict `:` type($buffer)";
}

def Exec_ConstantOp : Exec_Op<"constant", [
    Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "A buffer whose contents are known";
  let description = [{
    The type of the buffer is that of the tensor of elements. Nothing may write
    to it.
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Exec_Buffer:$buffer);
  let assemblyFormat = "$value attr-dict";
}

def Exec_ViewOp : Exec_Op<"view", [Pure]> {
  let summary = "A part of a buffer, or the whole under another shape";
  let description = [{
    The dense buffer that begins `offset` bytes after the source. It lies within
    the source, and the offset is a multiple of the size of an element. It lies
    on the host if the source does.
  }];
  let arguments = (ins Exec_PlacedBuffer:$source, Exec_Bytes:$offset);
  let results = (outs Exec_PlacedBuffer:$buffer);
  let assemblyFormat = [{
    $source `[` $offset `]` attr-dict `:` type($source) `to` type($buffer)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Operations on streams
//===----------------------------------------------------------------------===//

/// Reads and writes of the interface, when they are single operands.
class Exec_StreamOp<string mnemonic, list<Trait> traits = []>
    : Exec_Op<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<Exec_StreamOpInterface,
                                  ["getReads", "getWrites"]>])>;

def Exec_LaunchOp : Exec_StreamOp<"launch", [
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Run a kernel";
  let description = [{
    Computes the results of a `tg.kernel` from the inputs and writes them to the
    outputs. An output shares no byte with another operand, with one exception:
    it may lie in the very place of an input if `tg::getInPlacePairs` of the
    kernel lists the two.
  }];
  let arguments = (ins
    FlatSymbolRefAttr:$kernel,
    Arg<Variadic<Exec_Buffer>, "", [MemRead]>:$inputs,
    Arg<Variadic<Exec_Buffer>, "", [MemWrite]>:$outputs,
    Exec_Stream:$stream
  );
  let assemblyFormat = [{
    $kernel `(` $inputs `)` `to` ` ` `(` $outputs `)` `stream` $stream attr-dict
    `:` functional-type($inputs, $outputs)
  }];
}

def Exec_CopyOp : Exec_StreamOp<"copy", [SameTypeOperands]> {
  let summary = "Copy a buffer";
  let description = [{
    The two have no byte in common, or are the same place.
  }];
  let arguments = (ins
    Arg<Exec_Buffer, "", [MemRead]>:$source,
    Arg<Exec_Buffer, "", [MemWrite]>:$target,
    Exec_Stream:$stream
  );
  let assemblyFormat = [{
    $source `to` $target `stream` $stream attr-dict `:` type($source)
  }];
}

def Exec_TransferOp : Exec_StreamOp<"transfer"> {
  let summary = "Copy a buffer between device and host";
  let description = [{
    One of the two lies on the host and the other on the device; their shapes
    and element types are equal. It runs on a stream of its own direction, beside
    computation and communication.
  }];
  let arguments = (ins
    Arg<Exec_PlacedBuffer, "", [MemRead]>:$source,
    Arg<Exec_PlacedBuffer, "", [MemWrite]>:$target,
    Exec_Stream:$stream
  );
  let assemblyFormat = [{
    $source `to` $target `stream` $stream attr-dict
    `:` type($source) `to` type($target)
  }];
  let hasVerifier = 1;
}

def Exec_FillOp : Exec_StreamOp<"fill", [
    TypesMatchWith<"value has the element type of the buffer", "target",
                   "value",
                   "::llvm::cast<::mlir::MemRefType>($_self).getElementType()">]> {
  let summary = "Set every element of a buffer to one value";
  let description = [{
    Initialises what a step needs as a tensor of equal elements, such as the
    start of an accumulation or padding.
  }];
  let arguments = (ins
    TypedAttrInterface:$value,
    Arg<Exec_Buffer, "", [MemWrite]>:$target,
    Exec_Stream:$stream
  );
  let assemblyFormat = [{
    $target `with` $value `stream` $stream attr-dict `:` type($target)
  }];
}

def Exec_AxisIndexOp : Exec_StreamOp<"axis_index"> {
  let summary = "Write the position of this rank in its group";
  let description = [{
    From 0 up, in the order in which the communicator lists its members.
  }];
  let arguments = (ins
    Exec_Communicator:$communicator,
    Arg<Exec_RankIndex, "", [MemWrite]>:$target,
    Exec_Stream:$stream
  );
  let assemblyFormat = [{
    `over` $communicator `to` $target `stream` $stream attr-dict
  }];
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

def Exec_RecordOp : Exec_Op<"record"> {
  let summary = "Make an event of all that was issued on a stream";
  let description = [{
    The event happens when everything that the program issued on the stream
    before this operation is done.
  }];
  let arguments = (ins Exec_Stream:$stream);
  let results = (outs Res<Exec_Event, "", [MemAlloc]>:$event);
  let assemblyFormat = "`stream` $stream attr-dict";
}

def Exec_WaitOp : Exec_Op<"wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Let a stream wait for an event";
  let description = [{
    What the program issues on the stream after this operation runs after the
    event.
  }];
  let arguments = (ins Exec_Event:$event, Exec_Stream:$stream);
  let assemblyFormat = "$event `stream` $stream attr-dict";
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

def Exec_YieldOp : Exec_Op<"yield", [
    Pure, Terminator, ParentOneOf<["IfOp", "ForOp", "GraphOp"]>]> {
  let summary = "End a region";
  let description = [{
    Values leave a region in memory. The operation is not printed.
  }];
  let assemblyFormat = "attr-dict";
}

def Exec_IfOp : Exec_Op<"if", [
    NoRegionArguments, RecursiveMemoryEffects,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Run one of two regions";
  let description = [{
    For steps that communicate in one branch only; other conditions are part of
    a kernel. The condition is read on stream 0 when the program gets here.
    Without `else`, nothing is run if it does not hold.
  }];
  let arguments = (ins Arg<Exec_Condition, "", [MemRead]>:$condition);
  let regions = (region SizedRegion<1>:$then_region,
                        MaxSizedRegion<1>:$else_region);
  let assemblyFormat = [{
    $condition $then_region (`else` $else_region^)? attr-dict
  }];
}

def Exec_ForOp : Exec_Op<"for", [
    AllTypesMatch<["index", "lower", "upper", "step"]>, NoRegionArguments,
    RecursiveMemoryEffects, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Run a region several times";
  let description = [{
    Writes lower, lower + step, ... to `index` and runs the body as long as it
    is below `upper`; bounds are read once, on stream 0, and are signed. A step
    below 1 runs nothing.

    Buffers that the body touches keep their place for the whole loop: no two
    of those that lie in the arena share a byte.
  }];
  let arguments = (ins
    Arg<Exec_LoopBound, "", [MemWrite]>:$index,
    Arg<Exec_LoopBound, "", [MemRead]>:$lower,
    Arg<Exec_LoopBound, "", [MemRead]>:$upper,
    Arg<Exec_LoopBound, "", [MemRead]>:$step
  );
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $index `=` $lower `to` $upper `step` $step `:` type($index) $body attr-dict
  }];
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

def Exec_GraphOp : Exec_Op<"graph", [
    NoRegionArguments, RecursiveMemoryEffects,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Operations that a device is told to do at once";
  let description = [{
    The body is one operation of stream 0: it begins after what stream 0 was
    told before, and is complete for what stream 0 is told later. Inside,
    streams keep their meaning, but begin anew: another stream takes part once
    it has waited for an event of the graph, and stream 0 waits for all of them
    at the end. Of events outside the graph knows those that stream 0 has waited
    for; its own are not seen outside.

    A target that captures graphs records the calls of the body once and
    replays them with the same addresses. So nothing in it is decided by the
    host: there is no `exec.if` and no `exec.for`. Other targets run it as if
    its operations stood alone.

    `name` is what messages call it.
  }];
  let arguments = (ins StrAttr:$name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$name $body attr-dict";
  let hasRegionVerifier = 1;
}

#endif // REGATHER_DIALECT_EXEC_IR_EXECOPS
