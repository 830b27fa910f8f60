//===- DescribeModules.h - What each module of a model does --- -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DRIVER_DESCRIBEMODULES_H
#define REGATHER_DRIVER_DESCRIBEMODULES_H

#include "regather/Dialect/TG/Modules/ModuleTree.h"
#include "regather/Pipelines/StepOptions.h"

namespace regather {

struct ModulesRequest {
  /// What is described, for the JSON.
  std::string file;
  /// If it has a mesh, the step is sharded first.
  StepOptions step;
  /// A name or a file; without one, no seconds are estimated.
  std::string cluster;
  /// The modules to show, such as `layers.*`; the whole model if empty.
  std::vector<std::string> patterns;
};

/// What is shown of the modules of a step.
struct ModuleDescription {
  std::string file;
  /// Empty if there are no seconds.
  std::string cluster;
  tg::ModuleTree tree;
  /// The modules to show, in the order of the tree; 0 is the model.
  std::vector<unsigned> tops;
};

/// Describes the step of `module`, which it changes if it is to be sharded.
/// Emits an error if that cannot be done, if there is no such cluster, or if a
/// pattern matches no module.
mlir::FailureOr<ModuleDescription>
describeModules(mlir::ModuleOp module, const ModulesRequest &request);

/// One JSON object with `depth` levels of modules below each top.
std::string formatJson(const ModuleDescription &description, unsigned depth);

/// A line for each module under a heading of those phases that have something.
/// If `folds`, equal neighbours such as the layers of a model share a line,
/// which has their sums.
std::string formatText(const ModuleDescription &description, unsigned depth,
                       bool folds);

} // namespace regather

#endif // REGATHER_DRIVER_DESCRIBEMODULES_H
