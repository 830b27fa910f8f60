//===- PlaceScratch.cpp - Buffers of a kernel in scratch memory -----------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Analysis/MemoryPlanner/MemoryPlanner.h"
#include "regather/Kernel/Transforms/Passes.h"
#include "regather/Kernel/Transforms/ScratchLayout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace regather;

namespace regather::kernel {
#define GEN_PASS_DEF_PLACESCRATCHPASS
#include "regather/Kernel/Transforms/Passes.h.inc"
} // namespace regather::kernel

namespace {
/// Numbers of an operation and of the last one inside of it, in program order.
struct Extent {
  uint64_t first = 0, last = 0;
};
using Extents = llvm::DenseMap<Operation *, Extent>;
} // namespace

static Extents numberOps(func::FuncOp func) {
  Extents extents;
  uint64_t next = 0;
  func.walk<WalkOrder::PreOrder>(
      [&](Operation *op) { extents[op].first = next++; });
  func.walk<WalkOrder::PostOrder>([&](Operation *op) {
    Extent &extent = extents[op];
    extent.last = std::max(extent.last, extent.first);
    if (Operation *parent = op->getParentOp(); parent && op != func)
      extents[parent].last = std::max(extents[parent].last, extent.last);
  });
  return extents;
}

static std::optional<uint64_t> getBytes(MemRefType type) {
  if (!type.hasStaticShape() || !type.getLayout().isIdentity())
    return std::nullopt;
  Type element = type.getElementType();
  uint64_t bits = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  return type.getNumElements() * llvm::divideCeil(bits, 8);
}

/// The innermost block that everything that uses the buffer is in. An operation
/// may hand the buffer out of its region; a loop that does would need one for
/// each iteration.
static Block *findScope(memref::AllocOp alloc, ArrayRef<Operation *> users) {
  Block *scope = alloc->getBlock();
  for (Operation *user : users)
    while (!scope->findAncestorOpInBlock(*user)) {
      Operation *parent = scope->getParentOp();
      if (isa<LoopLikeOpInterface, func::FuncOp>(parent))
        return nullptr;
      scope = parent->getBlock();
    }
  return scope;
}

/// When the buffer is in use.
static std::optional<Extent> findLifetime(memref::AllocOp alloc,
                                          BufferViewFlowAnalysis &views,
                                          const Extents &extents) {
  SmallVector<Operation *> users;
  for (Value view : views.resolve(alloc))
    llvm::append_range(users, view.getUsers());
  Block *scope = findScope(alloc, users);
  if (!scope)
    return std::nullopt;
  Extent lifetime = extents.at(scope->findAncestorOpInBlock(*alloc));
  for (Operation *user : users)
    lifetime.last = std::max(
        lifetime.last, extents.at(scope->findAncestorOpInBlock(*user)).last);
  return lifetime;
}

/// What the function allocates, as buffers to place.
static LogicalResult collectRequests(func::FuncOp func,
                                     ArrayRef<memref::AllocOp> allocs,
                                     uint64_t maxSeparateBytes,
                                     MemoryPlanRequest &request) {
  Extents extents = numberOps(func);
  BufferViewFlowAnalysis views(func);
  uint64_t total = 0;
  for (memref::AllocOp alloc : allocs) {
    std::optional<uint64_t> bytes = getBytes(alloc.getType());
    std::optional<Extent> lifetime = findLifetime(alloc, views, extents);
    if (!bytes || !lifetime)
      return alloc->emitError()
             << "needs memory whose size or lifetime is not known";
    BufferRequest &buffer = request.buffers.emplace_back();
    buffer.size = *bytes;
    buffer.alignment = kernel::kScratchAlignment;
    buffer.begin = lifetime->first;
    buffer.end = lifetime->last + 1;
    total += *bytes;
  }
  if (total <= maxSeparateBytes)
    for (BufferRequest &buffer : request.buffers) {
      buffer.begin = 0;
      buffer.end = 1;
    }
  return success();
}

namespace {
/// A region that no other one overlaps.
struct Piece {
  uint64_t begin = 0, end = 0;
  /// Numbers of the buffers in it.
  SmallVector<size_t> buffers;
};
} // namespace

static SmallVector<Piece> findRegions(const MemoryPlanRequest &request,
                                      ArrayRef<uint64_t> offsets) {
  auto order = llvm::to_vector(llvm::seq<size_t>(0, offsets.size()));
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::pair(offsets[a], a) < std::pair(offsets[b], b);
  });
  SmallVector<Piece> regions;
  for (size_t i : order) {
    uint64_t end = offsets[i] + request.buffers[i].size;
    if (regions.empty() || offsets[i] >= regions.back().end)
      regions.push_back({offsets[i], end, {}});
    regions.back().end = std::max(regions.back().end, end);
    regions.back().buffers.push_back(i);
  }
  return regions;
}

/// Lets the buffers of a region be views of a new argument.
static void replaceAllocs(func::FuncOp func, const Piece &region,
                          ArrayRef<memref::AllocOp> allocs,
                          ArrayRef<uint64_t> offsets) {
  OpBuilder b = OpBuilder::atBlockBegin(&func.getBody().front());
  auto type = MemRefType::get(static_cast<int64_t>(region.end - region.begin),
                              b.getI8Type());
  unsigned number = func.getNumArguments();
  (void)func.insertArgument(number, type, DictionaryAttr(), func.getLoc());
  for (size_t i : region.buffers) {
    memref::AllocOp alloc = allocs[i];
    Value offset = arith::ConstantIndexOp::create(
        b, alloc.getLoc(), static_cast<int64_t>(offsets[i] - region.begin));
    Value view =
        memref::ViewOp::create(b, alloc.getLoc(), alloc.getType(),
                               func.getArgument(number), offset, ValueRange());
    alloc.replaceAllUsesWith(view);
  }
  // The builder may be in front of one of them.
  for (size_t i : region.buffers) {
    memref::AllocOp alloc = allocs[i];
    alloc.erase();
  }
}

namespace {
class PlaceScratchPass
    : public kernel::impl::PlaceScratchPassBase<PlaceScratchPass> {
public:
  using PlaceScratchPassBase::PlaceScratchPassBase;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    SmallVector<memref::AllocOp> allocs;
    func.walk([&](memref::AllocOp op) { allocs.push_back(op); });
    if (allocs.empty())
      return;
    MemoryPlanRequest request;
    if (failed(collectRequests(func, allocs, maxSeparateBytes, request)))
      return signalPassFailure();
    MemoryPlannerOptions options;
    // The quick orders will do.
    options.effort = 0;
    auto memory = planMemory(request, options);
    if (!memory) {
      func->emitError() << llvm::toString(memory.takeError());
      return signalPassFailure();
    }
    SmallVector<int64_t> offsets;
    for (const Piece &region : findRegions(request, memory->offsets)) {
      replaceAllocs(func, region, allocs, memory->offsets);
      offsets.push_back(static_cast<int64_t>(region.begin));
    }
    numBuffers += allocs.size();
    numRegions += offsets.size();
    kernel::setScratch(func, {static_cast<int64_t>(memory->peak), offsets});
  }
};
} // namespace
