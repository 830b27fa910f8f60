//===- ShardStep.cpp - Cut a step over axes of a mesh ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShardParameters/CountedIds.h"
#include "ShardStep/AxisDefaults.h"
#include "ShardStep/AxisSharder.h"
#include "ShardStep/CausalMasks.h"
#include "ShardStep/ElasticAxis.h"
#include "ShardStep/EqualViews.h"
#include "ShardStep/PlacementSearch.h"

#include "regather/Dialect/TG/Steps/StepEntry.h"
#include "regather/Dialect/TG/Transforms/ModelAxes.h"
#include "regather/Dialect/TG/Transforms/Passes.h"
#include "regather/Dialect/TG/Transforms/PlacementReport.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"

#define DEBUG_TYPE "tg-shard-step"

namespace regather::tg {
#define GEN_PASS_DEF_SHARDSTEPPASS
#include "regather/Dialect/TG/Transforms/Passes.h.inc"
} // namespace regather::tg

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::spmd;

namespace {
struct ShardStep : public regather::tg::impl::ShardStepPassBase<ShardStep> {
  using ShardStepPassBase::ShardStepPassBase;
  ShardStep(const ShardStepPassOptions &options, PlacementListener listener)
      : ShardStepPassBase(options), listener(std::move(listener)) {}

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<func::FuncOp> entry =
        findStep(module, "make all but the step private");
    if (failed(entry))
      return signalPassFailure();
    if (!*entry || !hasParameters(*entry))
      return;
    rewriteCounts(entry->getBody().front());
    if (failed(shardStep(*entry)))
      signalPassFailure();
  }

private:
  LogicalResult shardStep(func::FuncOp func) {
    ModuleOp module = getOperation();
    FailureOr<DataMesh> whole =
        readMesh(module, {mesh, meshName, /*shardAxis=*/"",
                          /*replicateAxis=*/""});
    if (failed(whole))
      return failure();
    if (Operation *symbol = module.lookupSymbol(whole->symbol.getValue())) {
      InFlightDiagnostic diag =
          module.emitError()
          << "module has a symbol called \"" << whole->symbol.getValue()
          << "\"; if the step is sharded already, leave it as it is, otherwise "
             "choose another option 'mesh-name'";
      diag.attachNote(symbol->getLoc()) << "declared here";
      return diag;
    }
    if (failed(checkIsWhole(func, *whole)))
      return failure();
    auto annotations = readAnnotations(module, *whole, shard);
    if (failed(annotations))
      return failure();
    std::vector<std::string> wanted(axes.begin(), axes.end());
    if (wanted.empty())
      wanted = findModelAxes(mesh, shard, {});
    if (failed(addAxisDefaults(func, *whole, wanted, *annotations)))
      return failure();
    FailureOr<SmallVector<StringRef>> order =
        chooseOrder(func, *whole, *annotations);
    if (failed(order))
      return failure();
    FailureOr<AxisSegments> elastic =
        readElasticAxis(func, *whole, elasticAxes, *order);
    if (failed(elastic))
      return failure();
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    MeshOp::create(builder, module.getLoc(), whole->symbol.getValue(),
                   whole->axes,
                   DenseI64ArrayAttr::get(&getContext(), whole->sizes));
    if (!order->empty())
      mergeEqualViews(func.getBody().front());
    SmallVector<unsigned> dataAxes;
    for (auto [number, axis] : llvm::enumerate(whole->axes.getNames()))
      if (!llvm::is_contained(*order, axis.getValue()))
        dataAxes.push_back(number);
    SmallVector<StringRef> done;
    for (StringRef axis : *order) {
      DataMesh axisMesh = getAxisMesh(*whole, axis, done);
      if (axis == elastic->axis) {
        axisMesh.segments = elastic->segments;
        axisMesh.segmented = Group::Shard;
      }
      if (failed(shardOver(func, axisMesh, *annotations, dataAxes)))
        return failure();
      done.push_back(axis);
    }
    markElasticAxis(func, *elastic);
    return success();
  }

