//===- NodeBuilders.h - Targets that linalg is built for --------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_CONVERSION_NODEBUILDERS_H
#define REGATHER_CONVERSION_NODEBUILDERS_H

#include "regather/Dialect/TG/Targets/NodeTargets.h"

namespace regather::nodes {

/// True if `convert-tg-nodes-to-linalg` builds operations for the target. The
/// table of operators says for which it has to.
bool hasBuilder(tg::NodeTarget target);

} // namespace regather::nodes

#endif // REGATHER_CONVERSION_NODEBUILDERS_H
