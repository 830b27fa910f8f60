//===- GpuKernel.cpp - Kernels as functions of the gpu dialect ------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuKernel.h"

#include "KernelStages.h"
#include "KnownAlignment.h"
#include "ThreadDistribution.h"

#include "regather/Dialect/TG/IR/KernelAttributes.h"
#include "regather/Kernel/NVPTX/LaunchPlan.h"
#include "regather/Kernel/Transforms/KernelFunction.h"
#include "regather/Kernel/Transforms/KernelPipelines.h"
#include "regather/Kernel/Transforms/ScratchLayout.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace regather;
using namespace regather::nvptx;

/// What a block touches, so that its threads have a few accesses each, and
/// pieces of one access for each lane of a warp.
static constexpr kernel::TileLimits kTileLimits = {32 * 1024, 128};

/// Scratch memory that a block may have as shared memory: what every GPU has
/// without asking, less what reductions and transposes take; and what the least
/// of the GPUs that code is made for (sm_80) gives to one that asks.
static constexpr int64_t kMaxStaticBytes = 32 * 1024;
static constexpr int64_t kMaxDynamicBytes = 144 * 1024;

/// Threads that a multiprocessor has room for.
static constexpr int64_t kMaxResidentThreads = 2048;

/// Device memory that the blocks of a launch share, about, and the fewest that
/// are launched for want of it: two for each multiprocessor of an H100.
static constexpr int64_t kMaxDeviceBytes = 128 * 1024 * 1024;
static constexpr int64_t kMinLaunchedBlocks = 264;

/// Buffers of a block share memory if all of them together take more.
static constexpr uint64_t kMaxSeparateBytes = 8 * 1024;

void nvptx::loadGpuDialects(MLIRContext *context) {
  kernel::loadKernelDialects(context);
  context->loadDialect<gpu::GPUDialect, LLVM::LLVMDialect, nvgpu::NVGPUDialect,
                       NVVM::NVVMDialect>();
}

namespace {
/// A stage on its way to a function of the gpu dialect.
struct LoweredStage {
  OwningOpRef<ModuleOp> module;
  func::FuncOp func;
  Launch launch;
  /// Blocks that the stage is cut into. One launched block may compute several
  /// of them.
  int64_t numBlocks = 1;
  /// Memory of a launched block.
  kernel::ScratchLayout scratch;

  /// What blocks need of device memory.
  int64_t getDeviceBytes() const {
    return scratch.bytes > kMaxDynamicBytes ? scratch.bytes * launch.blocks : 0;
  }
};

/// Builds the functions of all stages.
class GpuKernelBuilder {
public:
  GpuKernelBuilder(tg::KernelOp kernel, gpu::GPUModuleOp module, StringRef name)
      : kernel(kernel), module(module), name(name) {}

  LogicalResult build();

private:
  FailureOr<LoweredStage> lower(KernelStage &stage);
  void placeTemporaries(ArrayRef<RankedTensorType> types);

  tg::KernelOp kernel;
  gpu::GPUModuleOp module;
  StringRef name;
  /// Types of the arguments of all functions.
  SmallVector<Type> types;
  /// Where the temporaries lie in device memory, behind what blocks need.
  SmallVector<std::pair<MemRefType, int64_t>> temporaries;
  int64_t scratchBytes = 0;
};

/// Builds the function of one stage.
class StageBuilder {
public:
  StageBuilder(const KernelStage &stage, LoweredStage &lowered,
               gpu::GPUModuleOp module, ArrayRef<Type> types)
      : stage(stage), lowered(lowered), types(types),
        b(module.getLoc(), OpBuilder::atBlockEnd(module.getBody())) {}

  LogicalResult build(ArrayRef<std::pair<MemRefType, int64_t>> temporaries,
                      unsigned numArguments, int64_t scratchBytes);

private:
  void createFunction();
  Value createScratch();
  void moveBody(ArrayRef<std::pair<MemRefType, int64_t>> temporaries);
  void moveGlobals();
  void setAttributes(unsigned numArguments, int64_t scratchBytes);

  const KernelStage &stage;
  LoweredStage &lowered;
  ArrayRef<Type> types;
  ImplicitLocOpBuilder b;
  ThreadBlock block;
  Value blockNumber;
};
} // namespace

