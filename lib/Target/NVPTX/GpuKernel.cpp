//===- GpuKernel.cpp - Kernels as functions of the gpu dialect ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuKernel.h"

#include "KnownAlignment.h"
#include "ThreadDistribution.h"

#include "regather/Conversion/Passes.h"
#include "regather/Dialect/TG/IR/LaunchAttributes.h"
#include "regather/Target/Kernel/BlockPlan.h"
#include "regather/Target/Kernel/BoundsChecks.h"
#include "regather/Target/Kernel/KernelBuffers.h"
#include "regather/Target/Kernel/KernelFunction.h"
#include "regather/Target/Kernel/NumberExpansion.h"
#include "regather/Target/Kernel/ScratchBuffers.h"
#include "regather/Target/NVPTX/LaunchPlan.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace regather;
using namespace regather::nvptx;

/// What a block touches, so that its threads have a few accesses each, and
/// pieces of one access for each lane of a warp.
static constexpr kernel::BlockLimits kBlockLimits = {32 * 1024, 128};

/// Scratch memory that a block may have as shared memory: what every GPU has
/// without asking, less what reductions and transposes take; and what the least
/// of the GPUs that code is made for (sm_80) gives to one that asks.
static constexpr int64_t kMaxStaticBytes = 32 * 1024;
static constexpr int64_t kMaxDynamicBytes = 144 * 1024;

/// Buffers of a block share memory if all of them together take more.
static constexpr uint64_t kMaxSeparateBytes = 8 * 1024;

void nvptx::loadGpuDialects(MLIRContext *context) {
  kernel::loadKernelDialects(context);
  context->loadDialect<gpu::GPUDialect, LLVM::LLVMDialect>();
}

namespace {
class GpuKernelBuilder {
public:
  GpuKernelBuilder(tg::KernelOp kernel, gpu::GPUModuleOp module, StringRef name)
      : kernel(kernel), module(module), name(name),
        b(kernel.getLoc(), OpBuilder::atBlockEnd(module.getBody())) {}

  LogicalResult build();

private:
  /// Lowers the kernel to a function on buffers, in a module of its own.
  FailureOr<func::FuncOp> lower(ModuleOp buffers);
  void createFunction();
  Value createScratch();
  void moveBody(func::FuncOp source);
  void moveGlobals(ModuleOp buffers);
  void setAttributes();

  tg::KernelOp kernel;
  gpu::GPUModuleOp module;
  StringRef name;
  ImplicitLocOpBuilder b;

  Launch launch;
  /// Device memory, of all blocks.
  int64_t scratchBytes = 0;
  kernel::ScratchLayout scratch;
  SmallVector<Type> bufferTypes;
  ThreadBlock block;
  Value blockNumber;
};
} // namespace

/// Copies of views as loops, which threads share.
static void expandCopies(func::FuncOp func) {
  IRRewriter rewriter(func.getContext());
  func.walk([&](memref::CopyOp op) {
    rewriter.setInsertionPoint(op);
    // What is computed where it belongs is there already.
    if (op.getSource() != op.getTarget())
      linalg::makeMemRefCopyOp(rewriter, op.getLoc(), op.getSource(),
                               op.getTarget());
    rewriter.eraseOp(op);
  });
}

FailureOr<func::FuncOp> GpuKernelBuilder::lower(ModuleOp buffers) {
  // Some nodes can be cut only as the operations that they stand for.
  PassManager nodes(b.getContext());
  nodes.addPass(createConvertTGNodesToLinalgPass());
  if (failed(nodes.run(kernel->getParentOfType<ModuleOp>())))
    return failure();
  kernel::BlockPlan plan = kernel::planBlocks(kernel, kBlockLimits);
  launch.blocks = plan.getNumBlocks();
  func::FuncOp func = kernel::buildKernelFunction(buffers, kernel, plan);
  bufferTypes = llvm::to_vector(func.getArgumentTypes().drop_back(2));
  if (failed(kernel::lowerToBuffers(buffers)) ||
      failed(kernel::expandFloatConversions(buffers,
                                            /*hasBFloat16Conversions=*/true)))
    return failure();
  func = *buffers.getOps<func::FuncOp>().begin();
  FailureOr<kernel::ScratchLayout> layout =
      kernel::placeInScratch(func, kMaxSeparateBytes);
  if (failed(layout))
    return failure();
  scratch = std::move(*layout);
  kernel::addBoundsChecks(
      func, [](OpBuilder &b, Location loc) { LLVM::Trap::create(b, loc); });
  expandCopies(func);
  return func;
}

/// The function with what every thread knows of itself.
void GpuKernelBuilder::createFunction() {
  scratch.bytes = static_cast<int64_t>(
      llvm::alignTo(scratch.bytes, kernel::kScratchAlignment));
  SmallVector<Type> types = bufferTypes;
  if (scratch.bytes > kMaxDynamicBytes) {
    scratchBytes = scratch.bytes * launch.blocks;
    types.push_back(MemRefType::get(scratchBytes, b.getI8Type()));
  } else if (scratch.bytes > kMaxStaticBytes) {
    launch.dynamicSharedBytes = scratch.bytes;
  }
  block.func =
      gpu::GPUFuncOp::create(b, name, b.getFunctionType(types, TypeRange()));
  block.func->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                      b.getUnitAttr());
  b.setInsertionPointToStart(&block.func.getBody().front());
  blockNumber = gpu::BlockIdOp::create(b, gpu::Dimension::x,
                                       b.getIndexAttr(launch.blocks));
  block.threads = launch.threads;
  block.thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x,
                                         b.getIndexAttr(launch.threads));
  Value warp = arith::ConstantIndexOp::create(b, kWarpThreads);
  block.lane = arith::RemUIOp::create(b, block.thread, warp);
  block.warp = arith::DivUIOp::create(b, block.thread, warp);
}

