//===- AtomicFile.h - Files that appear when complete -----------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_SUPPORT_ATOMICFILE_H
#define REGATHER_SUPPORT_ATOMICFILE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace regather {

/// Who may read and write a new file; the umask takes some away from `Shared`.
enum class FileAccess { Shared, OwnerOnly };

/// Writes a file that appears under its name when it is complete: under a
/// temporary name first, then renamed. What is not a file, such as a pipe or a
/// device, is written to as it is. Unlike `llvm::writeToOutput`, errors of the
/// stream, such as a full disk, are returned and do not end the program.
llvm::Error
writeFileAtomically(llvm::StringRef path,
                    llvm::function_ref<void(llvm::raw_ostream &)> write,
                    FileAccess access = FileAccess::Shared);

} // namespace regather

#endif // REGATHER_SUPPORT_ATOMICFILE_H
