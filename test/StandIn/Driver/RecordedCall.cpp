//===- RecordedCall.cpp - A call of a stand-in library --------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecordedCall.h"

#include "regather/Runtime/Runtime.h"

#include <cstdio>
#include <cstdlib>

using namespace regather::runtime;

//===----------------------------------------------------------------------===//
// The record
//===----------------------------------------------------------------------===//

namespace {
/// The file of lines; guarded by the mutex of the device.
struct Record {
  std::FILE *file = nullptr;
  std::string name;
};
} // namespace

static Record record;
/// Of a thread, the innermost one last.
static thread_local std::vector<WorkRange> ranges;

void regather::runtime::openRecord() {
  const char *variable = std::getenv("REGATHER_RECORD");
  std::string name = variable ? variable : "";
  if (name == record.name)
    return;
  if (record.file)
    std::fclose(record.file);
  record = {nullptr, name};
  if (name.empty())
    return;
  record.file = std::fopen(name.c_str(), "w");
  if (!record.file) {
    std::perror(("cannot write '" + name + "'").c_str());
    return;
  }
  // So that the file holds everything that happened before a crash.
  std::setvbuf(record.file, nullptr, _IOLBF, size_t(1) << 16);
}

static const WorkRange &getRange() {
  static const WorkRange none;
  return ranges.empty() ? none : ranges.back();
}

int regather::runtime::beginRange(WorkRange range) {
  ranges.push_back(std::move(range));
  return int(ranges.size()) - 1;
}

int regather::runtime::endRange() {
  if (!ranges.empty())
    ranges.pop_back();
  return int(ranges.size());
}

//===----------------------------------------------------------------------===//
// Lines
//===----------------------------------------------------------------------===//

