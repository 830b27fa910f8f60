//===- DeviceLibrary.h - Matrix products and attention on devices *- C++
//-*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_DEVICELIBRARY_H
#define REGATHER_LIB_RUNTIME_GPU_DEVICELIBRARY_H

#include "DriverApi.h"

#include "regather/Runtime/GpuProgram.h"

#include <memory>
#include <string>

namespace regather::runtime {

/// Runs RG_OP_GEMM by cuBLASLt and RG_OP_ATTENTION by cuDNN or, without it, by
/// the kernels that the compiler has generated for it.
///
/// Everything, the choice of algorithms included, is made by `prepare`; `run`
/// only enqueues, and can be captured into a graph.
class DeviceLibrary {
public:
  virtual ~DeviceLibrary() = default;

  /// Opens the libraries that the program needs and plans all its routines. A
  /// failure lists all routines that cannot be run, not just the first.
  virtual bool prepare(const rg_gpu_program &program, const DriverApi &driver,
                       std::string &message) = 0;

  /// Bytes of device memory that one routine needs besides its buffers; every
  /// stream that computes has so much.
  virtual int64_t getWorkspaceBytes() const = 0;

  /// Enqueues the routine of an instruction. `buffers` are the addresses of its
  /// places.
  virtual bool run(const rg_instruction &instruction, const CuAddress *buffers,
                   CuAddress workspace, CuStream stream,
                   std::string &message) = 0;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_DEVICELIBRARY_H
