//===- RandomParameters.cpp - Parameters of a random step -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomParameters.h"

#include "llvm/Support/MathExtras.h"

using namespace regather::fuzz;
using llvm::ArrayRef;
using llvm::StringRef;

/// A random subset of `axes`, often one of them.
static AxisSet drawSubset(Draw &draw, AxisSet axes) {
  AxisSet chosen = 0;
  for (unsigned i = 0; i != 32; ++i)
    if (axes >> i & 1 && draw.percent(60))
      chosen |= 1u << i;
  return chosen;
}

unsigned RandomParameters::add(const Dims &used, StringRef name,
                               AxisSet tensorAxes, int64_t tensorDim) {
  Parameter parameter;
  parameter.name = name.str();
  parameter.module = text.module;
  parameter.used = used;
  parameter.tensorAxes = tensorAxes;
  parameter.isFrozen = draw.percent(12);
  parameter.isTransposed =
      used.size() == 2 && tensorAxes == 0 && draw.percent(30);
  parameter.castsFirst = draw.percent(50);
  parameter.shardAxes = drawSubset(draw, plan.dataAxes);

  Dims whole = used;
  if (parameter.isTransposed)
    std::swap(whole[0], whole[1]);
  // The two kinds of shards lie along different dimensions.
  parameter.shardDim = used.size() < 2    ? 0
                       : tensorAxes != 0  ? 1 - tensorDim
                       : draw.percent(85) ? 0
                                          : 1;
  if (tensorAxes != 0 && used.size() < 2)
    parameter.shardAxes = 0;

  TextType local{whole, draw.percent(70) ? "f32" : plan.element};
  Dims global = whole;
  std::string placement;
  bool isUneven = false;
  if (parameter.shardAxes) {
    int64_t &dim = local.dims[parameter.shardDim];
    int64_t ranks = text.countRanks(parameter.shardAxes);
    isUneven = dim % ranks != 0;
    dim = llvm::divideCeil(dim, ranks);
    placement = text.printAxes(parameter.shardAxes) + " = shard " +
                std::to_string(parameter.shardDim);
  }
  if (tensorAxes) {
    global[tensorDim] *= text.countRanks(tensorAxes);
    placement += (placement.empty() ? "" : ", ") + text.printAxes(tensorAxes) +
                 " = shard " + std::to_string(tensorDim);
  }
  TextRole role;
  role.role = "parameter";
  role.name = parameter.name;
  role.module = parameter.module;
  if (!placement.empty()) {
    role.placement = "[" + placement + "]";
    if (isUneven) {
      role.placement += " of [";
      for (size_t i = 0; i != global.size(); ++i)
        role.placement += (i ? ", " : "") + std::to_string(global[i]);
      role.placement += "]";
    }
  }
  role.more = "tg.registration = " + std::to_string(parameters.size()) +
              " : i64" + (draw.percent(50) ? ", tg.donated" : "");
  parameter.number = text.countArguments();
  parameter.argument =
      text.addArgument(local, role, parameter.shardAxes | tensorAxes);
  parameters.push_back(parameter);
  return parameters.size() - 1;
}