  /// The axes in the order in which the step is cut over them.
  FailureOr<SmallVector<StringRef>>
  chooseOrder(func::FuncOp func, const DataMesh &whole,
              ArrayRef<Annotation> annotations) {
    SmallVector<StringRef> order;
    for (const std::string &axis : axes) {
      if (failed(checkAxis(getOperation(), whole, "axes", axis)))
        return failure();
      if (llvm::is_contained(order, axis))
        return emitError(getOperation().getLoc())
               << "option 'axes' lists axis \"" << axis << "\" twice";
      order.push_back(axis);
    }
    for (const Annotation &annotation : annotations)
      if (!axes.empty() && !llvm::is_contained(order, annotation.axis))
        return emitError(getOperation().getLoc())
               << "option 'shard' asks for \"" << annotation.text
               << "\", but option 'axes' does not list axis \""
               << annotation.axis << '"';
    if (!axes.empty())
      return order;
    std::vector<std::string> known = findModelAxes(mesh, shard, {});
    // What cuts an input cuts all that is made of it: other axes then find the
    // parts, and what they cut again are parts of these.
    for (bool wantsInputs : {true, false})
      for (StringAttr axis : whole.axes.getNames()) {
        auto cuts = [&](const Annotation &annotation) {
          return annotation.axis == axis.getValue();
        };
        bool cutsInputs =
            llvm::any_of(annotations, [&](const Annotation &annotation) {
              return cuts(annotation) && findInput(func, annotation.pattern);
            });
        if (llvm::is_contained(known, axis.getValue()) &&
            cutsInputs == wantsInputs)
          order.push_back(axis.getValue());
      }
    return order;
  }

  /// The mesh as seen by one axis, when the step lies over others already.
  DataMesh getAxisMesh(const DataMesh &whole, StringRef axis,
                       ArrayRef<StringRef> done) {
    DataMesh axisMesh = whole;
    axisMesh.shardAxes = axisMesh.dataAxes =
        AxesAttr::get(&getContext(), ArrayRef<StringRef>(axis));
    axisMesh.shardRanks = whole.countRanks(axisMesh.shardAxes);
    if (!done.empty())
      axisMesh.modelAxes = AxesAttr::get(&getContext(), done);
    return axisMesh;
  }

  /// True if the axis cuts an input behind its batch: along a sequence.
  static bool cutsPositions(func::FuncOp func, const DataMesh &axisMesh,
                            ArrayRef<Annotation> annotations) {
    StringRef axis = axisMesh.shardAxes.getNames().front().getValue();
    return llvm::any_of(annotations, [&](const Annotation &annotation) {
      return annotation.axis == axis && annotation.dim.value_or(0) > 0 &&
             findInput(func, annotation.pattern);
    });
  }

  static bool findInput(func::FuncOp func, StringRef name) {
    for (unsigned i = 0, e = func.getNumArguments(); i != e; ++i) {
      auto role = func.getArgAttrOfType<RoleAttr>(i, kRoleAttrName);
      auto own = func.getArgAttrOfType<StringAttr>(i, kNameAttrName);
      if (role && role.getKind() == RoleKind::Input && own &&
          own.getValue() == name)
        return true;
    }
    return false;
  }

  /// Chooses what nobody has said anything about.
  FailureOr<PlacementChoice> chooseSeeds(const Step &step,
                                         const DataMesh &axisMesh,
                                         const PlacementPrices *prices) {
    std::optional<int64_t> limit;
    if (keptLimit > 0)
      limit = keptLimit;
    PlacementChoice choice = searchPlacements(step, axisMesh, prices, limit);
    numTried += choice.numTried;
    numTied += choice.numTied;
    if (limit && choice.cost.keptBytes > *limit)
      return emitError(func::FuncOp(step.func).getLoc())
             << "axis " << axisMesh.shardAxes.getNames().front()
             << " of option 'mesh' leaves at least "
             << static_cast<int64_t>(choice.cost.keptBytes)
             << " bytes on a rank with any placements that were found, but "
                "option 'kept-limit' allows "
             << *limit;
    if (choice.seeds.empty())
      func::FuncOp(step.func).emitWarning()
          << "axis " << axisMesh.shardAxes.getNames().front()
          << " of option 'mesh' splits nothing: its " << axisMesh.shardRanks
          << " ranks do the same work, because no cut costs "
             "less; say with option 'shard' what lies over it";
    return choice;
  }

