/*===- Module.h - Steps and what the compiler says of them -------*- C -*-===*
 *
 * Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*
 *
 * A module is read once and used by any number of calls, none of which changes
 * it. Calls for one module wait for each other; those for different ones do
 * not.
 *
 *===----------------------------------------------------------------------===*/

#ifndef REGATHER_C_MODULE_H
#define REGATHER_C_MODULE_H

#include "regather-c/Option.h"
#include "regather-c/Status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RegatherModule RegatherModule;

/** Reads text or bytecode of MLIR, or a captured graph if the name of the file
    ends in `.fx.json`. */
REGATHER_C_EXPORT RegatherStatus *regatherModuleRead(const char *path,
                                                     RegatherModule **module);

/** The same for `size` bytes in memory, which need no zero at their end.
    Diagnostics call them `name`, which says what they are as that of a file
    does. */
REGATHER_C_EXPORT RegatherStatus *regatherModuleParse(const char *name,
                                                      const char *bytes,
                                                      size_t size,
                                                      RegatherModule **module);

/** Does nothing for null. */
REGATHER_C_EXPORT void regatherModuleDestroy(RegatherModule *module);

/** What a call tells. */
typedef struct RegatherOutput RegatherOutput;

/** Does nothing for null. */
REGATHER_C_EXPORT void regatherOutputDestroy(RegatherOutput *output);

/** Bytes in UTF-8 that live as long as what they are of, with a zero behind
    them. */
typedef struct RegatherText {
  const char *data;
  size_t size;
} RegatherText;

/** What the command prints, writes as JSON, as a page of HTML, and as a trace
    for Perfetto; empty for what it does not have. */
REGATHER_C_EXPORT RegatherText
regatherOutputGetText(const RegatherOutput *output);
REGATHER_C_EXPORT RegatherText
regatherOutputGetJson(const RegatherOutput *output);
REGATHER_C_EXPORT RegatherText
regatherOutputGetHtml(const RegatherOutput *output);
REGATHER_C_EXPORT RegatherText
regatherOutputGetTrace(const RegatherOutput *output);

/** Warnings and remarks of a call that succeeded. */
REGATHER_C_EXPORT RegatherDiagnostics
regatherOutputGetDiagnostics(const RegatherOutput *output);

/** JSON: an array with the `name`, `value` and `help` of each option of
    `command`: simulate, plan, report, stats, tree, compile or calibrate. */
REGATHER_C_EXPORT RegatherStatus *regatherListOptions(const char *command,
                                                      RegatherOutput **output);

/** Measures this machine, in some seconds: text, and a cluster file as JSON, of
    `regather calibrate`. */
REGATHER_C_EXPORT RegatherStatus *regatherCalibrate(RegatherOptions options,
                                                    RegatherOutput **output);

/** The module as text. */
REGATHER_C_EXPORT RegatherStatus *regatherModulePrint(RegatherModule *module,
                                                      RegatherOutput **output);

/** What it consists of: text and JSON, as `regather stats` has them. */
REGATHER_C_EXPORT RegatherStatus *regatherModuleCount(RegatherModule *module,
                                                      RegatherOptions options,
                                                      RegatherOutput **output);

/** What each module of the model does: text and JSON, as `regather tree` has
    them. */
REGATHER_C_EXPORT RegatherStatus *
regatherModuleDescribe(RegatherModule *module, RegatherOptions options,
                       RegatherOutput **output);

/** When everything happens on a cluster: text, JSON, page and trace of
    `regather simulate`. */
REGATHER_C_EXPORT RegatherStatus *
regatherModuleSimulate(RegatherModule *module, RegatherOptions options,
                       RegatherOutput **output);

/** Which mesh is quickest: text, JSON and page of `regather plan`. What cannot
    be explained is a warning of the output, and "problem" in its JSON, which is
    empty otherwise; the plans hold all the same. */
REGATHER_C_EXPORT RegatherStatus *regatherModulePlan(RegatherModule *module,
                                                     RegatherOptions options,
                                                     RegatherOutput **output);

/** What is decided about the step: JSON and page of `regather report`. */
REGATHER_C_EXPORT RegatherStatus *regatherModuleReport(RegatherModule *module,
                                                       RegatherOptions options,
                                                       RegatherOutput **output);

/** Writes a bundle to `path`; text and JSON are what `regather manifest`
    prints of it. */
REGATHER_C_EXPORT RegatherStatus *
regatherModuleCompile(RegatherModule *module, const char *path,
                      RegatherOptions options, RegatherOutput **output);

#ifdef __cplusplus
}
#endif

#endif /* REGATHER_C_MODULE_H */
