//===- DispatchRows.cpp - Send rows to the ranks of their experts ---------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DispatchRows/DispatchedRegion.h"

#include "regather/Dialect/TG/IR/Elastic.h"
#include "regather/Dialect/TG/Steps/StepGraph.h"
#include "regather/Dialect/TG/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"

#define DEBUG_TYPE "tg-dispatch-rows"

namespace regather::tg {
#define GEN_PASS_DEF_DISPATCHROWSPASS
#include "regather/Dialect/TG/Transforms/Passes.h.inc"
} // namespace regather::tg

using namespace mlir;
using namespace regather;
using namespace regather::tg;
using namespace regather::tg::spmd;

/// The mesh that a step lies over.
static DataMesh getMesh(MeshOp op) {
  DataMesh mesh;
  mesh.symbol = FlatSymbolRefAttr::get(op);
  mesh.axes = op.getAxes();
  mesh.sizes.assign(op.getSizes().begin(), op.getSizes().end());
  return mesh;
}

/// Emits an error for what cannot be sent without breaking a promise of the
/// step.
static LogicalResult verifyCanSend(func::FuncOp func) {
  if (func->hasAttr(kElasticAttrName))
    return func.emitError() << "sums over rows that are sent are in the order "
                               "of ranks, but the step is elastic";
  for (unsigned i = 0, e = func.getNumResults(); i != e; ++i) {
    auto role = func.getResultAttrOfType<RoleAttr>(i, kRoleAttrName);
    if (role && role.getKind() == RoleKind::Overflow)
      return func.emitError() << "rows of this step are sent already: result "
                              << i << " is its overflow";
    if (role && role.getKind() == RoleKind::Update &&
        !isa<RankedTensorType>(func.getResultTypes()[i]))
      return func.emitError()
             << "a step that may have too little room cannot keep result " << i
             << ", an update of type " << func.getResultTypes()[i];
  }
  return success();
}

/// Where rows are missing, what the step replaces stays as it was.
static void keepUpdated(func::FuncOp func, Value missing,
                        Communication &communication) {
  Operation *terminator = func.getBody().front().getTerminator();
  PartNodes nodes(communication);
  for (unsigned i = 0, e = func.getNumResults(); i != e; ++i) {
    auto role = func.getResultAttrOfType<RoleAttr>(i, kRoleAttrName);
    if (!role || role.getKind() != RoleKind::Update)
      continue;
    Value updated = terminator->getOperand(i);
    Operation *place = missing.getDefiningOp();
    if (Operation *maker = updated.getDefiningOp();
        maker && place->isBeforeInBlock(maker))
      place = maker;
    communication.setPlace(place, getPhase(place).value_or(Phase::Forward),
                           place->getAttrOfType<StringAttr>(kModuleAttrName),
                           /*after=*/true);
    terminator->setOperand(
        i, nodes.make(NodeTarget::AtenWhereSelf,
                      cast<RankedTensorType>(updated.getType()),
                      {nodes.compare(NodeTarget::AtenGtScalar, missing, 0),
                       func.getArgument(role.getArgument()), updated}));
  }
}

/// Adds a result that says how many rows are missing on any rank.
static void returnMissing(func::FuncOp func, ArrayRef<Value> missing,
                          const DataMesh &mesh, Communication &communication) {
  PartNodes nodes(communication);
  Value most = missing.front();
  for (Value other : missing.drop_front())
    most = nodes.makeBinary(NodeTarget::AtenMaximumDefault, most, other);
  most = communication.reduce(most, Reduction::Max, mesh.axes).front();
  keepUpdated(func, most, communication);
  Operation *terminator = func.getBody().front().getTerminator();
  terminator->insertOperands(terminator->getNumOperands(), most);
  SmallVector<DictionaryAttr> attrs;
  for (unsigned i = 0, e = func.getNumResults(); i != e; ++i)
    attrs.push_back(func.getResultAttrDict(i));
  Builder builder(func.getContext());
  attrs.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
      kRoleAttrName, RoleAttr::get(func.getContext(), RoleKind::Overflow))));
  func.setType(builder.getFunctionType(func.getArgumentTypes(),
                                       terminator->getOperandTypes()));
  func.setAllResultAttrs(attrs);
}

/// Erases what nothing reads any more: rows in the order of their rank's own
/// sort, matrices of other ranks' experts, and rows that were sent for what is
/// computed elsewhere now.
static void eraseUnread(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    auto wait = dyn_cast<WaitOp>(op);
    Operation *collective = wait ? wait.getFuture().getDefiningOp() : &op;
    bool isUnread =
        isa_and_nonnull<AllGatherOp, AllToAllOp>(collective) && op.use_empty();
    if (isUnread || isOpTriviallyDead(&op))
      op.erase();
  }
}

