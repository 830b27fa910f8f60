//===- KernelCacheTest.cpp - Compiled kernels on disk ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/Compilation/KernelCache.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

#include <thread>

using namespace regather::kernel;
using llvm::StringRef;
namespace fs = llvm::sys::fs;

namespace {
/// A folder that disappears with the test.
class KernelCacheTest : public ::testing::Test {
protected:
  KernelCacheTest() {
    EXPECT_FALSE(fs::createUniqueDirectory("regather", scratch));
    directory = scratch;
    // Folders above it are made as well.
    llvm::sys::path::append(directory, "above", "cache");
  }
  ~KernelCacheTest() override { EXPECT_FALSE(fs::remove_directories(scratch)); }

  /// The message with which storing fails; empty if it does not.
  static std::string store(const KernelCache &cache, StringRef key,
                           StringRef object) {
    return llvm::toString(cache.store(key, object));
  }

  /// What is stored under `key`; empty for nothing.
  static std::string lookup(const KernelCache &cache, StringRef key) {
    auto object = cache.lookup(key);
    return object ? object->getBuffer().str() : "";
  }

  static std::string read(const std::string &path) {
    auto file = llvm::MemoryBuffer::getFile(path);
    EXPECT_TRUE(bool(file));
    return file ? (*file)->getBuffer().str() : "";
  }

  static void write(const std::string &path, StringRef contents) {
    std::error_code error;
    llvm::raw_fd_ostream os(path, error);
    EXPECT_FALSE(error);
    os << contents;
  }

  llvm::SmallString<128> scratch;
  llvm::SmallString<128> directory;
};
} // namespace

TEST_F(KernelCacheTest, HoldsWhatWasStored) {
  KernelCache cache(directory);
  EXPECT_EQ(cache.lookup("a"), nullptr);
  EXPECT_EQ(store(cache, "a", "first"), "");
  EXPECT_EQ(store(cache, "b", StringRef("sec\0nd", 6)), "");
  EXPECT_EQ(lookup(cache, "a"), "first");
  EXPECT_EQ(lookup(cache, "b"), StringRef("sec\0nd", 6));
  EXPECT_EQ(cache.lookup("c"), nullptr);
  // Another process sees it, and an entry can be replaced.
  KernelCache other(directory);
  EXPECT_EQ(store(other, "a", "another"), "");
  EXPECT_EQ(lookup(cache, "a"), "another");
}

TEST_F(KernelCacheTest, RejectsEveryDamagedBit) {
  KernelCache cache(directory);
  ASSERT_EQ(store(cache, "key", "object"), "");
  std::string whole = read(cache.getPath("key"));
  for (size_t bit = 0; bit != 8 * whole.size(); ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    write(cache.getPath("key"), damaged);
    EXPECT_EQ(cache.lookup("key"), nullptr) << "bit " << bit;
  }
  write(cache.getPath("key"), whole);
  EXPECT_EQ(lookup(cache, "key"), "object");
}

TEST_F(KernelCacheTest, RejectsTruncatedAndLongerEntries) {
  KernelCache cache(directory);
  ASSERT_EQ(store(cache, "key", "object"), "");
  std::string whole = read(cache.getPath("key"));
  for (size_t size = 0; size != whole.size(); ++size) {
    write(cache.getPath("key"), StringRef(whole).take_front(size));
    EXPECT_EQ(cache.lookup("key"), nullptr) << size << " bytes";
  }
  write(cache.getPath("key"), whole + "x");
  EXPECT_EQ(cache.lookup("key"), nullptr);
  // Storing it again repairs it.
  EXPECT_EQ(store(cache, "key", "object"), "");
  EXPECT_EQ(lookup(cache, "key"), "object");
}

TEST_F(KernelCacheTest, RejectsEntriesUnderAnotherKey) {
  KernelCache cache(directory);
  ASSERT_EQ(store(cache, "key", "object"), "");
  ASSERT_FALSE(fs::rename(cache.getPath("key"), cache.getPath("yek")));
  EXPECT_EQ(cache.lookup("yek"), nullptr);
}

TEST_F(KernelCacheTest, NamesAFolderThatCannotBeWritten) {
  ASSERT_FALSE(fs::create_directories(llvm::sys::path::parent_path(directory)));
  write(directory.str().str(), "a file");
  KernelCache cache(directory);
  EXPECT_EQ(cache.lookup("key"), nullptr);
  std::string message = store(cache, "key", "object");
  EXPECT_NE(message.find("cannot write to the kernel cache '" +
                         directory.str().str() + "': "),
            std::string::npos)
      << message;
  cache.prune();
  EXPECT_EQ(read(directory.str().str()), "a file");
}

TEST_F(KernelCacheTest, PrunesTheLeastRecentlyUsed) {
  std::string object(1000, 'x');
  KernelCache cache(directory, /*maxBytes=*/4000);
  auto now = std::chrono::system_clock::now();
  for (int i = 0; i != 8; ++i) {
    ASSERT_EQ(store(cache, std::to_string(i), object), "");
    int fd;
    ASSERT_FALSE(fs::openFileForWrite(cache.getPath(std::to_string(i)), fd,
                                      fs::CD_OpenExisting, fs::OF_Append));
    // Within a day, in which reading alone may not change when it was used.
    EXPECT_FALSE(fs::setLastAccessAndModificationTime(
        fd, now - std::chrono::hours(8 - i), now - std::chrono::hours(10)));
    auto file = fs::convertFDToNativeFile(fd);
    EXPECT_FALSE(fs::closeFile(file));
  }
  // Used again: now the most recent.
  EXPECT_EQ(lookup(cache, "1"), object);
  // Not an entry of a cache: not ours to remove.
  std::string foreign = cache.getPath("0");
  foreign.replace(foreign.rfind("llvmcache-"), std::string::npos, "precious");
  write(foreign, std::string(10000, 'y'));

  cache.prune();
  std::string left;
  for (int i = 0; i != 8; ++i)
    if (cache.lookup(std::to_string(i)))
      left += std::to_string(i);
  EXPECT_EQ(left, "167");
  EXPECT_EQ(read(foreign).size(), 10000u);
}

TEST_F(KernelCacheTest, PrunesOnceInAWhile) {
  std::string object(1000, 'x');
  KernelCache cache(directory, /*maxBytes=*/10);
  ASSERT_EQ(store(cache, "first", object), "");
  cache.prune(std::chrono::hours(1));
  EXPECT_EQ(cache.lookup("first"), nullptr);
  ASSERT_EQ(store(cache, "second", object), "");
  cache.prune(std::chrono::hours(1));
  EXPECT_EQ(lookup(cache, "second"), object);
  cache.prune();
  EXPECT_EQ(cache.lookup("second"), nullptr);
}

TEST_F(KernelCacheTest, IsSafeUnderConcurrentUse) {
  // A reader sees a whole object or none, whatever writers and pruning do.
  auto work = [this](char letter) {
    KernelCache cache(directory, /*maxBytes=*/100000);
    std::string object(20000 + letter, letter);
    for (int i = 0; i != 50; ++i) {
      std::string key = std::to_string(i % 3);
      store(cache, key, object);
      std::string found = lookup(cache, key);
      if (!found.empty()) {
        EXPECT_EQ(found, std::string(20000 + found.front(), found.front()));
      }
      if (i % 10 == 0)
        cache.prune();
    }
  };
  std::vector<std::thread> threads;
  for (char letter : {'a', 'b', 'c', 'd'})
    threads.emplace_back(work, letter);
  for (std::thread &thread : threads)
    thread.join();
  KernelCache cache(directory);
  EXPECT_FALSE(lookup(cache, "0").empty());
}
