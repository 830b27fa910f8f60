//===- StepText.cpp - The text of a step, value by value ------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StepText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace regather::fuzz;
using llvm::ArrayRef;
using llvm::StringRef;

static std::string joinNames(ArrayRef<TextValue> values) {
  return llvm::join(
      llvm::map_range(values, [](const TextValue &v) { return v.name; }), ", ");
}

static std::string joinTypes(ArrayRef<TextType> types) {
  return llvm::join(
      llvm::map_range(types, [](const TextType &type) { return type.str(); }),
      ", ");
}

static llvm::SmallVector<TextType> typesOf(ArrayRef<TextValue> values) {
  return llvm::map_to_vector(values, [](const TextValue &v) { return v.type; });
}

/// Of all operands together.
static AxisSet varyingOf(ArrayRef<TextValue> values) {
  AxisSet axes = 0;
  for (const TextValue &value : values)
    axes |= value.varying;
  return axes;
}

std::string TextType::str() const {
  std::string text = "tensor<";
  for (int64_t dim : dims)
    text += std::to_string(dim) + "x";
  return text + element + ">";
}

std::string StepText::printAxes(AxisSet axes) const {
  llvm::SmallVector<std::string> names;
  for (auto [i, axis] : llvm::enumerate(mesh))
    if (axes >> i & 1)
      names.push_back(axis.name);
  return "[" + llvm::join(names, ", ") + "]";
}

