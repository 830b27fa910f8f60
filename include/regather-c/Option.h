/*===- Option.h - Options by their names -------------------------*- C -*-===*
 *
 * Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*/

#ifndef REGATHER_C_OPTION_H
#define REGATHER_C_OPTION_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What `value` of a flag of `regather` is: `recompute` and `min-cut`. One that
    may be given several times may be there several times. */
typedef struct RegatherOption {
  const char *name;
  const char *value;
} RegatherOption;

typedef struct RegatherOptions {
  uint32_t count;
  const RegatherOption *elements;
} RegatherOptions;

#ifdef __cplusplus
}
#endif

#endif /* REGATHER_C_OPTION_H */
