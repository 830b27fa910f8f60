//===- ModuleFunctions.cpp - Kernels of the stand-in driver ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launches are recorded. Those of PTX, which is interpreted, and of an image
// that is a shared object for the host are run, too. Machine code for GPUs is
// taken only if that is asked for, so that the runtime falls back to PTX.
//
//===----------------------------------------------------------------------===//

#include "KernelImage.h"
#include "RecordedCall.h"

#include "regather/Runtime/Runtime.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace regather::runtime;

/// Shared memory, static and dynamic, that a block may have at most on a device
/// of an architecture.
static int64_t getMaxSharedBytes(int64_t architecture) {
  if (architecture >= 90)
    return architecture < 120 ? 227 << 10 : 99 << 10;
  if (architecture == 80 || architecture == 87)
    return 163 << 10;
  return architecture > 80 ? 99 << 10 : 64 << 10;
}

/// The newest PTX of a driver, ten times the major number and the minor one:
/// CUDA 12.5 and 12.6 have the same.
static int64_t getPtxVersion(int64_t driver) {
  int64_t major = driver / 1000, minor = driver % 1000 / 10;
  return 10 * (major - 4) + (major == 12 && minor > 5 ? minor - 1 : minor);
}

static std::string formatPtxVersion(int64_t version) {
  return std::to_string(version / 10) + "." + std::to_string(version % 10);
}

/// Writes to the log that a caller has given by options; cut if it is short.
static void writeLog(unsigned count, const int *options, void **values,
                     const std::string &text) {
  char *log = nullptr;
  size_t bytes = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == kCuJitErrorLog)
      log = static_cast<char *>(values[i]);
    if (options[i] == kCuJitErrorLogBytes)
      bytes = reinterpret_cast<size_t>(values[i]);
  }
  if (log && bytes)
    log[text.copy(log, bytes - 1)] = 0;
}

/// Opens a shared object that lies in memory.
static void *openObject(const void *image, int64_t bytes) {
  int file = memfd_create("kernels", MFD_CLOEXEC);
  if (file < 0)
    return nullptr;
  void *library = nullptr;
  if (write(file, image, size_t(bytes)) == bytes)
    library = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(),
                     RTLD_NOW | RTLD_LOCAL);
  close(file);
  return library;
}

/// Adds a function to a module; null if there is one of its name.
static CuFunctionTag *addFunction(CuModule module, const std::string &name,
                                  int64_t parameters) {
  auto [place, isNew] = module->functions.try_emplace(name);
  if (!isNew)
    return nullptr;
  place->second = std::make_unique<CuFunctionTag>();
  place->second->name = name;
  place->second->parameters = parameters;
  return place->second.get();
}

/// Lets functions of a module run from their text.
static void addPtx(CuModule module, const char *text) {
  std::shared_ptr<const PtxModule> ptx = readPtx(text);
  for (auto &[name, function] : module->functions)
    if (auto found = ptx->functions.find(name); found != ptx->functions.end()) {
      function->ptx = found->second.get();
      function->ptxModule = ptx;
      function->staticSharedBytes = function->ptx->staticSharedBytes;
      function->dynamicSharedBytes = std::max<int64_t>(
          kDefaultSharedBytes - function->staticSharedBytes, 0);
    }
}

