//===- ModelAxes.h - Axes that do not split the batch -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_TRANSFORMS_MODELAXES_H
#define REGATHER_DIALECT_TG_TRANSFORMS_MODELAXES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace regather::tg {

/// The axes of a mesh that `tg-shard-step` takes care of, in the order of the
/// mesh: those that an annotation of option `shard` names, and those called tp,
/// cp or ep unless `dataAxes` has them. `mesh` lists axes as `tp:2`; what is no
/// axis is skipped.
std::vector<std::string> findModelAxes(llvm::ArrayRef<std::string> mesh,
                                       llvm::ArrayRef<std::string> annotations,
                                       llvm::ArrayRef<std::string> dataAxes);

/// The axis that an annotation such as `wq=[tp] shard 0` names; empty if it is
/// malformed.
llvm::StringRef getAnnotatedAxis(llvm::StringRef annotation);

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_TRANSFORMS_MODELAXES_H