  void remarkChoice(func::FuncOp func, const PlacementChoice &choice) {
    for (const std::string &annotation : choice.annotations)
      remark::passed(func.getLoc(),
                     remark::RemarkOpts::name("placed").category(DEBUG_TYPE))
          << remark::reason("{0}", annotation);
    for (const OtherChoice &other : choice.others)
      remark::analysis(
          func.getLoc(),
          remark::RemarkOpts::name("other-placement").category(DEBUG_TYPE))
          << remark::reason("{0}", llvm::join(other.annotations, "; "))
          << remark::metric("cost", other.cost.getTotal())
          << remark::metric("kept_bytes", other.cost.keptBytes);
    remark::analysis(
        func.getLoc(),
        remark::RemarkOpts::name("placement-cost").category(DEBUG_TYPE))
        << remark::metric("sent_bytes", choice.cost.sentBytes)
        << remark::metric("tied_layers", choice.numTied)
        << remark::metric("kept_bytes", choice.cost.keptBytes)
        << remark::metric("flops", choice.cost.flops)
        << remark::metric("seconds", choice.cost.seconds)
        << remark::metric("kept_bytes_whole", choice.before.keptBytes)
        << remark::metric("flops_whole", choice.before.flops);
  }

  /// `func` has been cut, all of its layers.
  void remarkBound(func::FuncOp func, const PlacementChoice &choice,
                   const PlacementCost &cost) {
    if (!choice.bound)
      return;
    remark::analysis(
        func.getLoc(),
        remark::RemarkOpts::name("placement-bound").category(DEBUG_TYPE))
        << remark::metric("unit", choice.countsSeconds ? "seconds" : "bytes")
        << remark::metric("bound", *choice.bound)
        << remark::metric("cost", cost.getTotal())
        << remark::metric("relaxed", choice.relaxed)
        << remark::metric("gap", cost.getTotal() / *choice.bound - 1);
  }

  void reportChoice(const PlacementChoice &choice,
                    std::optional<double> wholeCost) {
    auto report = [](ArrayRef<std::string> annotations,
                     const PlacementCost &cost) {
      return ReportedPlacements{annotations.vec(), cost.getTotal(),
                                cost.keptBytes};
    };
    PlacementReport made;
    made.chosen = report(choice.annotations, choice.cost);
    for (const OtherChoice &other : choice.others)
      made.others.push_back(report(other.annotations, other.cost));
    made.countsSeconds = choice.countsSeconds;
    if (choice.bound && wholeCost) {
      made.bound = choice.bound;
      made.wholeCost = wholeCost;
    }
    listener(made);
  }

  /// What a step that was cut as annotations say costs by the same measure.
  void remarkCost(func::FuncOp func, const PlacementCost &cost) {
    remark::analysis(
        func.getLoc(),
        remark::RemarkOpts::name("annotated-cost").category(DEBUG_TYPE))
        << remark::metric("sent_bytes", cost.sentBytes)
        << remark::metric("kept_bytes", cost.keptBytes)
        << remark::metric("flops", cost.flops)
        << remark::metric("seconds", cost.seconds)
        << remark::metric("cost", cost.getTotal());
  }

  /// The times of the cluster for an axis; nothing without one, or in an
  /// elastic step, whose choices do not depend on how many ranks there are.
  struct AxisPrices {
    AxisPrices(Cluster cluster) : model(std::move(cluster)) {}

    CostModel model;
    std::optional<StepCosts> costs;
    std::optional<PlacementPrices> prices;
  };

