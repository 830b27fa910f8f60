//===- CompileKernels.cpp - Kernels in parallel, and cached ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Target/CPU/CompileKernels.h"

#include "KernelCache.h"
#include "KernelCompiler.h"

#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/Threading.h"

#include <atomic>
#include <mutex>

using namespace mlir;
using namespace regather;
using namespace regather::cpu;

/// The text of a kernel, which decides its code: without names and locations.
static std::string getText(tg::KernelOp kernel) {
  tg::KernelOp copy = kernel.clone();
  OwningOpRef<tg::KernelOp> owner(copy);
  copy.setSymName("kernel");
  // Decisions on the graph do not change what a kernel computes.
  copy->setDiscardableAttrs(DictionaryAttr::get(copy.getContext()));
  copy->walk([&](Operation *inner) {
    SmallVector<StringAttr> names;
    for (NamedAttribute attr : inner->getDiscardableAttrs())
      if (attr.getName().getValue().starts_with("tg."))
        names.push_back(attr.getName());
    for (StringAttr name : names)
      inner->removeDiscardableAttr(name);
  });
  std::string text;
  llvm::raw_string_ostream stream(text);
  copy.print(stream, OpPrintingFlags().printGenericOpForm().useLocalScope());
  return text;
}

namespace {
struct CompiledKernel {
  std::string name;
  KernelShape shape;
  /// Null if the kernel cannot be compiled.
  std::unique_ptr<llvm::MemoryBuffer> object;
  std::string error;
};

/// The kernels of one step, which several threads work off.
class Compilation {
public:
  Compilation(ArrayRef<std::string> texts, const DialectRegistry &dialects,
              const KernelTarget &target, const KernelCompileOptions &options,
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
  void lookup(CompiledKernel &kernel);
  void store(const CompiledKernel &kernel);
  void finish(bool isCached);

  ArrayRef<std::string> texts;
  const DialectRegistry &dialects;
  const KernelTarget &target;
  const KernelCompileOptions &options;
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
  llvm::DefaultThreadPool pool(llvm::hardware_concurrency(options.threads));
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
      lookup(kernel);
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
  auto object = compiler->compile(text, kernel.name, kernel.shape);
  if (!object) {
    kernel.error = llvm::toString(object.takeError());
    return;
  }
  kernel.object = std::move(*object);
  if (cache && canStore)
    store(kernel);
}

/// An entry is the shape and then the object.
void Compilation::lookup(CompiledKernel &kernel) {
  std::unique_ptr<llvm::MemoryBuffer> entry = cache->lookup(kernel.name);
  if (!entry || entry->getBufferSize() < sizeof(KernelShape))
    return;
  memcpy(&kernel.shape, entry->getBufferStart(), sizeof(KernelShape));
  // A copy is aligned, as readers of object files expect.
  kernel.object = llvm::MemoryBuffer::getMemBufferCopy(
      entry->getBuffer().drop_front(sizeof(KernelShape)), kernel.name);
}

void Compilation::store(const CompiledKernel &kernel) {
  std::string entry(reinterpret_cast<const char *>(&kernel.shape),
                    sizeof(KernelShape));
  entry += kernel.object->getBuffer();
  llvm::Error error = cache->store(kernel.name, entry);
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

/// Emits why a kernel cannot be compiled. Its text has no locations: lower the
/// kernel itself, which has them.
static void explainFailure(tg::KernelOp kernel, StringRef message,
                           int64_t blockBytes) {
  OwningOpRef<tg::KernelOp> copy(kernel.clone());
  OwningOpRef<ModuleOp> module = ModuleOp::create(kernel.getLoc());
  KernelShape shape;
  if (succeeded(lowerKernel(*copy, *module, blockBytes, shape)))
    kernel.emitError() << "cannot compile the kernel: " << message;
}

FailureOr<std::vector<KernelCode>>
cpu::compileKernels(ArrayRef<tg::KernelOp> kernels,
                    const KernelCompileOptions &options,
                    KernelStatistics &statistics) {
  if (kernels.empty())
    return std::vector<KernelCode>();
  auto target = KernelTarget::detectHost(options.blockBytes);
  if (!target)
    return tg::KernelOp(kernels.front()).emitError()
           << "cannot compile the kernels: "
           << llvm::toString(target.takeError());
  auto texts = llvm::map_to_vector(kernels, getText);
  MLIRContext *context = tg::KernelOp(kernels.front()).getContext();
  std::vector<CompiledKernel> compiled =
      Compilation(texts, context->getDialectRegistry(), *target, options,
                  statistics)
          .run();
  std::vector<KernelCode> codes;
  bool hasFailed = false;
  for (auto [i, kernel] : llvm::enumerate(compiled)) {
    tg::KernelOp op = kernels[i];
    if (!kernel.object) {
      explainFailure(op, kernel.error, options.blockBytes);
      hasFailed = true;
      continue;
    }
    KernelCode &code = codes.emplace_back();
    code.symbol = kernel.name;
    code.rows = kernel.shape.numBlocks;
    code.scratchBytes = kernel.shape.scratchBytes;
    code.object = std::move(kernel.object);
  }
  if (hasFailed)
    return failure();
  return codes;
}
