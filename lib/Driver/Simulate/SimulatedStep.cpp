//===- SimulatedStep.cpp - A step on a cluster ----------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Driver/SimulatedStep.h"

#include "regather/Driver/StepStatistics.h"

#include "regather/Analysis/Cost/MeshRefinement.h"
#include "regather/Analysis/Modules/ModuleUnits.h"
#include "regather/Dialect/TG/Transforms/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace regather;
using namespace regather::tg;

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

ModelFlops regather::countModelFlops(ModuleOp module) {
  StepStatistics stats = collectStatistics(module);
  ModelFlops model;
  for (const auto &[phase, flops] : stats.flopsByPhase)
    model.flops += flops;
  model.flops -= stats.boundary.recomputedFlops;
  std::map<std::string, double> flopsOfTypes;
  module.walk([&](CostOpInterface op) {
    if (op->getNumOperands() == 0 || !op.isLibraryCall())
      return;
    auto tensor = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
    if (!tensor)
      return;
    std::string type;
    llvm::raw_string_ostream(type) << tensor.getElementType();
    flopsOfTypes[type] += op.getFlops();
  });
  auto most = llvm::max_element(flopsOfTypes, [](const auto &a, const auto &b) {
    return a.second < b.second;
  });
  if (most != flopsOfTypes.end())
    model.type = most->first;
  return model;
}

//===----------------------------------------------------------------------===//
// What is shown of operations
//===----------------------------------------------------------------------===//

static std::string getTarget(Operation *op) {
  if (auto node = dyn_cast<NodeOp>(op))
    return node.getTarget().str();
  if (auto launch = dyn_cast<LaunchOp>(op))
    return ("@" + launch.getKernel()).str();
  return op->getName().getStringRef().str();
}

static BoxKind getKind(Operation *op, const StepGraph &graph) {
  if (auto collective = dyn_cast<CollectiveOpInterface>(op))
    return llvm::StringSwitch<BoxKind>(op->getName().stripDialect())
        .Case("all_gather", BoxKind::AllGather)
        .Case("reduce_scatter", BoxKind::ReduceScatter)
        .Case("all_reduce", BoxKind::AllReduce)
        .Default(BoxKind::OtherCollective);
  if (isa<HostCopyOpInterface>(op))
    return BoxKind::OtherCollective;
  std::optional<Phase> phase = getPhase(op);
  if (phase == Phase::Optimizer)
    return BoxKind::Optimizer;
  return graph.isBackward(op) ? BoxKind::Backward : BoxKind::Forward;
}

static std::vector<TimelineOp> describeOps(const StepGraph &graph) {
  std::vector<TimelineOp> ops;
  std::vector<std::string> names = getOperationNames(graph);
  std::vector<StringRef> paths;
  for (auto [op, name] : llvm::zip(graph.getOps(), names)) {
    TimelineOp &shown = ops.emplace_back();
    shown.name = std::move(name);
    shown.target = getTarget(op);
    if (auto module = op->getAttrOfType<StringAttr>(kModuleAttrName))
      shown.module = module.str();
    shown.kind = getKind(op, graph);
  }
  for (const TimelineOp &op : ops)
    paths.push_back(op.module);
  // Layers are told apart by their parity: `layers.3` is shaded.
  ModuleBlocks blocks(paths);
  for (TimelineOp &op : ops) {
    unsigned number = 0;
    StringRef block = blocks.getBlock(op.module);
    op.isShaded =
        !block.rsplit('.').second.getAsInteger(10, number) && number % 2 == 1;
  }
  return ops;
}

LogicalResult regather::formKernels(ModuleOp module,
                                    const ProgramOptions &options) {
  PassManager pm(module.getContext());
  buildKernelPipeline(pm, options);
  return pm.run(module);
}

//===----------------------------------------------------------------------===//
// Communication
//===----------------------------------------------------------------------===//