/// Lowers a stage to a function on buffers, in a module of its own.
FailureOr<LoweredStage> GpuKernelBuilder::lower(KernelStage &stage) {
  LoweredStage lowered;
  lowered.module = ModuleOp::create(kernel.getLoc());
  lowered.numBlocks = stage.plan.getNumTiles();
  OpBuilder builder = OpBuilder::atBlockEnd(lowered.module->getBody());
  lowered.func = kernel::buildKernelFunction(builder, stage.kernel, stage.plan);
  PassManager pm(kernel.getContext());
  kernel::buildBufferPipeline(pm);
  kernel::ScratchPipelineOptions options;
  options.nativeBFloat16 = true;
  options.maxSeparateBytes = kMaxSeparateBytes;
  options.report = kernel::BoundsReport::Trap;
  options.dropSelfCopies = true;
  kernel::buildScratchPipeline(pm, options);
  if (failed(pm.run(*lowered.module)))
    return failure();
  lowered.scratch = kernel::getScratch(lowered.func);
  lowered.scratch.bytes = static_cast<int64_t>(
      llvm::alignTo(lowered.scratch.bytes, kernel::kScratchAlignment));
  // Results without elements have no blocks, but a launch has one.
  lowered.launch.blocks = std::max<int64_t>(lowered.numBlocks, 1);
  if (lowered.getDeviceBytes() > kMaxDeviceBytes)
    lowered.launch.blocks = std::min(
        lowered.numBlocks,
        std::max(kMinLaunchedBlocks, kMaxDeviceBytes / lowered.scratch.bytes));
  lowered.launch.threads = countUsefulThreads(lowered.func);
  if (lowered.scratch.bytes > kMaxStaticBytes && lowered.getDeviceBytes() == 0)
    lowered.launch.dynamicSharedBytes = lowered.scratch.bytes;
  return lowered;
}

//===----------------------------------------------------------------------===//
// Function of a stage
//===----------------------------------------------------------------------===//

/// The function with what every thread knows of itself.
void StageBuilder::createFunction() {
  const Launch &launch = lowered.launch;
  block.func = gpu::GPUFuncOp::create(b, launch.symbol,
                                      b.getFunctionType(types, TypeRange()));
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
Value StageBuilder::createScratch() {
  int64_t bytes = lowered.scratch.bytes;
  auto type = MemRefType::get(bytes, b.getI8Type());
  if (lowered.getDeviceBytes() != 0) {
    Value size = arith::ConstantIndexOp::create(b, bytes);
    Value offset = arith::MulIOp::create(b, blockNumber, size);
    Value all = block.func.getArgument(block.func.getNumArguments() - 1);
    return memref::ViewOp::create(b, type, all, offset, ValueRange());
  }
  Value shared;
  if (lowered.launch.dynamicSharedBytes != 0) {
    auto space = gpu::AddressSpaceAttr::get(b.getContext(),
                                            gpu::AddressSpace::Workgroup);
    Value all = gpu::DynamicSharedMemoryOp::create(
        b, MemRefType::get(ShapedType::kDynamic, b.getI8Type(),
                           MemRefLayoutAttrInterface(), space));
    Value zero = arith::ConstantIndexOp::create(b, 0);
    shared = memref::ViewOp::create(b,
                                    MemRefType::get(bytes, b.getI8Type(),
                                                    MemRefLayoutAttrInterface(),
                                                    space),
                                    all, zero, ValueRange());
  } else {
    shared = block.addShared({bytes}, b.getI8Type());
    block.func.setWorkgroupAttributionAttr(
        block.func.getNumWorkgroupAttributions() - 1,
        LLVM::LLVMDialect::getAlignAttrName(),
        b.getI64IntegerAttr(kernel::kScratchAlignment));
  }
  return memref::MemorySpaceCastOp::create(b, type, shared);
}

/// The beginning of a buffer, as a buffer of its own.
static Value castToBeginning(ImplicitLocOpBuilder &b, Value buffer,
                             MemRefType type) {
  if (buffer.getType() == type)
    return buffer;
  SmallVector<int64_t> strides;
  int64_t offset;
  (void)type.getStridesAndOffset(strides, offset);
  return memref::ReinterpretCastOp::create(b, type, buffer, offset,
                                           type.getShape(), strides);
}

/// Takes over the body, for the number of the block.
void StageBuilder::moveBody(
    ArrayRef<std::pair<MemRefType, int64_t>> temporaries) {
  Block &body = lowered.func.getBody().front();
  // The last argument is device memory, if there are temporaries.
  size_t numBuffers = types.size() - (temporaries.empty() ? 0 : 1);
  llvm::SmallDenseMap<unsigned, Value> views;
  auto getBuffer = [&](unsigned number) -> Value {
    if (number < numBuffers)
      return block.func.getArgument(number);
    Value &view = views[number];
    auto [type, offset] = temporaries[number - numBuffers];
    if (!view)
      view = memref::ViewOp::create(b, type, block.func.getArgument(numBuffers),
                                    arith::ConstantIndexOp::create(b, offset),
                                    ValueRange());
    return view;
  };
  SmallVector<Value> values;
  for (ArrayRef<unsigned> buffers : {stage.arguments, stage.results})
    for (unsigned number : buffers) {
      auto type = cast<MemRefType>(body.getArgument(values.size()).getType());
      values.push_back(castToBeginning(b, getBuffer(number), type));
    }
  values.append(
      {blockNumber, arith::ConstantIndexOp::create(b, lowered.numBlocks)});
  if (!lowered.scratch.offsets.empty()) {
    Value memory = createScratch();
    for (auto [offset, argument] :
         llvm::zip_equal(lowered.scratch.offsets,
                         body.getArguments().drop_front(values.size())))
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
  // Of results without elements, nothing is computed: there is no loop.
  if (blocks && lowered.launch.blocks == lowered.numBlocks) {
    blocks.getInductionVar().replaceAllUsesWith(blockNumber);
    blocks->getBlock()->getOperations().splice(
        blocks->getIterator(), blocks.getBody()->getOperations(),
        blocks.getBody()->begin(), std::prev(blocks.getBody()->end()));
    blocks.erase();
  } else if (blocks) {
    blocks.setStep(arith::ConstantIndexOp::create(b, lowered.launch.blocks));
  }
  Block &target = block.func.getBody().front();
  target.getOperations().splice(target.end(), body.getOperations(),
                                body.begin(), std::prev(body.end()));
  b.setInsertionPointToEnd(&target);
  gpu::ReturnOp::create(b);
}

/// Constants, under names that no other kernel's have.
void StageBuilder::moveGlobals() {
  for (auto global :
       llvm::make_early_inc_range(lowered.module->getOps<memref::GlobalOp>())) {
    std::string renamed =
        (block.func.getName() + "_" + global.getSymName()).str();
    block.func.walk([&](memref::GetGlobalOp op) {
      if (op.getName() == global.getSymName())
        op.setName(renamed);
    });
    global.setSymName(renamed);
    global->moveBefore(block.func);
  }
}

void StageBuilder::setAttributes(unsigned numArguments, int64_t scratchBytes) {
  gpu::GPUFuncOp func = block.func;
  const Launch &launch = lowered.launch;
  func.setKnownBlockSizeAttr(
      b.getDenseI32ArrayAttr({static_cast<int32_t>(launch.threads), 1, 1}));
  func.setKnownGridSizeAttr(
      b.getDenseI32ArrayAttr({static_cast<int32_t>(launch.blocks), 1, 1}));
  // Large blocks leave a multiprocessor idle at their barriers if there is no
  // other one beside them.
  if (launch.threads > kMaxResidentThreads / 4 &&
      lowered.scratch.bytes <= kMaxStaticBytes)
    func->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                  b.getI32IntegerAttr(static_cast<int32_t>(kMaxResidentThreads /
                                                           launch.threads)));
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
    if (i < numArguments)
      func.setArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName(),
                      b.getUnitAttr());
  }
}

