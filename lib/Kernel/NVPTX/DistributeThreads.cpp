//===- DistributeThreads.cpp - Kernels on the threads of blocks -----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadDistribution.h"

#include "regather/Kernel/NVPTX/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace regather;
using namespace regather::nvptx;

namespace regather::nvptx {
#define GEN_PASS_DEF_DISTRIBUTETHREADSPASS
#include "regather/Kernel/NVPTX/Passes.h.inc"
} // namespace regather::nvptx

namespace {
/// Memory that operations touch, as the values that views start from. Null for
/// memory that cannot be told apart from other memory.
using Roots = llvm::SmallSetVector<Value, 4>;

/// Memory that threads read and write. Accesses of the first thread alone are
/// kept apart, because that thread needs no barrier after its own accesses.
struct Accesses {
  Roots reads, writes, firstReads, firstWrites;

  bool touches(const Accesses &other) const;
  void add(const Accesses &other) {
    reads.insert_range(other.reads);
    writes.insert_range(other.writes);
    firstReads.insert_range(other.firstReads);
    firstWrites.insert_range(other.firstWrites);
  }
};

class Distributor {
public:
  explicit Distributor(ThreadBlock &block) : block(block) {}

  LogicalResult distribute(Block &body);

private:
  LogicalResult distribute(Operation *op);
  LogicalResult distributeRegions(Operation *op);
  /// Inserts a barrier if `op` conflicts with accesses that other threads may
  /// still make.
  void separate(Operation *op);

  ThreadBlock &block;
  /// Accesses since the last barrier.
  Accesses pending;
};
} // namespace

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static Value getRoot(Value buffer) {
  while (Operation *def = buffer.getDefiningOp()) {
    if (isa<memref::GetGlobalOp>(def))
      return buffer;
    auto view = dyn_cast<ViewLikeOpInterface>(def);
    if (!view)
      return nullptr;
    // A region of scratch memory overlaps no other one.
    if (isa<memref::ViewOp>(def) &&
        !view.getViewSource().getDefiningOp<memref::ViewOp>())
      return buffer;
    buffer = view.getViewSource();
  }
  auto argument = cast<BlockArgument>(buffer);
  return isa<gpu::GPUFuncOp>(argument.getOwner()->getParentOp()) ? buffer
                                                                 : nullptr;
}

static bool intersect(const Roots &a, const Roots &b) {
  if (a.empty() || b.empty())
    return false;
  return a.contains(nullptr) || b.contains(nullptr) ||
         llvm::any_of(a, [&](Value root) { return b.contains(root); });
}

bool Accesses::touches(const Accesses &other) const {
  return intersect(writes, other.writes) || intersect(writes, other.reads) ||
         intersect(reads, other.writes) ||
         intersect(writes, other.firstWrites) ||
         intersect(writes, other.firstReads) ||
         intersect(reads, other.firstWrites) ||
         intersect(firstWrites, other.writes) ||
         intersect(firstWrites, other.reads) ||
         intersect(firstReads, other.writes);
}

