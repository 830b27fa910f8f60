//===- FxTypes.cpp - Types of a captured graph ----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FxTypes.h"

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace regather;
using namespace regather::fx;
using Kind = JsonValue::Kind;

static constexpr llvm::StringLiteral kNone = "none";

/// The type called `name`, or null.
static Type lookupDtype(Builder &b, StringRef name) {
  struct Dtype {
    StringRef name;
    Type (*make)(Builder &);
  };
  static constexpr Dtype kDtypes[] = {
      {"float32", [](Builder &b) -> Type { return b.getF32Type(); }},
      {"float64", [](Builder &b) -> Type { return b.getF64Type(); }},
      {"bfloat16", [](Builder &b) -> Type { return b.getBF16Type(); }},
      {"float16", [](Builder &b) -> Type { return b.getF16Type(); }},
      {"int8", [](Builder &b) -> Type { return b.getI8Type(); }},
      {"int16", [](Builder &b) -> Type { return b.getI16Type(); }},
      {"int32", [](Builder &b) -> Type { return b.getI32Type(); }},
      {"int64", [](Builder &b) -> Type { return b.getI64Type(); }},
      {"uint8",
       [](Builder &b) -> Type {
         return b.getIntegerType(8, /*isSigned=*/false);
       }},
      {"bool", [](Builder &b) -> Type { return b.getI1Type(); }},
      {"complex64",
       [](Builder &b) -> Type { return ComplexType::get(b.getF32Type()); }},
      {"complex128",
       [](Builder &b) -> Type { return ComplexType::get(b.getF64Type()); }},
      {"float8_e4m3fn",
       [](Builder &b) -> Type { return b.getType<Float8E4M3FNType>(); }},
      {"float8_e4m3fnuz",
       [](Builder &b) -> Type { return b.getType<Float8E4M3FNUZType>(); }},
      {"float8_e5m2",
       [](Builder &b) -> Type { return b.getType<Float8E5M2Type>(); }},
      {"float8_e5m2fnuz",
       [](Builder &b) -> Type { return b.getType<Float8E5M2FNUZType>(); }},
      {"float8_e8m0fnu",
       [](Builder &b) -> Type { return b.getType<Float8E8M0FNUType>(); }},
  };
  for (const Dtype &dtype : kDtypes)
    if (dtype.name == name)
      return dtype.make(b);
  return {};
}

FailureOr<Type> regather::fx::readDtype(FxFile &file, const JsonValue &value) {
  if (failed(file.expect(value, Kind::String)))
    return failure();
  Builder builder(file.getContext());
  if (Type type = lookupDtype(builder, value.getString()))
    return type;
  file.emitError(value) << "unknown dtype \"" << value.getString() << '"';
  return failure();
}

FailureOr<Type> regather::fx::readOutputType(FxFile &file,
                                             const JsonValue &output) {
  MLIRContext *context = file.getContext();
  if (output.is(Kind::Null))
    return Type(tg::OpaqueType::get(context, StringAttr::get(context, kNone)));
  if (failed(file.expect(output, Kind::Object)))
    return failure();
  FailureOr<ArrayRef<JsonValue>> sizes = file.getArray(output, "shape");
  const JsonValue *dtype = file.require(output, "dtype", Kind::String);
  if (failed(sizes) || !dtype)
    return failure();
  FailureOr<Type> element = readDtype(file, *dtype);
  if (failed(element))
    return failure();

  SmallVector<int64_t> shape;
  // Bytes, where an empty dimension counts as one element: everything computed
  // from the shape later fits 64 bits as well. No element exceeds 16 bytes.
  int64_t bytes = 16;
  for (const JsonValue &size : *sizes) {
    if (size.is(Kind::String)) {
      file.emitError(size) << "size \"" << size.getString()
                           << "\" is symbolic or depends on data; all shapes "
                              "must be static";
      return failure();
    }
    if (failed(file.expect(size, Kind::Integer)))
      return failure();
    if (size.getInteger() < 0) {
      file.emitError(size) << "size must not be negative, got "
                           << size.getInteger();
      return failure();
    }
    shape.push_back(size.getInteger());
    if (llvm::MulOverflow(bytes, std::max<int64_t>(shape.back(), 1), bytes)) {
      file.emitError(output) << "tensor has more bytes than 64 bits can count";
      return failure();
    }
  }
  return Type(RankedTensorType::get(shape, *element));
}

bool regather::fx::isNoneType(Type type) {
  auto opaque = dyn_cast<tg::OpaqueType>(type);
  return opaque && opaque.getKind().getValue() == kNone;
}
