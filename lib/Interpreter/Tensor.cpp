//===- Tensor.cpp - Tensors of the interpreter ----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// New tensors are poisoned, never zeroed: code that reads what nobody wrote
// must not get lucky.
//
//===----------------------------------------------------------------------===//

#include "Tensor.h"

using namespace mlir;
using namespace regather;
using namespace regather::interp;

TensorRef Tensor::create(ScalarType type, ArrayRef<int64_t> shape) {
  auto tensor = std::make_shared<Tensor>();
  tensor->type = type;
  tensor->shape.assign(shape.begin(), shape.end());
  tensor->numElements = 1;
  for (int64_t size : shape)
    tensor->numElements *= size;
  tensor->data.resize(tensor->numElements * type.getBytes());
  tensor->fill(type.getPoison());
  return tensor;
}

TensorRef Tensor::create(RankedTensorType type) {
  return create(*getScalarType(type.getElementType()), type.getShape());
}

TensorRef Tensor::fromAttr(DenseElementsAttr attr) {
  TensorRef tensor = create(cast<RankedTensorType>(attr.getType()));
  int64_t i = 0;
  if (tensor->type.isFloat()) {
    for (const APFloat &value : attr.getValues<APFloat>())
      tensor->store(i++, value.bitcastToAPInt().getZExtValue());
  } else {
    for (const APInt &value : attr.getValues<APInt>())
      tensor->store(i++, value.getZExtValue());
  }
  return tensor;
}

static ScalarType getScalarType(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return {ScalarKind::F32, 32};
  case ElementType::F64:
    return {ScalarKind::F64, 64};
  case ElementType::BF16:
    return {ScalarKind::BF16, 16};
  case ElementType::F16:
    return {ScalarKind::F16, 16};
  case ElementType::I1:
    return {ScalarKind::Int, 1};
  case ElementType::I8:
    return {ScalarKind::Int, 8};
  case ElementType::I16:
    return {ScalarKind::Int, 16};
  case ElementType::I32:
    return {ScalarKind::Int, 32};
  case ElementType::I64:
    return {ScalarKind::Int, 64};
  }
  llvm_unreachable("unknown element type");
}

TensorRef Tensor::fromHost(const HostTensor &host) {
  TensorRef tensor = create(::getScalarType(host.getType()), host.getShape());
  if (!tensor->data.empty())
    std::memcpy(tensor->data.data(), host.getData(), tensor->data.size());
  // Any nonzero byte is true outside; inside, bits above the width are zero.
  if (tensor->type.width == 1)
    for (std::byte &byte : tensor->data)
      byte = std::byte(byte != std::byte(0));
  return tensor;
}

HostTensor Tensor::toHost(ElementType hostType) const {
  HostTensor host =
      HostTensor::uninitialized(hostType, ArrayRef<int64_t>(shape));
  if (!data.empty())
    std::memcpy(host.getData(), data.data(), data.size());
  return host;
}

TensorRef Tensor::makeUnique(TensorRef tensor) {
  if (tensor.use_count() == 1)
    return tensor;
  return std::make_shared<Tensor>(*tensor);
}

SmallVector<int64_t, 4> regather::interp::getStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t, 4> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

bool regather::interp::advance(MutableArrayRef<int64_t> point,
                               ArrayRef<int64_t> shape) {
  for (size_t dim = shape.size(); dim-- > 0;) {
    if (++point[dim] < shape[dim])
      return true;
    point[dim] = 0;
  }
  return false;
}
