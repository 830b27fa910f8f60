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
/// False, with a message, if the file has to be written and cannot be; if it
/// need not, the note has the message.
template <typename File>
bool keepAlgorithms(const File &file, const DeviceLibraryOptions &options,
                    bool wasGiven, std::string &message, std::string &note) {
  if (wasGiven || !file.isChanged() || options.algorithmFile.empty())
    return true;
  std::string problem;
  if (file.write(options.algorithmFile, problem))
    return true;
  (options.needsAlgorithmFile ? message : note) = problem;
  return !options.needsAlgorithmFile;
}

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_ROUTINELIBRARIES_H
