//===- RecordingModules.cpp - Kernels of the stand-in driver --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launches of PTX and of machine code for GPUs are recorded. Those of an image
// that is a shared object for the host are recorded and run, and so are the
// runtime's own kernels, which are simple enough to be interpreted.
//
//===----------------------------------------------------------------------===//

#include "KernelImage.h"
#include "RecordedCall.h"

#include "regather/Runtime/Runtime.h"

#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace regather::runtime;

/// Shared memory that a block may have at most, as on GPUs of compute
/// capability 9.0.
static constexpr int64_t kMaxDynamicSharedBytes = 227 << 10;

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

extern "C" {

RG_EXPORT CuResult cuModuleLoadDataEx(CuModule *module, const void *data,
                                      unsigned count, int *options,
                                      void **values) {
  RecordedCall call("cuModuleLoadDataEx");
  StandInDevice &device = call.getDevice();
  KernelImage image;
  call.mayWait().require(image.read(data), kCuInvalidImage,
                         "the image is neither PTX nor ELF");
  call.require(image.runsOn(device.settings.architecture), kCuNoBinaryForDevice,
               "the image is for sm_" + std::to_string(image.architecture));
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
    for (auto &[name, kernel] : readPtxKernels(static_cast<const char *>(data)))
      if (name.rfind("regather_reduce_", 0) == 0)
        created->functions[name]->interpreted = std::move(kernel);
  *module = created;
  return call.add("module", created->number).finish();
}

RG_EXPORT CuResult cuModuleUnload(CuModule module) {
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
      .require(value >= 0 && value <= kMaxDynamicSharedBytes, kCuInvalidValue,
               "a block cannot have so much shared memory");
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
  call.touchAnnotated();
  std::vector<uint64_t> values;
  for (int64_t i = 0; arguments && i < function->parameters; ++i) {
    uint64_t address = 0;
    std::memcpy(&address, arguments[i], sizeof(address));
    values.push_back(address);
    call.require(function->interpreted ||
                     call.getDevice().contains({address, 0}),
                 kCuIllegalAddress,
                 "parameter " + std::to_string(i) + " lies in no allocation");
  }
  if (function->parameters >= 0)
    call.add("parameters", values);
  int64_t blocks = int64_t(gridX) * gridY * gridZ;
  int64_t threads = int64_t(blockX) * blockY * blockZ;
  return call.enqueue([=, kernel = function->code,
                       interpreted = function->interpreted,
                       values = std::move(values)] {
    if (interpreted)
      interpreted->run(values.data(), blocks, threads);
    bool isBad = kernel && kernel->run(values.data(), blocks, threads,
                                       int64_t(sharedBytes)) != 0;
    return isBad ? kCuLaunchFailed : kCuSuccess;
  });
}

} // extern "C"
