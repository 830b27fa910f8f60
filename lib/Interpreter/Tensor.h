//===- Tensor.h - Tensors of the interpreter --------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_INTERPRETER_TENSOR_H
#define REGATHER_LIB_INTERPRETER_TENSOR_H

#include "Scalar.h"

#include "regather/Execution/Tensors/HostTensor.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <memory>
#include <vector>

namespace regather::interp {

class Tensor;
using TensorRef = std::shared_ptr<Tensor>;

/// A dense row-major tensor of scalars. Tensors are values: one that is held
/// twice is never written to (`makeUnique` copies it first).
class Tensor {
public:
  /// A tensor full of poison.
  static TensorRef create(ScalarType type, llvm::ArrayRef<int64_t> shape);
  static TensorRef create(mlir::RankedTensorType type);

  /// The contents of an attribute.
  static TensorRef fromAttr(mlir::DenseElementsAttr attr);

  static TensorRef fromHost(const HostTensor &host);
  HostTensor toHost(ElementType hostType) const;

  /// `tensor` itself if nobody else holds it, else a copy.
  static TensorRef makeUnique(TensorRef tensor);

  ScalarType getType() const { return type; }
  llvm::ArrayRef<int64_t> getShape() const { return shape; }
  int64_t getDim(int64_t dim) const { return shape[dim]; }
  int64_t getRank() const { return static_cast<int64_t>(shape.size()); }
  int64_t getNumElements() const { return numElements; }
  std::byte *getData() { return data.data(); }
  const std::byte *getData() const { return data.data(); }

  uint64_t load(int64_t i) const {
    switch (type.getBytes()) {
    case 1:
      return loadAs<uint8_t>(i);
    case 2:
      return loadAs<uint16_t>(i);
    case 4:
      return loadAs<uint32_t>(i);
    default:
      return loadAs<uint64_t>(i);
    }
  }

  void store(int64_t i, uint64_t bits) {
    switch (type.getBytes()) {
    case 1:
      return storeAs<uint8_t>(i, bits);
    case 2:
      return storeAs<uint16_t>(i, bits);
    case 4:
      return storeAs<uint32_t>(i, bits);
    default:
      return storeAs<uint64_t>(i, bits);
    }
  }

  void fill(uint64_t bits) {
    for (int64_t i = 0; i < numElements; ++i)
      store(i, bits);
  }

  /// Gives the elements another shape or a type of the same width; only for
  /// unique tensors.
  void reshape(llvm::ArrayRef<int64_t> newShape) {
    shape.assign(newShape.begin(), newShape.end());
  }
  void bitcast(ScalarType newType) { type = newType; }

private:
  template <typename T> uint64_t loadAs(int64_t i) const {
    T value;
    std::memcpy(&value, data.data() + i * sizeof(T), sizeof(T));
    return value;
  }
  template <typename T> void storeAs(int64_t i, uint64_t bits) {
    T value = static_cast<T>(bits);
    std::memcpy(data.data() + i * sizeof(T), &value, sizeof(T));
  }

  ScalarType type;
  llvm::SmallVector<int64_t, 4> shape;
  int64_t numElements = 0;
  std::vector<std::byte> data;
};

/// Row-major strides of a shape, in elements.
llvm::SmallVector<int64_t, 4> getStrides(llvm::ArrayRef<int64_t> shape);

/// Advances `point` through `shape` in row-major order; false after the last.
bool advance(llvm::MutableArrayRef<int64_t> point,
             llvm::ArrayRef<int64_t> shape);

} // namespace regather::interp

#endif // REGATHER_LIB_INTERPRETER_TENSOR_H
