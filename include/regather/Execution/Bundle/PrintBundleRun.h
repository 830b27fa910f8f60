//===- PrintBundleRun.h - A run of a bundle ------------------- -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_BUNDLE_PRINTBUNDLERUN_H
#define REGATHER_EXECUTION_BUNDLE_PRINTBUNDLERUN_H

#include "regather/Execution/Bundle/Bundle.h"
#include "regather/Execution/Training/PrintRun.h"

namespace regather {

/// Runs a bundle from its inputs to its report; see printRun. Notes of the
/// engine are shown as progress.
int printBundleRun(const RunOptions &options, BundleOptions bundle,
                   Progress &progress);

} // namespace regather

#endif // REGATHER_EXECUTION_BUNDLE_PRINTBUNDLERUN_H
