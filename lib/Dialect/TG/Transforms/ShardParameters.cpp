//===- ShardParameters.cpp - Shard the parameters of a step ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardParameters/CountedIds.h"
#include "ShardParameters/FlatBuffers.h"
#include "ShardParameters/MicroBatches.h"
#include "ShardParameters/Segments.h"
#include "ShardParameters/StepSharder.h"

#include "regather/Dialect/TG/IR/Elastic.h"
#include "regather/Dialect/TG/Steps/StepEntry.h"
#include "regather/Dialect/TG/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#define DEBUG_TYPE "tg-shard-parameters"

namespace regather::tg {
#define GEN_PASS_DEF_SHARDPARAMETERSPASS
#include "regather/Dialect/TG/Transforms/Passes.h.inc"
} // namespace regather::tg

using namespace mlir;
using namespace regather::tg;
using namespace regather::tg::spmd;

/// The type of floats that an option names; null if it is not given.
static FailureOr<Type> readElementType(ModuleOp module, StringRef option,
                                       StringRef name) {
  MLIRContext *context = module.getContext();
  if (name.empty())
    return Type();
  if (name == "bf16")
    return Type(BFloat16Type::get(context));
  if (name == "f16")
    return Type(Float16Type::get(context));
  if (name == "f32")
    return Type(Float32Type::get(context));
  if (name == "f64")
    return Type(Float64Type::get(context));
  return module.emitError()
         << "option '" << option << "' expects bf16, f16, f32 or f64, got \""
         << name << '"';
}

/// The mesh must be new, or that of the passes that took care of other axes: a
/// module that has it was sharded before.
static LogicalResult checkNameIsFree(ModuleOp module, const DataMesh &mesh) {
  Operation *symbol = module.lookupSymbol(mesh.symbol.getValue());
  if (!symbol)
    return success();
  if (auto declared = dyn_cast<MeshOp>(symbol);
      declared && mesh.modelAxes && declared.getAxes() == mesh.axes &&
      declared.getSizes() == ArrayRef<int64_t>(mesh.sizes))
    return success();
  InFlightDiagnostic diag =
      module.emitError()
      << "module has a symbol called \"" << mesh.symbol.getValue()
      << "\"; if the step is sharded already, leave it as "
         "it is, otherwise choose another option 'mesh-name'";
  diag.attachNote(symbol->getLoc()) << "declared here";
  return diag;
}

namespace {
struct ShardParameters
    : public regather::tg::impl::ShardParametersPassBase<ShardParameters> {
  using ShardParametersPassBase::ShardParametersPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<func::FuncOp> entry =
        findStep(module, "make all but the step private");
    if (failed(entry))
      return signalPassFailure();
    if (!*entry || !hasParameters(*entry))
      return;
    FailureOr<DataMesh> dataMesh =
        readDataMesh(module, {mesh, meshName, shardAxis, replicateAxis,
                              modelAxes, copyAxes});
    if (failed(dataMesh) || failed(checkNameIsFree(module, *dataMesh)))
      return signalPassFailure();
    rewriteCounts(entry->getBody().front());
    dataMesh->segments = elastic;
    dataMesh->ignoresSizes = elastic && hasElasticModelAxis(*entry);
    if (failed(shardStep(*entry, *dataMesh)))
      signalPassFailure();
  }

private:
  LogicalResult shardStep(func::FuncOp func, const DataMesh &dataMesh) {
    FailureOr<ElementTypes> types = readElementTypes();
    if (failed(types) || failed(checkLayout()) || failed(checkElastic()) ||
        (elastic && failed(verifySegmentRanks(func, dataMesh))))
      return failure();
    FailureOr<Step> step =
        analyzeStep(func, dataMesh, *types, ignore, getBatchMode());
    if (failed(step) ||
        (elastic && step->batch &&
         failed(verifySegmentRows(func, dataMesh, *step->batch))) ||
        failed(repeatStep(*step, dataMesh, *types)))
      return failure();
    FailureOr<std::vector<Unit>> found = findUnits(*step, units);
    if (failed(found))
      return failure();
    if (layout == ParameterLayout::Flat)
      markFlatParameters(*step, dataMesh);
    GradientPlan plan = planGradients(*step, *found);
    if (failed(verifyOwnBatches(*step, plan)))
      return failure();
    FailureOr<std::vector<FlatBuffer>> buffers = planFlatBuffers(
        *step, *found, plan, dataMesh, *types, {alignment, optimizerGroups});
    if (failed(buffers))
      return failure();
    declareMesh(dataMesh);
    StepSharder sharder(*step, dataMesh, *types, *found, plan, *buffers);
    sharder.run();
    if (elastic)
      markElastic(func);
    numParametersSharded +=
        llvm::count_if(step->parameters, [](const Parameter &parameter) {
          return parameter.sharded;
        });
    numCopiesSharded +=
        llvm::count_if(step->parameters, [](const Parameter &parameter) {
          return parameter.over == Group::Wide;
        });
    numUnits += found->size();
    numFlatBuffers += buffers->size();
    numCollectives += sharder.getNumCollectives();
    numSplit += sharder.getPartitioner().numSplit;
    numKeptWhole += sharder.getPartitioner().numKeptWhole;
    return success();
  }

