//===- AtomicFile.h - Files that appear whole -------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_SUPPORT_ATOMICFILE_H
#define REGATHER_SUPPORT_ATOMICFILE_H

#include "regather/Support/Result.h"

#include <string_view>
#include <vector>

namespace regather {

/// Who may read and write a new file; the umask takes some away from `Shared`.
enum class FileAccess { Shared, OwnerOnly };

/// Writes a file of these parts, one after the other. It appears under its name
/// when it is complete; after a failure nothing has changed. What is there and
/// is no regular file, such as a pipe, is written to in place. The message says
/// only why, not which file.
Failure writeFileAtomically(const std::string &path,
                            const std::vector<std::string_view> &parts,
                            FileAccess access = FileAccess::Shared);

} // namespace regather

#endif // REGATHER_SUPPORT_ATOMICFILE_H
