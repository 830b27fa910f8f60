//===- Manifest.cpp - What a bundle says about itself ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Bundle/Manifest.h"

#include "../StepText.h"
#include "ManifestCheck.h"
#include "ManifestJson.h"

#include "regather/Runtime/Runtime.h"

#include <algorithm>

using namespace regather;

static constexpr const char *kRoles[] = {
    "parameter", "buffer",        "input", "optimizer_state",
    "rng",       "learning_rate", "step",  "loss",
    "gradient",  "update",        "saved"};
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

std::string regather::formatManifest(const Manifest &manifest) {
  const StepSignature &step = manifest.step;
  OrderedJson json = {{"schema", Manifest::kSchema}, {"entry", step.entry}};
  json["ranks"] = step.ranks;
  if (step.mesh)
    json["mesh"] = toJson(*step.mesh);
  json["target"] = {{"machine", manifest.machine},
                    {"features", manifest.features}};
  if (!manifest.device.empty())
    json["target"]["device"] = manifest.device;
  json["kernels"] = manifest.kernels;
  json["arena"] = {{"bytes", manifest.arenaBytes},
                   {"lower_bound", manifest.arenaLowerBound}};
  json["arguments"] = OrderedJson::array();
  for (const StepValue &value : step.arguments)
    json["arguments"].push_back(toJson(value, step));
  json["results"] = OrderedJson::array();
  for (const StepValue &value : step.results)
    json["results"].push_back(toJson(value, step));
  addCollectives(json, manifest.collectives);
  json["fingerprint"] = manifest.fingerprint;
  return json.dump(1) + '\n';
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// The position of a word in a list; throws what the parser throws.
template <size_t count>
static size_t find(const char *const (&words)[count], const std::string &word) {
  const auto *it = std::find(std::begin(words), std::end(words), word);
  if (it == std::end(words))
    throw nlohmann::json::other_error::create(
        500, "unknown word " + quote(word), nullptr);
  return static_cast<size_t>(it - std::begin(words));
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

static AxisPlacement parsePlacement(const OrderedJson &json, const Mesh &mesh) {
  AxisPlacement part;
  for (const std::string &name :
       json.at("axes").get<std::vector<std::string>>()) {
    auto it = std::find(mesh.axes.begin(), mesh.axes.end(), name);
    if (it == mesh.axes.end())
      throw nlohmann::json::other_error::create(500, "no axis " + quote(name),
                                                nullptr);
    part.axes.push_back(static_cast<unsigned>(it - mesh.axes.begin()));
  }
  if (json.contains("shard"))
    part.dim = json.at("shard").get<int64_t>();
  else
    part.reduction =
        static_cast<ReductionKind>(find(kReductions, json.at("partial")));
  return part;
}

static StepValue parseValue(const OrderedJson &json,
                            const StepSignature &step) {
  StepValue value;
  value.name = json.at("name");
  if (json.contains("role"))
    value.role = static_cast<Role>(find(kRoles, json.at("role")));
  value.argument = json.value("argument", int64_t(-1));
  std::string dtype = json.at("dtype");
  while (rg_dtype_name(static_cast<int32_t>(value.elementType)) != dtype) {
    if (value.elementType == ElementType::I64)
      throw nlohmann::json::other_error::create(
          500, "unknown dtype " + quote(dtype), nullptr);
    value.elementType =
        static_cast<ElementType>(static_cast<int>(value.elementType) + 1);
  }
  value.localShape = json.at("shape").get<Shape>();
  value.globalShape = json.at("global_shape").get<Shape>();
  if (json.contains("placement"))
    for (const OrderedJson &part : json.at("placement"))
      value.placement.push_back(
          parsePlacement(part, step.mesh ? *step.mesh : Mesh()));
  if (json.contains("members"))
    for (const OrderedJson &member : json.at("members"))
      value.members.push_back({member.at("name"), member.at("offset"),
                               member.at("shape").get<Shape>()});
  return value;
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

static Manifest parse(const OrderedJson &json) {
  Manifest manifest;
  StepSignature &step = manifest.step;
  step.entry = json.at("entry");
  step.ranks = json.at("ranks");
  if (json.contains("mesh"))
    step.mesh = parseMesh(json.at("mesh"));
  manifest.machine = json.at("target").at("machine");
  manifest.features =
      json.at("target").at("features").get<std::vector<std::string>>();
  manifest.device = json.at("target").value("device", std::string());
  manifest.kernels = json.at("kernels");
  manifest.arenaBytes = json.at("arena").at("bytes");
  manifest.arenaLowerBound = json.at("arena").at("lower_bound");
  for (const OrderedJson &value : json.at("arguments"))
    step.arguments.push_back(parseValue(value, step));
  for (const OrderedJson &value : json.at("results")) {
    step.results.push_back(parseValue(value, step));
    if (step.results.back().role == Role::Loss)
      step.loss = static_cast<unsigned>(step.results.size() - 1);
  }
  for (const OrderedJson &collective : json.at("collectives"))
    manifest.collectives.push_back(parseCollective(collective));
  manifest.fingerprint = json.at("fingerprint");
  return manifest;
}

Result<Manifest> regather::parseManifest(std::string_view text) {
  try {
    OrderedJson json = OrderedJson::parse(text);
    int64_t schema = json.at("schema");
    if (schema != Manifest::kSchema)
      return Failure("its manifest has schema " + std::to_string(schema) +
                     ", but this program reads schema " +
                     std::to_string(Manifest::kSchema));
    Manifest manifest = parse(json);
    if (Failure failure = checkSignature(manifest.step))
      return Failure("its manifest contradicts itself: " +
                     failure.getMessage());
    return manifest;
  } catch (const nlohmann::json::exception &error) {
    return Failure(std::string("its manifest is damaged: ") + error.what());
  }
}
