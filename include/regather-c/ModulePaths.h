/*===- ModulePaths.h - Modules by path ----------------------------*- C -*-===*
 *
 * Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*
 *
 * Paths are those of named_modules of PyTorch, such as `layers.3.attention`;
 * that of the model itself is empty.
 *
 *===----------------------------------------------------------------------===*/

#ifndef REGATHER_C_MODULEPATHS_H
#define REGATHER_C_MODULEPATHS_H

#include "regather-c/Status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Stands for nothing among numbers. */
#define REGATHER_C_NONE UINT32_MAX

/** Writes, by path, the number of the pattern that matches it, or
    REGATHER_C_NONE. Patterns are those of the options of passes, such as
    `layers.*`. Fails, with a message that names `option` and calls the paths
    `what`, for a malformed pattern, one that matches no path, and a path that
    two patterns match. */
REGATHER_C_EXPORT RegatherStatus *
regatherMatchModules(const char *option, const char *what, uint32_t numPatterns,
                     const char *const *patterns, uint32_t numPaths,
                     const char *const *paths, uint32_t *matches);

/** Groups what belongs to modules by unit: repeated blocks, modules beside
    them, and as one what is used first after all blocks. `firstUses` are places
    in the step, or REGATHER_C_NONE. Writes, by path, the number of its unit;
    units are numbered in the order of their first paths. */
REGATHER_C_EXPORT RegatherStatus *regatherFindUnits(uint32_t numPaths,
                                                    const char *const *paths,
                                                    const uint32_t *firstUses,
                                                    uint32_t *units);

#ifdef __cplusplus
}
#endif

#endif /* REGATHER_C_MODULEPATHS_H */
