//===- PlanRunner.h - A rank's own work in collectives ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_COMMUNICATION_PLANRUNNER_H
#define REGATHER_LIB_RUNTIME_GPU_COMMUNICATION_PLANRUNNER_H

#include "Communication/CollectivePlan.h"
#include "GPU/Driver/NvtxRange.h"

#include "regather/Runtime/Program.h"

#include <map>

namespace regather::runtime {

/// Where the buffers of a plan lie while it runs.
struct PlanMemory {
  /// For each member its input and its output.
  const CuAddress *buffers = nullptr;
  CuAddress staging = 0;

  CuAddress get(const PlanAddress &address) const {
    CuAddress base = address.space == PlanSpace::Staging ? staging
                     : address.space == PlanSpace::Input
                         ? buffers[2 * address.member]
                         : buffers[2 * address.member + 1];
    return base + CuAddress(address.offset);
  }
};

/// Enqueues what the phases of plans do besides the exchange. Holds the kernels
/// for reductions.
class PlanRunner {
public:
  explicit PlanRunner(const DriverApi &driver) : driver(driver) {}
  ~PlanRunner();
  PlanRunner(const PlanRunner &) = delete;

  /// Loads the kernels that a plan needs.
  Failure prepare(const CollectivePlan &plan);

  /// Enqueues reductions, clears and copies of a phase for a group of `ranks`.
  Failure run(const PlanPhase &phase, int64_t ranks, const PlanMemory &memory,
              CuStream stream, const WorkLabel &label);

private:
  Failure reduce(const PlanReduction &reduction, int64_t ranks,
                 const PlanMemory &memory, CuStream stream,
                 const WorkLabel &label);
  Failure copy(const PlanCopy &copy, const PlanMemory &memory, CuStream stream);
  /// Row by row, where the driver does not take the pitch: of such rows, a
  /// device has room for a few.
  Failure copyRows(const PlanCopy &copy, CuAddress target, CuAddress source,
                   CuStream stream);

  const DriverApi &driver;
  CuModule module = nullptr;
  std::map<std::string, CuFunction> functions;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_COMMUNICATION_PLANRUNNER_H
