//===- NcclApi.h - Functions of NCCL ----------------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NCCL is opened at run time, and its types are declared here, as the driver's
// are in DriverApi.h. Names and numbers are those of nccl.h of NCCL 2.30.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_NCCL_NCCLAPI_H
#define REGATHER_LIB_RUNTIME_GPU_NCCL_NCCLAPI_H

#include "GPU/Driver/DriverApi.h"

#include <climits>

namespace regather::runtime {

using NcclResult = int;
using NcclComm = struct NcclCommTag *;
using NcclWindow = struct NcclWindowTag *;

inline constexpr NcclResult kNcclSuccess = 0;
inline constexpr NcclResult kNcclUnhandledCudaError = 1;
inline constexpr NcclResult kNcclSystemError = 2;
inline constexpr NcclResult kNcclInternalError = 3;
inline constexpr NcclResult kNcclInvalidArgument = 4;
inline constexpr NcclResult kNcclInvalidUsage = 5;
inline constexpr NcclResult kNcclRemoteError = 6;
inline constexpr NcclResult kNcclInProgress = 7;

// ncclDataType_t.
inline constexpr int kNcclInt8 = 0;
inline constexpr int kNcclUint8 = 1;
inline constexpr int kNcclInt32 = 2;
inline constexpr int kNcclInt64 = 4;
inline constexpr int kNcclFloat16 = 6;
inline constexpr int kNcclFloat32 = 7;
inline constexpr int kNcclFloat64 = 8;
inline constexpr int kNcclBfloat16 = 9;

// ncclRedOp_t.
inline constexpr int kNcclSum = 0;
inline constexpr int kNcclMax = 2;
inline constexpr int kNcclAvg = 4;

inline constexpr int kNcclWindowSymmetric = 1;
/// Gathers by copy engines, without multiprocessors.
inline constexpr int kNcclPolicyZero = 2;
inline constexpr int kNcclUndefined = INT_MIN;
inline constexpr unsigned kNcclConfigMagic = 0xcafebeef;

struct NcclUniqueId {
  char internal[128];
};

/// The beginning of ncclConfig_t. The library reads `size` bytes, which must
/// not be more than it knows, and sets the rest to defaults.
struct NcclConfig {
  size_t size;
  unsigned magic = kNcclConfigMagic;
  /// Of the header in which the struct ends where `size` says.
  unsigned version;
  int blocking = 0;
  int cgaClusterSize = kNcclUndefined;
  int minCTAs = kNcclUndefined;
  int maxCTAs = kNcclUndefined;
  const char *netName = nullptr;
  int splitShare = kNcclUndefined;
  // From 2.27 on.
  int trafficClass = kNcclUndefined;
  const char *commName = nullptr;
  int collnetEnable = kNcclUndefined;
  int policy = kNcclUndefined;
  int shrinkShare = kNcclUndefined;
  int nvlsCTAs = kNcclUndefined;
};

/// NCCL's functions, each a member of the name of its symbol.
struct NcclApi {
  // NOLINTBEGIN(readability-identifier-naming)
#define REGATHER_NCCL_FUNCTIONS(X)                                             \
  X(ncclGetVersion, (int *version))                                            \
  X(ncclGetUniqueId, (NcclUniqueId * id))                                      \
  X(ncclCommInitRankConfig, (NcclComm * comm, int ranks, NcclUniqueId id,      \
                             int rank, NcclConfig *config))                    \
  X(ncclCommFinalize, (NcclComm comm))                                         \
  X(ncclCommDestroy, (NcclComm comm))                                          \
  X(ncclCommAbort, (NcclComm comm))                                            \
  X(ncclCommGetAsyncError, (NcclComm comm, NcclResult * error))                \
  X(ncclGroupStart, ())                                                        \
  X(ncclGroupEnd, ())                                                          \
  X(ncclAllGather, (const void *source, void *target, size_t count, int type,  \
                    NcclComm comm, CuStream stream))                           \
  X(ncclReduceScatter,                                                         \
    (const void *source, void *target, size_t count, int type, int reduction,  \
     NcclComm comm, CuStream stream))                                          \
  X(ncclAllReduce, (const void *source, void *target, size_t count, int type,  \
                    int reduction, NcclComm comm, CuStream stream))            \
  X(ncclBroadcast, (const void *source, void *target, size_t count, int type,  \
                    int root, NcclComm comm, CuStream stream))                 \
  X(ncclSend, (const void *source, size_t count, int type, int peer,           \
               NcclComm comm, CuStream stream))                                \
  X(ncclRecv, (void *target, size_t count, int type, int peer, NcclComm comm,  \
               CuStream stream))
  /// Only of versions that have symmetric windows.
#define REGATHER_NCCL_WINDOW_FUNCTIONS(X)                                      \
  X(ncclMemAlloc, (void **memory, size_t bytes))                               \
  X(ncclMemFree, (void *memory))                                               \
  X(ncclCommWindowRegister, (NcclComm comm, void *memory, size_t bytes,        \
                             NcclWindow *window, int flags))                   \
  X(ncclCommWindowDeregister, (NcclComm comm, NcclWindow window))
#define REGATHER_DECLARE(name, parameters)                                     \
  NcclResult(*name) parameters = nullptr;
  REGATHER_NCCL_FUNCTIONS(REGATHER_DECLARE)
  REGATHER_NCCL_WINDOW_FUNCTIONS(REGATHER_DECLARE)
#undef REGATHER_DECLARE
  const char *(*ncclGetErrorString)(NcclResult result) = nullptr;
  const char *(*ncclGetLastError)(NcclComm comm) = nullptr;
  // NOLINTEND(readability-identifier-naming)

  /// As ncclGetVersion counts: 23007 for 2.30.7.
  int version = 0;

  /// Opens NCCL, or the library at `path`. Fails if there is none or it is too
  /// old.
  Failure load(const std::string &path);

  /// Symmetric windows, which are right under CUDA graphs.
  bool hasWindows() const;
  /// A configuration that the library understands.
  NcclConfig getConfig() const;
  /// Such as "unhandled system error: connection refused".
  std::string describe(NcclResult result, NcclComm comm) const;

private:
  SharedLibrary library;
};

/// The first version that keeps kernels of several communicators in one order
/// on the device (NCCL_LAUNCH_ORDER_IMPLICIT); those before ignore the
/// variable.
inline constexpr int kMinNcclVersion = 22602;
/// Before it, kernels on windows may read what is not written yet.
inline constexpr int kMinWindowVersion = 23007;

/// "2.30.7".
std::string formatNcclVersion(int version);

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_NCCL_NCCLAPI_H
