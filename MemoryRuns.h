//===- MemoryRuns.h - Bytes of choices over time -------------- -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef MEMORYRUNS_H
#define MEMORYRUNS_H

#endif // MEMORYRUNS_H
