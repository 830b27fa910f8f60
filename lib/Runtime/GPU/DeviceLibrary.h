//===- DeviceLibrary.h - Routines of libraries on devices -------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_DEVICELIBRARY_H
#define REGATHER_LIB_RUNTIME_GPU_DEVICELIBRARY_H

#include "GPU/Driver/DriverApi.h"
#include "Store/RankStore.h"

#include "regather/Runtime/GpuProgram.h"

#include <memory>
#include <string>

namespace regather::runtime {

struct DeviceLibraryOptions {
  /// cuBLASLt and cuDNN to open instead of those of the system; none if empty.
  std::string path;
  std::string cudnnPath;
  /// As the driver calls it.
  std::string deviceName;
  /// Ten times the major number and the minor one, such as 90.
  int architecture = 0;
  /// File that keeps the algorithms that were chosen; none if empty. Those in
  /// it are taken if it was written for the same library and device.
  std::string algorithmFile;
  /// "cudnn" and "generated" say what computes attention; if empty, cuDNN does
  /// what it can.
  std::string attention;
  /// That the file cannot be written is a failure, else only a note.
  bool needsAlgorithmFile = true;
  /// Times what the library proposes, and takes the fastest.
  bool timesAlgorithms = false;
};

/// Runs GEMMs by cuBLASLt, and attention by cuDNN. Whatever they
/// do not run is computed by kernels that the compiler has generated, and that
/// the caller launches: `rg_gpu_program.gemms` and `attentions`.
///
/// Everything is made by `prepare` and `chooseAlgorithms`; `run` only enqueues,
/// and can be captured into a graph. One thread at a time.
class DeviceLibrary {
public:
  virtual ~DeviceLibrary() = default;

  /// Opens the libraries that the program needs, and plans all routines. The
  /// context of the device is current. A failure lists all routines that
  /// nothing computes, not just the first.
  virtual Failure prepare(const rg_gpu_program &program,
                          const DriverApi &driver) = 0;

  /// Chooses how each GEMM is computed; `prepare` was called before. Given
  /// what another rank has chosen, as `printAlgorithms` says it, it takes that
  /// if the rank has the same library and device, and leaves the file alone.
  virtual Failure chooseAlgorithms(const std::string *given) = 0;
  virtual std::string printAlgorithms() const = 0;

  /// What could not be done but is no failure; empty for nothing.
  virtual std::string getNote() const = 0;

  /// True if `run` computes the instruction, which is a GEMM or attention;
  /// false if its generated kernels do.
  virtual bool computes(const rg_instruction &instruction) const = 0;

  /// Bytes of device memory, aligned to 256, that one routine needs besides its
  /// buffers; every stream that computes has so much.
  virtual int64_t getWorkspaceBytes() const = 0;

  /// Enqueues the routine of an instruction. `buffers` are the addresses of its
  /// slices.
  virtual Failure run(const rg_instruction &instruction,
                      const CuAddress *buffers, CuAddress workspace,
                      CuStream stream) = 0;

  /// One line for each attention: what computes it and, if that is a generated
  /// kernel, why.
  virtual std::string describe() const { return ""; }
};

std::unique_ptr<DeviceLibrary>
createDeviceLibrary(const DeviceLibraryOptions &options);

/// Chooses algorithms on rank 0 of a job and tells the others by `store`: times
/// differ from rank to rank, but replicas must have the same bits.
Failure chooseAlgorithmsTogether(DeviceLibrary &library, RankStore &store,
                                 int rank);

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_DEVICELIBRARY_H
