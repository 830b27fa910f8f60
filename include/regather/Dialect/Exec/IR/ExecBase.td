//===- ExecBase.td - The exec dialect ----------------------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_EXEC_IR_EXECBASE
#define REGATHER_DIALECT_EXEC_IR_EXECBASE

include "mlir/IR/OpBase.td"

def Exec_Dialect : Dialect {
  let name = "exec";
  let cppNamespace = "::regather::exec";
  let summary = "Linear programs over buffers, streams and events";
  let description = [{
    `exec` holds one training step as what a device is told to do: a list of
    launches, collectives and copies, each on a stream, over buffers whose
    places are fixed. Every rank runs the same program.

    The invariant of the dialect is **buffer semantics with the order in the
    program**: operations read and write memory, nothing is moved or merged,
    and whatever has to happen before something else is said by the order
    within a stream or by an event. `tg-verify-step` checks it byte by byte.

    Compute is not part of the dialect: a launch names a `tg.kernel`, whose
    arguments and results are tensors of the shapes of the buffers. Scalars are
    buffers of rank 0; an `index` takes eight bytes, an `i1` one.

    ### Memory

    A buffer is a dense, row-major memref of static shape in one of four
    places:

    - an argument of the program, owned by the caller, which the program only
      writes to if it is donated (`tg.donated`). One whose memory space is
      `#tg.host` lies on the host, where only `exec.transfer` touches it;
    - a constant (`exec.constant`), which is never written to;
    - the arena: one block of `arena` bytes, aligned to `alignment`, that the
      program has to itself. `exec.slice` is one buffer in it. Buffers that
      are not needed at the same time may share bytes;
    - the arena of the host, of `host_arena` bytes, in which `exec.host_slice` is
      one buffer. Its memory space is `#tg.host`, and only `exec.transfer`
      touches it.

    `exec.view` is a part of a buffer, or the whole under another shape.
    Results of the program lie where `exec.return` says: in the arena until the
    next run, in an argument, or in a constant.

    ### Streams

    Stream 0 computes, the others communicate, or copy to or from the host. An operation is *issued* when
    the program reaches it.

    - Operations of stream 0 run one after the other, in the order of the
      program.
    - Operations of another stream start in the order of the program, but may
      overlap: that one is done is known only from an event. Where a stream only
      copies (`exec.transfer`), one runs after the other.
    - `exec.record` makes an event of everything issued on a stream so far.
      `exec.wait` makes what is issued on a stream later run after the event.
      Events are transitive: what a stream has waited for has happened before
      the events that it records.
    - The conditions of `exec.if` and `exec.for` are read on stream 0. What a
      region of theirs issues is complete, and stream 0 knows it, when the
      region ends.
    - `exec.graph` is one operation of stream 0, whatever runs in it.
    - `exec.return` waits for all streams.

    Neighbours: `gpu` and `async` order operations by tokens, one for each
    operation; `stream` dialects of other compilers allocate at run time.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::regather::tg::TGDialect"];
}

class Exec_Op<string mnemonic, list<Trait> traits = []>
    : Op<Exec_Dialect, mnemonic, traits>;

#endif // REGATHER_DIALECT_EXEC_IR_EXECBASE