int64_t StepText::countRanks(AxisSet axes) const {
  int64_t ranks = 1;
  for (auto [i, axis] : llvm::enumerate(mesh))
    if (axes >> i & 1)
      ranks *= axis.size;
  return ranks;
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

std::string StepText::printRole(const TextRole &role) const {
  llvm::SmallVector<std::string> fields;
  if (!role.role.empty())
    fields.push_back("tg.role = #tg.role<" + role.role + ">");
  if (!role.name.empty())
    fields.push_back("tg.name = \"" + role.name + "\"");
  if (!role.module.empty())
    fields.push_back("tg.module = \"" + role.module + "\"");
  if (!role.placement.empty())
    fields.push_back("tg.placement = #tg.placement<@mesh " + role.placement +
                     ">");
  if (!role.more.empty())
    fields.push_back(role.more);
  return fields.empty() ? "" : " {" + llvm::join(fields, ", ") + "}";
}

TextValue StepText::addArgument(const TextType &type, const TextRole &role,
                                AxisSet varying) {
  std::string name = "%arg" + std::to_string(numArguments);
  arguments += std::string(numArguments ? ",\n    " : "") + name + ": " +
               type.str() + printRole(role);
  ++numArguments;
  return {name, type, varying};
}

void StepText::addResult(const TextValue &value, const TextRole &role) {
  bool isFirst = returned.empty();
  results +=
      (isFirst ? "" : ",\n        ") + value.type.str() + printRole(role);
  returned += (isFirst ? "" : ", ") + value.name;
  returnedTypes += (isFirst ? "" : ", ") + value.type.str();
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

std::string StepText::printAttributes(StringRef idBase) {
  ++numOps;
  llvm::SmallVector<std::string> fields;
  if (!idBase.empty()) {
    unsigned count = ids[idBase.str()]++;
    fields.push_back("tg.id = \"" + idBase.str() +
                     (count ? "_" + std::to_string(count) : "") + "\"");
  }
  if (!module.empty())
    fields.push_back("tg.module = \"" + module + "\"");
  if (hasPhases)
    fields.push_back("tg.phase = #tg.phase<" + phase + ">");
  if (phase == "forward" && draw.percent(policies))
    fields.push_back(
        std::string("tg.policy = #tg.policy<") +
        draw.oneOf<const char *>({"must_save", "prefer_save",
                                  "prefer_recompute", "must_recompute"}) +
        ">");
  return fields.empty() ? "" : " {" + llvm::join(fields, ", ") + "}";
}

llvm::SmallVector<TextValue> StepText::nodes(StringRef target,
                                             ArrayRef<TextValue> operands,
                                             ArrayRef<TextType> types,
                                             const std::string &args,
                                             const std::string &kwargs) {
  std::string name = newName();
  llvm::SmallVector<TextValue> values;
  for (auto [i, type] : llvm::enumerate(types))
    values.push_back({types.size() == 1 ? name : name + "#" + std::to_string(i),
                      type, varyingOf(operands)});
  StringRef shortName = target.split('.').second.split('.').first;
  body += "  " + name +
          (types.size() == 1 ? "" : ":" + std::to_string(types.size())) +
          " = tg.node \"" + target.str() + "\"(" + joinNames(operands) + ")" +
          (args.empty() ? "" : " args [" + args + "]") +
          (kwargs.empty() ? "" : " kwargs {" + kwargs + "}") +
          printAttributes(shortName) + " : (" + joinTypes(typesOf(operands)) +
          ") -> " +
          (types.size() == 1 ? types[0].str() : "(" + joinTypes(types) + ")") +
          "\n";
  return values;
}

TextValue StepText::node(StringRef target, ArrayRef<TextValue> operands,
                         const TextType &result, const std::string &args,
                         const std::string &kwargs) {
  return nodes(target, operands, {result}, args, kwargs)[0];
}

StepText::Future StepText::start(StringRef kind, StringRef reduction,
                                 ArrayRef<TextValue> operands, AxisSet axes,
                                 const std::string &details,
                                 ArrayRef<TextType> results, AxisSet varying) {
  Future future;
  future.name = newName();
  future.phase = phase;
  future.module = module;
  for (const TextType &type : results)
    future.results.push_back({"", type, varying});
  // The phase of a collective is not an attribute among others.
  std::string attributes;
  if (!module.empty())
    attributes = " {tg.module = \"" + module + "\"}";
  ++numOps;
  body += "  " + future.name + " = tg." + kind.str() +
          (reduction.empty() ? "" : " " + reduction.str()) + " " +
          joinNames(operands) + " on @mesh " + printAxes(axes) +
          (details.empty() ? "" : " " + details) + " phase " + phase +
          attributes + " : (" + joinTypes(typesOf(operands)) +
          ") -> !tg.future<" + joinTypes(results) + ">\n";
  return future;
}

llvm::SmallVector<TextValue> StepText::wait(const Future &future) {
  std::string name = newName();
  llvm::SmallVector<TextValue> values = future.results;
  llvm::SmallVector<TextType> types = typesOf(values);
  for (auto [i, value] : llvm::enumerate(values))
    value.name = values.size() == 1 ? name : name + "#" + std::to_string(i);
  std::string oldPhase = phase, oldModule = module;
  phase = future.phase;
  module = future.module;
  body += "  " + name +
          (values.size() == 1 ? "" : ":" + std::to_string(values.size())) +
          " = tg.wait " + future.name + printAttributes("") + " : !tg.future<" +
          joinTypes(types) + ">\n";
  phase = oldPhase;
  module = oldModule;
  return values;
}

TextValue StepText::random(const TextValue &seed, const TextValue &offset,
                           unsigned stream, const TextType &type) {
  std::string name = newName();
  body += "  " + name + " = tg.random " + seed.name + ", " + offset.name +
          " stream " + std::to_string(stream) + printAttributes("") + " : " +
          type.str() + "\n";
  return {name, type, 0};
}

TextValue StepText::constant(int64_t size, const std::string &element) {
  std::string name = newName(), elements;
  for (int64_t i = 0; i < size; ++i)
    elements += (i ? ", " : "") + std::to_string((3 * i + 1) % 5 - 2) + ".0";
  TextType type{{size}, element};
  body += "  " + name + " = arith.constant" + printAttributes("") + " dense<[" +
          elements + "]> : " + type.str() + "\n";
  return {name, type, 0};
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

std::string StepText::scalar(const std::string &operation) {
  std::string name = newName();
  body += "  " + name + " = " + operation + printAttributes("") + " : index\n";
  return name;
}

std::string StepText::index(int64_t value) {
  std::string name = newName();
  body += "  " + name + " = arith.constant" + printAttributes("") + " " +
          std::to_string(value) + " : index\n";
  return name;
}

llvm::SmallVector<TextValue>
StepText::loop(int64_t count, ArrayRef<TextValue> inits, LoopBody makeBody) {
  std::string lower = index(0), upper = index(count), step = index(1);
  std::string name = newName(), position = newName();
  llvm::SmallVector<TextValue> carried(inits), results(inits);
  llvm::SmallVector<std::string> pairs;
  for (auto [i, value] : llvm::enumerate(carried)) {
    pairs.push_back(newName() + " = " + value.name);
    value.name = pairs.back().substr(0, pairs.back().find(' '));
    results[i].name = name + "#" + std::to_string(i);
  }
  std::string types = joinTypes(typesOf(inits));
  body += "  " + name + ":" + std::to_string(inits.size()) + " = scf.for " +
          position + " = " + lower + " to " + upper + " step " + step +
          " iter_args(" + llvm::join(pairs, ", ") + ") -> (" + types + ") {\n";
  llvm::SmallVector<TextValue> next = makeBody(position, carried);
  body += "  scf.yield " + joinNames(next) + " : " + types + "\n  }" +
          printAttributes("") + "\n";
  AxisSet varying = varyingOf(inits) | varyingOf(next);
  for (TextValue &result : results)
    result.varying = varying;
  return results;
}

TextValue StepText::branch(StringRef number, const TextType &type,
                           BranchBody first, BranchBody second) {
  std::string two = index(2), zero = index(0);
  std::string rest = scalar("arith.remui " + number.str() + ", " + two);
  std::string isEven = scalar("arith.cmpi eq, " + rest + ", " + zero);
  std::string name = newName();
  body += "  " + name + " = scf.if " + isEven + " -> (" + type.str() + ") {\n";
  TextValue own = first();
  body += "  scf.yield " + own.name + " : " + type.str() + "\n  } else {\n";
  TextValue other = second();
  body += "  scf.yield " + other.name + " : " + type.str() + "\n  }" +
          printAttributes("") + "\n";
  return {name, type, own.varying | other.varying};
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

std::string StepText::take() {
  std::string text;
  if (!mesh.empty()) {
    auto axes = llvm::map_range(mesh, [](const TextAxis &axis) {
      return axis.name + " = " + std::to_string(axis.size);
    });
    text += "tg.mesh @mesh [" + llvm::join(axes, ", ") + "]\n\n";
  }
  return text + "func.func @step(\n    " + arguments + ")\n    -> (" + results +
         ") {\n" + body + "  return " + returned + " : " + returnedTypes +
         "\n}\n";
}
