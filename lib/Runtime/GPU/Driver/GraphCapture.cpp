//===- GraphCapture.cpp - CUDA graphs of a step ---------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphCapture.h"

using namespace regather::runtime;
using regather::Failure;

GraphCapture::~GraphCapture() {
  destroy();
  for (CuEvent event : events)
    device.getDriver().cuEventDestroy_v2(event);
}

Failure
GraphCapture::create(const std::vector<std::unique_ptr<DeviceRank>> &ranks) {
  executables.assign(size_t(program.graph_count), nullptr);
  for (const std::unique_ptr<DeviceRank> &rank : ranks) {
    streams.push_back(rank->getStream(0));
    if (ranks.size() == 1 || program.graph_count == 0)
      continue;
    CuEvent event = nullptr;
    if (Failure failure = device.check(
            device.getDriver().cuEventCreate(&event, kCuEventDisableTiming),
            "cuEventCreate"))
      return failure;
    events.push_back(event);
  }
  return Failure();
}

Failure GraphCapture::fork() {
  const DriverApi &driver = device.getDriver();
  Failure failure;
  if (streams.size() > 1)
    failure = device.check(driver.cuEventRecord(events[0], streams[0]),
                           "cuEventRecord");
  for (size_t rank = 1; !failure && rank < streams.size(); ++rank)
    failure =
        device.check(driver.cuStreamWaitEvent(streams[rank], events[0], 0),
                     "cuStreamWaitEvent");
  return failure;
}

Failure GraphCapture::join() {
  const DriverApi &driver = device.getDriver();
  Failure failure;
  for (size_t rank = 1; !failure && rank < streams.size(); ++rank) {
    failure = device.check(driver.cuEventRecord(events[rank], streams[rank]),
                           "cuEventRecord");
    if (!failure)
      failure =
          device.check(driver.cuStreamWaitEvent(streams[0], events[rank], 0),
                       "cuStreamWaitEvent");
  }
  return failure;
}

/// Calls belong to the first instruction of the graph.
WorkLabel GraphCapture::getLabel(int64_t graph) const {
  const rg_gpu_graph &table = program.graphs[graph];
  return {0, table.first, table.name};
}

Failure GraphCapture::begin() {
  // Other threads of the process may allocate meanwhile.
  if (Failure failure = device.check(device.getDriver().cuStreamBeginCapture_v2(
                                         streams[0], kCuCaptureThreadLocal),
                                     "cuStreamBeginCapture"))
    return failure;
  capturing = true;
  return fork();
}

Failure GraphCapture::end(int64_t graph) {
  const DriverApi &driver = device.getDriver();
  NvtxRange range(getLabel(graph));
  if (Failure failure = join())
    return failure;
  CuGraph captured = nullptr;
  capturing = false;
  if (Failure failure =
          device.check(driver.cuStreamEndCapture(streams[0], &captured),
                       "cuStreamEndCapture"))
    return failure;
  Failure failure = device.check(driver.cuGraphInstantiateWithFlags(
                                     &executables[size_t(graph)], captured, 0),
                                 "cuGraphInstantiate");
  driver.cuGraphDestroy(captured);
  if (!failure)
    return failure;
  return Failure(failure.getMessage() + " (graph '" +
                     program.graphs[graph].name + "')",
                 failure.getCode());
}

Failure GraphCapture::launch(int64_t graph) {
  NvtxRange range(getLabel(graph));
  Failure failure = join();
  if (!failure)
    failure = device.check(device.getDriver().cuGraphLaunch(
                               executables[size_t(graph)], streams[0]),
                           "cuGraphLaunch");
  return failure ? failure : fork();
}

void GraphCapture::destroy() {
  abandon();
  for (CuGraphExec &executable : executables) {
    if (executable)
      device.getDriver().cuGraphExecDestroy(executable);
    executable = nullptr;
  }
}

void GraphCapture::abandon() {
  if (!capturing)
    return;
  capturing = false;
  CuGraph captured = nullptr;
  device.getDriver().cuStreamEndCapture(streams[0], &captured);
  if (captured)
    device.getDriver().cuGraphDestroy(captured);
}
