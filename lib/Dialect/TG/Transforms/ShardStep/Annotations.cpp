//===- Annotations.cpp - Placements that the user fixes -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Annotations.h"

#include "regather/Dialect/TG/Modules/ModulePattern.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::spmd;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// Reads `[tp] shard 0` or `[tp] whole`.
static bool readPlacement(StringRef text, Annotation &annotation) {
  text = text.trim();
  if (!text.consume_front("["))
    return false;
  auto [axis, kind] = text.split(']');
  annotation.axis = axis.trim().str();
  kind = kind.trim();
  if (annotation.axis.empty() || annotation.axis.find(',') != std::string::npos)
    return false;
  if (kind == "whole")
    return true;
  int64_t dim;
  if (!kind.consume_front("shard") || kind.trim().getAsInteger(10, dim) ||
      dim < 0)
    return false;
  annotation.dim = dim;
  return true;
}

FailureOr<std::vector<Annotation>>
regather::tg::spmd::readAnnotations(ModuleOp module, const DataMesh &mesh,
                                    ArrayRef<std::string> texts) {
  std::vector<Annotation> annotations;
  for (const std::string &text : texts) {
    Annotation &annotation = annotations.emplace_back();
    annotation.text = text;
    // Patterns may be regular expressions, which may contain the sign.
    auto [pattern, placement] = StringRef(text).rsplit('=');
    pattern = pattern.trim();
    if (pattern.consume_front("output(") && pattern.consume_back(")"))
      annotation.isOutput = true;
    annotation.pattern = pattern.str();
    if (pattern.empty() || !readPlacement(placement, annotation))
      return emitError(module.getLoc())
             << "option 'shard' expects a placement over one axis, such as "
                "'layers.*.wq=[tp] shard 0' or 'output(layers.*.wo)=[tp] shard "
                "1', got \""
             << text << '"';
    if (failed(checkAxis(module, mesh, "shard", annotation.axis)))
      return failure();
  }
  return annotations;
}

//===----------------------------------------------------------------------===//
// What it means
//===----------------------------------------------------------------------===//

/// What wants a cut, as an error begins.
static std::string describeWish(const Annotation &annotation) {
  if (annotation.argument)
    return ("axis \"" + annotation.axis +
            "\", of which option 'shard' says nothing, asks for \"" +
            annotation.text + "\"");
  return "option 'shard' asks for \"" + annotation.text + "\"";
}

/// Checks that `type` can be cut as an annotation says.
static LogicalResult checkCut(const Step &step, const DataMesh &mesh,
                              const Annotation &annotation, Type type,
                              const Twine &what, bool isPadded) {
  if (!annotation.dim)
    return success();
  func::FuncOp func = step.func;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.getRank() <= *annotation.dim)
    return func.emitError()
           << describeWish(annotation) << ", but " << what
           << " has no dimension " << *annotation.dim << ": " << type;
  int64_t size = tensor.getDimSize(*annotation.dim);
  if (mesh.segments && size % mesh.segments != 0)
    return func.emitError()
           << "option 'shard' asks for \"" << annotation.text << "\", but the "
           << mesh.segments << " segments of axis \"" << annotation.axis
           << "\" do not divide the " << size << " elements of dimension "
           << *annotation.dim << " of " << what;
  if (size % mesh.shardRanks == 0 || (isPadded && size >= mesh.shardRanks))
    return success();
  return func.emitError() << describeWish(annotation) << ", but the "
                          << mesh.shardRanks << " ranks of axis \""
                          << annotation.axis << "\" do not divide the " << size
                          << " elements of dimension " << *annotation.dim
                          << " of " << what;
}

