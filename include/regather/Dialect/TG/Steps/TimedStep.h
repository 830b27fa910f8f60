//===- TimedStep.h - A step as a program with times -------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The one place where a step becomes the arrays that the scheduler and the
// simulator work on. Operations have the numbers of the StepGraph.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_STEPS_TIMEDSTEP_H
#define REGATHER_DIALECT_TG_STEPS_TIMEDSTEP_H

#include "regather/Analysis/TimedGraph.h"
#include "regather/Dialect/TG/Steps/StepCosts.h"
#include "regather/Dialect/TG/Steps/StepGraph.h"

#include <functional>
#include <string>

namespace regather::tg {

/// The axes of a mesh that the collectives of a stream run over; none for a
/// stream of copies between device and host.
struct StreamGroup {
  MeshOp mesh;
  AxesAttr axes;
  /// Of copies: whether they go to the host.
  bool isToHost = false;

  bool isHost() const { return !axes; }

  /// Their places among the axes of the mesh.
  std::vector<unsigned> getAxisNumbers();
};

/// How long operations take.
struct StepTiming {
  /// Seconds of an operation that is neither collective nor wait.
  std::function<double(mlir::Operation *)> computeSeconds;
  std::function<double(CollectiveOpInterface)> collectiveSeconds;
  std::function<double(HostCopyOpInterface)> hostCopySeconds;
  /// Number of the class of links that groups over these axes use.
  std::function<uint32_t(StreamGroup)> getLink;
  std::vector<TimedLink> links;
};

/// What operations take on a cluster. `costs` outlive the timing.
StepTiming makeStepTiming(StepCosts &costs);

struct TimedStep {
  TimedGraph program;
  /// By stream, in the order of their first collectives or copies.
  std::vector<StreamGroup> streams;
};

/// Streams of one mesh conflict if they have axes in common of more than one
/// rank: their groups share more than one device then.
///
/// Copies between device and host are collectives of one rank: those in one
/// direction have a stream, over a link of their own behind those of the
/// timing. What lies on the host takes no memory.
///
/// Views lie in the memory of what they view, results that update a donated
/// argument in that of the argument. An operation with regions is one that
/// computes, whatever it holds.
TimedStep buildTimedStep(const StepGraph &graph, const StepTiming &timing);

/// True if the results of `op` lie in its first operand. A part that begins
/// where a rank says, such as its shard of a gathered tensor, is copied: places
/// are fixed.
bool isFixedView(mlir::Operation *op);

/// Names by which files refer to the operations of a step: their `tg.id`, or
/// the name of the operation. Of several with equal names the second is
/// `name#2`, and so on.
std::vector<std::string> getOperationNames(const StepGraph &graph);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_STEPS_TIMEDSTEP_H
