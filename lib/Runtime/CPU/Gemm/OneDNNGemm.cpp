//===- OneDNNGemm.cpp - GEMMs by oneDNN -----------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GEMMs of bf16, for which the library uses instructions that have no like
// for f32. It is loaded when the first GEMM is made, so that one build runs
// with and without it. Its threads are not used: with them, the way the sum
// over k is split would depend on how many there are.
//
// How the library sums may depend on how matrices lie in memory. So it only
// sees copies of blocks, which lie in one way, and the bits of a GEMM are
// those of its sizes:
//
//   for segment of k:
//     for depth block of the segment:
//       copy the block's rows of B and columns of A
//       sums (+)= A B
//     add to what waits
//   epilogue, write to C
//
//===----------------------------------------------------------------------===//

#include "Gemm.h"
#include "GemmEpilogue.h"
#include "SegmentSums.h"

#if __has_include(<oneapi/dnnl/dnnl.h>)
#include <oneapi/dnnl/dnnl.h>
#endif

#if defined(DNNL_VERSION_MAJOR) && DNNL_VERSION_MAJOR == 2

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <set>
#include <tuple>
#include <vector>

using namespace regather::runtime;

namespace {
/// The functions of the library. Loaded once for the process, never unloaded.
struct Library {
#define REGATHER_DNNL_FUNCTIONS(X)                                             \
  X(dnnl_engine_create)                                                        \
  X(dnnl_matmul_desc_init)                                                     \
  X(dnnl_memory_create)                                                        \
  X(dnnl_memory_desc_get_size)                                                 \
  X(dnnl_memory_desc_init_by_strides)                                          \
  X(dnnl_memory_destroy)                                                       \
  X(dnnl_post_ops_append_sum)                                                  \
  X(dnnl_post_ops_create)                                                      \
  X(dnnl_post_ops_destroy)                                                     \
  X(dnnl_primitive_attr_create)                                                \
  X(dnnl_primitive_attr_destroy)                                               \
  X(dnnl_primitive_attr_set_post_ops)                                          \
  X(dnnl_primitive_attr_set_scratchpad_mode)                                   \
  X(dnnl_primitive_create)                                                     \
  X(dnnl_primitive_desc_create)                                                \
  X(dnnl_primitive_desc_destroy)                                               \
  X(dnnl_primitive_desc_query)                                                 \
  X(dnnl_primitive_desc_query_md)                                              \
  X(dnnl_primitive_destroy)                                                    \
  X(dnnl_primitive_execute)                                                    \
  X(dnnl_stream_create)                                                        \
  X(dnnl_stream_destroy)
  // Members are called like the functions.
  // NOLINTBEGIN(readability-identifier-naming)
#define REGATHER_DECLARE(name) decltype(&::name) name = nullptr;
  REGATHER_DNNL_FUNCTIONS(REGATHER_DECLARE)
#undef REGATHER_DECLARE
  /// Sets the number of threads of the calling thread's parallel regions; null
  /// if the library does not use OpenMP.
  void (*omp_set_num_threads)(int) = nullptr;
  // NOLINTEND(readability-identifier-naming)
  dnnl_engine_t engine = nullptr;

  /// Null if the library is not there or lacks a function.
  static const Library *get();
};
} // namespace