/// Emits an error if the annotation of an elastic axis cuts rows of the batch:
/// what cuts them later would find other rows on another number of ranks.
static LogicalResult verifyKeepsBatch(const Step &step, const DataMesh &mesh,
                                      const Annotation &annotation,
                                      const Twine &what) {
  if (mesh.segments == 0 || annotation.dim != 0)
    return success();
  func::FuncOp func = step.func;
  return func.emitError()
         << "option 'shard' asks for \"" << annotation.text << "\", but axis \""
         << annotation.axis
         << "\" is one of option 'elastic-axes', which may not "
            "cut the batch, dimension 0 of "
         << what;
}

/// True if an axis before this one cuts the dimension.
static bool isCutBefore(PlacementAttr placement, int64_t dim) {
  return placement &&
         llvm::any_of(placement.getAxes(), [&](AxisPlacementAttr axis) {
           return axis.getKind() == PlacementKind::Shard &&
                  axis.getDim() == dim;
         });
}

bool regather::tg::spmd::mayBeUneven(const Step &step, unsigned argument,
                                     int64_t dim) {
  RoleAttr role = step.getArgumentRole(argument);
  return role && role.getKind() == RoleKind::Parameter &&
         !isCutBefore(step.getArgumentPlacement(argument), dim);
}

static LogicalResult seedArgument(const Step &step, const DataMesh &mesh,
                                  const Annotation &annotation,
                                  unsigned argument, AxisSeeds &seeds) {
  func::FuncOp func = step.func;
  auto name = func.getArgAttrOfType<StringAttr>(argument, kNameAttrName);
  bool isParameter =
      step.getArgumentRole(argument).getKind() == RoleKind::Parameter;
  bool isPadded =
      annotation.dim && mayBeUneven(step, argument, *annotation.dim);
  if (failed(checkCut(step, mesh, annotation, func.getArgumentTypes()[argument],
                      Twine(isParameter ? "parameter \"" : "\"") +
                          name.getValue() + "\"",
                      isPadded)) ||
      (step.getArgumentRole(argument).getKind() == RoleKind::Input &&
       failed(verifyKeepsBatch(step, mesh, annotation,
                               Twine("\"") + name.getValue() + "\""))))
    return failure();
  seeds.arguments[argument] = annotation.dim;
  return success();
}

/// Finds what patterns mean.
static LogicalResult matchArguments(const Step &step, const DataMesh &mesh,
                                    ArrayRef<const Annotation *> annotations,
                                    AxisSeeds &seeds) {
  func::FuncOp func = step.func;
  SmallVector<unsigned> candidates;
  SmallVector<StringRef> names;
  for (unsigned i = 0, e = func.getNumArguments(); i != e; ++i) {
    RoleAttr role = step.getArgumentRole(i);
    auto name = func.getArgAttrOfType<StringAttr>(i, kNameAttrName);
    if (!role || !name ||
        !llvm::is_contained(
            {RoleKind::Parameter, RoleKind::Buffer, RoleKind::Input},
            role.getKind()))
      continue;
    candidates.push_back(i);
    names.push_back(name.getValue());
  }
  std::vector<std::string> patterns;
  for (const Annotation *annotation : annotations)
    patterns.push_back(annotation->pattern);
  FailureOr<std::vector<PatternMatch>> matches =
      matchPatterns(func, "shard", patterns, names, "parameter or input");
  if (failed(matches))
    return failure();
  for (auto [argument, match] : llvm::zip_equal(candidates, *matches)) {
    if (!match.pattern)
      continue;
    if (failed(seedArgument(step, mesh, *annotations[*match.pattern], argument,
                            seeds)))
      return failure();
  }
  return success();
}

/// True if `module` is `prefix` or in it.
static bool isWithin(StringRef module, StringRef prefix) {
  return module.consume_front(prefix) &&
         (module.empty() || module.starts_with("."));
}

static StringRef getModule(Operation *op) {
  auto module = op->getAttrOfType<StringAttr>(kModuleAttrName);
  return module ? module.getValue() : StringRef();
}

