//===- Manifest.cpp - What a bundle says about itself ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Bundle/Manifest.h"

#include "../Tensors/StepText.h"
#include "../Training/ReportJson.h"
#include "ManifestCheck.h"

#include "regather/Runtime/Runtime.h"
#include "regather/Support/JsonDepth.h"

#include <algorithm>

using namespace regather;

static constexpr const char *kRoles[] = {
    "parameter", "buffer",        "input", "optimizer_state",
    "rng",       "learning_rate", "step",  "loss",
    "gradient",  "update",        "saved", "overflow"};
static constexpr const char *kReductions[] = {"sum", "avg", "max"};

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

void regather::addCollectives(
    OrderedJson &json, const std::vector<CollectiveSummary> &collectives) {
  json["collectives"] = OrderedJson::array();
  int64_t ops = 0, bytes = 0;
  for (const CollectiveSummary &summary : collectives) {
    json["collectives"].push_back({{"kind", summary.kind},
                                   {"phase", summary.phase},
                                   {"mesh", summary.mesh},
                                   {"axes", summary.axes},
                                   {"ranks", summary.ranks},
                                   {"count", summary.ops},
                                   {"tensors", summary.tensors},
                                   {"bytes", summary.bytes}});
    ops += summary.ops;
    bytes += summary.bytes;
  }
  json["collective_count"] = ops;
  json["collective_bytes"] = bytes;
}

static OrderedJson toJson(const Placement &placement, const Mesh &mesh) {
  OrderedJson json = OrderedJson::array();
  for (const AxisPlacement &part : placement) {
    OrderedJson &entry = json.emplace_back();
    for (unsigned axis : part.axes)
      entry["axes"].push_back(mesh.axes[axis]);
    if (part.dim)
      entry["shard"] = *part.dim;
    else
      entry["partial"] = kReductions[static_cast<int>(part.reduction)];
  }
  return json;
}

static OrderedJson toJson(const StepValue &value, const StepSignature &step) {
  OrderedJson json;
  json["name"] = value.name;
  if (value.role)
    json["role"] = kRoles[static_cast<int>(*value.role)];
  if (value.argument >= 0)
    json["argument"] = value.argument;
  json["dtype"] = rg_dtype_name(static_cast<int32_t>(value.elementType));
  json["shape"] = value.localShape;
  json["global_shape"] = value.globalShape;
  if (!value.placement.empty())
    json["placement"] = toJson(value.placement, *step.mesh);
  for (const StepMember &member : value.members)
    json["members"].push_back({{"name", member.name},
                               {"offset", member.offset},
                               {"shape", member.shape}});
  return json;
}

static OrderedJson toJson(const Mesh &mesh) {
  OrderedJson json = {{"name", mesh.name}};
  for (size_t i = 0; i < mesh.axes.size(); ++i)
    json["axes"].push_back({{"name", mesh.axes[i]}, {"size", mesh.sizes[i]}});
  return json;
}

/// Adds what code there is, and what memory it takes.
static void addCode(OrderedJson &json, const ProgramSummary &program) {
  json["kernels"] = program.kernels;
  json["arena"] = {{"bytes", program.arenaBytes},
                   {"lower_bound", program.arenaLowerBound}};
}

/// Adds how its ranks communicate.
static void addCommunication(OrderedJson &json, const ProgramSummary &program) {
  addCollectives(json, program.collectives);
  json["fingerprint"] = program.fingerprint;
}

