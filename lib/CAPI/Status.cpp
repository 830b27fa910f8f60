//===- Status.cpp - Errors of the C interface -----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Status.h"

uint32_t regatherGetVersion() { return REGATHER_C_VERSION; }

const char *regatherGetBuildId() { return REGATHER_BUILD_ID; }

const char *regatherStatusGetMessage(const RegatherStatus *status) {
  return status ? status->message.c_str() : "";
}

void regatherStatusDestroy(RegatherStatus *status) { delete status; }
