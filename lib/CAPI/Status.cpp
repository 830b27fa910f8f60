//===- Status.cpp - Errors of the C interface -----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Status.h"

using namespace regather;

RegatherStatus *capi::takeStatus(const Failure &failure) {
  if (!failure)
    return nullptr;
  auto *status = new RegatherStatus();
  status->message = failure.getMessage();
  RegatherDiagnostic diagnostic = {};
  diagnostic.severity = RegatherSeverityError;
  diagnostic.file = "";
  diagnostic.message = status->diagnostics.keep(status->message);
  status->diagnostics.add(diagnostic);
  return status;
}

uint32_t regatherGetVersion() { return REGATHER_C_VERSION; }

const char *regatherGetBuildId() { return REGATHER_BUILD_ID; }

const char *regatherStatusGetMessage(const RegatherStatus *status) {
  return status ? status->message.c_str() : "";
}

RegatherDiagnostics regatherStatusGetDiagnostics(const RegatherStatus *status) {
  return status ? status->diagnostics.get() : RegatherDiagnostics{0, nullptr};
}

void regatherStatusDestroy(RegatherStatus *status) { delete status; }
