//===- CompileKernels.cpp - Kernels in parallel, and cached ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileKernels.h"

#include "KernelCache.h"

#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/Threading.h"

#include <atomic>
#include <mutex>

using namespace mlir;
using namespace regather;
using namespace regather::native;

namespace {
/// The kernels of one step, which several threads work off.
class Compilation {
public:
  Compilation(ArrayRef<std::string> texts, const DialectRegistry &dialects,
              const KernelTarget &target, const EngineOptions &options,
              KernelStatistics &statistics)
      : texts(texts), dialects(dialects), target(target), options(options),
        statistics(statistics), kernels(texts.size()) {
    if (!options.cacheDirectory.empty())
      cache.emplace(options.cacheDirectory);
  }

  std::vector<CompiledKernel> run();

private:
  /// Works until no kernel is left.
  void work();
  void compile(StringRef text, CompiledKernel &kernel,
               std::optional<KernelCompiler> &compiler);
  void store(const CompiledKernel &kernel);
  void finish(bool isCached);

  ArrayRef<std::string> texts;
  const DialectRegistry &dialects;
  const KernelTarget &target;
  const EngineOptions &options;
  std::optional<KernelCache> cache;
  std::atomic<size_t> next = 0;
  std::atomic<bool> canStore = true;

  /// Guards the statistics and the callback.
  std::mutex mutex;
  KernelStatistics &statistics;
  /// Each written by the thread that works on it.
  std::vector<CompiledKernel> kernels;
};
} // namespace

std::vector<CompiledKernel> Compilation::run() {
  statistics.count = static_cast<int64_t>(texts.size());
  llvm::DefaultThreadPool pool(
      llvm::hardware_concurrency(options.compileThreads));
  size_t workers = std::min<size_t>(pool.getMaxConcurrency(), texts.size());
  for (size_t i = 0; i != workers; ++i)
    pool.async([this] { work(); });
  pool.wait();
  if (cache && statistics.compiled)
    cache->prune();
  return std::move(kernels);
}

void Compilation::work() {
  // A context takes time to set up: not if all kernels are in the cache.
  std::optional<KernelCompiler> compiler;
  for (size_t i = next++; i < texts.size(); i = next++) {
    CompiledKernel &kernel = kernels[i];
    kernel.name = target.getKey(texts[i]);
    if (cache)
      kernel.object = cache->lookup(kernel.name);
    bool isCached = kernel.object != nullptr;
    if (!isCached)
      compile(texts[i], kernel, compiler);
    finish(isCached);
  }
}

void Compilation::compile(StringRef text, CompiledKernel &kernel,
                          std::optional<KernelCompiler> &compiler) {
  if (!compiler)
    compiler.emplace(dialects, target);
  auto object = compiler->compile(text, kernel.name);
  if (!object) {
    kernel.error = llvm::toString(object.takeError());
    return;
  }
  kernel.object = std::move(*object);
  if (cache && canStore)
    store(kernel);
}

void Compilation::store(const CompiledKernel &kernel) {
  llvm::Error error = cache->store(kernel.name, kernel.object->getBuffer());
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

std::vector<CompiledKernel> regather::native::compileKernels(
    ArrayRef<std::string> texts, const DialectRegistry &dialects,
    const KernelTarget &target, const EngineOptions &options,
    KernelStatistics &statistics) {
  return Compilation(texts, dialects, target, options, statistics).run();
}
