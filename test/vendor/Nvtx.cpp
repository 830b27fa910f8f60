//===- Nvtx.cpp - The runtime's declarations of NVTX ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SameDeclaration.h"

#include "GPU/Driver/NvtxApi.h"
#include <nvtx3/nvToolsExtPayload.h>

using namespace regather::runtime;

SAME_VALUE(kNvtxVersion, NVTX_VERSION);
SAME_VALUE(kNvtxMessageAscii, NVTX_MESSAGE_TYPE_ASCII);
SAME_VALUE(kNvtxPayloadExtended, NVTX_PAYLOAD_TYPE_EXT);
SAME_VALUE(kNvtxInt64, NVTX_PAYLOAD_ENTRY_TYPE_INT64);
SAME_VALUE(kNvtxUint64, NVTX_PAYLOAD_ENTRY_TYPE_UINT64);
SAME_VALUE(kNvtxModuleCore2, NVTX_CB_MODULE_CORE2);
SAME_VALUE(kNvtxDomainRangePush, NVTX_CBID_CORE2_DomainRangePushEx);
SAME_VALUE(kNvtxDomainRangePop, NVTX_CBID_CORE2_DomainRangePop);
SAME_VALUE(kNvtxDomainCreate, NVTX_CBID_CORE2_DomainCreateA);
SAME_VALUE(kNvtxExportCallbacks, NVTX_ETID_CALLBACKS);
SAME_VALUE(kNvtxExportVersion, NVTX_ETID_VERSIONINFO);

SAME_SIZE(NvtxEvent, nvtxEventAttributes_t);
SAME_FIELD(NvtxEvent, version, nvtxEventAttributes_t, version);
SAME_FIELD(NvtxEvent, size, nvtxEventAttributes_t, size);
SAME_FIELD(NvtxEvent, category, nvtxEventAttributes_t, category);
SAME_FIELD(NvtxEvent, colorType, nvtxEventAttributes_t, colorType);
SAME_FIELD(NvtxEvent, color, nvtxEventAttributes_t, color);
SAME_FIELD(NvtxEvent, payloadType, nvtxEventAttributes_t, payloadType);
SAME_FIELD(NvtxEvent, payloadCount, nvtxEventAttributes_t, reserved0);
SAME_FIELD(NvtxEvent, payload, nvtxEventAttributes_t, payload.ullValue);
SAME_FIELD(NvtxEvent, messageType, nvtxEventAttributes_t, messageType);
SAME_FIELD(NvtxEvent, message, nvtxEventAttributes_t, message.ascii);
SAME_SIZE(NvtxPayload, nvtxPayloadData_t);
SAME_FIELD(NvtxPayload, type, nvtxPayloadData_t, schemaId);
SAME_FIELD(NvtxPayload, bytes, nvtxPayloadData_t, size);
SAME_FIELD(NvtxPayload, data, nvtxPayloadData_t, payload);
SAME_SIZE(NvtxCallbacks, NvtxExportTableCallbacks);
SAME_FIELD(NvtxCallbacks, size, NvtxExportTableCallbacks, struct_size);
SAME_FIELD(NvtxCallbacks, getModuleFunctionTable, NvtxExportTableCallbacks,
           GetModuleFunctionTable);
SAME_SIZE(NvtxVersionInfo, NvtxExportTableVersionInfo);
SAME_FIELD(NvtxVersionInfo, size, NvtxExportTableVersionInfo, struct_size);
SAME_FIELD(NvtxVersionInfo, version, NvtxExportTableVersionInfo, version);
SAME_FIELD(NvtxVersionInfo, setInjectionVersion, NvtxExportTableVersionInfo,
           SetInjectionNvtxVersion);
// The tables that a tool is given are as long.
static_assert(NVTX_CBID_CORE_SIZE == 16 && NVTX_CBID_CUDA_SIZE == 9 &&
              NVTX_CBID_OPENCL_SIZE == 15 && NVTX_CBID_CUDART_SIZE == 7 &&
              NVTX_CBID_CORE2_SIZE == 16 && NVTX_CBID_SYNC_SIZE == 7);
