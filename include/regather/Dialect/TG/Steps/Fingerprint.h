//===- Fingerprint.h - What ranks have to agree on --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_STEPS_FINGERPRINT_H
#define REGATHER_DIALECT_TG_STEPS_FINGERPRINT_H

#include "regather/Dialect/TG/IR/TG.h"

namespace regather::tg {

/// A hash of everything that two ranks must agree on to communicate: the
/// collectives of a function, in their order.
uint64_t getCommunicationFingerprint(mlir::FunctionOpInterface func);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_STEPS_FINGERPRINT_H
