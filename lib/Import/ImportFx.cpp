//===- ImportFx.cpp - Read captured training graphs -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One pass over the nodes in file order, which is execution order:
//
//   meshes, process groups -> tg.mesh
//   parameters, buffers, inputs -> arguments of @step
//   each call -> a collective, a wait, or else a tg.node; before one that
//   draws random numbers a tg.random
//   outputs -> results of @step
//
//===----------------------------------------------------------------------===//

#include "regather/Import/ImportFx.h"

#include "FxArguments.h"
#include "FxCollectives.h"
#include "FxFile.h"
#include "FxMeshes.h"
#include "FxRandom.h"
#include "FxSignature.h"
#include "FxTypes.h"
#include "FxValues.h"

#include "regather/Dialect/TG/Steps/Policies.h"
#include "regather/Dialect/TG/Targets/NodeTargets.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace regather;
using namespace regather::fx;
using Kind = JsonValue::Kind;

namespace {
class StepImporter {
public:
  StepImporter(llvm::SourceMgr &sourceMgr, MLIRContext *context)
      : file(sourceMgr, context), builder(context), meshes(file), values(file),
        collectives(file, meshes, values), random(file),
        nodeName(tg::NodeOp::getOperationName(), context),
        idName(builder.getStringAttr(tg::kIdAttrName)),
        moduleName(builder.getStringAttr(tg::kModuleAttrName)),
        phaseName(builder.getStringAttr(tg::kPhaseAttrName)),
        policyName(builder.getStringAttr(tg::kPolicyAttrName)) {}

  OwningOpRef<ModuleOp> import();

private:
  LogicalResult importModule(ModuleOp module);
  LogicalResult importNode(const JsonValue &node, size_t number);
  LogicalResult importCall(const JsonValue &node, size_t number);
  LogicalResult importOpaque(const Call &call);
  FailureOr<tg::PhaseAttr> readPhase(const JsonValue &node);
  FailureOr<tg::PolicyAttr> readPolicy(const JsonValue &node);

  FxFile file;
  OpBuilder builder;
  FxMeshes meshes;
  FxValues values;
  FxCollectives collectives;
  FxRandom random;
  OperationName nodeName;
  StringAttr idName, moduleName, phaseName, policyName;
};
} // namespace

OwningOpRef<ModuleOp> regather::importFx(llvm::SourceMgr &sourceMgr,
                                         MLIRContext *context) {
  context->loadDialect<func::FuncDialect, tg::TGDialect>();
  return StepImporter(sourceMgr, context).import();
}

OwningOpRef<ModuleOp> StepImporter::import() {
  if (failed(file.read()))
    return {};
  OwningOpRef<ModuleOp> module = ModuleOp::create(
      builder, file.getFileLocation(file.getRoot().getOffset()));
  if (succeeded(importModule(*module)))
    return module;
  if (file.hasTooManyErrors())
    emitError(module->getLoc())
        << "stopped after " << FxFile::kMaxErrors << " errors";
  return {};
}

LogicalResult StepImporter::importModule(ModuleOp module) {
  builder.setInsertionPointToStart(module.getBody());
  FailureOr<ArrayRef<JsonValue>> nodes = file.getArray(file.getRoot(), "nodes");
  if (failed(nodes) || failed(meshes.read(builder)) ||
      failed(values.number(*nodes)))
    return failure();
  FxSignature signature(file, meshes, values, random);
  FailureOr<func::FuncOp> step = signature.readArguments(*nodes, builder);
  if (failed(step))
    return failure();
  builder.setInsertionPointToEnd(&step->getBody().front());
  for (auto [number, node] : llvm::enumerate(*nodes)) {
    if (file.hasTooManyErrors())
      return failure();
    (void)importNode(node, number);
  }
  if (file.hasTooManyErrors())
    return failure();
  return signature.readResults(*step, nodes->size());
}

