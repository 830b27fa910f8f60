//===- OptimizerGroups.h - Parameters with settings of their own -*- C++
//-*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_OPTIMIZERGROUPS_H
#define REGATHER_DIALECT_TG_TRANSFORMS_OPTIMIZERGROUPS_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

namespace regather::tg {

/// `*norm*:weight-decay=0`, a group of option `groups` of tg-append-optimizer.
struct OptimizerGroupText {
  llvm::StringRef pattern, settings;
};

/// Splits what `|` separates. Checks nothing: the pass says what is wrong.
llvm::SmallVector<OptimizerGroupText> splitGroups(llvm::StringRef groups);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_TRANSFORMS_OPTIMIZERGROUPS_H