/// The scratch memory of the block.
Value GpuKernelBuilder::createScratch() {
  auto type = MemRefType::get(scratch.bytes, b.getI8Type());
  if (scratchBytes != 0) {
    Value size = arith::ConstantIndexOp::create(b, scratch.bytes);
    Value offset = arith::MulIOp::create(b, blockNumber, size);
    Value all = block.func.getArgument(bufferTypes.size());
    return memref::ViewOp::create(b, type, all, offset, ValueRange());
  }
  Value shared;
  if (launch.dynamicSharedBytes != 0) {
    auto space = gpu::AddressSpaceAttr::get(b.getContext(),
                                            gpu::AddressSpace::Workgroup);
    Value all = gpu::DynamicSharedMemoryOp::create(
        b, MemRefType::get(ShapedType::kDynamic, b.getI8Type(),
                           MemRefLayoutAttrInterface(), space));
    Value zero = arith::ConstantIndexOp::create(b, 0);
    shared = memref::ViewOp::create(
        b,
        MemRefType::get(scratch.bytes, b.getI8Type(),
                        MemRefLayoutAttrInterface(), space),
        all, zero, ValueRange());
  } else {
    shared = block.addShared({scratch.bytes}, b.getI8Type());
    block.func.setWorkgroupAttributionAttr(
        block.func.getNumWorkgroupAttributions() - 1,
        LLVM::LLVMDialect::getAlignAttrName(),
        b.getI64IntegerAttr(kernel::kScratchAlignment));
  }
  return memref::MemorySpaceCastOp::create(b, type, shared);
}

/// Takes over the body, for the number of the block.
void GpuKernelBuilder::moveBody(func::FuncOp source) {
  Block &body = source.getBody().front();
  SmallVector<Value> values(
      block.func.getArguments().take_front(bufferTypes.size()));
  Value one = arith::ConstantIndexOp::create(b, 1);
  values.append({blockNumber, arith::AddIOp::create(b, blockNumber, one)});
  if (!scratch.offsets.empty()) {
    Value memory = createScratch();
    for (auto [offset, argument] : llvm::zip_equal(
             scratch.offsets, body.getArguments().drop_front(values.size())))
      values.push_back(memref::ViewOp::create(
          b, cast<MemRefType>(argument.getType()), memory,
          arith::ConstantIndexOp::create(b, offset), ValueRange()));
  }
  for (auto [argument, value] : llvm::zip_equal(body.getArguments(), values))
    argument.replaceAllUsesWith(value);
  scf::ForOp blocks;
  for (scf::ForOp loop : body.getOps<scf::ForOp>())
    if (loop.getLowerBound() == blockNumber)
      blocks = loop;
  blocks.getInductionVar().replaceAllUsesWith(blockNumber);
  blocks->getBlock()->getOperations().splice(
      blocks->getIterator(), blocks.getBody()->getOperations(),
      blocks.getBody()->begin(), std::prev(blocks.getBody()->end()));
  blocks.erase();
  Block &target = block.func.getBody().front();
  target.getOperations().splice(target.end(), body.getOperations(),
                                body.begin(), std::prev(body.end()));
  b.setInsertionPointToEnd(&target);
  gpu::ReturnOp::create(b);
}

/// Constants, under names that no other kernel's have.
void GpuKernelBuilder::moveGlobals(ModuleOp buffers) {
  for (auto global :
       llvm::make_early_inc_range(buffers.getOps<memref::GlobalOp>())) {
    std::string renamed = (name + "_" + global.getSymName()).str();
    block.func.walk([&](memref::GetGlobalOp op) {
      if (op.getName() == global.getSymName())
        op.setName(renamed);
    });
    global.setSymName(renamed);
    global->moveBefore(block.func);
  }
}

void GpuKernelBuilder::setAttributes() {
  gpu::GPUFuncOp func = block.func;
  func.setKnownBlockSizeAttr(
      b.getDenseI32ArrayAttr({static_cast<int32_t>(launch.threads), 1, 1}));
  func.setKnownGridSizeAttr(
      b.getDenseI32ArrayAttr({static_cast<int32_t>(launch.blocks), 1, 1}));
  if (launch.dynamicSharedBytes != 0)
    func->setAttr(tg::kDynamicSharedBytesAttrName,
                  b.getI64IntegerAttr(launch.dynamicSharedBytes));
  if (scratchBytes != 0)
    func->setAttr(tg::kScratchBytesAttrName, b.getI64IntegerAttr(scratchBytes));
  // A result may lie where an argument lies, but only if it is computed from it
  // element by element: then no access can move past the other.
  for (unsigned i = 0, e = func.getNumArguments(); i != e; ++i) {
    func.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                    b.getUnitAttr());
    func.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                    b.getI64IntegerAttr(kBufferAlignment));
    if (i < kernel.getNumArguments())
      func.setArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName(),
                      b.getUnitAttr());
  }
}

LogicalResult GpuKernelBuilder::build() {
  OwningOpRef<ModuleOp> buffers = ModuleOp::create(kernel.getLoc());
  FailureOr<func::FuncOp> source = lower(*buffers);
  if (failed(source))
    return failure();
  launch.threads = countUsefulThreads(*source);
  createFunction();
  moveBody(*source);
  moveGlobals(*buffers);
  setAttributes();
  if (failed(distributeOverThreads(block)))
    return failure();
  return success();
}

LogicalResult nvptx::buildGpuKernel(tg::KernelOp kernel,
                                    gpu::GPUModuleOp module, StringRef name) {
  return GpuKernelBuilder(kernel, module, name).build();
}
