//===- GraphCapture.cpp - CUDA graphs of a step ---------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphCapture.h"

using namespace regather::runtime;

GraphCapture::~GraphCapture() {
  destroy();
  for (CuEvent event : events)
    device.getDriver().cuEventDestroy_v2(event);
}

bool GraphCapture::create(const std::vector<std::unique_ptr<DeviceRank>> &ranks,
                          std::string &message) {
  executables.assign(size_t(program.graph_count), nullptr);
  for (const std::unique_ptr<DeviceRank> &rank : ranks) {
    streams.push_back(rank->getStream(0));
    if (ranks.size() == 1 || program.graph_count == 0)
      continue;
    CuEvent event = nullptr;
    if (!check(device.getDriver().cuEventCreate(&event, kCuEventDisableTiming),
               "cuEventCreate", message))
      return false;
    events.push_back(event);
  }
  return true;
}

bool GraphCapture::fork(std::string &message) {
  const DriverApi &driver = device.getDriver();
  if (streams.size() > 1 && !check(driver.cuEventRecord(events[0], streams[0]),
                                   "cuEventRecord", message))
    return false;
  for (size_t rank = 1; rank < streams.size(); ++rank)
    if (!check(driver.cuStreamWaitEvent(streams[rank], events[0], 0),
               "cuStreamWaitEvent", message))
      return false;
  return true;
}

bool GraphCapture::join(std::string &message) {
  const DriverApi &driver = device.getDriver();
  for (size_t rank = 1; rank < streams.size(); ++rank)
    if (!check(driver.cuEventRecord(events[rank], streams[rank]),
               "cuEventRecord", message) ||
        !check(driver.cuStreamWaitEvent(streams[0], events[rank], 0),
               "cuStreamWaitEvent", message))
      return false;
  return true;
}

/// Calls belong to the first instruction of the graph.
WorkLabel GraphCapture::getLabel(int64_t graph) const {
  const rg_gpu_graph &table = program.graphs[graph];
  return {0, table.first, table.name};
}

bool GraphCapture::begin(std::string &message) {
  // Other threads of the process may allocate meanwhile.
  if (!check(device.getDriver().cuStreamBeginCapture_v2(streams[0],
                                                        kCuCaptureThreadLocal),
             "cuStreamBeginCapture", message))
    return false;
  capturing = true;
  return fork(message);
}

bool GraphCapture::end(int64_t graph, std::string &message) {
  const DriverApi &driver = device.getDriver();
  NvtxRange range(getLabel(graph));
  if (!join(message))
    return false;
  CuGraph captured = nullptr;
  capturing = false;
  if (!check(driver.cuStreamEndCapture(streams[0], &captured),
             "cuStreamEndCapture", message))
    return false;
  bool isMade = check(driver.cuGraphInstantiateWithFlags(
                          &executables[size_t(graph)], captured, 0),
                      "cuGraphInstantiate", message);
  driver.cuGraphDestroy(captured);
  if (!isMade)
    message += std::string(" (graph '") + program.graphs[graph].name + "')";
  return isMade;
}

bool GraphCapture::launch(int64_t graph, std::string &message) {
  NvtxRange range(getLabel(graph));
  return join(message) &&
         check(device.getDriver().cuGraphLaunch(executables[size_t(graph)],
                                                streams[0]),
               "cuGraphLaunch", message) &&
         fork(message);
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