  /// Makes `step` one of several micro-batches.
  LogicalResult repeatStep(Step &step, const DataMesh &dataMesh,
                           const ElementTypes &types) {
    if (microBatches < 1)
      return emitError(getOperation().getLoc())
             << "option 'micro-batches' must be at least one, got "
             << static_cast<int64_t>(microBatches);
    if (microBatches == 1)
      return success();
    FailureOr<SmallVector<Operation *>> slices =
        expandMicroBatches(step, microBatches);
    if (failed(slices))
      return failure();
    FailureOr<Step> repeated =
        analyzeStep(step.func, dataMesh, types, ignore,
                    step.hasOwnBatches ? BatchMode::PerRank : getBatchMode());
    if (failed(repeated))
      return failure();
    step = std::move(*repeated);
    step.batchSlices.insert(slices->begin(), slices->end());
    return success();
  }

  /// Says what sums are trees over. Of the axes that `tg-shard-step` took care
  /// of, it has named those whose sums are.
  void markElastic(func::FuncOp func) {
    Builder builder(func.getContext());
    func->setAttr(kElasticAttrName, builder.getI64IntegerAttr(elastic));
    SmallVector<NamedAttribute> axes;
    for (const std::string &axis : modelAxes) {
      StringAttr name = builder.getStringAttr(axis);
      axes.emplace_back(name, builder.getI64IntegerAttr(
                                  getModelSegments(func, name).value_or(0)));
    }
    if (!axes.empty())
      func->setAttr(kModelSegmentsAttrName, builder.getDictionaryAttr(axes));
  }

  /// True if sums over an axis that cut the step before are trees.
  static bool hasElasticModelAxis(func::FuncOp func) {
    auto axes = func->getAttrOfType<DictionaryAttr>(kModelSegmentsAttrName);
    return axes && llvm::any_of(axes, [&](NamedAttribute axis) {
             return getModelSegments(func, axis.getName()).value_or(0) != 0;
           });
  }

  /// An elastic step is one of the global batch.
  BatchMode getBatchMode() const {
    return elastic && batch == BatchMode::Auto ? BatchMode::Global
                                               : BatchMode(batch);
  }

  LogicalResult checkElastic() {
    Location loc = getOperation().getLoc();
    if (elastic < 0)
      return emitError(loc) << "option 'elastic' must not be negative, got "
                            << static_cast<int64_t>(elastic);
    if (!elastic)
      return success();
    if (!copyAxes.empty())
      return emitError(loc)
             << "option 'elastic' makes bits independent of the number of "
                "ranks, but option 'copy-axes' sums over axis \""
             << copyAxes.front() << "\" in the order of its ranks";
    if (batch == BatchMode::PerRank)
      return emitError(loc)
             << "option 'elastic' cuts the batch of all ranks, but option "
                "'batch' says that each rank has its own";
    if (!reduceDtype.empty() && reduceDtype != "f32")
      return emitError(loc)
             << "option 'elastic' sums narrow gradients in f32 and others in "
                "their own type, but option 'reduce-dtype' asks for "
             << reduceDtype;
    return success();
  }

  LogicalResult checkLayout() {
    if (alignment < 1 || !llvm::isPowerOf2_64(alignment))
      return emitError(getOperation().getLoc())
             << "option 'alignment' must be a power of two, got "
             << static_cast<int64_t>(alignment);
    StringRef flatOption;
    if (!optimizerGroups.empty())
      flatOption = "optimizer-groups";
    else if (!copyAxes.empty())
      flatOption = "copy-axes";
    else if (alignment != ShardParametersPassOptions().alignment)
      flatOption = "alignment";
    if (layout == ParameterLayout::Flat || flatOption.empty())
      return success();
    return emitError(getOperation().getLoc())
           << "option '" << flatOption
           << "' is for layout=flat, but the layout is "
              "per-parameter";
  }

  FailureOr<ElementTypes> readElementTypes() {
    ModuleOp module = getOperation();
    FailureOr<Type> compute =
        readElementType(module, "compute-dtype", computeDtype);
    FailureOr<Type> parameter =
        readElementType(module, "parameter-dtype", parameterDtype);
    FailureOr<Type> reduce =
        readElementType(module, "reduce-dtype", reduceDtype);
    if (failed(compute) || failed(parameter) || failed(reduce))
      return failure();
    return ElementTypes{*compute, *parameter, *reduce};
  }

  void declareMesh(const DataMesh &dataMesh) {
    if (getOperation().lookupSymbol(dataMesh.symbol.getValue()))
      return;
    OpBuilder builder = OpBuilder::atBlockBegin(getOperation().getBody());
    MeshOp::create(builder, getOperation().getLoc(), dataMesh.symbol.getValue(),
                   dataMesh.axes,
                   DenseI64ArrayAttr::get(&getContext(), dataMesh.sizes));
  }
};
} // namespace
