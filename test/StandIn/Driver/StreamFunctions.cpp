//===- StreamFunctions.cpp - Streams of the stand-in driver ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecordedCall.h"

#include "regather/Runtime/Runtime.h"

#include <algorithm>
#include <chrono>

using namespace regather::runtime;

/// Smaller numbers are served first.
static constexpr int kGreatestPriority = -5;

static double getSeconds() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

extern "C" {

RG_EXPORT CuResult cuStreamCreate(CuStream *stream, unsigned flags) {
  RecordedCall call("cuStreamCreate");
  *stream = call.getDevice().streams.create();
  return call.add("stream", (*stream)->number).finish();
}

RG_EXPORT CuResult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  *least = 0;
  *greatest = kGreatestPriority;
  return kCuSuccess;
}

RG_EXPORT CuResult cuStreamCreateWithPriority(CuStream *stream, unsigned flags,
                                              int priority) {
  RecordedCall call("cuStreamCreateWithPriority");
  *stream = call.getDevice().streams.create();
  return call.add("stream", (*stream)->number)
      .add("priority", priority)
      .finish();
}

RG_EXPORT CuResult cuStreamDestroy_v2(CuStream stream) {
  StandInDevice::get().queues.finishAll();
  RecordedCall call("cuStreamDestroy_v2");
  call.onStream(stream);
  call.require(call.getResult() != kCuSuccess || !stream->capture,
               kCuCaptureUnsupported, "the stream is being captured");
  if (call.getResult() == kCuSuccess)
    call.getDevice().streams.erase(stream);
  return call.finish();
}

} // extern "C"

/// Waits for what a stream has to do, or for a mark, or asks whether it is
/// done.
template <typename Work>
static CuResult awaitWork(WorkQueues &queues, const Work &work, bool asks) {
  if (!queues.isDelaying())
    return kCuSuccess;
  if (!asks)
    return queues.finish(work);
  CuResult result = kCuSuccess;
  bool isDone = queues.isDone(work, result);
  return result || isDone ? result : kCuNotReady;
}

/// Waits for a stream, or asks whether it is done.
static CuResult awaitStream(const char *name, CuStream stream, bool asks) {
  RecordedCall call(name);
  call.onStream(stream).mayWait();
  if (call.getResult() == kCuSuccess && stream->capture) {
    stream->capture->isInvalid = true;
    call.require(false, kCuCaptureUnsupported, "the stream is being captured");
  }
  if (CuResult result = call.finish())
    return result;
  return awaitWork(call.getDevice().queues, stream->number, asks);
}

