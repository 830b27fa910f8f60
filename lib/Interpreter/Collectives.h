//===- Collectives.h - What collectives do to data --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_INTERPRETER_COLLECTIVES_H
#define REGATHER_LIB_INTERPRETER_COLLECTIVES_H

namespace regather::interp {

struct PendingCollective;

/// Computes the results of a collective that all members have started.
void moveData(PendingCollective &collective);

} // namespace regather::interp

#endif // REGATHER_LIB_INTERPRETER_COLLECTIVES_H
