//===- OrderFile.h - The order of a step in a file --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_DRIVER_SIMULATE_ORDERFILE_H
#define REGATHER_LIB_DRIVER_SIMULATE_ORDERFILE_H

#include "regather/Analysis/TimedGraph.h"
#include "regather/Support/Result.h"

namespace regather {

/// Reads the order of the operations of a program, which are called `names`:
/// their names in a JSON list, or one on each line. Blank lines and what
/// follows `//` are skipped. Fails, naming operations and lines, if it is no
/// order in which the program can run.
Result<std::vector<uint32_t>> readOrder(const std::string &path,
                                        const TimedGraph &program,
                                        llvm::ArrayRef<std::string> names);

} // namespace regather

#endif // REGATHER_LIB_DRIVER_SIMULATE_ORDERFILE_H
