//===- Gemm.h - One GEMM by cuBLASLt ----------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_CUBLASLT_GEMM_H
#define REGATHER_LIB_RUNTIME_GPU_CUBLASLT_GEMM_H

#include "CublasLtApi.h"
#include "GemmPlan.h"

namespace regather::runtime {

/// Most bytes of workspace that an algorithm may ask for: what NVIDIA
/// recommends for Hopper, enough for all others.
inline constexpr size_t kMaxGemmWorkspace = size_t(32) << 20;

/// An algorithm for a GEMM, and the workspace that it needs.
struct LtProposal {
  LtAlgorithm algorithm = {};
  size_t workspaceBytes = 0;
};

/// The descriptors and the algorithm of a plan.
class CublasLtGemm {
public:
  /// `alignments` are those of each buffer, in bytes, for all calls.
  CublasLtGemm(const CublasLtApi &api, LtHandle handle, GemmPlan plan,
               const std::vector<int64_t> &alignments);
  CublasLtGemm(const CublasLtGemm &) = delete;
  CublasLtGemm &operator=(const CublasLtGemm &) = delete;
  ~CublasLtGemm();

  /// Describes the GEMM to the library. Fails if it does not take that.
  Failure describe();
  /// All that decides which algorithm fits.
  const std::string &getKey() const { return key; }

  /// Asks for up to `count` algorithms, of which the library thinks the first
  /// one fastest. Fails if it has none.
  Result<std::vector<LtProposal>> propose(int count);
  /// True if the library computes the GEMM by an algorithm.
  bool accepts(const LtAlgorithm &algorithm, LtProposal &proposal);
  void use(const LtProposal &newProposal) { chosen = newProposal; }

  size_t getWorkspaceBytes() const { return chosen.workspaceBytes; }
  /// As in GemmPlan.
  bool isLarge() const { return plan.isLarge(); }

  /// Bytes of memory that `runForTiming` needs.
  int64_t getTimingBytes() const;
  /// Enqueues one call on matrices that lie in memory of the device one behind
  /// the other, with strides and alignments as in the step.
  bool runForTiming(const LtProposal &proposal, CuAddress memory,
                    CuStream stream);

  /// Enqueues all calls.
  Failure run(const CuAddress *buffers, CuAddress workspace, CuStream stream);

private:
  /// Where the matrices of one call lie.
  struct CallPlaces {
    CuAddress a, b, c, d, bias;
  };

  bool describeGemm();
  LtLayout describeMatrix(const PlannedMatrix &matrix);
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
  CallPlaces placeForTiming(CuAddress memory, CuAddress &end) const;
  bool enqueue(const CallPlaces &places, const LtProposal &proposal,
               CuAddress workspace, CuStream stream);
  /// Keeps the first failure.
  bool check(LtStatus newStatus);

  const CublasLtApi &api;
  LtHandle handle;
  GemmPlan plan;
  const std::vector<int64_t> &alignments;
  LtMatmulDesc desc = nullptr;
  LtLayout a = nullptr, b = nullptr, c = nullptr, d = nullptr;
  std::string key;
  LtProposal chosen;
  LtStatus status = kLtSuccess;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_CUBLASLT_GEMM_H
