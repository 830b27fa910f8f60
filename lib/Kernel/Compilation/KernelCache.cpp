//===- KernelCache.cpp - Compiled kernels on disk -------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// An entry is a file: eight bytes that name the format, the BLAKE3 hash of key
// and object, the object. The hash tells apart an entry that is whole, and lies
// under its own key, from all others.
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/Compilation/KernelCache.h"

#include "regather/Support/AtomicFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <fcntl.h>
#include <sys/stat.h>

using namespace regather;
using namespace regather::kernel;
using llvm::StringRef;
namespace fs = llvm::sys::fs;

static constexpr llvm::StringLiteral kMagic = "rgkernel";

/// pruneCache looks at files of this name only.
static constexpr llvm::StringLiteral kPrefix = "llvmcache-";

static constexpr uint64_t kMaxFiles = 65536;

static std::string makeHeader(StringRef key, StringRef object) {
  llvm::BLAKE3 hasher;
  hasher.update(key);
  hasher.update(object);
  return (kMagic + llvm::toStringRef(hasher.final())).str();
}

std::string KernelCache::getPath(StringRef key) const {
  llvm::SmallString<128> path(directory);
  llvm::sys::path::append(path, kPrefix + key);
  return path.str().str();
}

std::unique_ptr<llvm::MemoryBuffer> KernelCache::lookup(StringRef key) const {
  auto handle = fs::openNativeFileForRead(getPath(key));
  if (!handle) {
    llvm::consumeError(handle.takeError());
    return nullptr;
  }
  // The access time orders entries when the cache is pruned, and systems update
  // it once a day or never. Without it, an entry is removed too early.
  const timespec times[] = {{0, UTIME_NOW}, {0, UTIME_OMIT}};
  (void)futimens(*handle, times);
  // Read, not mapped: what was checked cannot change afterwards.
  auto file = llvm::MemoryBuffer::getOpenFile(*handle, key, /*FileSize=*/-1,
                                              /*RequiresNullTerminator=*/false,
                                              /*IsVolatile=*/true);
  if (fs::closeFile(*handle) || !file)
    return nullptr;
  StringRef contents = (*file)->getBuffer();
  size_t headerSize = kMagic.size() + sizeof(llvm::BLAKE3Result<>);
  if (contents.size() <= headerSize)
    return nullptr;
  StringRef object = contents.drop_front(headerSize);
  if (contents.take_front(headerSize) != makeHeader(key, object))
    return nullptr;
  // A copy is aligned, as readers of object files expect.
  return llvm::MemoryBuffer::getMemBufferCopy(object, key);
}

llvm::Error KernelCache::store(StringRef key, StringRef object) const {
  auto explain = [&](const llvm::Twine &reason) {
    return llvm::createStringError("cannot write to the kernel cache '" +
                                   directory + "': " + reason);
  };
  // Who can write an entry decides what is run.
  if (std::error_code error = fs::create_directories(
          directory, /*IgnoreExisting=*/true, fs::owner_all))
    return explain(error.message());
  std::string header = makeHeader(key, object);
  Failure failure =
      writeFileAtomically(getPath(key), {header, object}, FileKind::Internal);
  return failure ? explain(failure.getMessage()) : llvm::Error::success();
}

void KernelCache::prune(std::chrono::seconds interval) const {
  // pruneCache ends the program if there is no such folder.
  if (!fs::is_directory(directory))
    return;
  llvm::CachePruningPolicy policy;
  policy.Interval = interval;
  policy.Expiration = std::chrono::seconds(0);
  policy.MaxSizeBytes = maxBytes;
  policy.MaxSizeFiles = kMaxFiles;
  llvm::pruneCache(directory, policy);
}
