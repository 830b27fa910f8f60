//===- RoutineLibraries.h - Compute GEMMs and attention ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_ROUTINELIBRARIES_H
#define REGATHER_LIB_RUNTIME_GPU_ROUTINELIBRARIES_H

#include "DeviceLibrary.h"
#include "GPU/CublasLt/AlgorithmFile.h"

namespace regather::runtime {

/// GEMMs of matrices, by cuBLASLt.
std::unique_ptr<DeviceLibrary>
createGemmLibrary(const DeviceLibraryOptions &options);

/// Attention, by cuDNN. Where it has to be there and is not, the message lists
/// all that needs it.
std::unique_ptr<DeviceLibrary>
createAttentionLibrary(const DeviceLibraryOptions &options);

/// Writes what was chosen if something was, unless another rank has chosen.
/// Fails if the file has to be written and cannot be; if it need not, the note
/// says why.
template <typename File>
Failure keepAlgorithms(const File &file, const DeviceLibraryOptions &options,
                       bool wasGiven, std::string &note) {
  if (wasGiven || !file.isChanged() || options.algorithmFile.empty())
    return Failure();
  Failure failure = file.write(options.algorithmFile);
  if (!failure || options.needsAlgorithmFile)
    return failure;
  note = failure.getMessage();
  return Failure();
}

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_ROUTINELIBRARIES_H
