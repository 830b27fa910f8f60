//===- KernelSet.cpp - Distinct compute functions of a step ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelSet.h"

#include "BoundsChecks.h"

#include "regather/Dialect/TG/IR/TG.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/ExecutionEngine/OptUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace regather::native;

bool regather::native::isRepeatedInKernels(Operation *op) {
  return op->getNumOperands() == 0 && op->getNumResults() == 1 &&
         (op->hasTrait<OpTrait::ConstantLike>() || isa<tensor::EmptyOp>(op));
}

KernelSet::KernelSet(MLIRContext *context)
    : module(ModuleOp::create(UnknownLoc::get(context))) {
  context->loadDialect<func::FuncDialect, bufferization::BufferizationDialect,
                       linalg::LinalgDialect, tensor::TensorDialect,
                       LLVM::LLVMDialect>();
}

/// Values from outside that `op` or its regions read, in order of first use.
static void collectInputs(Operation *op, SetVector<Value> &values) {
  values.insert(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), values);
}

unsigned KernelSet::add(Operation *op, SmallVectorImpl<Value> &inputs) {
  SetVector<Value> used;
  collectInputs(op, used);
  for (Value value : used)
    if (Operation *def = value.getDefiningOp();
        !def || !isRepeatedInKernels(def))
      inputs.push_back(value);

  func::FuncOp func = build(op, inputs);
  // Equal text without locations means equal kernels.
  std::string key;
  llvm::raw_string_ostream stream(key);
  func.print(stream, OpPrintingFlags().printGenericOpForm());
  auto [it, inserted] = kernels.try_emplace(key, numKernels);
  if (!inserted) {
    func.erase();
    return it->second;
  }
  func.setName("kernel_" + std::to_string(numKernels));
  return numKernels++;
}

/// A tensor of rank 0 for a scalar; other types as they are.
static Type getTensorType(Type type) {
  return isa<RankedTensorType>(type) ? type : RankedTensorType::get({}, type);
}

/// Clones `op`, or the body of the kernel that it launches; the results.
static SmallVector<Value> cloneCompute(OpBuilder &builder, Operation *op,
                                       IRMapping &map) {
  auto launch = dyn_cast<regather::tg::LaunchOp>(op);
  if (!launch)
    return llvm::to_vector_of<Value>(builder.clone(*op, map)->getResults());
  regather::tg::KernelOp kernel = launch.lookupKernel();
  Block &body = kernel.getBody().front();
  for (auto [argument, input] :
       llvm::zip(body.getArguments(), launch.getInputs()))
    map.map(argument, map.lookup(input));
  for (Operation &inner : body.without_terminator())
    builder.clone(inner, map);
  return llvm::map_to_vector(
      body.getTerminator()->getOperands(),
      [&](Value value) { return map.lookupOrDefault(value); });
}

func::FuncOp KernelSet::build(Operation *op, ArrayRef<Value> inputs) {
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  Location loc = op->getLoc();
  SmallVector<Type> inputTypes, outputTypes;
  for (Value input : inputs)
    inputTypes.push_back(getTensorType(input.getType()));
  for (Type type : op->getResultTypes())
    outputTypes.push_back(getTensorType(type));
  auto func = func::FuncOp::create(
      builder, loc, "kernel", builder.getFunctionType(inputTypes, outputTypes));
  func->setAttr(LLVM::LLVMDialect::getEmitCWrapperAttrName(),
                builder.getUnitAttr());
  Block *block = func.addEntryBlock();
  builder.setInsertionPointToEnd(block);

  IRMapping map;
  for (auto [input, argument] : llvm::zip(inputs, block->getArguments())) {
    // The step keeps its own copy of every value.
    func.setArgAttr(argument.getArgNumber(),
                    bufferization::BufferizationDialect::kWritableAttrName,
                    builder.getBoolAttr(false));
    map.map(input, isa<RankedTensorType>(input.getType())
                       ? Value(argument)
                       : tensor::ExtractOp::create(builder, loc, argument));
  }
  SetVector<Value> used;
  collectInputs(op, used);
  for (Value value : used)
    if (!map.contains(value))
      map.map(value, builder.clone(*value.getDefiningOp())->getResult(0));

  SmallVector<Value> outputs;
  for (Value result : cloneCompute(builder, op, map)) {
    if (!isa<RankedTensorType>(result.getType()))
      result = tensor::FromElementsOp::create(
          builder, loc, cast<RankedTensorType>(getTensorType(result.getType())),
          result);
    // A view of an input must not leave the function: copy it. Nor may two
    // results be one.
    Operation *def = result.getDefiningOp();
    if (!isa_and_nonnull<DestinationStyleOpInterface>(def) ||
        llvm::is_contained(outputs, result)) {
      auto type = cast<RankedTensorType>(result.getType());
      Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                            type.getElementType());
      result = linalg::CopyOp::create(builder, loc, result, empty).getResult(0);
    }
    outputs.push_back(result);
  }
  func::ReturnOp::create(builder, loc, outputs);
  // Decisions on the graph do not change what a kernel computes.
  func.walk([](Operation *inner) {
    SmallVector<StringAttr> names;
    for (NamedAttribute attr : inner->getDiscardableAttrs())
      if (attr.getName().getValue().starts_with("tg."))
        names.push_back(attr.getName());
    for (StringAttr name : names)
      inner->removeDiscardableAttr(name);
  });
  return func;
}

LogicalResult KernelSet::compile() {
  if (failed(lowerKernels(*module)))
    return failure();
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  registerBuiltinDialectTranslation(*module->getContext());
  registerLLVMDialectTranslation(*module->getContext());

  auto fail = [&](llvm::Error error) {
    return module->emitError() << "cannot compile the kernels: "
                               << llvm::toString(std::move(error));
  };
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!builder)
    return fail(builder.takeError());
  auto machine = builder->createTargetMachine();
  if (!machine)
    return fail(machine.takeError());
  ExecutionEngineOptions options;
  // `options` refers to the transformer and does not own it.
  auto transformer = makeOptimizingTransformer(/*optLevel=*/2, /*sizeLevel=*/0,
                                               machine->get());
  options.transformer = transformer;
  options.jitCodeGenOptLevel = llvm::CodeGenOptLevel::Default;
  auto engine = ExecutionEngine::create(*module, options);
  if (!engine)
    return fail(engine.takeError());
  jit = std::move(*engine);
  jit->registerSymbols([](llvm::orc::MangleAndInterner interner) {
    llvm::orc::SymbolMap symbols;
    symbols[interner(kReportOutOfBounds)] = {
        llvm::orc::ExecutorAddr::fromPtr(&reportOutOfBounds),
        llvm::JITSymbolFlags::Exported};
    return symbols;
  });
  for (unsigned i = 0; i != numKernels; ++i) {
    auto function =
        jit->lookupPacked("_mlir_ciface_kernel_" + std::to_string(i));
    if (!function)
      return fail(function.takeError());
    functions.push_back(*function);
  }
  return success();
}
