//===- FxArguments.cpp - Arguments of a call ------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FxArguments.h"

#include "FxTypes.h"
#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/IR/Builders.h"
#include <complex>
#include <limits>

using namespace mlir;
using namespace regather;
using namespace regather::fx;
using Kind = JsonValue::Kind;

namespace {
/// Turns JSON values into attributes and collects the operands they name.
class ArgumentReader {
public:
  ArgumentReader(FxFile &file, FxValues &values, size_t user,
                 SmallVectorImpl<Value> &operands)
      : file(file), values(values), user(user), builder(file.getContext()),
        operands(operands) {}

  /// Recurses on lists only, whose depth the JSON reader limits.
  FailureOr<Attribute> read(const JsonValue &value);

private:
  FailureOr<Attribute> readReference(const JsonValue &reference);
  FailureOr<Attribute> readTagged(const JsonValue &object);
  FailureOr<Attribute> readComplex(const JsonValue &parts);
  FailureOr<double> readSpecialFloat(const JsonValue &name);

  FxFile &file;
  FxValues &values;
  size_t user;
  Builder builder;
  SmallVectorImpl<Value> &operands;
};
} // namespace

FailureOr<Attribute> ArgumentReader::read(const JsonValue &value) {
  switch (value.getKind()) {
  case Kind::Null:
    return Attribute(builder.getUnitAttr());
  case Kind::Boolean:
    return Attribute(builder.getBoolAttr(value.getBoolean()));
  case Kind::Integer:
    return Attribute(builder.getI64IntegerAttr(value.getInteger()));
  case Kind::Float:
    return Attribute(builder.getF64FloatAttr(value.getFloat()));
  case Kind::String:
    return Attribute(builder.getStringAttr(value.getString()));
  case Kind::Array: {
    SmallVector<Attribute> elements;
    elements.reserve(value.getElements().size());
    for (const JsonValue &element : value.getElements()) {
      FailureOr<Attribute> attr = read(element);
      if (failed(attr))
        return failure();
      elements.push_back(*attr);
    }
    return Attribute(builder.getArrayAttr(elements));
  }
  case Kind::Object:
    return value.find("node") ? readReference(value) : readTagged(value);
  }
  llvm_unreachable("unknown kind of JSON value");
}

FailureOr<Attribute> ArgumentReader::readReference(const JsonValue &reference) {
  FailureOr<Value> value = values.resolve(reference, user);
  if (failed(value))
    return failure();
  if (isNoneType(value->getType()))
    return Attribute(builder.getUnitAttr());
  operands.push_back(*value);
  return Attribute(
      tg::OperandAttr::get(file.getContext(), operands.size() - 1));
}

/// Reads `{"float": "inf"}`: what JSON has no number for.
FailureOr<double> ArgumentReader::readSpecialFloat(const JsonValue &name) {
  if (failed(file.expect(name, Kind::String)))
    return failure();
  if (name.getString() == "inf")
    return std::numeric_limits<double>::infinity();
  if (name.getString() == "-inf")
    return -std::numeric_limits<double>::infinity();
  if (name.getString() == "nan")
    return std::numeric_limits<double>::quiet_NaN();
  file.emitError(name) << "expects \"inf\", \"-inf\" or \"nan\", got \""
                       << name.getString() << '"';
  return failure();
}

/// Reads `[real, imaginary]` as a tensor of one element: the builtin dialect
/// has no attribute for one complex number.
FailureOr<Attribute> ArgumentReader::readComplex(const JsonValue &parts) {
  if (failed(file.expect(parts, Kind::Array)))
    return failure();
  SmallVector<double, 2> numbers;
  for (const JsonValue &part : parts.getElements()) {
    const JsonValue *special = part.find("float");
    if (!special && failed(file.expect(part, Kind::Float)))
      return failure();
    FailureOr<double> number =
        special ? readSpecialFloat(*special) : FailureOr(part.getFloat());
    if (failed(number))
      return failure();
    numbers.push_back(*number);
  }
  if (numbers.size() != 2) {
    file.emitError(parts) << "expects [real, imaginary], got " << numbers.size()
                          << " numbers";
    return failure();
  }
  auto type = RankedTensorType::get({}, ComplexType::get(builder.getF64Type()));
  return Attribute(DenseElementsAttr::get(
      type, std::complex<double>(numbers[0], numbers[1])));
}

