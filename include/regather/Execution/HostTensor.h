//===- HostTensor.h - A tensor in host memory -------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The tensors that go into and come out of a run, whatever engine runs it:
// dense, row-major, 64-byte aligned; i1 takes one byte (0 or 1) an element,
// index eight.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_HOSTTENSOR_H
#define REGATHER_EXECUTION_HOSTTENSOR_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Support/LLVM.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace regather {

enum class ElementType : uint8_t { F32, F64, BF16, F16, I1, I8, I16, I32, I64 };

/// Bytes of one element.
int64_t getElementSize(ElementType type);

/// True for f32, f64, bf16 and f16.
bool isFloat(ElementType type);

/// The element type that stores values of `type`; failure for types that
/// cannot be run, such as f8 or complex numbers. `index` is stored as I64.
mlir::FailureOr<ElementType> getElementType(mlir::Type type);

/// False for tensors of more bytes than a process can have.
bool isAddressable(mlir::ArrayRef<int64_t> shape, ElementType type);

/// A tensor in host memory. Copies share their bytes: write to a tensor only
/// while nobody else holds it.
class HostTensor {
public:
  HostTensor() = default;

  /// A tensor of zeros.
  static HostTensor zeros(ElementType type, mlir::ArrayRef<int64_t> shape);

  /// A tensor whose bytes are not set.
  static HostTensor uninitialized(ElementType type,
                                  mlir::ArrayRef<int64_t> shape);

  ElementType getType() const { return type; }
  mlir::ArrayRef<int64_t> getShape() const { return shape; }
  int64_t getRank() const { return static_cast<int64_t>(shape.size()); }
  int64_t getNumElements() const { return numElements; }
  int64_t getNumBytes() const { return numElements * getElementSize(type); }
  const std::byte *getData() const { return data.get(); }
  std::byte *getData() { return data.get(); }

  /// True if no other tensor shares the bytes.
  bool isUnique() const { return data.use_count() == 1; }

  /// Element `i` in row-major order as a number; integers are sign-extended,
  /// i1 is 0 or 1.
  double getAsDouble(int64_t i) const;
  int64_t getAsInteger(int64_t i) const;

  /// Rounds `value` to the element type (to nearest even; integers truncate).
  void setFromDouble(int64_t i, double value);

private:
  ElementType type = ElementType::F32;
  mlir::SmallVector<int64_t> shape;
  int64_t numElements = 0;
  std::shared_ptr<std::byte> data;
};

} // namespace regather

#endif // REGATHER_EXECUTION_HOSTTENSOR_H
