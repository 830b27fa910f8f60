//===- Options.h - Options of the C interface -------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_CAPI_OPTIONS_H
#define REGATHER_LIB_CAPI_OPTIONS_H

#include "regather-c/Option.h"

#include "regather/Driver/CommandRequest.h"

namespace regather::capi {

/// What the options ask of a command. Fails for pointers that are null, too.
Result<CommandRequest> readOptions(Command command,
                                   const RegatherOptions &options);

} // namespace regather::capi

#endif // REGATHER_LIB_CAPI_OPTIONS_H
