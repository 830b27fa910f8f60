//===- PassOptionCheck.h - What is wrong about options ----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR says that there is no such option, or that a value is invalid, but not
// what there is, nor where the user wrote it.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_PIPELINES_PASSOPTIONCHECK_H
#define REGATHER_PIPELINES_PASSOPTIONCHECK_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace regather {

/// What is wrong about `text`, options of the registered pass `pass` such as
/// "max-ops=32 max-operands=8": a name that the pass does not know, a word
/// where it expects a number, or none of its choices. A sentence that begins
/// with `origin`, the flag that holds them; empty if there is nothing wrong,
/// and for passes that do not exist.
std::string findWrongOption(llvm::StringRef pass, llvm::StringRef text,
                            llvm::StringRef origin);

/// True if there is a pass of this name.
bool isPassKnown(llvm::StringRef pass);

} // namespace regather

#endif // REGATHER_PIPELINES_PASSOPTIONCHECK_H
