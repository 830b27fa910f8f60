//===- OneDNNProduct.cpp - Matrix products by oneDNN ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library is loaded when the first product is made, so that one build runs
// with and without it. Its threads are not used: with them, the way the sum
// over k is split would depend on how many there are.
//
//===----------------------------------------------------------------------===//

#include "MatrixProduct.h"

#if __has_include(<oneapi/dnnl/dnnl.h>)
#include <oneapi/dnnl/dnnl.h>
#endif

#if defined(DNNL_VERSION_MAJOR) && DNNL_VERSION_MAJOR == 2

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
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
class OneDNNProduct final : public MatrixProduct {
public:
  explicit OneDNNProduct(const Library &library) : library(library) {}
  ~OneDNNProduct() override {
    if (primitive)
      library.dnnl_primitive_destroy(primitive);
  }

  bool create(const rg_gemm_desc &desc);
  bool run(const void *a, const void *b, void *c) const override;
  const char *getName() const override { return "oneDNN"; }

private:
  bool describe(dnnl_memory_desc_t &operand, dnnl_data_type_t type,
                const rg_gemm_desc &desc, const int64_t *batchStrides,
                int64_t rows, int64_t columns, const int64_t *strides);
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

bool OneDNNProduct::describe(dnnl_memory_desc_t &operand, dnnl_data_type_t type,
                             const rg_gemm_desc &desc,
                             const int64_t *batchStrides, int64_t rows,
                             int64_t columns, const int64_t *strides) {
  dnnl_dims_t sizes, steps;
  int rank = static_cast<int>(desc.batch_rank);
  for (int i = 0; i < rank; ++i) {
    // A stride of zero repeats the matrix, which is a size of one here.
    sizes[i] = batchStrides[i] == 0 ? 1 : desc.batch_sizes[i];
    steps[i] = batchStrides[i];
  }
  sizes[rank] = rows;
  sizes[rank + 1] = columns;
  steps[rank] = strides[0];
  steps[rank + 1] = strides[1];
  // The stride of a single element says nothing; the library wants one that
  // does not overlap.
  int64_t extent = 1;
  for (int i = 0; i < rank + 2; ++i)
    if (sizes[i] != 1)
      extent += (sizes[i] - 1) * steps[i];
  for (int i = 0; i < rank + 2; ++i)
    if (sizes[i] == 1)
      steps[i] = extent;
  if (columns == 1 && strides[0] != 1)
    steps[rank + 1] = 1;
  else if (rows == 1 && strides[1] != 1)
    steps[rank] = 1;
  return library.dnnl_memory_desc_init_by_strides(&operand, rank + 2, sizes,
                                                  type, steps) == dnnl_success;
}

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

bool OneDNNProduct::createPrimitive(dnnl_primitive_attr_t attr) {
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

/// The library decides by the number of threads how to divide the work.
static void useOneThread(const Library &library) {
  if (library.omp_set_num_threads)
    library.omp_set_num_threads(1);
}

bool OneDNNProduct::create(const rg_gemm_desc &desc) {
  useOneThread(library);
  dnnl_data_type_t input = desc.input_dtype == RG_F32 ? dnnl_f32 : dnnl_bf16;
  if (!describe(a, input, desc, desc.a_batch_strides, desc.m, desc.k,
                desc.a_strides) ||
      !describe(b, input, desc, desc.b_batch_strides, desc.k, desc.n,
                desc.b_strides) ||
      !describe(c, dnnl_f32, desc, desc.c_batch_strides, desc.m, desc.n,
                desc.c_strides))
    return false;
  dnnl_primitive_attr_t attr = nullptr;
  if (library.dnnl_primitive_attr_create(&attr) != dnnl_success)
    return false;
  bool ready = true;
  dnnl_post_ops_t after = nullptr;
  if (desc.accumulate) {
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

bool OneDNNProduct::run(const void *dataA, const void *dataB,
                        void *dataC) const {
  useOneThread(library);
  std::unique_ptr<void, decltype(&free)> memory(nullptr, &free);
  if (scratchBytes) {
    constexpr size_t line = 64;
    memory.reset(aligned_alloc(line, (scratchBytes + line - 1) / line * line));
    if (!memory)
      return false;
  }
  Execution execution(library);
  // The library reads A and B through pointers that are not const.
  return execution.add(DNNL_ARG_SRC, a, const_cast<void *>(dataA)) &&
         execution.add(DNNL_ARG_WEIGHTS, b, const_cast<void *>(dataB)) &&
         execution.add(DNNL_ARG_DST, c, dataC) &&
         (!scratchBytes ||
          execution.add(DNNL_ARG_SCRATCHPAD, scratch, memory.get())) &&
         execution.run(primitive);
}

std::unique_ptr<MatrixProduct>
regather::runtime::createOneDNNProduct(const rg_gemm_desc &desc) {
  const Library *library = Library::get();
  if (!library)
    return nullptr;
  auto product = std::make_unique<OneDNNProduct>(*library);
  if (!product->create(desc))
    return nullptr;
  return product;
}

#else // Without the header, or with one of another version.

std::unique_ptr<regather::runtime::MatrixProduct>
regather::runtime::createOneDNNProduct(const rg_gemm_desc &desc) {
  return nullptr;
}

#endif