namespace {
struct DispatchRows
    : public regather::tg::impl::DispatchRowsPassBase<DispatchRows> {
  using DispatchRowsPassBase::DispatchRowsPassBase;

  void runOnOperation() override {
    if (!(capacity > 0)) {
      emitError(getOperation().getLoc())
          << "option 'capacity' must be above 0, got "
          << static_cast<double>(capacity);
      return signalPassFailure();
    }
    if (chunks < 1) {
      emitError(getOperation().getLoc())
          << "option 'chunks' must be at least 1, got "
          << static_cast<int64_t>(chunks);
      return signalPassFailure();
    }
    for (FunctionOpInterface op : getSteps(getOperation()))
      if (auto func = dyn_cast<func::FuncOp>(op.getOperation());
          func && failed(dispatch(func)))
        return signalPassFailure();
  }

private:
  LogicalResult dispatch(func::FuncOp func) {
    Block &block = func.getBody().front();
    SortedRows rows(block);
    std::optional<DataMesh> mesh;
    std::unique_ptr<Communication> communication;
    std::unique_ptr<CountedNumbers> counted;
    SmallVector<Value> missing;
    const RowSort *last = nullptr;
    bool isKept = false;
    for (unsigned sort = 0; sort != rows.getNumSorts(); ++sort) {
      DispatchPlan plan = planDispatch(rows, sort);
      if (!plan.axes)
        continue;
      Operation *op = rows.getSort(sort).op;
      if (plan.obstacle) {
        ++numKept;
        isKept = true;
        remark::missed(
            op->getLoc(),
            remark::RemarkOpts::name("kept-gathered").category(DEBUG_TYPE))
            << remark::reason("all ranks of {0} get the matrices of all "
                              "experts, since {1} {2}",
                              printAxes(plan.axes), printTarget(plan.obstacle),
                              plan.reason);
        continue;
      }
      if (!mesh) {
        if (failed(verifyCanSend(func)))
          return failure();
        mesh = getMesh(
            SymbolTable::lookupNearestSymbolFrom<MeshOp>(op, plan.mesh));
        communication = std::make_unique<Communication>(*mesh, block);
        counted = std::make_unique<CountedNumbers>(*communication, block);
      }
      // One rank has all experts; another mesh would have a count of its own.
      int64_t ranks = mesh->countRanks(plan.axes);
      if (ranks == 1 || plan.mesh != mesh->symbol)
        continue;
      int64_t numRows = rows.getSort(sort).rows;
      if (numRows % chunks != 0)
        return op->emitError() << "option 'chunks' must divide the " << numRows
                               << " rows that each rank sorts here, got "
                               << static_cast<int64_t>(chunks);
      ExchangeSizes sizes = getSizes(plan, numRows, chunks, ranks, capacity);
      sizes.isPoisoned = poison;
      DispatchedRegion region(rows, sort, plan, sizes, *communication,
                              *counted);
      region.run();
      missing.push_back(region.getExchange().getMissing());
      last = &rows.getSort(sort);
      ++numDispatched;
      remark::passed(
          op->getLoc(),
          remark::RemarkOpts::name("dispatched").category(DEBUG_TYPE))
          << remark::metric("rows", numRows)
          << remark::metric("chunks", sizes.chunks)
          << remark::metric("room", sizes.room)
          << remark::metric("slots", sizes.chunks * sizes.getSlots())
          << remark::metric("experts", sizes.own);
    }
    if (missing.empty()) {
      emitWarning(func.getLoc())
          << "no rows are sent to experts: "
          << (isKept ? "something stands in the way, which the remark "
                       "kept-gathered names"
                     : "no rows are sorted for experts that ranks gather");
      return success();
    }
    communication->setPlace(
        missing.back().getDefiningOp(), Phase::Forward,
        last->op->getAttrOfType<StringAttr>(kModuleAttrName),
        /*after=*/true);
    returnMissing(func, missing, *mesh, *communication);
    eraseUnread(block);
    return success();
  }

  static std::string printAxes(AxesAttr axes) {
    std::string text;
    for (StringAttr axis : axes.getNames())
      text += (text.empty() ? "" : ", ") + axis.str();
    return text;
  }

  static std::string printTarget(Operation *op) {
    auto node = dyn_cast<NodeOp>(op);
    return ("'" + (node ? node.getTarget() : op->getName().getStringRef()) +
            "'")
        .str();
  }
};
} // namespace