/// The values that leave `prefix`, a module that contains `op`, in forward.
static void findOutputs(const Step &step, Operation *op, StringRef prefix,
                        SmallVectorImpl<Value> &outputs) {
  for (Value result : op->getResults()) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (!type || !isa<FloatType>(type.getElementType()))
      continue;
    for (Operation *user : result.getUsers()) {
      Operation *outer = step.block->findAncestorOpInBlock(*user);
      if (outer == step.getTerminator() ||
          getPhase(outer).value_or(Phase::Forward) != Phase::Forward ||
          isWithin(getModule(outer), prefix))
        continue;
      outputs.push_back(result);
      break;
    }
  }
}

static LogicalResult findValues(const Step &step, const DataMesh &mesh,
                                ArrayRef<const Annotation *> annotations,
                                AxisSeeds &seeds) {
  std::vector<std::string> patterns;
  for (const Annotation *annotation : annotations)
    patterns.push_back(annotation->pattern);
  llvm::MapVector<StringRef, SmallVector<Operation *>> byModule;
  for (Operation *op : step.operations)
    if (getPhase(op).value_or(Phase::Forward) == Phase::Forward &&
        !getModule(op).empty())
      byModule[getModule(op)].push_back(op);
  SmallVector<StringRef> paths;
  for (const auto &[path, operations] : byModule)
    paths.push_back(path);
  FailureOr<std::vector<PatternMatch>> matches =
      matchPatterns(step.func, "shard", patterns, paths, "module");
  if (failed(matches))
    return failure();
  for (auto [path, match] : llvm::zip_equal(paths, *matches)) {
    if (!match.pattern)
      continue;
    const Annotation &annotation = *annotations[*match.pattern];
    SmallVector<Value> outputs;
    for (Operation *op : byModule.find(path)->second)
      findOutputs(step, op, match.prefix, outputs);
    for (Value output : outputs) {
      if (failed(checkCut(step, mesh, annotation, output.getType(),
                          "an output of module \"" + match.prefix + "\"",
                          /*isPadded=*/false)) ||
          failed(
              verifyKeepsBatch(step, mesh, annotation,
                               "an output of module \"" + match.prefix + "\"")))
        return failure();
      seeds.values[output] = annotation.dim;
    }
  }
  return success();
}

/// What shares the rows of an input shares those of its micro-batches.
static void seedMicroBatches(const Step &step, const DataMesh &mesh,
                             AxisSeeds &seeds) {
  for (unsigned input : step.splitInputs) {
    auto seed = seeds.arguments.find(input);
    if (seed == seeds.arguments.end() || seed->second != 0)
      continue;
    for (Operation *slice : step.block->getArgument(input).getUsers()) {
      if (!step.batchSlices.contains(slice))
        continue;
      Value rows = slice->getResult(0);
      if (cast<RankedTensorType>(rows.getType()).getDimSize(0) %
              mesh.shardRanks ==
          0)
        seeds.values.try_emplace(rows, 0);
    }
  }
}

FailureOr<AxisSeeds>
regather::tg::spmd::findSeeds(const Step &step, const DataMesh &axisMesh,
                              ArrayRef<Annotation> annotations) {
  AxisSeeds seeds;
  SmallVector<const Annotation *> arguments, outputs;
  for (const Annotation &annotation : annotations) {
    if (annotation.axis != axisMesh.shardAxes.getNames().front().getValue())
      continue;
    if (annotation.argument) {
      if (failed(seedArgument(step, axisMesh, annotation, *annotation.argument,
                              seeds)))
        return failure();
      continue;
    }
    (annotation.isOutput ? outputs : arguments).push_back(&annotation);
  }
  if (!arguments.empty() &&
      failed(matchArguments(step, axisMesh, arguments, seeds)))
    return failure();
  if (!outputs.empty() && failed(findValues(step, axisMesh, outputs, seeds)))
    return failure();
  seedMicroBatches(step, axisMesh, seeds);
  return seeds;
}
