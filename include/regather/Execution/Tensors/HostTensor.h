//===- HostTensor.h - A tensor in host memory -------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// The tensors that go into and come out of a run, whatever engine runs it:
// dense, row-major, 64-byte aligned; i1 takes one byte (0 or 1) an element,
// index eight. Like all that loads, feeds and stores them, this needs no LLVM.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_TENSORS_HOSTTENSOR_H
#define REGATHER_EXECUTION_TENSORS_HOSTTENSOR_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace regather {

/// In the order of rg_dtype.
enum class ElementType : uint8_t { F32, F64, BF16, F16, I1, I8, I16, I32, I64 };

using Shape = std::vector<int64_t>;

/// Bytes of one element.
int64_t getElementSize(ElementType type);

/// True for f32, f64, bf16 and f16.
bool isFloat(ElementType type);

/// False for tensors of more bytes than a process can have.
bool isAddressable(const Shape &shape, ElementType type);

/// Number of elements.
int64_t getNumElements(const Shape &shape);

/// A tensor in host memory. Copies share their bytes: write to a tensor only
/// while nobody else holds it.
class HostTensor {
public:
  HostTensor() = default;

  /// A tensor of zeros.
  static HostTensor zeros(ElementType type, const Shape &shape);

  /// A tensor whose bytes are not set.
  static HostTensor uninitialized(ElementType type, const Shape &shape);

  /// A copy that shares nothing.
  HostTensor clone() const;

  ElementType getType() const { return type; }
  const Shape &getShape() const { return shape; }
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
  Shape shape;
  int64_t numElements = 0;
  std::shared_ptr<std::byte> data;
};

} // namespace regather

#endif // REGATHER_EXECUTION_TENSORS_HOSTTENSOR_H
