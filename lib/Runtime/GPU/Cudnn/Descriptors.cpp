//===- Descriptors.cpp - Descriptors of cuDNN -----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Descriptors.h"

using namespace regather::runtime;

DnnDescriptors::~DnnDescriptors() {
  // What was made last refers to what was made before.
  for (auto it = descriptors.rbegin(); it != descriptors.rend(); ++it)
    api.cudnnBackendDestroyDescriptor(*it);
}

bool DnnDescriptors::check(DnnStatus status) {
  if (status == kDnnSuccess)
    return true;
  if (!failure)
    failure = api.describeError(status);
  return false;
}

DnnDescriptor DnnDescriptors::create(int type) {
  DnnDescriptor descriptor = nullptr;
  if (hasFailed() ||
      !check(api.cudnnBackendCreateDescriptor(type, &descriptor)))
    return nullptr;
  descriptors.push_back(descriptor);
  return descriptor;
}

void DnnDescriptors::set(DnnDescriptor descriptor, int name, int type,
                         int64_t count, const void *elements) {
  if (!hasFailed())
    check(
        api.cudnnBackendSetAttribute(descriptor, name, type, count, elements));
}

void DnnDescriptors::finalize(DnnDescriptor descriptor) {
  if (!hasFailed())
    check(api.cudnnBackendFinalize(descriptor));
}
