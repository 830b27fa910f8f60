//===- HostTensor.cpp - A tensor in host memory ---------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Tensors/HostTensor.h"

#include "regather/Support/Half.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace regather;

/// Cache lines, and the widest vectors.
static constexpr size_t kAlignment = 64;

/// Addresses of processes have 47 bits or more.
static constexpr int64_t kMaxBytes = int64_t(1) << 46;

int64_t regather::getElementSize(ElementType type) {
  switch (type) {
  case ElementType::F64:
  case ElementType::I64:
    return 8;
  case ElementType::F32:
  case ElementType::I32:
    return 4;
  case ElementType::BF16:
  case ElementType::F16:
  case ElementType::I16:
    return 2;
  case ElementType::I1:
  case ElementType::I8:
    return 1;
  }
  return 0;
}

bool regather::isFloat(ElementType type) { return type <= ElementType::F16; }

int64_t regather::getNumElements(const Shape &shape) {
  // Where one size is 0, the product of the others need not fit.
  uint64_t count = 1;
  for (int64_t size : shape)
    count *= static_cast<uint64_t>(size);
  return static_cast<int64_t>(count);
}

bool regather::isAddressable(const Shape &shape, ElementType type) {
  // An empty tensor has no bytes, whatever its other dimensions are.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end())
    return true;
  int64_t bytes = getElementSize(type);
  return std::all_of(shape.begin(), shape.end(), [&](int64_t size) {
    return !__builtin_mul_overflow(bytes, size, &bytes) && bytes <= kMaxBytes;
  });
}

HostTensor HostTensor::uninitialized(ElementType type, const Shape &shape) {
  HostTensor tensor;
  tensor.type = type;
  tensor.shape = shape;
  tensor.numElements = regather::getNumElements(shape);
  auto bytes = static_cast<size_t>(tensor.getNumBytes());
  size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  auto *data = static_cast<std::byte *>(
      std::aligned_alloc(kAlignment, std::max(rounded, kAlignment)));
  if (!data) {
    // Callers check what fits the machine; this is what else takes memory.
    std::fprintf(stderr,
                 "regather: error: out of memory for a tensor of %zu "
                 "bytes\n",
                 bytes);
    std::_Exit(EXIT_FAILURE);
  }
  tensor.data = std::shared_ptr<std::byte>(data, &std::free);
  return tensor;
}

HostTensor HostTensor::zeros(ElementType type, const Shape &shape) {
  HostTensor tensor = uninitialized(type, shape);
  std::memset(tensor.data.get(), 0, tensor.getNumBytes());
  return tensor;
}

HostTensor HostTensor::clone() const {
  HostTensor copy = uninitialized(type, shape);
  std::memcpy(copy.data.get(), data.get(), getNumBytes());
  return copy;
}

template <typename T> static T load(const std::byte *data, int64_t i) {
  T value;
  std::memcpy(&value, data + i * sizeof(T), sizeof(T));
  return value;
}

template <typename T> static void store(std::byte *data, int64_t i, T value) {
  std::memcpy(data + i * sizeof(T), &value, sizeof(T));
}

/// The semantics of the two 16-bit formats.
int64_t HostTensor::getAsInteger(int64_t i) const {
  switch (type) {
  case ElementType::I1:
    return load<uint8_t>(data.get(), i) != 0;
  case ElementType::I8:
    return load<int8_t>(data.get(), i);
  case ElementType::I16:
    return load<int16_t>(data.get(), i);
  case ElementType::I32:
    return load<int32_t>(data.get(), i);
  case ElementType::I64:
    return load<int64_t>(data.get(), i);
  default:
    return static_cast<int64_t>(getAsDouble(i));
  }
}

double HostTensor::getAsDouble(int64_t i) const {
  switch (type) {
  case ElementType::F32:
    return load<float>(data.get(), i);
  case ElementType::F64:
    return load<double>(data.get(), i);
  case ElementType::BF16:
    return runtime::fromBF16(load<uint16_t>(data.get(), i));
  case ElementType::F16:
    return runtime::fromF16(load<uint16_t>(data.get(), i));
  default:
    return static_cast<double>(getAsInteger(i));
  }
}

void HostTensor::setFromDouble(int64_t i, double value) {
  switch (type) {
  case ElementType::F32:
    return store(data.get(), i, static_cast<float>(value));
  case ElementType::F64:
    return store(data.get(), i, value);
  case ElementType::BF16:
    return store(data.get(), i, runtime::toBF16(value));
  case ElementType::F16:
    return store(data.get(), i, runtime::toF16(value));
  case ElementType::I1:
    return store(data.get(), i, static_cast<uint8_t>(value != 0));
  case ElementType::I8:
    return store(data.get(), i, static_cast<int8_t>(value));
  case ElementType::I16:
    return store(data.get(), i, static_cast<int16_t>(value));
  case ElementType::I32:
    return store(data.get(), i, static_cast<int32_t>(value));
  case ElementType::I64:
    return store(data.get(), i, static_cast<int64_t>(value));
  }
}