std::optional<unsigned> RandomParameters::findTied(const Dims &used) const {
  for (unsigned i = 0; i != parameters.size(); ++i)
    if (parameters[i].used == used && parameters[i].tensorAxes == 0)
      return i;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

TextValue RandomParameters::cast(const TextValue &value,
                                 const std::string &element) {
  if (value.type.element == element)
    return value;
  return text.node("aten._to_copy.default", {value}, {value.type.dims, element},
                   "", "dtype = " + element);
}

TextValue RandomParameters::turn(const TextValue &value) {
  Dims dims = {value.type.dims[1], value.type.dims[0]};
  if (draw.percent(50))
    return text.node("aten.t.default", {value}, {dims, value.type.element});
  return text.node("aten.permute.default", {value}, {dims, value.type.element},
                   "#tg.operand<0>, [1, 0]");
}

TextValue RandomParameters::beforeGather(const Parameter &parameter) {
  return parameter.castsFirst ? cast(parameter.argument, plan.element)
                              : parameter.argument;
}

TextType RandomParameters::wholeType(const Parameter &parameter,
                                     const TextValue &shard) const {
  Dims dims = parameter.used;
  if (parameter.isTransposed)
    std::swap(dims[0], dims[1]);
  return {dims, shard.type.element};
}

TextValue RandomParameters::afterGather(const Parameter &parameter,
                                        const TextValue &whole) {
  TextValue value = cast(whole, plan.element);
  return parameter.isTransposed ? turn(value) : value;
}

AxisSet RandomParameters::findTwin(AxisSet axes) const {
  for (unsigned i = 0; i != text.mesh.size(); ++i)
    if (AxisSet axis = 1u << i; (plan.dataAxes & ~axes & axis) &&
                                text.countRanks(axes) > 1 &&
                                text.countRanks(axis) == text.countRanks(axes))
      return axis;
  return 0;
}

/// Adds what the ranks along other axes have for the parts of the parameter.
TextValue RandomParameters::addTwin(const Parameter &parameter,
                                    const TextValue &whole, AxisSet axes) {
  TextValue part = beforeGather(parameter);
  TextValue other = text.wait(text.start(
      "all_gather", "", {part}, axes,
      "dim " + std::to_string(parameter.shardDim), {wholeType(parameter, part)},
      parameter.tensorAxes | (parameter.shardAxes & ~axes)))[0];
  return text.node("aten.add.Tensor", {whole, other}, whole.type);
}

TextValue RandomParameters::gather(const Parameter &parameter) {
  std::string oldModule = text.module;
  text.module = parameter.module;
  TextValue value = beforeGather(parameter);
  if (parameter.shardAxes)
    value = text.wait(text.start("all_gather", "", {value}, parameter.shardAxes,
                                 "dim " + std::to_string(parameter.shardDim),
                                 {wholeType(parameter, value)},
                                 parameter.tensorAxes))[0];
  if (AxisSet twin = findTwin(parameter.shardAxes); twin && draw.percent(15))
    value = addTwin(parameter, value, twin);
  value = afterGather(parameter, value);
  text.module = oldModule;
  return value;
}

TextValue RandomParameters::use(unsigned number) {
  Parameter &parameter = parameters[number];
  ++parameter.uses;
  auto it = gathered.find(number);
  if (it != gathered.end() && !plan.gathersPerUse)
    return it->second;
  return gathered[number] = gather(parameter);
}

void RandomParameters::useTogether(ArrayRef<unsigned> numbers) {
  if (!plan.gathersTogether || numbers.size() < 2)
    return;
  const Parameter &first = parameters[numbers[0]];
  llvm::SmallVector<TextValue> shards;
  llvm::SmallVector<TextType> wholes;
  for (unsigned number : numbers) {
    const Parameter &parameter = parameters[number];
    if (gathered.count(number) || !parameter.shardAxes ||
        parameter.tensorAxes || parameter.shardAxes != first.shardAxes ||
        parameter.shardDim != first.shardDim)
      return;
  }
  for (unsigned number : numbers) {
    shards.push_back(beforeGather(parameters[number]));
    wholes.push_back(wholeType(parameters[number], shards.back()));
  }
  llvm::SmallVector<TextValue> values =
      text.wait(text.start("all_gather", "", shards, first.shardAxes,
                           "dim " + std::to_string(first.shardDim), wholes, 0));
  for (auto [number, value] : llvm::zip_equal(numbers, values))
    gathered[number] = afterGather(parameters[number], value);
}

TextValue RandomParameters::useAgain(unsigned number) {
  if (!plan.gathersAgain)
    return gathered.at(number);
  auto it = again.find(number);
  if (it != again.end() && !plan.gathersPerUse)
    return it->second;
  return again[number] = gather(parameters[number]);
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

void RandomParameters::addGradient(unsigned number, const TextValue &gradient) {
  Parameter &parameter = parameters[number];
  --parameter.uses;
  if (parameter.isFrozen)
    return;
  parameter.gradient =
      parameter.gradient
          ? text.node("aten.add.Tensor", {*parameter.gradient, gradient},
                      gradient.type)
          : gradient;
}

void RandomParameters::reduce(Parameter &parameter) {
  std::string oldModule = text.module;
  text.module = parameter.module;
  TextValue value = *parameter.gradient;
  if (parameter.isTransposed)
    value = turn(value);
  const TextType &stored = parameter.argument.type;
  if (draw.percent(50))
    value = cast(value, stored.element);
  auto pickReduction = [&] { return draw.percent(50) ? "sum" : "avg"; };
  std::string accumulation =
      value.type.element != "f32" && draw.percent(50) ? " accumulate f32" : "";
  if (parameter.shardAxes)
    value = text.wait(text.start(
        "reduce_scatter", pickReduction(), {value}, parameter.shardAxes,
        "dim " + std::to_string(parameter.shardDim) + accumulation,
        {{stored.dims, value.type.element}},
        value.varying | parameter.shardAxes))[0];
  AxisSet rest = value.varying & ~parameter.shardAxes & ~parameter.tensorAxes;
  if (rest)
    value = text.wait(
        text.start("all_reduce", pickReduction(), {value}, rest,
                   accumulation.empty() ? accumulation : accumulation.substr(1),
                   {value.type}, value.varying & ~rest))[0];
  value = cast(value, stored.element);
  TextRole role;
  role.role = "gradient of " + std::to_string(parameter.number);
  text.addResult(value, role);
  parameter.gradient.reset();
  text.module = oldModule;
}

void RandomParameters::reduceComplete() {
  for (Parameter &parameter : parameters)
    if (parameter.gradient && parameter.uses == 0)
      reduce(parameter);
}
