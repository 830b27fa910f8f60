//===- Calibrate.cpp - regather calibrate ---------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandFlags.h"

#include "regather/Driver/CalibrateMachine.h"

using namespace regather;
namespace cl = llvm::cl;

cl::SubCommand regather::calibrateCommand(
    "calibrate", "Measure this machine, and write it as a cluster file");

static cl::opt<std::string>
    calibrateOutput("o",
                    cl::desc("Cluster file to write, such as my-machine.json"),
                    cl::Required, cl::value_desc("FILE"),
                    cl::sub(calibrateCommand), cl::cat(getCategory()));
int regather::calibrateMain() {
  if (!canWrite({&calibrateOutput}))
    return 1;
  Result<CommandRequest> request = readCommandFlags(Command::Calibrate);
  if (!request)
    return reportError(request.getMessage());
  CalibrationRequest calibration = takeCalibrationRequest(std::move(*request));
  ShownProgress progress;
  Result<Cluster> cluster = calibrateMachine(calibration, progress);
  if (!cluster)
    return reportError(cluster.getMessage());
  if (!writeFile(calibrateOutput, formatCalibration(*cluster, calibration)))
    return 1;
  if (!isQuiet())
    llvm::errs() << formatCalibrationText(*cluster);
  return 0;
}
