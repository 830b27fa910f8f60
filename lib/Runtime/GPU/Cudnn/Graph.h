//===- Graph.h - Graphs of operations for cuDNN -----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_GPU_CUDNN_GRAPH_H
#define REGATHER_LIB_RUNTIME_GPU_CUDNN_GRAPH_H

#include "Descriptors.h"

#include <array>

namespace regather::runtime {

using DnnShape = std::array<int64_t, 4>;

inline DnnShape getRowMajorStrides(const DnnShape &sizes) {
  return {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1};
}

/// A tensor of a graph, by its number.
using DnnTensor = int64_t;

/// Operations on tensors of rank 4. All arithmetic is f32. Values between
/// operations are virtual: they have no memory of their own.
class CudnnGraph {
public:
  CudnnGraph(const CudnnApi &api, const DnnTarget &target)
      : target(target), descriptors(api) {}

  /// A tensor in memory, aligned to 16 bytes.
  DnnTensor addTensor(int type, const DnnShape &sizes, const DnnShape &strides);
  /// An f32 number that is read from memory of the host.
  DnnTensor addScalar();
  /// A value in row-major order, or with strides.
  DnnTensor addValue(int type, const DnnShape &sizes);
  DnnTensor addValue(int type, const DnnShape &sizes, const DnnShape &strides);

  void multiply(DnnTensor a, DnnTensor b, DnnTensor c);
  /// y = f(x), or f(x, b): sizes of b may be 1.
  void apply(int mode, DnnTensor x, DnnTensor y);
  void apply(int mode, DnnTensor x, DnnTensor b, DnnTensor y);
  /// y = the index of each element along a dimension, as an integer.
  void index(int64_t dimension, DnnTensor x, DnnTensor y);
  /// y = x >= b, a truth value.
  void compare(DnnTensor x, DnnTensor b, DnnTensor y);
  /// y = x where t, else b.
  void select(DnnTensor x, DnnTensor b, DnnTensor t, DnnTensor y);
  /// Along all dimensions that y has fewer elements of.
  void reduce(int mode, DnnTensor x, DnnTensor y);
  /// y has the elements of x, by its sizes and strides.
  void reshape(DnnTensor x, DnnTensor y);

  /// Joins the operations. Fails if the library does not take one of them.
  Failure finalize();

  DnnDescriptor getGraph() const { return graph; }

private:
  DnnTensor add(int type, const DnnShape &sizes, const DnnShape &strides,
                bool isVirtual, bool isByValue);
  DnnDescriptor describePointwise(int mode, int mathType, int64_t dimension);
  void addPointwise(DnnDescriptor desc, DnnTensor x, DnnTensor b, DnnTensor t,
                    DnnTensor y);
  void setTensor(DnnDescriptor operation, int name, DnnTensor tensor);
  void addOperation(DnnDescriptor operation);

  DnnTarget target;
  DnnDescriptors descriptors;
  /// By number, from 1 on.
  std::vector<DnnDescriptor> tensors;
  std::vector<DnnDescriptor> operations;
  DnnDescriptor graph = nullptr;
};

} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_GPU_CUDNN_GRAPH_H
