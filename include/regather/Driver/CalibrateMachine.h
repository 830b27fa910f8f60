//===- CalibrateMachine.h - Measure this machine as a cluster ---*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DRIVER_CALIBRATEMACHINE_H
#define REGATHER_DRIVER_CALIBRATEMACHINE_H

#include "regather/Analysis/Cost/Cluster.h"
#include "regather/Driver/ProgressListener.h"
#include "regather/Execution/Engines/Communicator.h"

namespace regather {

/// What is measured, and how.
struct CalibrationRequest {
  static constexpr int64_t kMostRanks = 64;
  static constexpr int64_t kMostRepetitions = 100;

  /// Of the mesh whose collectives are measured; they compute at the same time.
  /// 2 to kMostRanks.
  int64_t ranks = 2;
  /// Of each rank; if 0, those of the machine are divided between the ranks.
  int32_t threads = 0;
  /// Ranks on threads, over a link that may be injected.
  CommunicatorOptions communicator;
  /// How often everything is measured; medians count. 1 to kMostRepetitions.
  int64_t repetitions = 9;
  /// Folder for compiled kernels; none if empty.
  std::string cacheDirectory;
};

/// This machine as a cluster: small steps run on its processors, and what their
/// kernels, GEMMs, attention and collectives took becomes tables of device and
/// links. It takes some seconds, and about 150 MB for each rank. Rates are
/// those that a rank has beside the others and whatever else the machine does.
///
/// Fails with a reason: for numbers of ranks, threads or repetitions that are
/// not allowed, ranks that are not threads of this process, a link so slow that
/// it would take more than a minute, or a machine that cannot run the steps.
Result<Cluster> calibrateMachine(const CalibrationRequest &request,
                                 ProgressListener &progress);

/// The cluster file of `cluster`; its comment says what was measured.
std::string formatCalibration(const Cluster &cluster,
                              const CalibrationRequest &request);

/// Some lines for people.
std::string formatCalibrationText(const Cluster &cluster);

} // namespace regather

#endif // REGATHER_DRIVER_CALIBRATEMACHINE_H
