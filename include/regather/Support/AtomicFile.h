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

/// Results are readable as the umask says, and are on the disk before they
/// appear, so that they survive the loss of power. Internal files, such as
/// entries of a cache, are for their owner alone, and can be made again.
enum class FileKind { Result, Internal };

/// Writes a file of these parts, one after the other. It appears under its name
/// when it is complete; after a failure nothing has changed. If the name is a
/// symbolic link, the file that it leads to is written. What is there and is no
/// regular file, such as a pipe, is written to in place. The message says only
/// why, not which file.
Failure writeFileAtomically(const std::string &path,
                            const std::vector<std::string_view> &parts,
                            FileKind kind = FileKind::Result);

/// Fails, as `writeFileAtomically` would, if no file can be made there, and
/// leaves nothing behind: for long work whose result would be lost. A disk may
/// still be full later.
Failure checkWritable(const std::string &path);

/// The same of a folder, which need not exist, and may lie in folders that do
/// not.
Failure checkFolderWritable(const std::string &path);

/// Puts on the disk which names a folder has.
Failure syncFolder(const std::string &path);

} // namespace regather

#endif // REGATHER_SUPPORT_ATOMICFILE_H