  /// `dataAxes`: numbers of the axes that no axis of the model is.
  FailureOr<std::unique_ptr<AxisPrices>>
  loadPrices(const DataMesh &axisMesh, ArrayRef<unsigned> dataAxes) {
    if (cluster.empty() || axisMesh.segments)
      return std::unique_ptr<AxisPrices>();
    Result<Cluster> known = loadCluster(cluster);
    if (!known)
      return emitError(getOperation().getLoc()) << known.getMessage();
    auto loaded = std::make_unique<AxisPrices>(std::move(*known));
    FailureOr<StepCosts> costs =
        StepCosts::create(getOperation(), loaded->model);
    if (failed(costs))
      return failure();
    loaded->costs = std::move(*costs);
    loaded->prices.emplace(PlacementPrices{
        *loaded->costs,
        loaded->model.placeMeshGroup(axisMesh.sizes, dataAxes)});
    return loaded;
  }

  /// True if somebody hears of costs, and those of the axis are those of its
  /// ranks: an elastic step has the same sums on any number of them. Nothing
  /// else is said of a cluster that does not connect so many.
  bool countsCosts(const DataMesh &axisMesh) {
    if ((!listener && !getContext().getRemarkEngine()) || axisMesh.segments)
      return false;
    if (cluster.empty())
      return true;
    Result<Cluster> known = loadCluster(cluster);
    return known && !known->checkRanks(axisMesh.countRanks(axisMesh.axes));
  }

  LogicalResult shardOver(func::FuncOp func, const DataMesh &axisMesh,
                          ArrayRef<Annotation> annotations,
                          ArrayRef<unsigned> dataAxes) {
    bool isCut = axisMesh.getBlocks(Group::Shard) > 1;
    if (isCut && cutsPositions(func, axisMesh, annotations))
      makeCausalMasks(func.getBody().front());
    FailureOr<Step> step = analyzeStep(func, axisMesh, ElementTypes(),
                                       /*ignore=*/{}, BatchMode::Global);
    if (failed(step))
      return failure();
    FailureOr<AxisSeeds> seeds = findSeeds(*step, axisMesh, annotations);
    if (failed(seeds))
      return failure();
    if (!isCut)
      return success();
    bool isSearched = seeds->empty();
    std::unique_ptr<AxisPrices> prices;
    if (isSearched || countsCosts(axisMesh)) {
      FailureOr<std::unique_ptr<AxisPrices>> loaded =
          loadPrices(axisMesh, dataAxes);
      if (failed(loaded))
        return failure();
      prices = std::move(*loaded);
    }
    const PlacementPrices *times = prices ? &*prices->prices : nullptr;
    PlacementChoice choice;
    if (isSearched) {
      FailureOr<PlacementChoice> chosen = chooseSeeds(
          *step, axisMesh.segments ? getSearchMesh(axisMesh) : axisMesh, times);
      if (failed(chosen))
        return failure();
      choice = std::move(*chosen);
      seeds = choice.seeds;
      if (!seeds->empty())
        remarkChoice(func, choice);
    }
    AxisSharder sharder(*step, axisMesh, *seeds);
    if (gatherExperts)
      sharder.gatherExperts();
    sharder.run();
    std::optional<double> wholeCost;
    if (countsCosts(axisMesh) && !seeds->empty()) {
      // All layers are there now.
      const FoldedStep whole;
      bool countsTimes = !isSearched || choice.countsSeconds;
      PlacementCost cost =
          PlacementCosts(whole, axisMesh, countsTimes ? times : nullptr)
              .count(func);
      wholeCost = cost.getTotal();
      if (isSearched)
        remarkBound(func, choice, cost);
      else
        remarkCost(func, cost);
    }
    if (listener && isSearched && !seeds->empty())
      reportChoice(choice, wholeCost);
    numParametersSharded += sharder.countShardedParameters();
    numCollectives += sharder.getNumCollectives();
    numSplit += sharder.getPartitioner().numSplit;
    numKeptWhole += sharder.getPartitioner().numKeptWhole;
    return success();
  }

  /// Null if nobody listens.
  PlacementListener listener;
};
} // namespace

std::unique_ptr<Pass>
regather::tg::createShardStepPass(const ShardStepPassOptions &options,
                                  PlacementListener listener) {
  return std::make_unique<ShardStep>(options, std::move(listener));
}