/// Reads `{"dtype": "bfloat16"}` and its like: one key that says what the
/// value is.
FailureOr<Attribute> ArgumentReader::readTagged(const JsonValue &object) {
  auto unknown =
      [&]() {
        file.emitError(object)
            << "expects an object with \"node\" and \"output\", or with one of "
               "\"float\", \"complex\", \"dtype\", \"device\", \"layout\" and "
               "\"memory_format\"";
        return failure();
      };
  if (object.getMembers().size() != 1)
    return unknown();
  const auto &[tag, value] = object.getMembers().front();
  if (tag == "complex")
    return readComplex(value);
  if (tag == "float") {
    FailureOr<double> number = readSpecialFloat(value);
    if (failed(number))
      return failure();
    return Attribute(builder.getF64FloatAttr(*number));
  }
  if (tag == "dtype") {
    FailureOr<Type> type = readDtype(file, value);
    if (failed(type))
      return failure();
    return Attribute(TypeAttr::get(*type));
  }
  if (tag != "device" && tag != "layout" && tag != "memory_format")
    return unknown();
  if (failed(file.expect(value, Kind::String)))
    return failure();
  return Attribute(builder.getStringAttr(value.getString()));
}

/// True for a named argument that says nothing about a logical tensor.
static bool carriesNothing(const JsonValue &argument) {
  if (!argument.is(Kind::Object) || argument.getMembers().size() != 1)
    return false;
  const auto &[tag, value] = argument.getMembers().front();
  if (!value.is(Kind::String))
    return false;
  return tag == "device" || tag == "memory_format" ||
         (tag == "layout" && value.getString() == "strided");
}

/// True if argument i is operand i throughout.
static bool areOperandsInOrder(ArrayRef<Attribute> args) {
  return llvm::all_of(llvm::enumerate(args), [](const auto &arg) {
    auto operand = dyn_cast<tg::OperandAttr>(arg.value());
    return operand && operand.getIndex() == static_cast<int64_t>(arg.index());
  });
}

FailureOr<CallArguments> regather::fx::readArguments(FxFile &file,
                                                     FxValues &values,
                                                     const JsonValue &call,
                                                     size_t user) {
  CallArguments result;
  ArgumentReader reader(file, values, user, result.operands);
  FailureOr<ArrayRef<JsonValue>> positional = file.getArray(call, "args");
  FailureOr<const JsonValue *> named =
      file.lookup(call, "kwargs", Kind::Object);
  if (failed(positional) || failed(named))
    return failure();

  SmallVector<Attribute> args;
  args.reserve(positional->size());
  for (const JsonValue &argument : *positional) {
    FailureOr<Attribute> attr = reader.read(argument);
    if (failed(attr))
      return failure();
    args.push_back(*attr);
  }
  NamedAttrList kwargs;
  if (*named) {
    for (const auto &[key, argument] : (*named)->getMembers()) {
      if (key.empty()) {
        file.emitError(argument) << "name of an argument must not be empty";
        return failure();
      }
      if (carriesNothing(argument))
        continue;
      FailureOr<Attribute> attr = reader.read(argument);
      if (failed(attr))
        return failure();
      kwargs.append(key, *attr);
    }
  }
  MLIRContext *context = file.getContext();
  if (args.size() != result.operands.size() || !areOperandsInOrder(args))
    result.args = ArrayAttr::get(context, args);
  if (!kwargs.empty())
    result.kwargs = kwargs.getDictionary(context);
  return result;
}

FailureOr<SmallVector<Value>>
regather::fx::readTensors(FxFile &file, FxValues &values,
                          const JsonValue &argument, size_t user) {
  ArrayRef<JsonValue> references =
      argument.is(Kind::Array) ? argument.getElements() : argument;
  SmallVector<Value> tensors;
  for (const JsonValue &reference : references) {
    if (failed(file.expect(reference, Kind::Object)))
      return failure();
    FailureOr<Value> value = values.resolve(reference, user);
    if (failed(value))
      return failure();
    if (!isa<RankedTensorType>(value->getType())) {
      file.emitError(reference) << "expects a tensor, got " << value->getType();
      return failure();
    }
    tensors.push_back(*value);
  }
  return tensors;
}
