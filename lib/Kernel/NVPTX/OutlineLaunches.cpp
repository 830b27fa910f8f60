//===- OutlineLaunches.cpp - Stages as functions of a GPU -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KnownAlignment.h"
#include "ThreadDistribution.h"

#include "regather/Dialect/TG/IR/KernelAttributes.h"
#include "regather/Kernel/NVPTX/Passes.h"
#include "regather/Kernel/Transforms/KernelFunction.h"
#include "regather/Kernel/Transforms/ScratchLayout.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace regather;

namespace regather::nvptx {
#define GEN_PASS_DEF_OUTLINELAUNCHESPASS
#include "regather/Kernel/NVPTX/Passes.h.inc"
} // namespace regather::nvptx

/// Limits of the scratch memory that a block has as shared memory. The first is
/// what every GPU has as static memory, less what reductions and transposes
/// take; the second is what the smallest supported GPU (sm_80) has as dynamic
/// memory.
static constexpr int64_t kMaxStaticBytes = 32 * 1024;
static constexpr int64_t kMaxDynamicBytes = 144 * 1024;

/// Threads that a multiprocessor has room for.
static constexpr int64_t kMaxResidentThreads = 2048;

/// About how much device memory the blocks of a launch share, and the least
/// number of blocks that are launched if that is not enough: two for each
/// multiprocessor of an H100.
static constexpr int64_t kMaxDeviceBytes = 128 * 1024 * 1024;
static constexpr int64_t kMinLaunchedBlocks = 264;

namespace {
/// A stage on its way to a function of the gpu dialect.
struct StageFunction {
  ModuleOp module;
  func::FuncOp func;
  /// Number in the kernel's order of what its arguments and results are.
  ArrayRef<int64_t> buffers;
  int64_t numTiles = 1;
  /// Memory of a launched block.
  kernel::ScratchLayout scratch;
  int64_t blocks = 1, threads = 1, dynamicSharedBytes = 0;

  /// What blocks need of device memory.
  int64_t getDeviceBytes() const {
    return scratch.bytes > kMaxDynamicBytes ? scratch.bytes * blocks : 0;
  }
};

/// What the functions of a kernel have in common.
struct StagedKernel {
  StringRef name;
  unsigned numArguments = 0;
  /// Types of the arguments of all functions.
  SmallVector<Type> types;
  /// Where the temporaries lie in device memory, behind what blocks need.
  SmallVector<std::pair<MemRefType, int64_t>> temporaries;
  int64_t scratchBytes = 0;
};

/// Builds the function of one stage.
class LaunchBuilder {
public:
  LaunchBuilder(const StagedKernel &kernel, StageFunction &stage,
                OpBuilder &builder)
      : kernel(kernel), stage(stage), b(stage.module.getLoc(), builder) {}

  void build(StringRef name);

private:
  void createFunction(StringRef name);
  Value createScratch();
  void moveBody();
  void moveGlobals();
  void setAttributes();

  const StagedKernel &kernel;
  StageFunction &stage;
  ImplicitLocOpBuilder b;
  gpu::GPUFuncOp target;
  Value blockNumber;
};
} // namespace

/// The stage of a module, and how it is launched.
static FailureOr<StageFunction> planLaunch(ModuleOp module) {
  StageFunction stage;
  stage.module = module;
  auto functions = module.getOps<func::FuncOp>();
  if (!llvm::hasSingleElement(functions))
    return module.emitError() << "expects a stage of one function";
  stage.func = *functions.begin();
  auto tiles = stage.func->getAttrOfType<IntegerAttr>(tg::kNumTilesAttrName);
  auto buffers =
      stage.func->getAttrOfType<DenseI64ArrayAttr>(tg::kBuffersAttrName);
  stage.scratch = kernel::getScratch(stage.func);
  if (!tiles || !buffers || !stage.func.getBody().hasOneBlock() ||
      buffers.size() + 2 + stage.scratch.offsets.size() !=
          stage.func.getNumArguments())
    return stage.func.emitError()
           << "expects a function of tiles that names its buffers";
  stage.buffers = buffers.asArrayRef();
  stage.numTiles = tiles.getInt();
  stage.scratch.bytes = static_cast<int64_t>(
      llvm::alignTo(stage.scratch.bytes, kernel::kScratchAlignment));
  // A result without elements has no tiles, but a launch needs a block.
  stage.blocks = std::max<int64_t>(stage.numTiles, 1);
  if (stage.getDeviceBytes() > kMaxDeviceBytes)
    stage.blocks = std::min(
        stage.numTiles,
        std::max(kMinLaunchedBlocks, kMaxDeviceBytes / stage.scratch.bytes));
  stage.threads = nvptx::countUsefulThreads(stage.func);
  if (stage.scratch.bytes > kMaxStaticBytes && stage.getDeviceBytes() == 0)
    stage.dynamicSharedBytes = stage.scratch.bytes;
  return stage;
}

