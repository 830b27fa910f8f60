//===- CudnnFunctions.cpp - Stands in for cuDNN ---------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Computes graphs on the host, operation by operation, and rejects what the
// library rejects. It has few engines:
//
//   - 0 is proposed first, and may give other bits in every run;
//   - 1 is proposed next, with a knob;
//   - all others are not proposed, and want knobs.
//
//===----------------------------------------------------------------------===//

#include "CudnnObject.h"
#include "StandIn/Driver/RecordedCall.h"

#include "regather/Runtime/Runtime.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

using namespace regather::runtime;

/// cudnnGetVersion: 9.28.0, or what REGATHER_STAND_IN_CUDNN says.
static constexpr size_t kCudnnVersion = 92800;

/// What each engine needs.
static constexpr int64_t kEngineWorkspaceBytes = 4096;
static constexpr int64_t kNumEngines = 8;

/// The engine that is proposed second.
static constexpr int64_t kProposedEngine = 1;
static constexpr int kProposedKnob = kDnnKnobKernel;

namespace regather::runtime {
struct DnnHandleTag {
  CuStream stream = nullptr;
};
} // namespace regather::runtime

/// Of this thread, as in the library.
static thread_local const char *lastError = "";

static DnnStatus answer(const char *problem, DnnStatus error = kDnnBadParam) {
  lastError = problem ? problem : "";
  return problem ? error : kDnnSuccess;
}

/// REGATHER_STAND_IN_CUDNN_REFUSES=1: no engine takes anything.
static bool refuses() {
  const char *text = std::getenv("REGATHER_STAND_IN_CUDNN_REFUSES");
  return text && *text == '1';
}

static const CudnnObject &getObject(DnnDescriptor descriptor) {
  return *static_cast<const CudnnObject *>(descriptor);
}

