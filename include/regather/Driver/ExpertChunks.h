//===- ExpertChunks.h - How many chunks experts' rows are sent in -*- C++
//-*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DRIVER_EXPERTCHUNKS_H
#define REGATHER_DRIVER_EXPERTCHUNKS_H

#include "regather/Pipelines/StepOptions.h"

namespace regather {

/// If `options.choosesChunks`, prepares and simulates copies of the step with
/// rows for experts in 1, 2 and 4 chunks, without a limit of memory, takes the
/// number whose step takes the least time, the smallest of equals, and takes
/// the wish away. A remark says what was tried; a number that does not divide
/// the rows is left out. Emits an error if the step cannot be prepared at all.
mlir::LogicalResult decideExpertChunks(mlir::ModuleOp module,
                                       StepOptions &options);

} // namespace regather

#endif // REGATHER_DRIVER_EXPERTCHUNKS_H
