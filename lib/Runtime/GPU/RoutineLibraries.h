//===- RoutineLibraries.h - What computes products and attention -*- C++
//-*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_ROUTINELIBRARIES_H
#define REGATHER_LIB_RUNTIME_GPU_ROUTINELIBRARIES_H

#include "DeviceLibrary.h"

namespace regather::runtime {

/// Products of matrices, by cuBLASLt.
std::unique_ptr<DeviceLibrary>
createProductLibrary(const DeviceLibraryOptions &options);

/// Attention, by cuDNN. Where it has to be there and is not, the message lists
/// all that needs it.
std::unique_ptr<DeviceLibrary>
createAttentionLibrary(const DeviceLibraryOptions &options);

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_ROUTINELIBRARIES_H