LogicalResult
StageBuilder::build(ArrayRef<std::pair<MemRefType, int64_t>> temporaries,
                    unsigned numArguments, int64_t scratchBytes) {
  createFunction();
  moveBody(temporaries);
  moveGlobals();
  setAttributes(numArguments, scratchBytes);
  return distributeOverThreads(block);
}

//===----------------------------------------------------------------------===//
// Functions of a kernel
//===----------------------------------------------------------------------===//

void GpuKernelBuilder::placeTemporaries(ArrayRef<RankedTensorType> tensors) {
  for (RankedTensorType type : tensors) {
    temporaries.emplace_back(kernel::getBufferType(type), scratchBytes);
    scratchBytes = static_cast<int64_t>(llvm::alignTo(
        scratchBytes + tg::getTensorBytes(type), kernel::kScratchAlignment));
  }
}

LogicalResult GpuKernelBuilder::build() {
  for (TypeRange range : {TypeRange(kernel.getArgumentTypes()),
                          TypeRange(kernel.getResultTypes())})
    for (Type type : range)
      types.push_back(kernel::getBufferType(cast<RankedTensorType>(type)));
  FailureOr<KernelStages> planned = planStages(kernel, kTileLimits);
  if (failed(planned))
    return failure();
  std::vector<LoweredStage> stages;
  for (auto [number, stage] : llvm::enumerate(planned->stages)) {
    FailureOr<LoweredStage> lowered = lower(stage);
    if (failed(lowered))
      return failure();
    lowered->launch.symbol =
        number == 0 ? name.str() : (name + "_" + Twine(number)).str();
    scratchBytes = std::max(scratchBytes, lowered->getDeviceBytes());
    stages.push_back(std::move(*lowered));
  }
  placeTemporaries(planned->temporaries);
  if (scratchBytes != 0)
    types.push_back(MemRefType::get(scratchBytes,
                                    IntegerType::get(kernel.getContext(), 8)));
  for (auto [stage, lowered] : llvm::zip_equal(planned->stages, stages))
    if (failed(StageBuilder(stage, lowered, module, types)
                   .build(temporaries, kernel.getNumArguments(), scratchBytes)))
      return failure();
  return success();
}

LogicalResult nvptx::buildGpuKernel(tg::KernelOp kernel,
                                    gpu::GPUModuleOp module, StringRef name) {
  return GpuKernelBuilder(kernel, module, name).build();
}
