//===- Units.h - Parameters that travel together ----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_UNITS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_UNITS_H

#include "Step.h"

namespace regather::tg::spmd {

struct Unit {
  /// Module path that stands for the unit.
  std::string path;
  /// Numbers of its parameters, in registration order.
  llvm::SmallVector<unsigned> parameters;
};

/// Groups the parameters of `step`: by `patterns`, what none of them claims
/// being the root's; each on its own if `patterns` is the word `none`; by
/// default repeated blocks, and each module beside them. Final norm and head,
/// that is, modules used first after all blocks, make up one unit.
mlir::FailureOr<std::vector<Unit>>
findUnits(const Step &step, llvm::ArrayRef<std::string> patterns);

} // namespace regather::tg::spmd

#endif // REGATHER_DIALECT_TG_TRANSFORMS_SHARDPARAMETERS_UNITS_H
