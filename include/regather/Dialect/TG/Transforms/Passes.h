//===- Passes.h - Passes on tg ----------------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_PASSES_H
#define REGATHER_DIALECT_TG_TRANSFORMS_PASSES_H

#include "regather/Support/LLVM/ByteCount.h"

#include "mlir/Pass/Pass.h"

namespace regather::tg {

/// What tg-append-optimizer appends.
enum class OptimizerKind {
  AdamW,
  Adam,
  SGD,
  Adagrad,
  RMSprop,
  Adamax,
  Adadelta,
  RAdam
};

/// In what type tg-append-optimizer keeps optimizer states.
enum class StateType { Update, F32, BF16 };

/// Whose batch tg-shard-parameters takes that of the captured step for.
enum class BatchMode { Global, PerRank, Auto };

/// How tg-chunk-rows sums over the rows.
enum class ChunkSums { Whole, Blocks };

/// What becomes of attention that tg-fuse-attention recognises.
enum class FuseAttentionMode { All, Report };

/// How tg-shard-parameters stores parameters.
enum class ParameterLayout { Flat, PerParameter };

/// How tg-bucket-collectives chooses buckets.
enum class BucketMode { Plan, Auto };

/// What tg-apply-policy marks.
enum class PolicyPlan { None, Full, Selective };

/// How tg-partition chooses what to save.
enum class PartitionMode { Default, Replay, MinCut, Budget };

/// Which gathered parameters tg-reshard-after-forward releases.
enum class ReshardMode { Default, Always, Never };

/// Which values tg-offload copies to the host.
enum class OffloadMode { Marked, All, Bytes };

/// How tg-schedule chooses an order.
enum class ScheduleMode { None, Manual, Auto };

/// What orders and buckets that hide communication may take by default, as a
/// multiple of the peak of the step as it comes. A twentieth has room for a few
/// units in flight ahead of their use: within it, the schedules of
/// docs/STATUS.md leave at most 3.1 % of the communication exposed.
inline constexpr double kMemorySlack = 1.05;

/// The same as a memory limit of tg-schedule: `1.05x`.
std::string getDefaultMemoryLimit();

/// How many bytes of states tg-offload-states keeps on the host by `text`:
/// `none`, `all` or a number of bytes; nothing if it is none of these.
std::optional<int64_t> readStateBytes(llvm::StringRef text);

#define GEN_PASS_DECL
#include "regather/Dialect/TG/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "regather/Dialect/TG/Transforms/Passes.h.inc"

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_TRANSFORMS_PASSES_H