extern "C" {

RG_EXPORT size_t cudnnGetVersion() {
  const char *text = std::getenv("REGATHER_STAND_IN_CUDNN");
  return text ? std::strtoull(text, nullptr, 10) : kCudnnVersion;
}

RG_EXPORT const char *cudnnGetErrorString(DnnStatus status) {
  switch (status) {
  case kDnnSuccess:
    return "CUDNN_STATUS_SUCCESS";
  case kDnnBadParam:
    return "CUDNN_STATUS_BAD_PARAM";
  case kDnnNotSupported:
    return "CUDNN_STATUS_NOT_SUPPORTED";
  default:
    return "CUDNN_STATUS_EXECUTION_FAILED";
  }
}

RG_EXPORT void cudnnGetLastErrorString(char *message, size_t bytes) {
  std::snprintf(message, bytes, "%s", lastError);
}

RG_EXPORT DnnStatus cudnnCreate(DnnHandle *handle) {
  RecordedCall call("cudnnCreate");
  *handle = new DnnHandleTag();
  return call.finish() == kCuSuccess ? kDnnSuccess : kDnnExecutionFailed;
}

RG_EXPORT DnnStatus cudnnDestroy(DnnHandle handle) {
  delete handle;
  return kDnnSuccess;
}

RG_EXPORT DnnStatus cudnnSetStream(DnnHandle handle, CuStream stream) {
  handle->stream = stream;
  return kDnnSuccess;
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

RG_EXPORT DnnStatus cudnnBackendCreateDescriptor(int type,
                                                 DnnDescriptor *descriptor) {
  *descriptor = new CudnnObject(type);
  return kDnnSuccess;
}

RG_EXPORT DnnStatus cudnnBackendDestroyDescriptor(DnnDescriptor descriptor) {
  delete static_cast<CudnnObject *>(descriptor);
  return kDnnSuccess;
}

RG_EXPORT DnnStatus cudnnBackendSetAttribute(DnnDescriptor descriptor, int name,
                                             int type, int64_t count,
                                             const void *elements) {
  return answer(
      static_cast<CudnnObject *>(descriptor)->set(name, type, count, elements));
}

} // extern "C"

/// Why no engine takes a graph; null if one does.
static const char *findUnsupported(const HostGraph &graph) {
  constexpr int64_t kMaxWidth = 256;
  if (refuses())
    return "the stand-in refuses";
  for (const auto &[id, tensor] : graph.getTensors())
    if (!tensor.isByValue && tensor.sizes[3] > 1 && tensor.strides[3] == 1 &&
        tensor.sizes[3] > kMaxWidth)
      return "heads are too wide";
  return nullptr;
}

/// The engine of a configuration. What was proposed says itself which it is.
static const CudnnObject *getEngineOf(const CudnnObject *config) {
  const CudnnObject *engine = config->follow(kDnnConfigEngine);
  return engine ? engine : config;
}

static int64_t getEngine(const CudnnObject &config) {
  return getEngineOf(&config)->getOne<int64_t>(kDnnEngineIndex);
}

static HostGraph getPlannedGraph(const CudnnObject &config) {
  return getEngineOf(&config)->follow(kDnnEngineGraph)->getGraph();
}

static const char *findEngineProblem(const CudnnObject &config) {
  int64_t number = getEngine(config);
  if (number < 0 || number >= kNumEngines)
    return "there is no such engine";
  if (number > kProposedEngine &&
      config.get<DnnDescriptor>(kDnnConfigKnobChoices).empty())
    return "the engine wants knobs";
  return findUnsupported(getPlannedGraph(config));
}

extern "C" RG_EXPORT DnnStatus cudnnBackendFinalize(DnnDescriptor descriptor) {
  auto &object = *static_cast<CudnnObject *>(descriptor);
  if (const char *problem = object.finalize())
    return answer(problem);
  if (object.getType() != kDnnExecutionPlan)
    return answer(nullptr);
  return answer(findEngineProblem(*object.follow(kDnnPlanConfig)),
                kDnnNotSupported);
}

//===----------------------------------------------------------------------===//
// What the library says
//===----------------------------------------------------------------------===//

/// Fills descriptors that the caller has made.
static void propose(const CudnnObject &heuristic, int64_t requested,
                    int64_t &count, DnnDescriptor *configs) {
  DnnDescriptor graph = heuristic.getOne<DnnDescriptor>(kDnnHeuristicGraph);
  count = findUnsupported(getObject(graph).getGraph()) ? 0 : 2;
  for (int64_t i = 0; i < std::min(requested, count); ++i) {
    auto &config = *static_cast<CudnnObject *>(configs[i]);
    config.fill<DnnDescriptor>(kDnnEngineGraph, {graph});
    config.fill<int64_t>(kDnnEngineIndex, {i});
  }
}

extern "C" RG_EXPORT DnnStatus
cudnnBackendGetAttribute(DnnDescriptor descriptor, int name, int /*type*/,
                         int64_t requested, int64_t *count, void *elements) {
  const CudnnObject &object = getObject(descriptor);
  auto give = [&](auto value) {
    *count = 1;
    if (requested > 0)
      std::memcpy(elements, &value, sizeof(value));
    return answer(nullptr);
  };
  if (!object.isFinalized())
    return answer("the descriptor is not finalized");
  switch (name) {
  case kDnnHeuristicResults:
    propose(object, requested, *count, static_cast<DnnDescriptor *>(elements));
    return answer(nullptr);
  case kDnnConfigEngine:
    static_cast<CudnnObject *>(*static_cast<DnnDescriptor *>(elements))
        ->fill<int64_t>(kDnnEngineIndex, {getEngine(object)});
    *count = 1;
    return answer(nullptr);
  case kDnnConfigKnobChoices: {
    *count = getEngine(object) == kProposedEngine ? 1 : 0;
    if (*count == 0)
      return answer(nullptr);
    auto &knob =
        *static_cast<CudnnObject *>(*static_cast<DnnDescriptor *>(elements));
    knob.fill<int>(kDnnKnobType, {kProposedKnob});
    knob.fill<int64_t>(kDnnKnobValue, {1});
    return answer(nullptr);
  }
  case kDnnEngineIndex:
    return give(object.getOne<int64_t>(kDnnEngineIndex));
  case kDnnKnobType:
    return give(object.getOne<int>(kDnnKnobType));
  case kDnnKnobValue:
    return give(object.getOne<int64_t>(kDnnKnobValue));
  case kDnnEngineNumericalNotes:
    if (object.getOne<int64_t>(kDnnEngineIndex) == 0)
      return give(kDnnNondeterministic);
    *count = 0;
    return answer(nullptr);
  case kDnnPlanWorkspaceBytes:
    return give(kEngineWorkspaceBytes);
  default:
    return answer("the attribute cannot be read", kDnnNotSupported);
  }
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

extern "C" RG_EXPORT DnnStatus cudnnBackendExecute(DnnHandle handle,
                                                   DnnDescriptor plan,
                                                   DnnDescriptor pack) {
  RecordedCall call("cudnnBackendExecute");
  call.onStream(handle ? handle->stream : nullptr);
  auto require = [&](bool isGood, const char *problem) {
    call.require(isGood, kCuInvalidValue, problem);
  };
  require(handle && getObject(plan).isFinalized() &&
              getObject(pack).isFinalized(),
          "a descriptor is not finalized");
  const CudnnObject &config = *getObject(plan).follow(kDnnPlanConfig);
  HostGraph graph = getPlannedGraph(config);
  call.add("engine", getEngine(config));

  std::vector<int64_t> ids = getObject(pack).get<int64_t>(kDnnPackIds);
  std::vector<void *> given = getObject(pack).get<void *>(kDnnPackPointers);
  std::map<int64_t, void *> pointers;
  std::map<int64_t, float> scalars;
  for (size_t i = 0; i < ids.size(); ++i)
    pointers[ids[i]] = given[i];
  for (const auto &[id, tensor] : graph.getTensors()) {
    void *data = pointers[id];
    require(data, "a tensor has no pointer");
    if (tensor.isByValue) {
      // Read now: the library passes it by value.
      std::memcpy(&scalars[id], data, sizeof(float));
      continue;
    }
    require(reinterpret_cast<uintptr_t>(data) % uintptr_t(tensor.alignment) ==
                0,
            "a tensor is aligned to less than its descriptor says");
    if (graph.isWritten(id))
      call.write(tensor.getRange(data));
    else
      call.read(tensor.getRange(data));
  }
  auto *workspace = getObject(pack).getOne<char *>(kDnnPackWorkspace);
  constexpr uintptr_t kWorkspaceAlignment = 256;
  require(reinterpret_cast<uintptr_t>(workspace) % kWorkspaceAlignment == 0,
          "the workspace is not aligned");
  call.useScratch(
      {reinterpret_cast<CuAddress>(workspace), kEngineWorkspaceBytes});
  CuResult result = call.enqueue([graph, pointers, scalars, workspace] {
    // What was there before must not matter.
    std::memset(workspace, 0x5a, kEngineWorkspaceBytes);
    graph.run(pointers, scalars);
    return kCuSuccess;
  });
  return answer(result == kCuSuccess ? nullptr : "the call is wrong",
                kDnnExecutionFailed);
}
