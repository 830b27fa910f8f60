//===- CublasLtProduct.h - One product by cuBLASLt --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_CUBLASLTPRODUCT_H
#define REGATHER_LIB_RUNTIME_GPU_CUBLASLTPRODUCT_H

#include "AlgorithmFile.h"
#include "CublasLtApi.h"
#include "ProductPlan.h"

namespace regather::runtime {

/// Most bytes of workspace that an algorithm may ask for: what NVIDIA
/// recommends for Hopper, enough for all others.
inline constexpr size_t kMaxProductWorkspace = size_t(32) << 20;

/// The descriptors and the algorithm of a plan.
class CublasLtProduct {
public:
  /// `alignments` are those of each buffer, in bytes, for all calls.
  CublasLtProduct(const CublasLtApi &api, LtHandle handle, ProductPlan plan,
                  const std::vector<int64_t> &alignments);
  CublasLtProduct(const CublasLtProduct &) = delete;
  CublasLtProduct &operator=(const CublasLtProduct &) = delete;
  ~CublasLtProduct();

  /// Describes the product and chooses how it is computed: by the algorithm in
  /// `file`, or by the one that the library thinks fastest, which goes there.
  /// False, with a message, if the library has none.
  bool prepare(AlgorithmFile &file, std::string &message);

  size_t getWorkspaceBytes() const { return workspaceBytes; }

  /// Enqueues all calls.
  bool run(const CuAddress *buffers, CuAddress workspace, CuStream stream,
           std::string &message);

private:
  bool describeProduct();
  LtLayout describeMatrix(const PlannedMatrix &matrix);
  bool choose(const std::string &key, AlgorithmFile &file);
  bool setDesc(int attribute, const void *value, size_t bytes);
  template <typename T> bool setDesc(int attribute, T value) {
    return setDesc(attribute, &value, sizeof(value));
  }
  bool preferAlignment(LtPreference preference, int attribute,
                       const PlannedMatrix &matrix);
  /// What the first elements of a matrix are aligned to, in all calls and all
  /// elements of the batch.
  uint32_t getAlignment(const PlannedMatrix &matrix) const;
  CuAddress getAddress(const PlannedMatrix &matrix, int64_t call,
                       const CuAddress *buffers) const;
  /// Keeps the first failure.
  bool check(LtStatus newStatus);

  const CublasLtApi &api;
  LtHandle handle;
  ProductPlan plan;
  const std::vector<int64_t> &alignments;
  LtProductDesc desc = nullptr;
  LtLayout a = nullptr, b = nullptr, c = nullptr, d = nullptr;
  LtAlgorithm algorithm = {};
  size_t workspaceBytes = 0;
  LtStatus status = kLtSuccess;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_CUBLASLTPRODUCT_H
