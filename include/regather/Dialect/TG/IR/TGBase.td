//===- TGBase.td - The tg dialect --------------------------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_IR_TGBASE
#define REGATHER_DIALECT_TG_IR_TGBASE

include "mlir/IR/OpBase.td"

def TG_Dialect : Dialect {
  let name = "tg";
  let cppNamespace = "::regather::tg";
  let summary = "Training graphs with explicit communication";
  let description = [{
    `tg` holds one sharded training step (forward, backward and optimizer) as
    a function over tensors. Every rank of a mesh runs the same function;
    communication between ranks is explicit and asynchronous.

    The invariant of the dialect is **value semantics with data in flight in
    the types**: a collective returns a `!tg.future`, only `tg.wait` turns a
    future into tensors, and a future is waited for at most once, in the block
    that made it. Using data before it arrived can therefore not be written
    down, and no pass needs an alias analysis to move a collective.

    Compute is not part of the dialect. It is either upstream (`linalg`,
    `tensor`, `arith`, `math`) or a `tg.node`: one call of the captured graph,
    kept whole so that decisions about saving, recomputing and scheduling see
    the graph that the user wrote. Passes ask interfaces
    (`CollectiveOpInterface`, `CostOpInterface`), never op names.

    Neighbours: the upstream `shard` dialect propagates shardings and has
    synchronous, pure collectives that CSE may merge; `mpi` is one runtime's
    API. Neither can say that data is in flight, or that a second gather of a
    weight is wanted.

    ### Attributes on any operation

    | attribute          | type                | meaning                                         |
    |--------------------|---------------------|-------------------------------------------------|
    | `tg.phase`         | `#tg.phase`         | forward, backward or optimizer                  |
    | `tg.module`        | string              | module path, such as `layers.3.attention.wq`    |
    | `tg.policy`        | `#tg.policy`        | save or recompute the results for backward      |
    | `tg.micro_batch`   | `i64`               | which of several batches of the step            |
    | `tg.row_share`     | `f64`               | the part of its rows that a grouped GEMM is     |
    |                    |                     | expected to multiply; the others have no expert |
    |                    |                     | on the rank                                     |
    | `tg.saved_results` | `array<i64>`        | results that a recorded decision saves          |
    | `tg.id`            | string              | name of the operation in the captured graph     |
    | `tg.bucket`        | string              | collectives with this name can start as one     |

    ### Attributes on arguments and results of a step

    | attribute              | on        | type             | meaning                                            |
    |------------------------|-----------|------------------|----------------------------------------------------|
    | `tg.role`              | both      | `#tg.role`       | parameter, input, ...; loss, gradient of N, ...    |
    | `tg.name`              | both      | string           | name in weight files, such as `layers.3.wq.weight` |
    | `tg.aliases`           | arguments | strings          | other names of a tied parameter                    |
    | `tg.module`            | both      | string           | module path of the parameter                       |
    | `tg.registration`      | arguments | `i64`            | position in the model's registration order         |
    | `tg.members`           | arguments | `#tg.members`    | the parameters, or states, that a flat one holds   |
    | `tg.placement`         | both      | `#tg.placement`  | how the global tensor lies over the mesh           |
    | `tg.planned_placement` | both      | `#tg.placement`  | the placement that a partition will give it        |
    | `tg.donated`           | arguments | unit             | the step may overwrite the argument's memory       |
    | `tg.reshard`           | arguments | `#tg.reshard`    | what becomes of the gathered copy after forward    |

    ### Attributes on arguments and results of a kernel

    | attribute | type  | meaning                                                          |
    |-----------|-------|------------------------------------------------------------------|
    | `tg.rows` | `i64` | the dimension along which the kernel can run block by block      |

    All dimensions with `tg.rows` have blocks of equal numbers: block i of the
    results depends on block i of these arguments and on all of the others.

    Any other attribute named `tg.*` is an error: a misspelt decision must not
    be ignored.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Adds the attributes, types and operations; one file each.
    void registerAttributes();
    void registerTypes();
  }];
}

class TG_Op<string mnemonic, list<Trait> traits = []>
    : Op<TG_Dialect, mnemonic, traits>;

#endif // REGATHER_DIALECT_TG_IR_TGBASE
