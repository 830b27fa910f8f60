//===- Nccl.cpp - Our declarations against nccl.h -------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SameDeclaration.h"

#include "GPU/Nccl/NcclApi.h"
#include <nccl.h>

using namespace regather::runtime;

SAME_VALUE(kNcclSuccess, ncclSuccess);
SAME_VALUE(kNcclUnhandledCudaError, ncclUnhandledCudaError);
SAME_VALUE(kNcclSystemError, ncclSystemError);
SAME_VALUE(kNcclInternalError, ncclInternalError);
SAME_VALUE(kNcclInvalidArgument, ncclInvalidArgument);
SAME_VALUE(kNcclInvalidUsage, ncclInvalidUsage);
SAME_VALUE(kNcclRemoteError, ncclRemoteError);
SAME_VALUE(kNcclInProgress, ncclInProgress);
SAME_VALUE(kNcclInt8, ncclInt8);
SAME_VALUE(kNcclUint8, ncclUint8);
SAME_VALUE(kNcclInt32, ncclInt32);
SAME_VALUE(kNcclInt64, ncclInt64);
SAME_VALUE(kNcclFloat16, ncclFloat16);
SAME_VALUE(kNcclFloat32, ncclFloat32);
SAME_VALUE(kNcclFloat64, ncclFloat64);
SAME_VALUE(kNcclBfloat16, ncclBfloat16);
SAME_VALUE(kNcclSum, ncclSum);
SAME_VALUE(kNcclMax, ncclMax);
SAME_VALUE(kNcclAvg, ncclAvg);
SAME_VALUE(kNcclUndefined, NCCL_CONFIG_UNDEF_INT);

SAME_SIZE(NcclUniqueId, ncclUniqueId);
SAME_FIELD(NcclConfig, size, ncclConfig_t, size);
SAME_FIELD(NcclConfig, magic, ncclConfig_t, magic);
SAME_FIELD(NcclConfig, version, ncclConfig_t, version);
SAME_FIELD(NcclConfig, blocking, ncclConfig_t, blocking);
SAME_FIELD(NcclConfig, cgaClusterSize, ncclConfig_t, cgaClusterSize);
SAME_FIELD(NcclConfig, minCTAs, ncclConfig_t, minCTAs);
SAME_FIELD(NcclConfig, maxCTAs, ncclConfig_t, maxCTAs);
SAME_FIELD(NcclConfig, netName, ncclConfig_t, netName);
SAME_FIELD(NcclConfig, splitShare, ncclConfig_t, splitShare);
// The library reads as many bytes as it is told, which it has to know.
static_assert(offsetof(NcclConfig, trafficClass) <= sizeof(ncclConfig_t));
static constexpr ncclConfig_t kDefaults = NCCL_CONFIG_INITIALIZER;
SAME_VALUE(kNcclConfigMagic, kDefaults.magic);

#define CHECK(name, parameters) SAME_FUNCTION(NcclApi, name);
REGATHER_NCCL_FUNCTIONS(CHECK)
SAME_FUNCTION(NcclApi, ncclGetErrorString);
SAME_FUNCTION(NcclApi, ncclGetLastError);

// Windows are used from 2.30.7 on.
#if NCCL_VERSION_CODE >= 23007
SAME_VALUE(kNcclWindowSymmetric, NCCL_WIN_COLL_SYMMETRIC);
SAME_VALUE(kNcclPolicyZero, NCCL_CTA_POLICY_ZERO);
SAME_FIELD(NcclConfig, trafficClass, ncclConfig_t, trafficClass);
SAME_FIELD(NcclConfig, commName, ncclConfig_t, commName);
SAME_FIELD(NcclConfig, collnetEnable, ncclConfig_t, collnetEnable);
SAME_FIELD(NcclConfig, policy, ncclConfig_t, CTAPolicy);
SAME_FIELD(NcclConfig, shrinkShare, ncclConfig_t, shrinkShare);
SAME_FIELD(NcclConfig, nvlsCTAs, ncclConfig_t, nvlsCTAs);
static_assert(sizeof(NcclConfig) <= sizeof(ncclConfig_t));
REGATHER_NCCL_WINDOW_FUNCTIONS(CHECK)
#endif