//===----------------------------------------------------------------------===//
// Function of a stage
//===----------------------------------------------------------------------===//

/// The function, which knows the number of its block.
void LaunchBuilder::createFunction(StringRef name) {
  target = gpu::GPUFuncOp::create(b, name,
                                  b.getFunctionType(kernel.types, TypeRange()));
  target->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  b.setInsertionPointToStart(&target.getBody().front());
  blockNumber = gpu::BlockIdOp::create(b, gpu::Dimension::x,
                                       b.getIndexAttr(stage.blocks));
}

/// The scratch memory of the block.
Value LaunchBuilder::createScratch() {
  int64_t bytes = stage.scratch.bytes;
  auto type = MemRefType::get(bytes, b.getI8Type());
  if (stage.getDeviceBytes() != 0) {
    Value size = arith::ConstantIndexOp::create(b, bytes);
    Value offset = arith::MulIOp::create(b, blockNumber, size);
    Value all = target.getArgument(target.getNumArguments() - 1);
    return memref::ViewOp::create(b, type, all, offset, ValueRange());
  }
  auto space =
      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
  Value shared;
  if (stage.dynamicSharedBytes != 0) {
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
    shared = target.addWorkgroupAttribution(
        MemRefType::get(bytes, b.getI8Type(), MemRefLayoutAttrInterface(),
                        space),
        b.getLoc());
    target.setWorkgroupAttributionAttr(
        target.getNumWorkgroupAttributions() - 1,
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
void LaunchBuilder::moveBody() {
  Block &body = stage.func.getBody().front();
  size_t numBuffers = kernel.types.size() - (kernel.scratchBytes != 0 ? 1 : 0);
  llvm::SmallDenseMap<size_t, Value> views;
  auto getBuffer = [&](size_t number) -> Value {
    if (number < numBuffers)
      return target.getArgument(static_cast<unsigned>(number));
    Value &view = views[number];
    auto [type, offset] = kernel.temporaries[number - numBuffers];
    if (!view)
      view = memref::ViewOp::create(
          b, type, target.getArgument(static_cast<unsigned>(numBuffers)),
          arith::ConstantIndexOp::create(b, offset), ValueRange());
    return view;
  };
  SmallVector<Value> values;
  for (int64_t number : stage.buffers) {
    auto type = cast<MemRefType>(body.getArgument(values.size()).getType());
    values.push_back(castToBeginning(b, getBuffer(number), type));
  }
  values.append(
      {blockNumber, arith::ConstantIndexOp::create(b, stage.numTiles)});
  if (!stage.scratch.offsets.empty()) {
    Value memory = createScratch();
    for (auto [offset, argument] :
         llvm::zip_equal(stage.scratch.offsets,
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
  // There is no loop if the results have no elements.
  if (blocks && stage.blocks == stage.numTiles) {
    blocks.getInductionVar().replaceAllUsesWith(blockNumber);
    blocks->getBlock()->getOperations().splice(
        blocks->getIterator(), blocks.getBody()->getOperations(),
        blocks.getBody()->begin(), std::prev(blocks.getBody()->end()));
    blocks.erase();
  } else if (blocks) {
    blocks.setStep(arith::ConstantIndexOp::create(b, stage.blocks));
  }
  Block &entry = target.getBody().front();
  entry.getOperations().splice(entry.end(), body.getOperations(), body.begin(),
                               std::prev(body.end()));
  b.setInsertionPointToEnd(&entry);
  gpu::ReturnOp::create(b);
}

/// Constants, under names that no other kernel's have.
void LaunchBuilder::moveGlobals() {
  for (auto global :
       llvm::make_early_inc_range(stage.module.getOps<memref::GlobalOp>())) {
    std::string renamed = (target.getName() + "_" + global.getSymName()).str();
    target.walk([&](memref::GetGlobalOp op) {
      if (op.getName() == global.getSymName())
        op.setName(renamed);
    });
    global.setSymName(renamed);
    global->moveBefore(target);
  }
}

void LaunchBuilder::setAttributes() {
  target.setKnownBlockSizeAttr(
      b.getDenseI32ArrayAttr({static_cast<int32_t>(stage.threads), 1, 1}));
  target.setKnownGridSizeAttr(
      b.getDenseI32ArrayAttr({static_cast<int32_t>(stage.blocks), 1, 1}));
  // A multiprocessor with one large block is idle while that waits at its
  // barriers.
  if (stage.threads > kMaxResidentThreads / 4 &&
      stage.scratch.bytes <= kMaxStaticBytes)
    target->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                    b.getI32IntegerAttr(static_cast<int32_t>(
                        kMaxResidentThreads / stage.threads)));
  if (stage.dynamicSharedBytes != 0)
    target->setAttr(tg::kDynamicSharedBytesAttrName,
                    b.getI64IntegerAttr(stage.dynamicSharedBytes));
  if (kernel.scratchBytes != 0)
    target->setAttr(tg::kScratchBytesAttrName,
                    b.getI64IntegerAttr(kernel.scratchBytes));
  // A result may share memory with an argument, but only if it is computed from
  // it element by element. Then no access can move past another one, and all
  // buffers count as disjoint.
  for (unsigned i = 0, e = target.getNumArguments(); i != e; ++i) {
    target.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                      b.getUnitAttr());
    target.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                      b.getI64IntegerAttr(nvptx::kBufferAlignment));
    if (i < kernel.numArguments)
      target.setArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName(),
                        b.getUnitAttr());
  }
}

void LaunchBuilder::build(StringRef name) {
  createFunction(name);
  moveBody();
  moveGlobals();
  setAttributes();
}

//===----------------------------------------------------------------------===//
// Functions of a kernel
//===----------------------------------------------------------------------===//

/// Replaces the stages of a kernel by functions and returns their number.
static FailureOr<unsigned> outlineLaunches(ModuleOp stages,
                                           FunctionType signature) {
  StagedKernel kernel;
  kernel.name = *stages.getSymName();
  kernel.numArguments = signature.getNumInputs();
  for (ArrayRef<Type> range : {signature.getInputs(), signature.getResults()})
    for (Type type : range)
      kernel.types.push_back(
          kernel::getBufferType(cast<RankedTensorType>(type)));
  SmallVector<StageFunction> planned;
  for (auto module : stages.getOps<ModuleOp>()) {
    FailureOr<StageFunction> stage = planLaunch(module);
    if (failed(stage))
      return failure();
    kernel.scratchBytes =
        std::max(kernel.scratchBytes, stage->getDeviceBytes());
    planned.push_back(std::move(*stage));
  }
  if (auto types = stages->getAttrOfType<ArrayAttr>(tg::kTemporariesAttrName))
    for (auto attr : types.getAsRange<TypeAttr>()) {
      auto type = cast<RankedTensorType>(attr.getValue());
      kernel.temporaries.emplace_back(kernel::getBufferType(type),
                                      kernel.scratchBytes);
      kernel.scratchBytes = static_cast<int64_t>(
          llvm::alignTo(kernel.scratchBytes + tg::getTensorBytes(type),
                        kernel::kScratchAlignment));
    }
  OpBuilder builder(stages);
  if (kernel.scratchBytes != 0)
    kernel.types.push_back(
        MemRefType::get(kernel.scratchBytes, builder.getI8Type()));
  for (auto [number, stage] : llvm::enumerate(planned)) {
    std::string name = kernel.name.str();
    if (number != 0)
      name += "_" + std::to_string(number);
    LaunchBuilder(kernel, stage, builder).build(name);
  }
  stages.erase();
  return planned.size();
}

namespace {
class OutlineLaunchesPass
    : public nvptx::impl::OutlineLaunchesPassBase<OutlineLaunchesPass> {
public:
  using OutlineLaunchesPassBase::OutlineLaunchesPassBase;

  void runOnOperation() override {
    for (auto stages :
         llvm::make_early_inc_range(getOperation().getOps<ModuleOp>())) {
      auto signature = stages->getAttrOfType<TypeAttr>(tg::kSignatureAttrName);
      if (!signature || !stages.getSymName())
        continue;
      FailureOr<unsigned> outlined =
          outlineLaunches(stages, cast<FunctionType>(signature.getValue()));
      if (failed(outlined))
        return signalPassFailure();
      numLaunches += *outlined;
    }
  }
};
} // namespace
