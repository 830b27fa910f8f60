//===- Descriptors.h - Descriptors of cuDNN ---------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_CUDNN_DESCRIPTORS_H
#define REGATHER_LIB_RUNTIME_GPU_CUDNN_DESCRIPTORS_H

#include "CudnnApi.h"

#include <cstdint>
#include <string>
#include <vector>

namespace regather::runtime {

/// What plans are made for: the device of a handle or, where there is no
/// device, one that is described (a finalized kDnnDeviceProperties).
struct DnnTarget {
  DnnHandle handle = nullptr;
  DnnDescriptor properties = nullptr;
};

/// Descriptors that are destroyed together. The first failure stays.
class DnnDescriptors {
public:
  explicit DnnDescriptors(const CudnnApi &api) : api(api) {}
  DnnDescriptors(const DnnDescriptors &) = delete;
  DnnDescriptors &operator=(const DnnDescriptors &) = delete;
  ~DnnDescriptors();

  /// Null after a failure.
  DnnDescriptor create(int type);
  void set(DnnDescriptor descriptor, int name, int type, int64_t count,
           const void *elements);
  template <typename T>
  void set(DnnDescriptor descriptor, int name, int type, const T &element) {
    set(descriptor, name, type, 1, static_cast<const void *>(&element));
  }
  void setAll(DnnDescriptor descriptor, int name,
              const std::vector<DnnDescriptor> &elements) {
    set(descriptor, name, kDnnTypeDescriptor, int64_t(elements.size()),
        static_cast<const void *>(elements.data()));
  }
  void finalize(DnnDescriptor descriptor);

  bool hasFailed() const { return bool(failure); }
  /// The first one.
  const Failure &getFailure() const { return failure; }

private:
  bool check(DnnStatus status);

  const CudnnApi &api;
  std::vector<DnnDescriptor> descriptors;
  Failure failure;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_CUDNN_DESCRIPTORS_H
