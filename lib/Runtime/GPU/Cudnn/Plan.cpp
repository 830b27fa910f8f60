//===- Plan.cpp - How cuDNN computes a graph ------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Plan.h"

#include <algorithm>

using namespace regather::runtime;
using regather::Failure;
using regather::Result;

/// More than the library has knobs.
static constexpr int64_t kMaxKnobs = 64;

/// Of an engine that is known to the library by more than its number.
static constexpr int64_t kMaxNotes = 16;

DnnDescriptor CudnnPlan::createEngine(const CudnnGraph &graph, int64_t number) {
  DnnDescriptor engine = descriptors.create(kDnnEngine);
  descriptors.set(engine, kDnnEngineGraph, kDnnTypeDescriptor,
                  graph.getGraph());
  descriptors.set(engine, kDnnEngineIndex, kDnnTypeInt64, number);
  if (target.properties)
    descriptors.set(engine, kDnnEngineDevice, kDnnTypeDescriptor,
                    target.properties);
  descriptors.finalize(engine);
  return engine;
}

DnnDescriptor CudnnPlan::createConfig(const CudnnGraph &graph,
                                      const DnnEngineChoice &wanted) {
  DnnDescriptor engine = createEngine(graph, wanted.engine);
  std::vector<DnnDescriptor> knobs;
  for (const DnnEngineChoice::Knob &knob : wanted.knobs) {
    DnnDescriptor desc = knobs.emplace_back(descriptors.create(kDnnKnobChoice));
    descriptors.set(desc, kDnnKnobType, kDnnTypeKnobType, knob.type);
    descriptors.set(desc, kDnnKnobValue, kDnnTypeInt64, knob.value);
    descriptors.finalize(desc);
  }
  DnnDescriptor config = descriptors.create(kDnnEngineConfig);
  descriptors.set(config, kDnnConfigEngine, kDnnTypeDescriptor, engine);
  if (!knobs.empty())
    descriptors.setAll(config, kDnnConfigKnobChoices, knobs);
  descriptors.finalize(config);
  return config;
}

Result<std::vector<DnnDescriptor>> CudnnPlan::propose(const CudnnGraph &graph) {
  DnnDescriptor heuristic = descriptors.create(kDnnHeuristic);
  descriptors.set(heuristic, kDnnHeuristicGraph, kDnnTypeDescriptor,
                  graph.getGraph());
  descriptors.set(heuristic, kDnnHeuristicMode, kDnnTypeHeuristicMode,
                  kDnnHeuristicModeA);
  if (target.properties)
    descriptors.set(heuristic, kDnnHeuristicDevice, kDnnTypeDescriptor,
                    target.properties);
  descriptors.finalize(heuristic);
  int64_t count = 0;
  if (!descriptors.hasFailed())
    api.cudnnBackendGetAttribute(heuristic, kDnnHeuristicResults,
                                 kDnnTypeDescriptor, 0, &count, nullptr);
  std::vector<DnnDescriptor> configs;
  for (int64_t i = 0; i < count; ++i)
    configs.push_back(descriptors.create(kDnnEngineConfig));
  if (count && !descriptors.hasFailed())
    api.cudnnBackendGetAttribute(heuristic, kDnnHeuristicResults,
                                 kDnnTypeDescriptor, count, &count,
                                 static_cast<void *>(configs.data()));
  configs.resize(size_t(count));
  if (descriptors.hasFailed())
    return descriptors.getFailure();
  if (configs.empty())
    return Failure("no engine of the library takes it");
  return configs;
}

/// Fills `choice`.
bool CudnnPlan::readConfig(DnnDescriptor config, bool &isDeterministic) {
  DnnDescriptor engine = descriptors.create(kDnnEngine);
  std::vector<DnnDescriptor> knobs;
  for (int64_t i = 0; i < kMaxKnobs; ++i)
    knobs.push_back(descriptors.create(kDnnKnobChoice));
  if (descriptors.hasFailed())
    return false;
  int64_t count = 0, numKnobs = 0;
  auto get = [&](DnnDescriptor descriptor, int name, int type, int64_t limit,
                 int64_t &number, void *elements) {
    return api.cudnnBackendGetAttribute(descriptor, name, type, limit, &number,
                                        elements) == kDnnSuccess;
  };
  choice = {};
  if (!get(config, kDnnConfigEngine, kDnnTypeDescriptor, 1, count,
           static_cast<void *>(&engine)) ||
      !get(engine, kDnnEngineIndex, kDnnTypeInt64, 1, count, &choice.engine) ||
      !get(config, kDnnConfigKnobChoices, kDnnTypeDescriptor, kMaxKnobs,
           numKnobs, static_cast<void *>(knobs.data())))
    return false;
  for (int64_t i = 0; i < numKnobs; ++i) {
    DnnEngineChoice::Knob &knob = choice.knobs.emplace_back();
    if (!get(knobs[size_t(i)], kDnnKnobType, kDnnTypeKnobType, 1, count,
             &knob.type) ||
        !get(knobs[size_t(i)], kDnnKnobValue, kDnnTypeInt64, 1, count,
             &knob.value))
      return false;
  }
  std::array<int, kMaxNotes> notes = {};
  int64_t numNotes = 0;
  if (!get(engine, kDnnEngineNumericalNotes, kDnnTypeNumericalNote, kMaxNotes,
           numNotes, notes.data()))
    return false;
  isDeterministic = std::count(notes.begin(), notes.begin() + numNotes,
                               kDnnNondeterministic) == 0;
  return true;
}

Failure CudnnPlan::finish(DnnDescriptor config) {
  auto attempt = std::make_unique<DnnDescriptors>(api);
  DnnDescriptor candidate = attempt->create(kDnnExecutionPlan);
  if (target.handle)
    attempt->set(candidate, kDnnPlanHandle, kDnnTypeHandle, target.handle);
  if (target.properties)
    attempt->set(candidate, kDnnPlanDevice, kDnnTypeDescriptor,
                 target.properties);
  attempt->set(candidate, kDnnPlanConfig, kDnnTypeDescriptor, config);
  attempt->finalize(candidate);
  int64_t count = 0;
  if (!attempt->hasFailed() &&
      api.cudnnBackendGetAttribute(candidate, kDnnPlanWorkspaceBytes,
                                   kDnnTypeInt64, 1, &count,
                                   &workspaceBytes) == kDnnSuccess) {
    planDescriptors = std::move(attempt);
    plan = candidate;
    return Failure();
  }
  if (attempt->hasFailed())
    return attempt->getFailure();
  return Failure("the library does not say how large its workspace is");
}

Failure CudnnPlan::prepare(const CudnnGraph &graph,
                           const DnnEngineChoice &wanted) {
  if (wanted.engine >= 0) {
    DnnDescriptor config = createConfig(graph, wanted);
    Failure failure =
        descriptors.hasFailed() ? descriptors.getFailure() : finish(config);
    if (!failure)
      choice = wanted;
    return failure;
  }
  Result<std::vector<DnnDescriptor>> configs = propose(graph);
  if (!configs)
    return configs.getFailure();
  Failure failure;
  for (DnnDescriptor config : *configs) {
    bool isDeterministic = false;
    if (!readConfig(config, isDeterministic))
      failure = Failure("the library does not say which engine it proposes");
    else if (!isDeterministic)
      failure = choice.describe() + " may give other bits in every run";
    else
      failure = finish(config);
    if (!failure)
      break;
  }
  return failure;
}
