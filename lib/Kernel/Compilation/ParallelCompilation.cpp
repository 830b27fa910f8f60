//===- ParallelCompilation.cpp - Kernels in parallel, and cached ----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Kernel/Compilation/ParallelCompilation.h"

#include "regather/Kernel/Compilation/KernelCache.h"

#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"

#include <atomic>
#include <dlfcn.h>
#include <mutex>
#include <optional>

using namespace regather;
using namespace regather::kernel;
using llvm::ArrayRef;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Keys
//===----------------------------------------------------------------------===//

/// Describes the state of the program or shared library that `address` lies
/// in, such that it changes when that is built anew.
static void describeImage(const void *address, llvm::raw_ostream &os) {
  Dl_info info;
  llvm::sys::fs::file_status status;
  if (!dladdr(address, &info) || !info.dli_fname)
    return;
  std::string path = info.dli_fname;
  // The name of the program is what it was called by.
  if (llvm::sys::fs::status(path, status))
    path = llvm::sys::fs::getMainExecutable(nullptr, nullptr);
  if (!llvm::sys::fs::status(path, status))
    os << status.getSize() << ' '
       << status.getLastModificationTime().time_since_epoch().count() << '\n';
}

std::string kernel::describeCompiler() {
  std::string description;
  llvm::raw_string_ostream os(description);
  os << "LLVM " << LLVM_VERSION_STRING << '\n';
  // Regather, MLIR and LLVM may be in one file or in three.
  describeImage(reinterpret_cast<const void *>(&describeCompiler), os);
  describeImage(reinterpret_cast<const void *>(&mlir::translateModuleToLLVMIR),
                os);
  describeImage(reinterpret_cast<const void *>(&llvm::sys::getHostCPUName), os);
  return description;
}

std::string kernel::hashText(StringRef description, StringRef text) {
  llvm::BLAKE3 hasher;
  hasher.update(description);
  hasher.update(text);
  return llvm::toHex(hasher.final(), /*LowerCase=*/true);
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

size_t kernel::getFirstText(uint64_t process, size_t count) {
  // Multiples of the golden ratio, as parts of 2^64: however many follow each
  // other, they lie far from each other.
  uint64_t part = process * 0x9e3779b97f4a7c15ull;
  return static_cast<size_t>((part >> 32) * count >> 32);
}

llvm::Expected<std::string> kernel::generateCode(StringRef,
                                                 CodeGenerator generate) {
  return generate();
}

namespace {
/// The kernels of one step, which several threads work off.
class Compilation {
public:
  Compilation(ArrayRef<std::string> texts,
              llvm::function_ref<std::string(StringRef)> getName,
              llvm::function_ref<TextCompiler()> makeCompiler,
              const CompileOptions &options, KernelStatistics &statistics)
      : texts(texts), getName(getName), makeCompiler(makeCompiler),
        options(options), statistics(statistics), compiled(texts.size()) {
    if (options.cacheDirectory.empty())
      return;
    cache.emplace(options.cacheDirectory);
    build = describeCompiler();
    first = getFirstText(llvm::sys::Process::getProcessId(), texts.size());
  }

  std::vector<CompiledText> run();

private:
  /// Works until no kernel is left.
  void work();
  /// True if nothing had to be generated.
  bool compile(StringRef text, CompiledText &result, TextCompiler &compiler);
  /// Empty if the cache does not hold it.
  std::string lookup(StringRef key);
  void store(StringRef key, StringRef code);
  void finish(bool isCached);

  ArrayRef<std::string> texts;
  llvm::function_ref<std::string(StringRef)> getName;
  llvm::function_ref<TextCompiler()> makeCompiler;
  const CompileOptions &options;
  std::optional<KernelCache> cache;
  /// Of Regather, MLIR and LLVM.
  std::string build;
  /// Where this process begins.
  size_t first = 0;
  std::atomic<size_t> next = 0;
  std::atomic<bool> canStore = true;

  /// Guards the statistics and the callback.
  std::mutex mutex;
  KernelStatistics &statistics;
  /// Each written by the thread that works on it.
  std::vector<CompiledText> compiled;
};
} // namespace

std::vector<CompiledText> Compilation::run() {
  statistics.count = static_cast<int64_t>(texts.size());
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency(options.threads));
  size_t workers = std::min<size_t>(pool.getMaxConcurrency(), texts.size());
  for (size_t i = 0; i != workers; ++i)
    pool.async([this] { work(); });
  pool.wait();
  if (cache && statistics.compiled)
    cache->prune(KernelCache::kPruneInterval);
  return std::move(compiled);
}

void Compilation::work() {
  // A compiler takes time to set up: not if all kernels are in the cache.
  TextCompiler compiler;
  for (size_t n = next++; n < texts.size(); n = next++) {
    size_t i = (first + n) % texts.size();
    CompiledText &result = compiled[i];
    result.name = getName(texts[i]);
    finish(compile(texts[i], result, compiler));
  }
}

bool Compilation::compile(StringRef text, CompiledText &result,
                          TextCompiler &compiler) {
  std::string key = hashText(build, result.name);
  result.code = lookup(key);
  if (!result.code.empty())
    return true;
  if (!compiler)
    compiler = makeCompiler();
  bool isCached = true;
  auto source = [&](StringRef program,
                    CodeGenerator generate) -> llvm::Expected<std::string> {
    std::string programKey = hashText("program\n", program);
    std::string found = lookup(programKey);
    if (!found.empty())
      return found;
    isCached = false;
    auto code = generate();
    if (code)
      store(programKey, *code);
    return code;
  };
  auto code = compiler(text, result.name, source);
  if (!code) {
    result.error = llvm::toString(code.takeError());
    return false;
  }
  result.code = std::move(*code);
  store(key, result.code);
  return isCached;
}

std::string Compilation::lookup(StringRef key) {
  if (!cache)
    return "";
  std::unique_ptr<llvm::MemoryBuffer> entry = cache->lookup(key);
  return entry ? entry->getBuffer().str() : "";
}

void Compilation::store(StringRef key, StringRef code) {
  if (!cache || !canStore)
    return;
  llvm::Error error = cache->store(key, code);
  if (!error)
    return;
  // The next one would fare no better.
  canStore = false;
  std::string message = llvm::toString(std::move(error));
  std::lock_guard<std::mutex> lock(mutex);
  statistics.cacheError = std::move(message);
}

void Compilation::finish(bool isCached) {
  std::lock_guard<std::mutex> lock(mutex);
  ++(isCached ? statistics.cached : statistics.compiled);
  if (options.onKernelReady)
    options.onKernelReady(statistics.cached + statistics.compiled,
                          statistics.count);
}

std::vector<CompiledText>
kernel::compileInParallel(ArrayRef<std::string> texts,
                          llvm::function_ref<std::string(StringRef)> getName,
                          llvm::function_ref<TextCompiler()> makeCompiler,
                          const CompileOptions &options,
                          KernelStatistics &statistics) {
  return Compilation(texts, getName, makeCompiler, options, statistics).run();
}