extern "C" {

RG_EXPORT CuResult cuStreamSynchronize(CuStream stream) {
  return awaitStream("cuStreamSynchronize", stream, /*asks=*/false);
}

RG_EXPORT CuResult cuStreamQuery(CuStream stream) {
  CuResult result = awaitStream("cuStreamQuery", stream, /*asks=*/true);
  bool hangs = StandInDevice::get().settings.hangs != 0;
  return result == kCuSuccess && hangs ? kCuNotReady : result;
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

RG_EXPORT CuResult cuEventCreate(CuEvent *event, unsigned flags) {
  RecordedCall call("cuEventCreate");
  *event = call.getDevice().events.create();
  (*event)->isTimed = !(flags & kCuEventDisableTiming);
  return call.add("event", (*event)->number).finish();
}

RG_EXPORT CuResult cuEventDestroy_v2(CuEvent event) {
  RecordedCall call("cuEventDestroy_v2");
  int64_t number = call.getDevice().events.contains(event) ? event->number : 0;
  call.add("event", number)
      .require(call.getDevice().events.erase(event), kCuInvalidHandle,
               "there is no such event");
  return call.finish();
}

} // extern "C"

/// The event has to exist and, if `isRead`, to have been recorded.
static bool addEvent(RecordedCall &call, CuEvent event, bool isRead) {
  if (!call.getDevice().events.contains(event)) {
    call.require(false, kCuInvalidHandle, "there is no such event");
    return false;
  }
  call.add("event", event->number);
  // The driver takes such a wait for one that is over. The runtime never means
  // it.
  call.require(!isRead || event->isRecorded, kCuInvalidHandle,
               "the event was never recorded");
  return call.getResult() == kCuSuccess;
}

extern "C" {

RG_EXPORT CuResult cuEventRecord(CuEvent event, CuStream stream) {
  RecordedCall call("cuEventRecord");
  call.onStream(stream);
  if (!addEvent(call, event, /*isRead=*/false))
    return call.finish();
  event->isRecorded = true;
  event->time = std::make_shared<double>(0);
  event->mark = nullptr;
  event->capture = stream->capture;
  event->tail = stream->tail;
  StandInDevice &device = call.getDevice();
  auto setTime = [time = event->time, &device] {
    *time = getSeconds() + device.addedSeconds;
    return kCuSuccess;
  };
  if (stream->capture || !device.queues.isDelaying()) {
    setTime();
    return call.finish();
  }
  event->mark = std::make_shared<bool>(false);
  WorkMark mark = event->mark;
  int64_t number = stream->number;
  CuResult result = call.finish();
  device.queues.add(
      number,
      [setTime, &device] {
        std::lock_guard<std::mutex> lock(device.mutex);
        return setTime();
      },
      nullptr, mark);
  return result;
}

RG_EXPORT CuResult cuStreamWaitEvent(CuStream stream, CuEvent event,
                                     unsigned flags) {
  RecordedCall call("cuStreamWaitEvent");
  call.onStream(stream);
  if (!addEvent(call, event, /*isRead=*/true))
    return call.finish();
  if (stream->capture && !event->capture) {
    stream->capture->isInvalid = true;
    call.require(false, kCuCaptureIsolation,
                 "the event was recorded outside of the capture");
  } else if (stream->capture && event->capture != stream->capture) {
    stream->capture->isInvalid = true;
    call.require(false, kCuCaptureMerge,
                 "the event belongs to another capture");
  } else if (event->capture) {
    call.require(!event->capture->isOver, kCuCapturedEvent,
                 "the event belongs to a capture that is over");
    if (call.getResult() != kCuSuccess)
      return call.finish();
    // The stream takes part from now on.
    if (!stream->capture)
      call.add("capture", event->capture->number);
    stream->capture = event->capture;
    stream->tail.insert(stream->tail.end(), event->tail.begin(),
                        event->tail.end());
    std::sort(stream->tail.begin(), stream->tail.end());
    stream->tail.erase(std::unique(stream->tail.begin(), stream->tail.end()),
                       stream->tail.end());
  }
  WorkMark mark = stream->capture ? nullptr : event->mark;
  int64_t number = stream->number;
  CuResult result = call.finish();
  if (mark && result == kCuSuccess)
    call.getDevice().queues.add(number, nullptr, mark);
  return result;
}

} // extern "C"

static CuResult awaitEvent(const char *name, CuEvent event, bool asks) {
  RecordedCall call(name);
  call.mayWait();
  if (addEvent(call, event, /*isRead=*/false))
    call.require(!event->capture, kCuCapturedEvent,
                 "the event belongs to a capture");
  if (CuResult result = call.finish())
    return result;
  return awaitWork(call.getDevice().queues, event->mark, asks);
}

extern "C" {

RG_EXPORT CuResult cuEventQuery(CuEvent event) {
  return awaitEvent("cuEventQuery", event, /*asks=*/true);
}

RG_EXPORT CuResult cuEventSynchronize(CuEvent event) {
  return awaitEvent("cuEventSynchronize", event, /*asks=*/false);
}

RG_EXPORT CuResult cuEventElapsedTime(float *milliseconds, CuEvent begin,
                                      CuEvent end) {
  RecordedCall call("cuEventElapsedTime");
  if (addEvent(call, begin, /*isRead=*/true) &&
      addEvent(call, end, /*isRead=*/true)) {
    call.require(begin->isTimed && end->isTimed, kCuInvalidHandle,
                 "an event was made without timing");
    auto isReached = [](CuEvent event) { return !event->mark || *event->mark; };
    call.require(isReached(begin) && isReached(end), kCuNotReady,
                 "an event is not reached");
    *milliseconds = float((*end->time - *begin->time) * 1e3);
  }
  return call.finish();
}

//===----------------------------------------------------------------------===//
// Capture
//===----------------------------------------------------------------------===//

RG_EXPORT CuResult cuStreamBeginCapture_v2(CuStream stream, int mode) {
  RecordedCall call("cuStreamBeginCapture_v2");
  call.onStream(stream).require(mode == kCuCaptureThreadLocal, kCuInvalidValue,
                                "the stand-in captures for one thread only");
  if (call.getResult() == kCuSuccess)
    call.require(!stream->capture, kCuCaptureUnmatched,
                 "the stream is being captured already");
  if (call.getResult() == kCuSuccess) {
    stream->capture = std::make_shared<StreamCapture>();
    stream->capture->number = ++call.getDevice().numCaptures;
    stream->capture->origin = stream;
    stream->capture->thread = std::this_thread::get_id();
    stream->tail.clear();
    call.add("capture", stream->capture->number);
  }
  return call.finish();
}

} // extern "C"

/// True if every node comes before the end of the origin's stream: all that was
/// forked has been joined.
static bool isJoined(const StreamCapture &capture) {
  std::vector<bool> isReached(capture.nodes.size());
  for (size_t node : capture.origin->tail)
    isReached[node] = true;
  // Dependencies have smaller numbers.
  for (size_t i = capture.nodes.size(); i-- > 0;)
    if (!isReached[i])
      return false;
    else
      for (size_t dependency : capture.nodes[i].dependencies)
        isReached[dependency] = true;
  return true;
}

extern "C" {

RG_EXPORT CuResult cuStreamEndCapture(CuStream stream, CuGraph *graph) {
  RecordedCall call("cuStreamEndCapture");
  StandInDevice &device = call.getDevice();
  *graph = nullptr;
  call.onStream(stream);
  if (call.getResult() == kCuSuccess)
    call.require(stream->capture && stream->capture->origin == stream,
                 kCuCaptureUnmatched, "the capture did not begin on the stream")
        .require(!stream->capture ||
                     stream->capture->thread == std::this_thread::get_id(),
                 kCuCaptureWrongThread, "another thread has begun the capture");
  if (call.getResult() != kCuSuccess)
    return call.finish();
  std::shared_ptr<StreamCapture> capture = stream->capture;
  call.require(!capture->isInvalid, kCuCaptureInvalidated,
               "a call was not allowed during the capture")
      .require(isJoined(*capture), kCuCaptureUnjoined,
               "work on another stream was not joined");
  capture->isOver = true;
  for (const auto &[member, owner] : device.streams.get())
    if (member->capture == capture) {
      member->capture = nullptr;
      member->tail.clear();
    }
  // Events keep the capture, but not what was captured.
  std::vector<GraphNode> nodes = std::move(capture->nodes);
  capture->nodes.clear();
  if (call.getResult() == kCuSuccess) {
    *graph = device.graphs.create();
    (*graph)->nodes = std::move(nodes);
    call.add("graph", (*graph)->number);
  }
  return call.finish();
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

RG_EXPORT CuResult cuGraphInstantiateWithFlags(CuGraphExec *exec, CuGraph graph,
                                               unsigned long long flags) {
  RecordedCall call("cuGraphInstantiateWithFlags");
  StandInDevice &device = call.getDevice();
  *exec = nullptr;
  call.require(device.graphs.contains(graph), kCuInvalidHandle,
               "there is no such graph");
  if (call.getResult() == kCuSuccess) {
    *exec = device.executables.create();
    (*exec)->nodes =
        std::make_shared<const std::vector<GraphNode>>(graph->nodes);
    call.add("graph", graph->number).add("executable", (*exec)->number);
  }
  return call.finish();
}

RG_EXPORT CuResult cuGraphLaunch(CuGraphExec exec, CuStream stream) {
  RecordedCall call("cuGraphLaunch");
  StandInDevice &device = call.getDevice();
  call.onStream(stream).require(device.executables.contains(exec),
                                kCuInvalidHandle, "there is no such graph");
  if (call.getResult() != kCuSuccess)
    return call.finish();
  call.add("executable", exec->number)
      .require(!stream->capture, kCuCaptureUnsupported,
               "the stand-in launches no graph into a graph");
  bool isOrdered = false;
  for (const GraphNode &node : *exec->nodes) {
    isOrdered |= node.isOrdered;
    for (DeviceRange range : node.ranges)
      call.require(device.contains(range), kCuIllegalAddress,
                   "memory that the graph uses was freed");
  }
  return call.enqueue(
      [nodes = exec->nodes] {
        for (const GraphNode &node : *nodes)
          if (CuResult result = node.work())
            return result;
        return kCuSuccess;
      },
      isOrdered);
}

RG_EXPORT CuResult cuGraphExecDestroy(CuGraphExec exec) {
  RecordedCall call("cuGraphExecDestroy");
  call.require(call.getDevice().executables.erase(exec), kCuInvalidHandle,
               "there is no such graph");
  return call.finish();
}

RG_EXPORT CuResult cuGraphDestroy(CuGraph graph) {
  RecordedCall call("cuGraphDestroy");
  call.require(call.getDevice().graphs.erase(graph), kCuInvalidHandle,
               "there is no such graph");
  return call.finish();
}

} // extern "C"
