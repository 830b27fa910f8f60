//===- StandInDevice.h - A device without hardware --------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The state behind the driver that stands in for CUDA's. Memory of the device
// is memory of the host. Work runs when it is enqueued, by the thread that
// enqueues it: of all orders in which a device might run a correct program that
// is one; WorkQueues.h has others. Work of a stream that is captured is kept,
// and runs when its graph is launched.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_STANDIN_DRIVER_STANDINDEVICE_H
#define REGATHER_TEST_STANDIN_DRIVER_STANDINDEVICE_H

#include "GPU/Driver/DriverApi.h"
#include "StandIn/Ptx/PtxInterpreter.h"
#include "WorkQueues.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace regather::runtime {

/// Shared memory, static and dynamic, of a block that has not asked for more.
inline constexpr int64_t kDefaultSharedBytes = 48 << 10;

/// One piece of work in a graph.
struct GraphNode {
  DeviceWork work;
  /// What it touches, which still has to be there when it runs.
  std::vector<DeviceRange> ranges;
  /// Numbers of nodes that come before it.
  std::vector<size_t> dependencies;
  /// As in WorkQueues::addInOrder.
  bool isOrdered = false;
};

/// The work that is captured, from the begin on one stream to the end on it.
struct StreamCapture {
  int64_t number;
  CuStream origin;
  std::thread::id thread;
  /// Set by a call that is not allowed; the end then fails.
  bool isInvalid = false;
  bool isOver = false;
  std::vector<GraphNode> nodes;
};

struct CuStreamTag {
  int64_t number;
  /// Null while the stream is not captured.
  std::shared_ptr<StreamCapture> capture;
  /// The last nodes of the stream in its capture.
  std::vector<size_t> tail;
};

struct CuEventTag {
  int64_t number;
  bool isRecorded = false;
  bool isTimed = false;
  /// When it was reached, in seconds; of work that is delayed not yet.
  std::shared_ptr<double> time;
  /// Of work that is delayed.
  WorkMark mark;
  /// Of the capture that it was last recorded in; null if outside of one.
  std::shared_ptr<StreamCapture> capture;
  std::vector<size_t> tail;
};

struct CuGraphTag {
  int64_t number;
  std::vector<GraphNode> nodes;
};

struct CuGraphExecTag {
  int64_t number;
  /// Launches that are delayed have it, too.
  std::shared_ptr<const std::vector<GraphNode>> nodes;
};

/// A kernel of an image that is a shared object for the host. The object has a
/// table of them, which ends with one without a name, as its symbol
/// `regather_host_kernels`.
struct HostKernel {
  const char *name;
  /// Runs all blocks; `addresses` are the parameters. Returns 0, or 1 if it has
  /// failed.
  int32_t (*run)(const uint64_t *addresses, int64_t blocks, int64_t threads,
                 int64_t dynamicSharedBytes);
  int64_t parameters;
};

struct CuFunctionTag {
  std::string name;
  /// Number of parameters, or -1 if the image does not say. All are addresses.
  int64_t parameters = -1;
  /// Shared memory of the kernel itself; 0 if the image does not say.
  int64_t staticSharedBytes = 0;
  /// Dynamic shared memory that launches may ask for: without more ado what
  /// static memory leaves of kDefaultSharedBytes.
  int64_t dynamicSharedBytes = kDefaultSharedBytes;
  /// Null if launches are recorded only.
  const HostKernel *code = nullptr;
  /// Of a kernel in PTX, and the file that holds it. Parameters of the
  /// runtime's own kernels need not be addresses.
  const PtxFunction *ptx = nullptr;
  std::shared_ptr<const PtxModule> ptxModule;
};

struct CuModuleTag {
  int64_t number;
  std::map<std::string, std::unique_ptr<CuFunctionTag>> functions;
};

/// Objects of one type that exist, by handle, numbered as they are made.
template <typename Tag> class ObjectTable {
public:
  Tag *create() {
    auto object = std::make_unique<Tag>();
    object->number = ++numCreated;
    Tag *handle = object.get();
    objects.emplace(handle, std::move(object));
    return handle;
  }
  bool contains(Tag *handle) const { return objects.count(handle) != 0; }
  bool erase(Tag *handle) { return objects.erase(handle) != 0; }
  const std::map<Tag *, std::unique_ptr<Tag>> &get() const { return objects; }

private:
  std::map<Tag *, std::unique_ptr<Tag>> objects;
  int64_t numCreated = 0;
};

/// What is simulated. From environment variables when cuInit is called:
/// REGATHER_STAND_IN_DEVICES (1), REGATHER_STAND_IN_MEMORY (bytes, 80 GiB),
/// REGATHER_STAND_IN_ARCHITECTURE (90), REGATHER_STAND_IN_DRIVER (13000),
/// REGATHER_STAND_IN_HANGS (0; else streams are never done when they are
/// asked), REGATHER_STAND_IN_DELAYS (-1; else work is delayed, by this seed)
/// and REGATHER_STAND_IN_MACHINE_CODE (0; else images of machine code are
/// taken, whose launches are recorded only).
struct StandInSettings {
  int64_t devices = 1;
  int64_t memory = int64_t(80) << 30;
  int64_t architecture = 90;
  int64_t driver = 13000;
  int64_t hangs = 0;
  int64_t machineCode = 0;
  int64_t delays = -1;

  static StandInSettings read();
};

/// The one device of the process. All is guarded by its mutex.
struct StandInDevice {
  static StandInDevice &get();

  std::mutex mutex;
  bool isStarted = false;
  StandInSettings settings;
  /// Bytes of each allocation by its address.
  std::map<CuAddress, uint64_t> allocations;
  std::map<void *, size_t> hostAllocations;
  uint64_t allocatedBytes = 0;
  ObjectTable<CuStreamTag> streams;
  ObjectTable<CuEventTag> events;
  ObjectTable<CuGraphTag> graphs;
  ObjectTable<CuGraphExecTag> executables;
  ObjectTable<CuModuleTag> modules;
  /// Has a mutex of its own.
  WorkQueues queues;
  int64_t numCaptures = 0;
  /// What work is said to have taken besides the time that it has.
  double addedSeconds = 0;
  /// Why the last kernel that failed did.
  std::string kernelProblem;

  /// True if all bytes lie in one allocation.
  bool contains(DeviceRange range) const;
  /// True if the host has this memory from the driver: copies then need not be
  /// over when the call returns.
  bool isPinned(const void *memory) const;
  /// All allocations.
  std::vector<DeviceRange> getMemory() const;
  /// True if this thread captures a stream, which forbids calls that might wait
  /// for the device.
  bool isCapturing(std::thread::id thread) const;
  /// Invalidates what a thread captures.
  void invalidate(std::thread::id thread);
};

} // namespace regather::runtime

#endif // REGATHER_TEST_STANDIN_DRIVER_STANDINDEVICE_H