static std::string quote(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char code[8];
      std::snprintf(code, sizeof(code), "\\u%04x", c);
      quoted += code;
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

RecordedCall::RecordedCall(const char *name)
    : device(StandInDevice::get()), lock(device.mutex) {
  line = "{\"call\": " + quote(name);
  const WorkRange &range = getRange();
  add("rank", range.rank);
  if (range.instruction >= 0)
    add("instruction", range.instruction);
  if (!range.description.empty())
    add("description", range.description);
}

RecordedCall &RecordedCall::add(const char *field, int64_t value) {
  line += ", " + quote(field) + ": " + std::to_string(value);
  return *this;
}

RecordedCall &RecordedCall::add(const char *field, std::string_view text) {
  line += ", " + quote(field) + ": " + quote(text);
  return *this;
}

RecordedCall &RecordedCall::add(const char *field,
                                const std::vector<uint64_t> &values) {
  line += ", " + quote(field) + ": [";
  for (size_t i = 0; i < values.size(); ++i)
    line += (i ? ", " : "") + std::to_string(values[i]);
  line += ']';
  return *this;
}

void RecordedCall::addRanges(const char *field,
                             const std::vector<DeviceRange> &ranges) {
  if (ranges.empty())
    return;
  line += ", " + quote(field) + ": [";
  for (size_t i = 0; i < ranges.size(); ++i)
    line += (i ? ", [" : "[") + std::to_string(ranges[i].address) + ", " +
            std::to_string(ranges[i].bytes) + ']';
  line += ']';
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

RecordedCall &RecordedCall::require(bool isGood, CuResult error,
                                    std::string_view text) {
  if (!isGood && result == kCuSuccess) {
    result = error;
    problem = text;
  }
  return *this;
}

RecordedCall &RecordedCall::onStream(CuStream newStream) {
  if (!device.streams.contains(newStream))
    return require(false, kCuInvalidHandle, "there is no such stream");
  stream = newStream;
  add("stream", stream->number);
  if (stream->capture)
    add("capture", stream->capture->number);
  return *this;
}

static std::string describe(DeviceRange range) {
  return std::to_string(range.bytes) + " bytes at " +
         std::to_string(range.address) + " lie in no allocation";
}

RecordedCall &RecordedCall::read(DeviceRange range) {
  if (range.bytes == 0)
    return *this;
  reads.push_back(range);
  return require(device.contains(range), kCuIllegalAddress, describe(range));
}

RecordedCall &RecordedCall::write(DeviceRange range) {
  if (range.bytes == 0)
    return *this;
  writes.push_back(range);
  return require(device.contains(range), kCuIllegalAddress, describe(range));
}

RecordedCall &RecordedCall::useScratch(DeviceRange range) {
  if (range.bytes == 0)
    return *this;
  scratch.push_back(range);
  return require(device.contains(range), kCuIllegalAddress, describe(range));
}

RecordedCall &RecordedCall::touchAnnounced() {
  for (DeviceRange range : getRange().reads)
    read(range);
  for (DeviceRange range : getRange().writes)
    write(range);
  for (DeviceRange range : getRange().scratch)
    useScratch(range);
  return *this;
}

RecordedCall &RecordedCall::mayWait() {
  std::thread::id thread = std::this_thread::get_id();
  if (!device.isCapturing(thread))
    return *this;
  device.invalidate(thread);
  return require(false, kCuCaptureUnsupported,
                 "the call is not allowed while the thread captures a stream");
}

//===----------------------------------------------------------------------===//
// End
//===----------------------------------------------------------------------===//

CuResult RecordedCall::finish() {
  addRanges("reads", reads);
  addRanges("writes", writes);
  addRanges("scratch", scratch);
  if (result != kCuSuccess) {
    const char *name = getErrorName(result);
    add("result", name ? std::string_view(name)
                       : std::string_view(std::to_string(result)));
    add("problem", problem);
  }
  if (record.file)
    std::fprintf(record.file, "%s}\n", line.c_str());
  lock.unlock();
  return result;
}

CuResult RecordedCall::enqueue(DeviceWork work, bool isOrdered) {
  require(stream != nullptr, kCuInvalidHandle, "there is no such stream");
  if (result == kCuSuccess && stream->capture) {
    StreamCapture &capture = *stream->capture;
    GraphNode node = {std::move(work), reads, stream->tail, isOrdered};
    for (const std::vector<DeviceRange> *list : {&writes, &scratch})
      node.ranges.insert(node.ranges.end(), list->begin(), list->end());
    stream->tail = {capture.nodes.size()};
    capture.nodes.push_back(std::move(node));
    return finish();
  }
  int64_t number = stream ? stream->number : 0;
  if (finish() != kCuSuccess)
    return result;
  WorkQueues &queues = device.queues;
  if (!queues.isDelaying())
    return work();
  if (isOrdered)
    queues.addInOrder(getRange().rank, number, std::move(work));
  else
    queues.add(number, std::move(work));
  return kCuSuccess;
}

const char *regather::runtime::getErrorName(CuResult result) {
  switch (result) {
  case kCuSuccess:
    return "CUDA_SUCCESS";
  case kCuInvalidValue:
    return "CUDA_ERROR_INVALID_VALUE";
  case kCuOutOfMemory:
    return "CUDA_ERROR_OUT_OF_MEMORY";
  case kCuNotInitialized:
    return "CUDA_ERROR_NOT_INITIALIZED";
  case kCuNoDevice:
    return "CUDA_ERROR_NO_DEVICE";
  case kCuInvalidDevice:
    return "CUDA_ERROR_INVALID_DEVICE";
  case kCuInvalidImage:
    return "CUDA_ERROR_INVALID_IMAGE";
  case kCuNoBinaryForDevice:
    return "CUDA_ERROR_NO_BINARY_FOR_GPU";
  case kCuInvalidPtx:
    return "CUDA_ERROR_INVALID_PTX";
  case kCuUnsupportedPtx:
    return "CUDA_ERROR_UNSUPPORTED_PTX_VERSION";
  case kCuInvalidHandle:
    return "CUDA_ERROR_INVALID_HANDLE";
  case kCuNotFound:
    return "CUDA_ERROR_NOT_FOUND";
  case kCuNotReady:
    return "CUDA_ERROR_NOT_READY";
  case kCuIllegalAddress:
    return "CUDA_ERROR_ILLEGAL_ADDRESS";
  case kCuLaunchFailed:
    return "CUDA_ERROR_LAUNCH_FAILED";
  case kCuCaptureUnsupported:
    return "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED";
  case kCuCaptureInvalidated:
    return "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED";
  case kCuCaptureMerge:
    return "CUDA_ERROR_STREAM_CAPTURE_MERGE";
  case kCuCaptureUnmatched:
    return "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED";
  case kCuCaptureUnjoined:
    return "CUDA_ERROR_STREAM_CAPTURE_UNJOINED";
  case kCuCaptureIsolation:
    return "CUDA_ERROR_STREAM_CAPTURE_ISOLATION";
  case kCuCapturedEvent:
    return "CUDA_ERROR_CAPTURED_EVENT";
  case kCuCaptureWrongThread:
    return "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD";
  default:
    return nullptr;
  }
}
