/*===- CHeaderTest.c - The headers in C ---------------------------*- C -*-===*
 *
 * Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*
 *
 * Proves that the headers are C.
 *
 *===----------------------------------------------------------------------===*/

#include "regather-c/Buckets.h"
#include "regather-c/Cost.h"
#include "regather-c/Execution.h"
#include "regather-c/Module.h"
#include "regather-c/ModulePaths.h"
#include "regather-c/Option.h"
#include "regather-c/Partition.h"
#include "regather-c/Policy.h"
#include "regather-c/Schedule.h"
#include "regather-c/StepPlan.h"
#include "regather-c/Targets.h"

uint32_t regatherTestGetVersionFromC(void);

uint32_t regatherTestGetVersionFromC(void) { return regatherGetVersion(); }
