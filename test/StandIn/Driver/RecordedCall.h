//===- RecordedCall.h - A call of a stand-in library ------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_STANDIN_DRIVER_RECORDEDCALL_H
#define REGATHER_TEST_STANDIN_DRIVER_RECORDEDCALL_H

#include "StandInDevice.h"

#include <string>
#include <string_view>

namespace regather::runtime {

/// Opens the file that REGATHER_RECORD names, unless it is open. Another name
/// than before closes the file before.
void openRecord();

/// What the calls of a thread belong to, as a range of NVTX says.
struct WorkRange {
  int64_t rank = 0;
  int64_t instruction = -1;
  std::string description;
  std::vector<DeviceRange> reads, writes, scratch;
};

/// Begin and end a range of the calling thread. Ranges nest. Both return the
/// depth of the range, from 0 on.
int beginRange(WorkRange range);
int endRange();

/// One call, from its begin to the line that is written about it. The device is
/// locked in between. A stand-in reads
///
///   RecordedCall call("cuMemsetD8Async");
///   call.onStream(stream).write({target, count});
///   return call.enqueue([=] { ... return kCuSuccess; });
///
/// Checks add to each other: the first that fails decides what is returned, and
/// is in the line as `result` and `problem`.
class RecordedCall {
public:
  explicit RecordedCall(const char *name);

  RecordedCall &add(const char *field, int64_t value);
  RecordedCall &add(const char *field, std::string_view text);
  RecordedCall &add(const char *field, const std::vector<uint64_t> &values);

  /// The call enqueues work on a stream, which has to exist.
  RecordedCall &onStream(CuStream stream);
  /// The work reads or writes bytes of the device. They have to lie in one
  /// allocation.
  RecordedCall &read(DeviceRange range);
  RecordedCall &write(DeviceRange range);
  /// The work has bytes of the device for intermediate values.
  RecordedCall &useScratch(DeviceRange range);
  /// The work touches what the caller has announced by a range of NVTX.
  RecordedCall &touchAnnounced();
  /// The call may wait for the device, which a thread that captures must not.
  RecordedCall &mayWait();
  /// Fails unless `isGood`.
  RecordedCall &require(bool isGood, CuResult error, std::string_view problem);

  CuResult getResult() const { return result; }
  StandInDevice &getDevice() { return device; }

  /// Writes the line. Nothing else may be called afterwards.
  CuResult finish();
  /// Writes the line and, if the call is right, runs the work: at once or when
  /// it is its turn, without holding the lock, or whenever the graph is
  /// launched that the stream is captured into. `isOrdered` is as in
  /// WorkQueues::addInOrder.
  CuResult enqueue(DeviceWork work, bool isOrdered = false);

private:
  void addRanges(const char *field, const std::vector<DeviceRange> &ranges);

  StandInDevice &device;
  std::unique_lock<std::mutex> lock;
  std::string line;
  std::string problem;
  CuResult result = kCuSuccess;
  CuStream stream = nullptr;
  std::vector<DeviceRange> reads, writes, scratch;
};

/// Such as "CUDA_ERROR_INVALID_VALUE"; null for a number that the stand-in does
/// not return.
const char *getErrorName(CuResult result);

inline constexpr CuResult kCuInvalidValue = 1;
inline constexpr CuResult kCuNotInitialized = 3;
inline constexpr CuResult kCuInvalidDevice = 101;
inline constexpr CuResult kCuInvalidImage = 200;
inline constexpr CuResult kCuInvalidPtx = 218;
inline constexpr CuResult kCuUnsupportedPtx = 222;
inline constexpr CuResult kCuInvalidHandle = 400;
inline constexpr CuResult kCuNotFound = 500;
inline constexpr CuResult kCuIllegalAddress = 700;
inline constexpr CuResult kCuLaunchFailed = 719;
inline constexpr CuResult kCuCaptureUnsupported = 900;
inline constexpr CuResult kCuCaptureInvalidated = 901;
inline constexpr CuResult kCuCaptureMerge = 902;
inline constexpr CuResult kCuCaptureUnmatched = 903;
inline constexpr CuResult kCuCaptureUnjoined = 904;
inline constexpr CuResult kCuCaptureIsolation = 905;
inline constexpr CuResult kCuCapturedEvent = 907;
inline constexpr CuResult kCuCaptureWrongThread = 908;

} // namespace regather::runtime

#endif // REGATHER_TEST_STANDIN_DRIVER_RECORDEDCALL_H
