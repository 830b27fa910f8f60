//===- Graph.cpp - Graphs of operations for cuDNN -------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph.h"

using namespace regather::runtime;
using regather::Failure;

/// Of all tensors in memory.
static constexpr int64_t kTensorAlignment = 16;

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

DnnTensor CudnnGraph::add(int type, const DnnShape &sizes,
                          const DnnShape &strides, bool isVirtual,
                          bool isByValue) {
  DnnTensor number = int64_t(tensors.size()) + 1;
  DnnDescriptor tensor = descriptors.create(kDnnTensor);
  descriptors.set(tensor, kDnnTensorId, kDnnTypeInt64, number);
  descriptors.set(tensor, kDnnTensorType, kDnnTypeDataType, type);
  descriptors.set(tensor, kDnnTensorSizes, kDnnTypeInt64, int64_t(sizes.size()),
                  sizes.data());
  descriptors.set(tensor, kDnnTensorStrides, kDnnTypeInt64,
                  int64_t(strides.size()), strides.data());
  descriptors.set(tensor, kDnnTensorAlignment, kDnnTypeInt64, kTensorAlignment);
  descriptors.set(tensor, kDnnTensorIsVirtual, kDnnTypeBoolean, isVirtual);
  descriptors.set(tensor, kDnnTensorIsByValue, kDnnTypeBoolean, isByValue);
  descriptors.finalize(tensor);
  tensors.push_back(tensor);
  return number;
}

DnnTensor CudnnGraph::addTensor(int type, const DnnShape &sizes,
                                const DnnShape &strides) {
  return add(type, sizes, strides, /*isVirtual=*/false, /*isByValue=*/false);
}

DnnTensor CudnnGraph::addScalar() {
  constexpr DnnShape kOne = {1, 1, 1, 1};
  return add(kDnnF32, kOne, kOne, /*isVirtual=*/false, /*isByValue=*/true);
}

DnnTensor CudnnGraph::addValue(int type, const DnnShape &sizes) {
  return addValue(type, sizes, getRowMajorStrides(sizes));
}

DnnTensor CudnnGraph::addValue(int type, const DnnShape &sizes,
                               const DnnShape &strides) {
  return add(type, sizes, strides, /*isVirtual=*/true, /*isByValue=*/false);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void CudnnGraph::setTensor(DnnDescriptor operation, int name,
                           DnnTensor tensor) {
  descriptors.set(operation, name, kDnnTypeDescriptor,
                  tensors[size_t(tensor) - 1]);
}

void CudnnGraph::addOperation(DnnDescriptor operation) {
  descriptors.finalize(operation);
  operations.push_back(operation);
}

void CudnnGraph::multiply(DnnTensor a, DnnTensor b, DnnTensor c) {
  DnnDescriptor desc = descriptors.create(kDnnMatmul);
  descriptors.set(desc, kDnnMatmulMathType, kDnnTypeDataType, kDnnF32);
  descriptors.finalize(desc);
  DnnDescriptor operation = descriptors.create(kDnnMatmulOperation);
  descriptors.set(operation, kDnnMatmulDesc, kDnnTypeDescriptor, desc);
  setTensor(operation, kDnnMatmulA, a);
  setTensor(operation, kDnnMatmulB, b);
  setTensor(operation, kDnnMatmulC, c);
  addOperation(operation);
}

DnnDescriptor CudnnGraph::describePointwise(int mode, int mathType,
                                            int64_t dimension) {
  DnnDescriptor desc = descriptors.create(kDnnPointwise);
  descriptors.set(desc, kDnnPointwiseMode, kDnnTypePointwiseMode, mode);
  descriptors.set(desc, kDnnPointwiseMathType, kDnnTypeDataType, mathType);
  if (dimension >= 0)
    descriptors.set(desc, kDnnPointwiseAxis, kDnnTypeInt64, dimension);
  descriptors.finalize(desc);
  return desc;
}

void CudnnGraph::addPointwise(DnnDescriptor desc, DnnTensor x, DnnTensor b,
                              DnnTensor t, DnnTensor y) {
  DnnDescriptor operation = descriptors.create(kDnnPointwiseOperation);
  descriptors.set(operation, kDnnPointwiseDesc, kDnnTypeDescriptor, desc);
  setTensor(operation, kDnnPointwiseX, x);
  if (b)
    setTensor(operation, kDnnPointwiseB, b);
  if (t)
    setTensor(operation, kDnnPointwiseT, t);
  setTensor(operation, kDnnPointwiseY, y);
  addOperation(operation);
}

void CudnnGraph::apply(int mode, DnnTensor x, DnnTensor y) {
  addPointwise(describePointwise(mode, kDnnF32, -1), x, 0, 0, y);
}

void CudnnGraph::apply(int mode, DnnTensor x, DnnTensor b, DnnTensor y) {
  addPointwise(describePointwise(mode, kDnnF32, -1), x, b, 0, y);
}

void CudnnGraph::index(int64_t dimension, DnnTensor x, DnnTensor y) {
  addPointwise(describePointwise(kDnnIndexAlong, kDnnInt32, dimension), x, 0, 0,
               y);
}

void CudnnGraph::compare(DnnTensor x, DnnTensor b, DnnTensor y) {
  addPointwise(describePointwise(kDnnGreaterOrEqual, kDnnBoolean, -1), x, b, 0,
               y);
}

void CudnnGraph::select(DnnTensor x, DnnTensor b, DnnTensor t, DnnTensor y) {
  addPointwise(describePointwise(kDnnSelect, kDnnF32, -1), x, b, t, y);
}

void CudnnGraph::reduce(int mode, DnnTensor x, DnnTensor y) {
  DnnDescriptor desc = descriptors.create(kDnnReduction);
  descriptors.set(desc, kDnnReductionOperator, kDnnTypeReductionOperator, mode);
  descriptors.set(desc, kDnnReductionMathType, kDnnTypeDataType, kDnnF32);
  descriptors.finalize(desc);
  DnnDescriptor operation = descriptors.create(kDnnReductionOperation);
  descriptors.set(operation, kDnnReductionDesc, kDnnTypeDescriptor, desc);
  setTensor(operation, kDnnReductionX, x);
  setTensor(operation, kDnnReductionY, y);
  addOperation(operation);
}

void CudnnGraph::reshape(DnnTensor x, DnnTensor y) {
  DnnDescriptor operation = descriptors.create(kDnnReshapeOperation);
  setTensor(operation, kDnnReshapeX, x);
  setTensor(operation, kDnnReshapeY, y);
  addOperation(operation);
}

Failure CudnnGraph::finalize() {
  graph = descriptors.create(kDnnOperationGraph);
  if (target.handle)
    descriptors.set(graph, kDnnGraphHandle, kDnnTypeHandle, target.handle);
  descriptors.setAll(graph, kDnnGraphOperations, operations);
  descriptors.finalize(graph);
  return descriptors.getFailure();
}
