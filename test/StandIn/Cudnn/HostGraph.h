//===- HostGraph.h - A graph of cuDNN on the host ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_STANDIN_CUDNN_HOSTGRAPH_H
#define REGATHER_TEST_STANDIN_CUDNN_HOSTGRAPH_H

#include "GPU/Cudnn/Graph.h"
#include "GPU/Driver/DriverApi.h"

#include <map>

namespace regather::runtime {

struct HostTensor {
  int64_t id = 0;
  int type = kDnnF32;
  int64_t alignment = 0;
  DnnShape sizes = {}, strides = {};
  bool isVirtual = false, isByValue = false;

  int64_t getNumElements() const;
  /// Elements from the first one to the last one of any, with those between.
  int64_t getNumSpanned() const;
  DeviceRange getRange(const void *data) const;
};

/// One operation. The factors of a product are x and b.
struct HostOperation {
  /// As its descriptor.
  int kind = kDnnPointwiseOperation;
  /// Of a pointwise operation or a reduction.
  int mode = 0;
  int64_t axis = -1;
  HostTensor x, b, t, y;

  bool has(const HostTensor &operand) const { return operand.id != 0; }
  /// Why the library does not accept it; null if it does.
  const char *findProblem() const;
};

/// The operations of a graph, with copies of what they were described by. Each
/// is computed by itself: values that are virtual are rounded to their types.
struct HostGraph {
  std::vector<HostOperation> operations;

  /// Why the library does not accept it; null if it does.
  const char *findProblem() const;
  /// By number, those that are not virtual.
  std::map<int64_t, HostTensor> getTensors() const;
  bool isWritten(int64_t id) const;
  void run(const std::map<int64_t, void *> &pointers,
           const std::map<int64_t, float> &scalars) const;
};

} // namespace regather::runtime

#endif // REGATHER_TEST_STANDIN_CUDNN_HOSTGRAPH_H
