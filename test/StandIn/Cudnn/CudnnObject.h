//===- CudnnObject.h - Descriptors of the stand-in for cuDNN ----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_STANDIN_CUDNN_CUDNNOBJECT_H
#define REGATHER_TEST_STANDIN_CUDNN_CUDNNOBJECT_H

#include "HostGraph.h"

#include <cstring>

namespace regather::runtime {

/// What a cudnnBackendDescriptor_t points to: attributes as they were set.
class CudnnObject {
public:
  explicit CudnnObject(int type) : type(type) {}

  int getType() const { return type; }
  bool isFinalized() const { return finalized; }

  /// Null, or why the library does not accept it.
  const char *set(int name, int attributeType, int64_t count,
                  const void *elements);
  /// As the library does it: checks that all is there and goes together.
  const char *finalize();

  template <typename T> std::vector<T> get(int name) const {
    auto it = attributes.find(name);
    if (it == attributes.end())
      return {};
    std::vector<T> elements(it->second.size() / sizeof(T));
    std::memcpy(static_cast<void *>(elements.data()), it->second.data(),
                elements.size() * sizeof(T));
    return elements;
  }
  template <typename T> T getOne(int name, T otherwise = {}) const {
    std::vector<T> elements = get<T>(name);
    return elements.empty() ? otherwise : elements.front();
  }
  /// An attribute that is a descriptor; null if it is not set.
  const CudnnObject *follow(int name) const {
    return static_cast<const CudnnObject *>(getOne<DnnDescriptor>(name));
  }
  /// What the library fills in itself.
  template <typename T> void fill(int name, const std::vector<T> &elements) {
    const auto *bytes = reinterpret_cast<const char *>(elements.data());
    attributes[name] = {bytes, bytes + elements.size() * sizeof(T)};
    finalized = true;
  }

  HostTensor getTensor() const;
  HostOperation getOperation() const;
  HostGraph getGraph() const;

private:
  const char *findProblem() const;

  const int type;
  bool finalized = false;
  std::map<int, std::vector<char>> attributes;
};

} // namespace regather::runtime

#endif // REGATHER_TEST_STANDIN_CUDNN_CUDNNOBJECT_H