extern "C" {

RG_EXPORT CuResult cuModuleLoadDataEx(CuModule *module, const void *data,
                                      unsigned count, int *options,
                                      void **values) {
  RecordedCall call("cuModuleLoadDataEx");
  StandInDevice &device = call.getDevice();
  KernelImage image;
  call.mayWait().require(image.read(data), kCuInvalidImage,
                         "the image is neither PTX nor ELF");
  call.add("architecture", image.architecture)
      .require(image.runsOn(device.settings.architecture), kCuNoBinaryForDevice,
               "the image is for sm_" + std::to_string(image.architecture));
  int64_t known = getPtxVersion(device.settings.driver);
  if (call.getResult() == kCuSuccess && image.ptxVersion > known) {
    std::string text = "PTX " + formatPtxVersion(image.ptxVersion) +
                       " is newer than " + formatPtxVersion(known) +
                       ", the newest of the driver";
    writeLog(count, options, values, "stand-in: " + text + '\n');
    call.require(false, kCuUnsupportedPtx, text);
  }
  if (call.getResult() == kCuSuccess && image.format == ImageFormat::Cubin &&
      device.settings.machineCode == 0) {
    // No mistake of the caller, which tries the next image.
    call.add("refused", "nothing here runs machine code").finish();
    return kCuNoBinaryForDevice;
  }
  const HostKernel *hostKernels = nullptr;
  if (call.getResult() == kCuSuccess &&
      image.format == ImageFormat::HostObject) {
    void *library = openObject(data, image.bytes);
    if (library)
      hostKernels = static_cast<const HostKernel *>(
          dlsym(library, "regather_host_kernels"));
    call.require(hostKernels, kCuInvalidImage,
                 "the image is no host object with kernels");
  }
  if (call.getResult() != kCuSuccess)
    return call.finish();
  CuModule created = device.modules.create();
  for (const ImageEntry &entry : image.entries)
    addFunction(created, entry.name, entry.parameters);
  for (const HostKernel *kernel = hostKernels; kernel && kernel->name; ++kernel)
    if (CuFunctionTag *added =
            addFunction(created, kernel->name, kernel->parameters))
      added->code = kernel;
  if (image.format == ImageFormat::Ptx)
    addPtx(created, static_cast<const char *>(data));
  *module = created;
  return call.add("module", created->number).finish();
}

RG_EXPORT CuResult cuModuleUnload(CuModule module) {
  StandInDevice::get().queues.finishAll();
  RecordedCall call("cuModuleUnload");
  // Code of the host stays loaded: work may still run it.
  call.mayWait().require(call.getDevice().modules.erase(module),
                         kCuInvalidHandle, "there is no such module");
  return call.finish();
}

RG_EXPORT CuResult cuModuleGetFunction(CuFunction *function, CuModule module,
                                       const char *name) {
  RecordedCall call("cuModuleGetFunction");
  call.add("kernel", name)
      .require(call.getDevice().modules.contains(module), kCuInvalidHandle,
               "there is no such module");
  if (call.getResult() != kCuSuccess)
    return call.finish();
  auto found = module->functions.find(name);
  call.require(found != module->functions.end(), kCuNotFound,
               "the module has no such entry");
  if (call.getResult() == kCuSuccess)
    *function = found->second.get();
  return call.finish();
}

RG_EXPORT CuResult cuFuncSetAttribute(CuFunction function, int attribute,
                                      int value) {
  RecordedCall call("cuFuncSetAttribute");
  call.add("kernel", function->name)
      .add("attribute", attribute)
      .add("value", value)
      .require(attribute == kCuFunctionDynamicShared, kCuInvalidValue,
               "the stand-in knows one attribute of functions")
      .require(value >= 0 &&
                   value <= getMaxSharedBytes(
                                call.getDevice().settings.architecture) -
                                function->staticSharedBytes,
               kCuInvalidValue, "a block cannot have so much shared memory");
  if (call.getResult() == kCuSuccess)
    function->dynamicSharedBytes = value;
  return call.finish();
}

RG_EXPORT CuResult cuLaunchKernel(CuFunction function, unsigned gridX,
                                  unsigned gridY, unsigned gridZ,
                                  unsigned blockX, unsigned blockY,
                                  unsigned blockZ, unsigned sharedBytes,
                                  CuStream stream, void **arguments,
                                  void **extra) {
  RecordedCall call("cuLaunchKernel");
  call.onStream(stream)
      .add("kernel", function->name)
      .add("blocks", int64_t(gridX) * gridY * gridZ)
      .add("threads", int64_t(blockX) * blockY * blockZ)
      .add("dynamic_shared_bytes", int64_t(sharedBytes))
      .require(gridX && gridY && gridZ, kCuInvalidValue, "the grid is empty")
      .require(blockX && int64_t(blockX) * blockY * blockZ <= 1024 && blockY &&
                   blockZ,
               kCuInvalidValue, "a block has 1 to 1024 threads")
      .require(sharedBytes <= function->dynamicSharedBytes, kCuInvalidValue,
               "the launch asks for more shared memory than was allowed")
      .require(!extra, kCuInvalidValue,
               "the stand-in takes parameters as pointers only");
  call.touchAnnounced();
  // The interpreter checks addresses when they are used.
  bool runs = function->ptx && function->ptx->unknown.empty();
  if (function->ptx && !runs)
    call.add("skipped", function->ptx->unknown);
  std::vector<uint64_t> values;
  for (int64_t i = 0; arguments && i < function->parameters; ++i) {
    uint64_t address = 0;
    std::memcpy(&address, arguments[i], sizeof(address));
    values.push_back(address);
    call.require(runs || call.getDevice().contains({address, 0}),
                 kCuIllegalAddress,
                 "parameter " + std::to_string(i) + " lies in no allocation");
  }
  if (function->parameters >= 0)
    call.add("parameters", values);
  int64_t blocks = int64_t(gridX) * gridY * gridZ;
  int64_t threads = int64_t(blockX) * blockY * blockZ;
  if (!runs)
    return call.enqueue(
        [=, kernel = function->code, values = std::move(values)] {
          if (!kernel || kernel->run(values.data(), blocks, threads,
                                     int64_t(sharedBytes)) == 0)
            return kCuSuccess;
          // It does not say why; an earlier one may have.
          StandInDevice &device = StandInDevice::get();
          std::lock_guard<std::mutex> lock(device.mutex);
          device.kernelProblem.clear();
          return kCuLaunchFailed;
        });
  PtxLaunch launch = {blocks, threads, int64_t(sharedBytes), std::move(values),
                      call.getDevice().getMemory()};
  for (const std::unique_ptr<std::string> &table :
       function->ptxModule->constants)
    launch.memory.push_back(
        {reinterpret_cast<CuAddress>(table->data()), table->size()});
  return call.enqueue([ptx = function->ptx, module = function->ptxModule,
                       launch = std::move(launch)] {
    std::string problem = runPtx(*ptx, launch);
    if (problem.empty())
      return kCuSuccess;
    StandInDevice &device = StandInDevice::get();
    std::lock_guard<std::mutex> lock(device.mutex);
    device.kernelProblem = "kernel '" + ptx->name + "': " + problem;
    return kCuLaunchFailed;
  });
}

} // extern "C"