/// What an operation, without those in its regions that are not part of it,
/// touches.
static Accesses getAccesses(Operation *op) {
  Accesses accesses;
  if (auto structured = dyn_cast<linalg::LinalgOp>(op)) {
    ResultOwner owner = getResultOwner(structured);
    bool isSingle = owner == ResultOwner::FirstThreadAlone;
    Roots &reads = isSingle ? accesses.firstReads : accesses.reads;
    Roots &writes = owner == ResultOwner::AllThreads ? accesses.writes
                                                     : accesses.firstWrites;
    for (OpOperand &operand : op->getOpOperands())
      if (isa<MemRefType>(operand.get().getType()))
        (structured.isDpsInit(&operand) ? writes : reads)
            .insert(getRoot(operand.get()));
    op->walk(
        [&](memref::LoadOp load) { reads.insert(getRoot(load.getMemRef())); });
  } else if (auto load = dyn_cast<memref::LoadOp>(op)) {
    accesses.reads.insert(getRoot(load.getMemRef()));
  } else if (auto store = dyn_cast<memref::StoreOp>(op)) {
    accesses.firstWrites.insert(getRoot(store.getMemRef()));
  }
  return accesses;
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

void Distributor::separate(Operation *op) {
  Accesses accesses = getAccesses(op);
  if (pending.touches(accesses)) {
    OpBuilder b(op);
    gpu::BarrierOp::create(b, op->getLoc());
    pending = Accesses();
  }
  pending.add(accesses);
}

LogicalResult Distributor::distributeRegions(Operation *op) {
  // The next iteration follows the last operation of the one before.
  bool isLoop = isa<scf::ForOp>(op);
  if (isLoop) {
    Accesses inside;
    op->walk([&](Operation *inner) { inside.add(getAccesses(inner)); });
    if (!inside.writes.empty() || !inside.firstWrites.empty()) {
      OpBuilder b = OpBuilder::atBlockBegin(&op->getRegion(0).front());
      gpu::BarrierOp::create(b, op->getLoc());
      pending = Accesses();
    }
  }
  Accesses before = pending, after = pending;
  for (Region &region : op->getRegions()) {
    pending = before;
    for (Block &inner : region)
      if (failed(distribute(inner)))
        return failure();
    after.add(pending);
  }
  pending = after;
  return success();
}

LogicalResult Distributor::distribute(Operation *op) {
  if (auto structured = dyn_cast<linalg::LinalgOp>(op)) {
    if (!structured.hasPureBufferSemantics() || structured.hasDynamicShape())
      return op->emitError()
             << "'" << op->getName() << "' has sizes that are not known";
    separate(op);
    emitThreadLoops(structured, block);
    return success();
  }
  if (auto store = dyn_cast<memref::StoreOp>(op)) {
    separate(op);
    OpBuilder b(op);
    Location loc = op->getLoc();
    Value zero = arith::ConstantIndexOp::create(b, loc, 0);
    Value isFirst = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                          block.thread, zero);
    auto only = scf::IfOp::create(b, loc, isFirst, /*withElseRegion=*/false);
    op->moveBefore(only.thenBlock(), only.thenBlock()->begin());
    return success();
  }
  if (isa<memref::LoadOp>(op)) {
    separate(op);
    return success();
  }
  if (isa<scf::ForOp, scf::IfOp>(op))
    return distributeRegions(op);
  if (op->getNumRegions() == 0 &&
      (isPure(op) || op->hasTrait<OpTrait::IsTerminator>() ||
       isa<ViewLikeOpInterface, gpu::BarrierOp, memref::GetGlobalOp,
           LLVM::Trap>(op)))
    return success();
  return op->emitError() << "'" << op->getName()
                         << "' cannot be shared among threads";
}

LogicalResult Distributor::distribute(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(body))
    if (failed(distribute(&op)))
      return failure();
  return success();
}

int64_t regather::nvptx::countUsefulThreads(Operation *func) {
  int64_t threads = kWarpThreads;
  func->walk([&](linalg::LinalgOp op) {
    if (!op.hasDynamicShape() && op.getNumDpsInits() != 0)
      threads = std::max(threads, getUsefulThreads(op));
  });
  return threads;
}

/// Builds the numbers of the thread at the beginning of the function.
static ThreadBlock createThread(gpu::GPUFuncOp func, int64_t threads,
                                bool isElastic) {
  Block &entry = func.getBody().front();
  ImplicitLocOpBuilder b(func.getLoc(), OpBuilder::atBlockBegin(&entry));
  if (isa<gpu::BlockIdOp>(entry.front()))
    b.setInsertionPointAfter(&entry.front());
  ThreadBlock block;
  block.func = func;
  block.threads = threads;
  block.isElastic = isElastic;
  block.thread =
      gpu::ThreadIdOp::create(b, gpu::Dimension::x, b.getIndexAttr(threads));
  Value warp = arith::ConstantIndexOp::create(b, kWarpThreads);
  block.lane = arith::RemUIOp::create(b, block.thread, warp);
  block.warp = arith::DivUIOp::create(b, block.thread, warp);
  return block;
}

namespace {
class DistributeThreadsPass
    : public nvptx::impl::DistributeThreadsPassBase<DistributeThreadsPass> {
public:
  using DistributeThreadsPassBase::DistributeThreadsPassBase;

  void runOnOperation() override {
    gpu::GPUFuncOp func = getOperation();
    if (!func.getOps<gpu::ThreadIdOp>().empty())
      return;
    auto size = func.getKnownBlockSize();
    if (!size || size->empty()) {
      func.emitError() << "expects a known block size";
      return signalPassFailure();
    }
    ThreadBlock block = createThread(func, size->front(), elastic);
    if (failed(Distributor(block).distribute(func.getBody().front())))
      signalPassFailure();
  }
};
} // namespace
