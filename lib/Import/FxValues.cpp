//===- FxValues.cpp - Results of the nodes imported so far ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FxValues.h"

using namespace mlir;
using namespace regather::fx;
using Kind = JsonValue::Kind;

LogicalResult FxValues::number(ArrayRef<JsonValue> list) {
  nodes.resize(list.size());
  numbers = llvm::StringMap<size_t>(list.size());
  for (auto [index, json] : llvm::enumerate(list)) {
    if (file.hasTooManyErrors())
      break;
    if (failed(file.expect(json, Kind::Object)))
      continue;
    const JsonValue *name = file.require(json, "name", Kind::String);
    if (!name)
      continue;
    nodes[index].name = name->getString();
    auto [it, inserted] = numbers.try_emplace(name->getString(), index);
    if (!inserted)
      file.emitError(*name)
          << "\"" << name->getString() << "\" is also the name of nodes["
          << it->second << ']';
  }
  return failure(file.hasErrors());
}

std::optional<size_t> FxValues::lookup(StringRef name) const {
  auto it = numbers.find(name);
  if (it == numbers.end())
    return std::nullopt;
  return it->second;
}

void FxValues::define(size_t node, ValueRange results) {
  nodes[node].defined = true;
  nodes[node].numOutputs = results.size();
  nodes[node].first = values.size();
  llvm::append_range(values, results);
}

void FxValues::defineInFlight(size_t node, Value future, unsigned numOutputs) {
  nodes[node].defined = true;
  nodes[node].numOutputs = numOutputs;
  nodes[node].future = future;
}

void FxValues::defineWait(size_t node, Output source, ValueRange results) {
  arrived.insert(source);
  Node &collective = nodes[source.first];
  if (!collective.first) {
    collective.first = values.size();
    llvm::append_range(values, results);
  }
  define(node, results[source.second]);
}

ValueRange FxValues::getArrived(size_t collective) const {
  const Node &node = nodes[collective];
  if (!node.first)
    return {};
  return ArrayRef<Value>(values).slice(*node.first, node.numOutputs);
}

FailureOr<Output> FxValues::find(const JsonValue &reference, size_t user) {
  const JsonValue *name = file.require(reference, "node", Kind::String);
  const JsonValue *output = file.require(reference, "output", Kind::Integer);
  if (!name || !output)
    return failure();
  std::optional<size_t> number = lookup(name->getString());
  if (!number) {
    file.emitError(*name) << "unknown node \"" << name->getString() << '"';
    return failure();
  }
  if (*number >= user) {
    InFlightDiagnostic diag = file.emitError(*name);
    if (*number == user)
      diag << "node uses its own result";
    else
      diag << "node \"" << name->getString() << "\" comes later, as nodes["
           << *number << ']';
    return failure();
  }
  const Node &node = nodes[*number];
  if (!node.defined)
    return failure();
  int64_t index = output->getInteger();
  if (index < 0 || index >= node.numOutputs) {
    file.emitError(*output)
        << "node \"" << node.name << "\" has " << node.numOutputs
        << " outputs, got output " << index;
    return failure();
  }
  return Output(*number, index);
}

FailureOr<Value> FxValues::resolve(const JsonValue &reference, size_t user) {
  FailureOr<Output> output = find(reference, user);
  if (failed(output))
    return failure();
  const Node &node = nodes[output->first];
  // One tg.wait brings all outputs, but each counts as arrived only once the
  // captured graph waited for it as well.
  if (node.future && !arrived.contains(*output)) {
    file.emitError(reference) << "uses the result of collective \"" << node.name
                              << "\" before it was waited for";
    return failure();
  }
  return values[*node.first + output->second];
}
