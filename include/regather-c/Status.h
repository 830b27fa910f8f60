/*===- Status.h - Errors of the C interface ----------------------*- C -*-===*
 *
 * Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*
 *
 * Functions that can fail return a status: null for success, else an error that
 * the caller destroys. Nothing that a caller passes ends the process, and there
 * is no global state: different objects may be used by different threads at the
 * same time, one object by one thread at a time unless it is only read.
 *
 *===----------------------------------------------------------------------===*/

#ifndef REGATHER_C_STATUS_H
#define REGATHER_C_STATUS_H

#include <stdint.h>

#if defined(REGATHER_BUILDS_C_API)
#define REGATHER_C_EXPORT __attribute__((visibility("default")))
#else
#define REGATHER_C_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Version of this interface: a program built for another one cannot use it. */
#define REGATHER_C_VERSION 5

/** REGATHER_C_VERSION of the library. */
REGATHER_C_EXPORT uint32_t regatherGetVersion(void);

/** Names the build, for keys of caches: equal texts decide alike. */
REGATHER_C_EXPORT const char *regatherGetBuildId(void);

typedef struct RegatherStatus RegatherStatus;

/** What is wrong, as the command line prints it: all diagnostics, with lines of
    the source. Lives as long as the status. */
REGATHER_C_EXPORT const char *
regatherStatusGetMessage(const RegatherStatus *status);

enum RegatherSeverity {
  RegatherSeverityNote = 0,
  RegatherSeverityWarning = 1,
  RegatherSeverityError = 2,
  RegatherSeverityRemark = 3
};

/** One message. `file` is empty, and `line` and `column` are 0, where no place
    is known; they count from 1. */
typedef struct RegatherDiagnostic {
  int severity;
  const char *file;
  uint32_t line;
  uint32_t column;
  const char *message;
  uint32_t numNotes;
  const struct RegatherDiagnostic *notes;
} RegatherDiagnostic;

typedef struct RegatherDiagnostics {
  uint32_t count;
  const RegatherDiagnostic *elements;
} RegatherDiagnostics;

/** At least one for a status, none for null. They live as long as it. */
REGATHER_C_EXPORT RegatherDiagnostics
regatherStatusGetDiagnostics(const RegatherStatus *status);

/** Does nothing for null. */
REGATHER_C_EXPORT void regatherStatusDestroy(RegatherStatus *status);

#ifdef __cplusplus
}
#endif

#endif /* REGATHER_C_STATUS_H */
