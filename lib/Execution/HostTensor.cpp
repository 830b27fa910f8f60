//===- HostTensor.cpp - A tensor in host memory ---------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/HostTensor.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cstdlib>
#include <cstring>

using namespace mlir;
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
  llvm_unreachable("unknown element type");
}

bool regather::isFloat(ElementType type) { return type <= ElementType::F16; }

FailureOr<ElementType> regather::getElementType(Type type) {
  if (type.isF32())
    return ElementType::F32;
  if (type.isF64())
    return ElementType::F64;
  if (type.isBF16())
    return ElementType::BF16;
  if (type.isF16())
    return ElementType::F16;
  if (type.isIndex())
    return ElementType::I64;
  if (!type.isSignlessInteger())
    return failure();
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return ElementType::I1;
  case 8:
    return ElementType::I8;
  case 16:
    return ElementType::I16;
  case 32:
    return ElementType::I32;
  case 64:
    return ElementType::I64;
  default:
    return failure();
  }
}

bool regather::isAddressable(ArrayRef<int64_t> shape, ElementType type) {
  // An empty tensor has no bytes, whatever its other dimensions are.
  if (llvm::is_contained(shape, 0))
    return true;
  int64_t bytes = getElementSize(type);
  return llvm::all_of(shape, [&](int64_t size) {
    return !llvm::MulOverflow(bytes, size, bytes) && bytes <= kMaxBytes;
  });
}

HostTensor HostTensor::uninitialized(ElementType type,
                                     ArrayRef<int64_t> shape) {
  HostTensor tensor;
  tensor.type = type;
  tensor.shape.assign(shape.begin(), shape.end());
  tensor.numElements = 1;
  for (int64_t size : shape)
    tensor.numElements *= size;
  size_t bytes = tensor.getNumBytes();
  size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  auto *data = static_cast<std::byte *>(
      std::aligned_alloc(kAlignment, std::max(rounded, kAlignment)));
  if (!data)
    llvm::report_bad_alloc_error("out of memory for a tensor");
  tensor.data = std::shared_ptr<std::byte>(data, &std::free);
  return tensor;
}

HostTensor HostTensor::zeros(ElementType type, ArrayRef<int64_t> shape) {
  HostTensor tensor = uninitialized(type, shape);
  std::memset(tensor.data.get(), 0, tensor.getNumBytes());
  return tensor;
}

/// Reads an element of type T; memcpy because bytes have no alignment of T in
/// the eyes of the language.
template <typename T> static T load(const std::byte *data, int64_t i) {
  T value;
  std::memcpy(&value, data + i * sizeof(T), sizeof(T));
  return value;
}

template <typename T> static void store(std::byte *data, int64_t i, T value) {
  std::memcpy(data + i * sizeof(T), &value, sizeof(T));
}

/// The semantics of the two 16-bit formats.
static const llvm::fltSemantics &getHalfSemantics(ElementType type) {
  return type == ElementType::BF16 ? llvm::APFloat::BFloat()
                                   : llvm::APFloat::IEEEhalf();
}

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
  case ElementType::F16:
    return llvm::APFloat(getHalfSemantics(type),
                         llvm::APInt(16, load<uint16_t>(data.get(), i)))
        .convertToDouble();
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
  case ElementType::F16: {
    llvm::APFloat rounded(value);
    bool losesInfo = false;
    rounded.convert(getHalfSemantics(type), llvm::APFloat::rmNearestTiesToEven,
                    &losesInfo);
    return store(
        data.get(), i,
        static_cast<uint16_t>(rounded.bitcastToAPInt().getZExtValue()));
  }
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