static bool load(Library &library) {
  void *handle = dlopen("libdnnl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return false;
#define REGATHER_LOAD(name)                                                    \
  library.name = reinterpret_cast<decltype(&::name)>(dlsym(handle, #name));    \
  if (!library.name)                                                           \
    return false;
  REGATHER_DNNL_FUNCTIONS(REGATHER_LOAD)
#undef REGATHER_LOAD
  library.omp_set_num_threads =
      reinterpret_cast<void (*)(int)>(dlsym(handle, "omp_set_num_threads"));
  return library.dnnl_engine_create(&library.engine, dnnl_cpu, 0) ==
         dnnl_success;
}

const Library *Library::get() {
  // Without a destructor: worker threads may still run when the process ends.
  static const Library *const library = []() -> const Library * {
    auto *loaded = new Library();
    if (load(*loaded))
      return loaded;
    delete loaded;
    return nullptr;
  }();
  return library;
}

namespace {
/// The GEMM of two blocks of some size in row-major order, for which the
/// library has generated code.
class BlockGemm {
public:
  BlockGemm(const Library &library, int64_t m, int64_t n, int64_t k, bool adds);
  ~BlockGemm() {
    if (primitive)
      library.dnnl_primitive_destroy(primitive);
  }
  BlockGemm(const BlockGemm &) = delete;

  bool isReady() const { return primitive; }
  size_t getScratchBytes() const { return scratchBytes; }
  bool run(uint16_t *dataA, uint16_t *dataB, float *dataC,
           void *scratchMemory) const;

private:
  bool create(bool adds);
  bool createPrimitive(dnnl_primitive_attr_t attr);

  const Library &library;
  dnnl_memory_desc_t a = {}, b = {}, c = {}, scratch = {};
  dnnl_primitive_t primitive = nullptr;
  size_t scratchBytes = 0;
};

/// The objects of one run: memories are destroyed with it.
class Execution {
public:
  explicit Execution(const Library &library) : library(library) {}
  ~Execution() {
    for (const dnnl_exec_arg_t &argument : arguments)
      library.dnnl_memory_destroy(argument.memory);
    if (stream)
      library.dnnl_stream_destroy(stream);
  }

  bool add(int kind, const dnnl_memory_desc_t &desc, void *data) {
    dnnl_memory_t memory = nullptr;
    if (library.dnnl_memory_create(&memory, &desc, library.engine, data) !=
        dnnl_success)
      return false;
    arguments.push_back({kind, memory});
    return true;
  }

  bool run(dnnl_primitive_t primitive) {
    return library.dnnl_stream_create(&stream, library.engine,
                                      dnnl_stream_default_flags) ==
               dnnl_success &&
           library.dnnl_primitive_execute(primitive, stream,
                                          static_cast<int>(arguments.size()),
                                          arguments.data()) == dnnl_success;
  }

private:
  const Library &library;
  dnnl_stream_t stream = nullptr;
  std::vector<dnnl_exec_arg_t> arguments;
};
} // namespace

/// True if the code that was chosen is the library's reference, which is
/// slower than loops.
static bool isReference(const Library &library,
                        const_dnnl_primitive_desc_t desc) {
  const char *name = nullptr;
  return library.dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0,
                                           static_cast<void *>(&name)) !=
             dnnl_success ||
         strncmp(name, "ref", 3) == 0;
}

/// The library decides by the number of threads how to divide the work.
static void useOneThread(const Library &library) {
  if (library.omp_set_num_threads)
    library.omp_set_num_threads(1);
}

BlockGemm::BlockGemm(const Library &library, int64_t m, int64_t n, int64_t k,
                     bool adds)
    : library(library) {
  useOneThread(library);
  auto describe = [&](dnnl_memory_desc_t &operand, dnnl_data_type_t type,
                      int64_t rows, int64_t columns) {
    dnnl_dims_t sizes = {rows, columns}, steps = {columns, 1};
    return library.dnnl_memory_desc_init_by_strides(&operand, 2, sizes, type,
                                                    steps) == dnnl_success;
  };
  if (describe(a, dnnl_bf16, m, k) && describe(b, dnnl_bf16, k, n) &&
      describe(c, dnnl_f32, m, n))
    create(adds);
}

bool BlockGemm::create(bool adds) {
  dnnl_primitive_attr_t attr = nullptr;
  if (library.dnnl_primitive_attr_create(&attr) != dnnl_success)
    return false;
  bool ready = true;
  dnnl_post_ops_t after = nullptr;
  if (adds) {
    ready =
        library.dnnl_post_ops_create(&after) == dnnl_success &&
        library.dnnl_post_ops_append_sum(after, 1.0f) == dnnl_success &&
        library.dnnl_primitive_attr_set_post_ops(attr, after) == dnnl_success;
    if (after)
      library.dnnl_post_ops_destroy(after);
  }
  ready = ready && createPrimitive(attr);
  library.dnnl_primitive_attr_destroy(attr);
  return ready;
}

bool BlockGemm::createPrimitive(dnnl_primitive_attr_t attr) {
  // Scratch memory of the library's own would be shared between threads.
  if (library.dnnl_primitive_attr_set_scratchpad_mode(
          attr, dnnl_scratchpad_mode_user) != dnnl_success)
    return false;
  dnnl_matmul_desc_t matmul;
  dnnl_primitive_desc_t desc = nullptr;
  if (library.dnnl_matmul_desc_init(&matmul, &a, &b, nullptr, &c) !=
          dnnl_success ||
      library.dnnl_primitive_desc_create(&desc, &matmul, attr, library.engine,
                                         nullptr) != dnnl_success)
    return false;
  bool created =
      !isReference(library, desc) &&
      library.dnnl_primitive_create(&primitive, desc) == dnnl_success;
  if (created) {
    scratch = *library.dnnl_primitive_desc_query_md(
        desc, dnnl_query_scratchpad_md, 0);
    scratchBytes = library.dnnl_memory_desc_get_size(&scratch);
  }
  library.dnnl_primitive_desc_destroy(desc);
  return created;
}

bool BlockGemm::run(uint16_t *dataA, uint16_t *dataB, float *dataC,
                    void *scratchMemory) const {
  Execution execution(library);
  return execution.add(DNNL_ARG_SRC, a, dataA) &&
         execution.add(DNNL_ARG_WEIGHTS, b, dataB) &&
         execution.add(DNNL_ARG_DST, c, dataC) &&
         (!scratchBytes ||
          execution.add(DNNL_ARG_SCRATCHPAD, scratch, scratchMemory)) &&
         execution.run(primitive);
}

namespace {
class OneDNNGemm final : public GemmRoutine {
public:
  OneDNNGemm(const rg_gemm_desc &desc, const Library &library)
      : GemmRoutine(desc, GemmTasks(desc)), library(library),
        segments(desc, tasks, tasks.getTileRows(), tasks.getTileColumns()) {}

  /// Generates code for all sizes of blocks.
  bool create();

  size_t getScratchBytes() const override {
    return leftBytes + rightBytes + sumBytes + libraryBytes +
           segments.getScratchBytes();
  }

protected:
  bool runTile(void *const *buffers, const GemmTile &tile,
               void *scratch) const override;

private:
  /// Rows, columns, depth, and whether it adds to sums.
  using Key = std::tuple<int64_t, int64_t, int64_t, bool>;

  bool sumSegment(const GemmOperand &a, const GemmOperand &b,
                  const GemmTile &tile, int64_t first, char *scratch) const;

  const Library &library;
  SegmentSums segments;
  std::map<Key, BlockGemm> blocks;
  size_t leftBytes = 0, rightBytes = 0, sumBytes = 0, libraryBytes = 0;
};
} // namespace

/// What is summed in one call.
static constexpr int64_t kDepthBlock = 1024;

bool OneDNNGemm::create() {
  int64_t length = getSegmentLength(desc);
  int64_t depth = std::min(length, kDepthBlock);
  auto round = [](int64_t bytes) {
    constexpr size_t line = 64;
    return (static_cast<size_t>(bytes) + line - 1) / line * line;
  };
  leftBytes = round(tasks.getTileRows() * depth * 2);
  rightBytes = round(tasks.getTileColumns() * depth * 2);
  sumBytes = round(tasks.getTileRows() * tasks.getTileColumns() * 4);
  auto getSizes = [](int64_t whole, int64_t part) {
    return std::set<int64_t>{std::min(whole, part),
                             whole - (whole - 1) / part * part};
  };
  for (int64_t m : getSizes(desc.m, tasks.getTileRows()))
    for (int64_t n : getSizes(desc.n, tasks.getTileColumns()))
      for (int64_t k : getSizes(length, kDepthBlock))
        for (bool adds : {false, true}) {
          if (adds && length <= kDepthBlock)
            continue;
          auto [it, inserted] =
              blocks.try_emplace(Key(m, n, k, adds), library, m, n, k, adds);
          if (!it->second.isReady())
            return false;
          libraryBytes = std::max(libraryBytes, it->second.getScratchBytes());
        }
  // Sums that wait follow in whole lines.
  libraryBytes = round(static_cast<int64_t>(libraryBytes));
  return true;
}

/// Copies a block of an operand to row-major order.
static void copyBlock(const GemmOperand &operand, int64_t row, int64_t numRows,
                      int64_t column, int64_t numColumns, uint16_t *to) {
  for (int64_t i = 0; i < numRows; ++i, to += numColumns) {
    const auto *from =
        static_cast<const uint16_t *>(operand.at(row + i, column));
    if (operand.strides[1] == 1)
      memcpy(to, from, static_cast<size_t>(numColumns) * sizeof(uint16_t));
    else
      for (int64_t j = 0; j < numColumns; ++j)
        to[j] = from[j * operand.strides[1]];
  }
}

/// The sums over the segment of k from `first` on.
bool OneDNNGemm::sumSegment(const GemmOperand &a, const GemmOperand &b,
                            const GemmTile &tile, int64_t first,
                            char *scratch) const {
  auto *left = reinterpret_cast<uint16_t *>(scratch);
  auto *right = reinterpret_cast<uint16_t *>(scratch + leftBytes);
  auto *sums = reinterpret_cast<float *>(scratch + leftBytes + rightBytes);
  void *libraryScratch = scratch + leftBytes + rightBytes + sumBytes;
  int64_t length = getSegmentLength(desc);
  for (int64_t l = 0; l < length; l += kDepthBlock) {
    int64_t depth = std::min(kDepthBlock, length - l);
    copyBlock(a, tile.row, tile.numRows, first + l, depth, left);
    copyBlock(b, first + l, depth, tile.column, tile.numColumns, right);
    auto it = blocks.find(Key(tile.numRows, tile.numColumns, depth, l > 0));
    if (it == blocks.end() ||
        !it->second.run(left, right, sums, libraryScratch))
      return false;
  }
  return true;
}

bool OneDNNGemm::runTile(void *const *buffers, const GemmTile &tile,
                         void *scratch) const {
  useOneThread(library);
  auto *bytes = static_cast<char *>(scratch);
  auto *sums = reinterpret_cast<float *>(bytes + leftBytes + rightBytes);
  auto *waiting = reinterpret_cast<float *>(bytes + leftBytes + rightBytes +
                                            sumBytes + libraryBytes);
  GemmOperand a(desc, desc.a, buffers, tile.batch);
  GemmOperand b(desc, desc.b, buffers, tile.batch);
  GemmEpilogue epilogue(desc, buffers, tile.batch);
  for (int64_t segment = 0; segment < segments.getNumSegments(); ++segment) {
    if (!sumSegment(a, b, tile, segment * getSegmentLength(desc), bytes))
      return false;
    SegmentEpilogue(segments, segment, tile, waiting, epilogue)
        .apply(sums, tile.numColumns, tile.row, tile.numRows, tile.column,
               tile.numColumns);
  }
  return true;
}

/// True if there is nothing to multiply: the loops do what is left to do.
static bool isEmpty(const rg_gemm_desc &desc) {
  bool empty = desc.m == 0 || desc.n == 0 || desc.k == 0;
  for (int64_t i = 0; i < desc.batch_rank; ++i)
    empty |= desc.batch_sizes[i] == 0;
  return empty;
}

std::unique_ptr<GemmRoutine>
regather::runtime::createOneDNNGemm(const rg_gemm_desc &desc) {
  const Library *library = Library::get();
  if (!library || isEmpty(desc))
    return nullptr;
  auto gemm = std::make_unique<OneDNNGemm>(desc, *library);
  if (!gemm->create())
    return nullptr;
  return gemm;
}

#else // Without the header, or with one of another version.

std::unique_ptr<regather::runtime::GemmRoutine>
regather::runtime::createOneDNNGemm(const rg_gemm_desc &desc) {
  return nullptr;
}

#endif