LogicalResult StepImporter::importNode(const JsonValue &node, size_t number) {
  const JsonValue *op = file.require(node, "op", Kind::String);
  if (!op)
    return failure();
  if (op->getString() == "placeholder")
    return success();
  if (op->getString() == "call")
    return importCall(node, number);
  return file.emitError(*op) << "expects \"placeholder\" or \"call\", got \""
                             << op->getString() << '"';
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// True if the operator changes an argument: `aten.add_.Tensor`,
/// `aten.__iand__.Tensor`, `aten.sum.IntList_out`. A graph of values cannot
/// hold such calls; functionalization replaces them.
static bool mutatesArguments(StringRef target) {
  auto [qualified, overload] = target.rsplit('.');
  if (overload == "out" || overload.ends_with("_out"))
    return true;
  // Without an overload, as in `my_ops.scale_`, the name comes last.
  StringRef name =
      qualified.contains('.') ? qualified.rsplit('.').second : overload;
  if (name.starts_with("__"))
    return name.starts_with("__i") && name.ends_with("__");
  return name.ends_with("_") || name.ends_with("_out");
}

FailureOr<tg::PhaseAttr> StepImporter::readPhase(const JsonValue &node) {
  const JsonValue *name = file.require(node, "phase", Kind::String);
  if (!name)
    return failure();
  if (std::optional<tg::Phase> phase = tg::symbolizePhase(name->getString()))
    return tg::PhaseAttr::get(builder.getContext(), *phase);
  file.emitError(*name)
      << "expects phase forward, backward or optimizer, got \""
      << name->getString() << '"';
  return failure();
}

FailureOr<tg::PolicyAttr> StepImporter::readPolicy(const JsonValue &node) {
  FailureOr<const JsonValue *> name =
      file.lookup(node, "recompute", Kind::String);
  if (failed(name))
    return failure();
  if (!*name)
    return tg::PolicyAttr();
  std::optional<tg::Policy> policy = tg::symbolizePolicy((*name)->getString());
  if (policy)
    return tg::PolicyAttr::get(builder.getContext(), *policy);
  file.emitError(**name)
      << "expects must_save, prefer_save, prefer_recompute, must_recompute or "
         "offload, got \""
      << (*name)->getString() << '"';
  return failure();
}

LogicalResult StepImporter::importCall(const JsonValue &node, size_t number) {
  const JsonValue *target = file.require(node, "target", Kind::String);
  if (!target)
    return failure();
  if (target->getString().empty())
    return file.emitError(*target) << "target must not be empty";
  if (mutatesArguments(target->getString()))
    return file.emitError(*target)
           << "\"" << target->getString()
           << "\" changes its arguments in place; capture the graph with "
              "functionalization";
  FailureOr<Location> loc = file.getLocation(node);
  FailureOr<tg::PhaseAttr> phase = readPhase(node);
  FailureOr<tg::PolicyAttr> policy = readPolicy(node);
  FailureOr<StringAttr> module = file.getModule(node);
  FailureOr<ArrayRef<JsonValue>> outputs = file.getArray(node, "outputs");
  if (failed(loc) || failed(phase) || failed(policy) || failed(module) ||
      failed(outputs))
    return failure();

  Call call{node, number, *target, *loc, *phase, {}, {}};
  for (const JsonValue &output : *outputs) {
    FailureOr<Type> type = readOutputType(file, output);
    if (failed(type))
      return failure();
    call.types.push_back(*type);
  }
  call.attrs.emplace_back(idName,
                          builder.getStringAttr(values.getName(number)));
  if (*module)
    call.attrs.emplace_back(moduleName, *module);
  if (*policy)
    call.attrs.emplace_back(policyName, *policy);

  FailureOr<bool> imported = collectives.import(call, builder);
  if (failed(imported))
    return failure();
  return *imported ? success() : importOpaque(call);
}

/// True for operators that give their first argument back if the result has
/// its type.
static bool isReshaping(StringRef name) {
  std::optional<tg::NodeTarget> target = tg::findNodeTarget(name);
  if (!target)
    return false;
  switch (*target) {
  case tg::NodeTarget::AtenViewDefault:
  case tg::NodeTarget::AtenUnsafeViewDefault:
  case tg::NodeTarget::AtenReshapeDefault:
  case tg::NodeTarget::AtenExpandDefault:
  case tg::NodeTarget::AtenAliasDefault:
  case tg::NodeTarget::AtenDetachDefault:
    return true;
  default:
    return false;
  }
}

/// What stands for the result of `call`, if it is a view that changes nothing
/// and is to be saved: what it is a view of, which takes over the mark. Null if
/// there has to be an operation, because the mark cannot be had there. Views
/// without such a mark stay, because PyTorch counts them when it partitions.
static Value foldIdentity(const Call &call, const CallArguments &arguments) {
  if (!isReshaping(call.target.getString()) || arguments.operands.empty() ||
      call.types.size() != 1)
    return nullptr;
  Value source = arguments.operands.front();
  if (source.getType() != call.types.front())
    return nullptr;
  tg::PolicyAttr policy;
  for (NamedAttribute attr : call.attrs)
    if (attr.getName() == tg::kPolicyAttrName)
      policy = cast<tg::PolicyAttr>(attr.getValue());
  if (!policy || policy.getValue() == tg::Policy::MustRecompute ||
      policy.getValue() == tg::Policy::PreferRecompute)
    return nullptr;
  Operation *def = source.getDefiningOp();
  // Arguments are there anyway.
  if (!def)
    return source;
  if (def->getNumResults() != 1 ||
      tg::getPolicy(def) == tg::Policy::MustRecompute)
    return nullptr;
  // Both are not contradictory.
  (void)tg::combinePolicies(def, policy, call.loc);
  return source;
}

LogicalResult StepImporter::importOpaque(const Call &call) {
  FailureOr<const JsonValue *> effects =
      file.lookup(call.json, "effects", Kind::Boolean);
  FailureOr<CallArguments> arguments =
      readArguments(file, values, call.json, call.number);
  if (failed(effects) || failed(arguments))
    return failure();
  if (Value same = foldIdentity(call, *arguments)) {
    values.define(call.number, same);
    return success();
  }
  if (FxRandom::isRandom(call) &&
      failed(random.addBits(call, *arguments, builder)))
    return failure();
  OperationState state(call.loc, nodeName);
  state.addOperands(arguments->operands);
  state.addTypes(call.types);
  auto &properties = state.getOrAddProperties<tg::NodeOp::Properties>();
  properties.target = builder.getStringAttr(call.target.getString());
  properties.args = arguments->args;
  properties.kwargs = arguments->kwargs;
  if (*effects && (*effects)->getBoolean())
    properties.effects = builder.getUnitAttr();
  state.attributes.append(call.attrs);
  state.attributes.append(phaseName, call.phase);
  values.define(call.number, builder.create(state)->getResults());
  return success();
}
