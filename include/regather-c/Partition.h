/*===- Partition.h - What forward saves for backward -------------*- C -*-===*
 *
 * Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*
 *
 * The modes are those of the pass `tg-partition`.
 *
 *===----------------------------------------------------------------------===*/

#ifndef REGATHER_C_PARTITION_H
#define REGATHER_C_PARTITION_H

#include "regather-c/Graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum RegatherPartitionMode {
  /** The fewest bytes. */
  RegatherPartitionMinCut = 0,
  /** What PyTorch's min_cut_rematerialization_partition saves. */
  RegatherPartitionMatchPyTorch = 1,
  /** What backward reads. */
  RegatherPartitionDefault = 2,
  /** What a record lists. */
  RegatherPartitionReplay = 3,
  /** The least recomputation within a budget. */
  RegatherPartitionBudget = 4
} RegatherPartitionMode;

typedef struct RegatherPartitionOptions {
  RegatherPartitionMode mode;
  /** Of mode replay: the nodes of the record. */
  uint32_t numRecorded;
  const uint32_t *recorded;
  /** Of mode budget: bytes that may be saved besides arguments, and by node
      what running it again takes, in seconds. */
  int64_t budget;
  const double *seconds;
} RegatherPartitionOptions;

typedef struct RegatherPartition RegatherPartition;

/** Decides what is saved and splits the graph. Close to linear, but for mode
    budget, which has an effort of its own. */
REGATHER_C_EXPORT RegatherStatus *
regatherPartitionCreate(const RegatherGraph *graph,
                        const RegatherPartitionOptions *options,
                        RegatherPartition **partition);

/** Does nothing for null. */
REGATHER_C_EXPORT void regatherPartitionDestroy(RegatherPartition *partition);

/** Numbers of nodes; they live as long as the partition. */
typedef struct RegatherNodes {
  uint32_t count;
  const uint32_t *nodes;
} RegatherNodes;

/** What forward hands to backward, arguments included, in the order of the
    graph. */
REGATHER_C_EXPORT RegatherNodes
regatherPartitionGetSaved(const RegatherPartition *partition);

/** What each part runs, in that order. What both run is computed again. */
REGATHER_C_EXPORT RegatherNodes
regatherPartitionGetForward(const RegatherPartition *partition);
REGATHER_C_EXPORT RegatherNodes
regatherPartitionGetBackward(const RegatherPartition *partition);

#ifdef __cplusplus
}
#endif

#endif /* REGATHER_C_PARTITION_H */
