//===- AtomicFile.cpp - Files that appear when complete -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Support/AtomicFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"

using llvm::Error;
using llvm::StringRef;
namespace fs = llvm::sys::fs;

using WriteFn = llvm::function_ref<void(llvm::raw_ostream &)>;

/// Calls `write` and returns what went wrong with the stream, if anything.
static Error writeStream(int file, WriteFn write) {
  llvm::raw_fd_ostream stream(file, /*shouldClose=*/false);
  write(stream);
  stream.flush();
  std::error_code error = stream.error();
  // Otherwise the destructor would end the program.
  stream.clear_error();
  return llvm::errorCodeToError(error);
}

static Error writeInPlace(StringRef path, WriteFn write) {
  int file = -1;
  if (std::error_code error =
          fs::openFileForWrite(path, file, fs::CD_OpenExisting, fs::OF_None))
    return llvm::errorCodeToError(error);
  Error error = writeStream(file, write);
  if (std::error_code closed =
          llvm::sys::Process::SafelyCloseFileDescriptor(file))
    error = llvm::joinErrors(std::move(error), llvm::errorCodeToError(closed));
  return error;
}

Error regather::writeFileAtomically(StringRef path, WriteFn write,
                                    FileAccess access) {
  fs::file_status status;
  if (!fs::status(path, status) && status.type() != fs::file_type::regular_file)
    return writeInPlace(path, write);
  unsigned mode = access == FileAccess::OwnerOnly
                      ? fs::owner_read | fs::owner_write
                      : fs::all_read | fs::all_write;
  auto temporary = fs::TempFile::create(path + ".temporary-%%%%%%%%", mode);
  if (!temporary)
    return temporary.takeError();
  if (Error error = writeStream(temporary->FD, write))
    return llvm::joinErrors(std::move(error), temporary->discard());
  return temporary->keep(path);
}