/// Checks that all communication is of one mesh and can be seen.
static LogicalResult verifyCommunication(const StepGraph &graph) {
  for (Operation *op : graph.getOps()) {
    WalkResult walk = op->walk([&](CollectiveOpInterface inner) {
      if (inner != op)
        return WalkResult(inner->emitError()
                          << "communication in control flow cannot be "
                             "simulated");
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return failure();
  }
  return success();
}

namespace {
/// The ranks of a step as one mesh, and the axes of it that each stream of
/// collectives runs over.
struct StepMesh {
  std::vector<int64_t> sizes;
  std::vector<std::vector<unsigned>> axes;
};
} // namespace

/// Subgroups are axes of a mesh of their own, over the same ranks.
static FailureOr<StepMesh> mergeMeshes(const AnalyzedStep &step,
                                       std::vector<StreamGroup> &streams) {
  StepMesh merged;
  llvm::SetVector<MeshOp> meshes;
  if (step.mesh)
    meshes.insert(step.mesh);
  for (const StreamGroup &group : streams)
    if (!group.isHost())
      meshes.insert(group.mesh);
  if (meshes.empty()) {
    merged.sizes = {step.signature.ranks};
    merged.axes.resize(streams.size());
    return merged;
  }
  std::vector<std::vector<int64_t>> sizes;
  std::optional<MeshRefinement> refinement;
  for (MeshOp mesh : meshes) {
    sizes.emplace_back(mesh.getSizes().begin(), mesh.getSizes().end());
    refinement = refineMeshes(sizes);
    if (refinement)
      continue;
    MeshOp first = meshes.front();
    InFlightDiagnostic diag = mesh.emitError()
                              << "the step communicates over mesh \""
                              << mesh.getSymName()
                              << "\", whose axes do not fit those of mesh \""
                              << first.getSymName() << '"';
    diag.attachNote(first.getLoc()) << "the other mesh";
    return diag;
  }
  merged.sizes = refinement->sizes;
  for (StreamGroup &group : streams) {
    // Each rank copies by itself.
    if (group.isHost()) {
      merged.axes.emplace_back();
      continue;
    }
    size_t mesh = llvm::find(meshes, group.mesh) - meshes.begin();
    std::vector<unsigned> &axes = merged.axes.emplace_back();
    for (unsigned axis : group.getAxisNumbers())
      llvm::append_range(axes, refinement->parts[mesh][axis]);
  }
  return merged;
}

namespace {
/// How groups lie in the cluster, by number.
class PlacementTable {
public:
  explicit PlacementTable(const CostModel &model) : model(model) {}
  uint32_t add(ArrayRef<int64_t> members) {
    GroupPlacement placement = model.placeGroup(members);
    const auto *it = llvm::find(placements, placement);
    if (it == placements.end()) {
      placements.push_back(placement);
      return placements.size() - 1;
    }
    return it - placements.begin();
  }
  const GroupPlacement &operator[](uint32_t number) const {
    return placements[number];
  }

private:
  const CostModel &model;
  SmallVector<GroupPlacement> placements;
};

/// What a collective takes on a group that lies somewhere.
struct CollectiveSize {
  CollectiveKind kind = CollectiveKind::AllGather;
  double bytes = 0;
  /// A copy between device and host, wherever that is.
  bool isHostCopy = false;
};
} // namespace

static std::vector<std::string> nameStreams(TimedStep &built) {
  std::vector<std::string> names;
  for (auto [stream, group] : llvm::zip(built.program.streams, built.streams)) {
    std::string name;
    if (group.isHost()) {
      names.push_back(built.program.links[stream.link].name);
      continue;
    }
    for (StringAttr axis : group.axes.getNames())
      name += (name.empty() ? "" : ",") + axis.str();
    names.push_back(name + " · " + built.program.links[stream.link].name);
  }
  return names;
}

FailureOr<SimulatedStep> regather::describeStep(const AnalyzedStep &step,
                                                const CostModel &model) {
  func::FuncOp entry = step.entry;
  StepGraph graph(entry.front());
  if (failed(verifyCommunication(graph)))
    return failure();
  FailureOr<StepCosts> costs =
      StepCosts::create(entry->getParentOfType<ModuleOp>(), model);
  if (failed(costs))
    return failure();
  TimedStep built = buildTimedStep(graph, makeStepTiming(*costs));
  SimulatedStep result;
  result.ops = describeOps(graph);
  result.streams = nameStreams(built);
  result.ranks = step.signature.ranks;

  FailureOr<StepMesh> mesh = mergeMeshes(step, built.streams);
  if (failed(mesh))
    return failure();
  auto placements = std::make_shared<PlacementTable>(model);
  result.classes = findRankClasses(mesh->sizes, mesh->axes,
                                   [&](uint32_t, ArrayRef<int64_t> members) {
                                     return placements->add(members);
                                   });

  auto collectives = std::make_shared<std::vector<CollectiveSize>>();
  collectives->resize(result.ops.size());
  for (auto [i, op] : llvm::enumerate(graph.getOps())) {
    if (auto copy = dyn_cast<HostCopyOpInterface>(op)) {
      result.ops[i].bytes = getTensorBytes(copy.getInputs().getTypes());
      (*collectives)[i].bytes = static_cast<double>(result.ops[i].bytes);
      (*collectives)[i].isHostCopy = true;
      continue;
    }
    auto collective = dyn_cast<CollectiveOpInterface>(op);
    if (!collective)
      continue;
    MeshOp over = lookupMesh(collective, collective.getMeshAttr());
    result.ops[i].bytes = collective.getReceivedBytes(
        over.getGroupSize(collective.getAxesAttr()));
    (*collectives)[i] = {getCollectiveKind(collective),
                         static_cast<double>(result.ops[i].bytes),
                         /*isHostCopy=*/false};
  }
  result.groupSeconds = [placements, collectives, &model](uint32_t op,
                                                          uint32_t placement) {
    const CollectiveSize &size = (*collectives)[op];
    if (size.isHostCopy)
      return model.hostCopySeconds(size.bytes);
    return model.collectiveSeconds(size.kind, size.bytes,
                                   (*placements)[placement]);
  };
  result.program = std::move(built.program);
  return result;
}

SimulationResult regather::simulateStep(const SimulatedStep &step,
                                        ArrayRef<uint32_t> order,
                                        bool overlapGroups) {
  SimulationOptions options;
  options.serializesConflicts = !overlapGroups;
  options.groupSeconds = step.groupSeconds;
  return simulate(step.program, order, step.classes, options);
}