std::string regather::formatManifest(const Manifest &manifest) {
  const StepSignature &step = manifest.step;
  OrderedJson json = {{"schema", Manifest::kSchema}, {"entry", step.entry}};
  json["ranks"] = step.ranks;
  if (step.mesh)
    json["mesh"] = toJson(*step.mesh);
  if (step.segments)
    json["elastic"] = step.segments;
  if (!step.elasticAxes.empty())
    json["elastic-axes"] = step.elasticAxes;
  json["target"] = {{"machine", manifest.machine},
                    {"features", manifest.features}};
  if (!manifest.device.empty())
    json["target"]["device"] = manifest.device;
  addCode(json, manifest.program);
  json["arguments"] = OrderedJson::array();
  for (const StepValue &value : step.arguments)
    json["arguments"].push_back(toJson(value, step));
  json["results"] = OrderedJson::array();
  for (const StepValue &value : step.results)
    json["results"].push_back(toJson(value, step));
  addCommunication(json, manifest.program);
  if (manifest.roomy) {
    OrderedJson &roomy = json["roomy"];
    addCode(roomy, *manifest.roomy);
    addCommunication(roomy, *manifest.roomy);
  }
  return json.dump(1) + '\n';
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

// Reading a field that is missing or of another type throws what nlohmann/json
// throws. Nothing leaves this file but by parseManifest, which catches that.

/// The number of a word in a list, as a value of type `T`.
template <typename T, size_t count>
static Result<T> find(const char *const (&words)[count],
                      const std::string &word) {
  const auto *it = std::find(std::begin(words), std::end(words), word);
  if (it == std::end(words))
    return Failure("unknown word " + quote(word));
  return static_cast<T>(it - std::begin(words));
}

static Result<ElementType> parseElementType(const std::string &name) {
  constexpr auto kLast = static_cast<int32_t>(ElementType::I64);
  for (int32_t type = 0; type <= kLast; ++type)
    if (rg_dtype_name(type) == name)
      return static_cast<ElementType>(type);
  return Failure("unknown dtype " + quote(name));
}

static Mesh parseMesh(const OrderedJson &json) {
  Mesh mesh;
  mesh.name = json.at("name");
  for (const OrderedJson &axis : json.at("axes")) {
    mesh.axes.push_back(axis.at("name"));
    mesh.sizes.push_back(axis.at("size"));
  }
  return mesh;
}

static Result<AxisPlacement> parsePlacement(const OrderedJson &json,
                                            const Mesh &mesh) {
  AxisPlacement part;
  for (const std::string &name :
       json.at("axes").get<std::vector<std::string>>()) {
    auto it = std::find(mesh.axes.begin(), mesh.axes.end(), name);
    if (it == mesh.axes.end())
      return Failure("no axis " + quote(name));
    part.axes.push_back(static_cast<unsigned>(it - mesh.axes.begin()));
  }
  if (json.contains("shard")) {
    part.dim = json.at("shard").get<int64_t>();
    return part;
  }
  Result<ReductionKind> reduction =
      find<ReductionKind>(kReductions, json.at("partial"));
  if (!reduction)
    return reduction.getFailure();
  part.reduction = *reduction;
  return part;
}

static Result<StepValue> parseValue(const OrderedJson &json,
                                    const StepSignature &step) {
  StepValue value;
  value.name = json.at("name");
  if (json.contains("role")) {
    Result<Role> role = find<Role>(kRoles, json.at("role"));
    if (!role)
      return role.getFailure();
    value.role = *role;
  }
  value.argument = json.value("argument", int64_t(-1));
  Result<ElementType> type = parseElementType(json.at("dtype"));
  if (!type)
    return type.getFailure();
  value.elementType = *type;
  value.localShape = json.at("shape").get<Shape>();
  value.globalShape = json.at("global_shape").get<Shape>();
  const Mesh mesh = step.mesh.value_or(Mesh());
  if (json.contains("placement"))
    for (const OrderedJson &entry : json.at("placement")) {
      Result<AxisPlacement> part = parsePlacement(entry, mesh);
      if (!part)
        return part.getFailure();
      value.placement.push_back(*part);
    }
  if (json.contains("members"))
    for (const OrderedJson &member : json.at("members"))
      value.members.push_back({member.at("name"), member.at("offset"),
                               member.at("shape").get<Shape>()});
  return value;
}

/// Appends the values of an array.
static Failure parseValues(const OrderedJson &json, const StepSignature &step,
                           std::vector<StepValue> &values) {
  for (const OrderedJson &entry : json) {
    Result<StepValue> value = parseValue(entry, step);
    if (!value)
      return value.getFailure();
    values.push_back(std::move(*value));
  }
  return Failure();
}

static CollectiveSummary parseCollective(const OrderedJson &json) {
  CollectiveSummary summary;
  summary.kind = json.at("kind");
  summary.phase = json.at("phase");
  summary.mesh = json.at("mesh");
  summary.axes = json.at("axes").get<std::vector<std::string>>();
  summary.ranks = json.at("ranks");
  summary.ops = json.at("count");
  summary.tensors = json.at("tensors");
  summary.bytes = json.at("bytes");
  return summary;
}

static ProgramSummary parseProgram(const OrderedJson &json) {
  ProgramSummary program;
  program.kernels = json.at("kernels");
  program.arenaBytes = json.at("arena").at("bytes");
  program.arenaLowerBound = json.at("arena").at("lower_bound");
  for (const OrderedJson &collective : json.at("collectives"))
    program.collectives.push_back(parseCollective(collective));
  program.fingerprint = json.at("fingerprint");
  return program;
}

static Result<Manifest> parse(const OrderedJson &json) {
  Manifest manifest;
  StepSignature &step = manifest.step;
  step.entry = json.at("entry");
  step.ranks = json.at("ranks");
  if (json.contains("mesh"))
    step.mesh = parseMesh(json.at("mesh"));
  step.segments = json.value("elastic", int64_t(0));
  step.elasticAxes = json.value("elastic-axes", std::string());
  manifest.machine = json.at("target").at("machine");
  manifest.features =
      json.at("target").at("features").get<std::vector<std::string>>();
  manifest.device = json.at("target").value("device", std::string());
  manifest.program = parseProgram(json);
  if (json.contains("roomy"))
    manifest.roomy = parseProgram(json.at("roomy"));
  if (Failure failure = parseValues(json.at("arguments"), step, step.arguments))
    return failure;
  if (Failure failure = parseValues(json.at("results"), step, step.results))
    return failure;
  for (size_t i = 0; i != step.results.size(); ++i) {
    if (step.results[i].role == Role::Loss)
      step.loss = static_cast<unsigned>(i);
    if (step.results[i].role == Role::Overflow)
      step.overflow = static_cast<unsigned>(i);
  }
  if (manifest.roomy && !step.overflow)
    return Failure("it has a program with more room, but its step always has "
                   "enough");
  return manifest;
}

Result<Manifest> regather::parseManifest(std::string_view text) {
  if (isDeeplyNested(text))
    return Failure("its manifest is damaged: " + getDeepJsonMessage());
  try {
    OrderedJson json = OrderedJson::parse(text);
    int64_t schema = json.at("schema");
    if (schema != Manifest::kSchema)
      return Failure("its manifest has schema " + std::to_string(schema) +
                     ", but this program reads schema " +
                     std::to_string(Manifest::kSchema));
    Result<Manifest> manifest = parse(json);
    if (!manifest)
      return Failure("its manifest is damaged: " + manifest.getMessage());
    if (Failure failure = checkSignature(manifest->step))
      return Failure("its manifest contradicts itself: " +
                     failure.getMessage());
    return manifest;
  } catch (const nlohmann::json::exception &error) {
    return Failure(std::string("its manifest is damaged: ") + error.what());
  }
}
