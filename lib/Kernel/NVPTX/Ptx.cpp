//===- Ptx.cpp - Functions of the gpu dialect to PTX ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ptx.h"

#include "regather/Kernel/Compilation/Program.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/Internalize.h"
#include "llvm/Transforms/InstCombine/InstCombine.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"

#include <mutex>

// The functions of one target among those that TargetSelect.h declares.
extern "C" {
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

using namespace regather;

/// Of the memory that the threads of a block share.
static constexpr unsigned kSharedAddressSpace = 3;

static constexpr llvm::StringLiteral kTriple = "nvptx64-nvidia-cuda";

void nvptx::registerTranslations(mlir::DialectRegistry &registry) {
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerGPUDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerNVVMDialectTranslation(registry);
}

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createMachine(const nvptx::GpuArchitecture &architecture) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string message;
  llvm::Triple triple(kTriple);
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return llvm::createStringError(message);
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, architecture.name, architecture.ptxFeature, llvm::TargetOptions(),
      std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

/// The functions that are called and not defined, without `__nvvm_reflect`,
/// which LLVM replaces.
static llvm::SmallVector<llvm::StringRef>
findUndefined(const llvm::Module &module) {
  llvm::SmallVector<llvm::StringRef> names;
  for (const llvm::Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic() &&
        !function.use_empty() && function.getName() != "__nvvm_reflect")
      names.push_back(function.getName());
  return names;
}

static llvm::Error linkLibdevice(llvm::Module &module, llvm::StringRef path) {
  if (path.empty())
    return llvm::Error::success();
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return llvm::createStringError("cannot read libdevice '" + path +
                                   "': " + file.getError().message());
  auto library = llvm::parseBitcodeFile(**file, module.getContext());
  if (!library)
    return library.takeError();
  (*library)->setTargetTriple(module.getTargetTriple());
  (*library)->setDataLayout(module.getDataLayout());
  if (llvm::Linker::linkModules(module, std::move(*library),
                                llvm::Linker::LinkOnlyNeeded))
    return llvm::createStringError("cannot link libdevice '" + path + "'");
  return llvm::Error::success();
}

static bool isEntry(const llvm::GlobalValue &value) {
  auto *function = llvm::dyn_cast<llvm::Function>(&value);
  return function &&
         function->getCallingConv() == llvm::CallingConv::PTX_Kernel;
}

/// Makes all but the entries private and gives it names of its own, so that the
/// code of several kernels can be put into one file.
static void privatize(llvm::Module &module, llvm::StringRef prefix) {
  llvm::internalizeModule(module, isEntry);
  // Dynamic shared memory is an array without elements. As a declaration, it
  // lies behind all variables that are defined.
  for (llvm::GlobalVariable &variable : module.globals())
    if (auto *type = llvm::dyn_cast<llvm::ArrayType>(variable.getValueType());
        type && type->getNumElements() == 0 &&
        variable.getAddressSpace() == kSharedAddressSpace) {
      variable.setInitializer(nullptr);
      variable.setLinkage(llvm::GlobalValue::ExternalLinkage);
    }
  for (llvm::GlobalValue &value : module.global_values()) {
    // Dynamic shared memory is declared only, under any name.
    bool isDefined =
        !llvm::isa<llvm::Function>(value) || !value.isDeclaration();
    if (isDefined && !isEntry(value) && !value.getName().starts_with("llvm.") &&
        !value.getName().starts_with(prefix))
      value.setName(prefix + "_" + value.getName());
  }
}

/// True for an argument whose memory nobody writes while the kernel runs.
static bool isConstant(const llvm::Value *memory) {
  auto *argument =
      llvm::dyn_cast<llvm::Argument>(llvm::getUnderlyingObject(memory));
  return argument && isEntry(*argument->getParent()) &&
         argument->hasNoAliasAttr() && argument->onlyReadsMemory();
}

namespace {
/// Indices of elements become distances in bytes. Otherwise equal addresses
/// look different where one of two loops shares its index with another operand.
struct UseByteOffsets : llvm::PassInfoMixin<UseByteOffsets> {
  static llvm::PreservedAnalyses run(llvm::Function &function,
                                     llvm::FunctionAnalysisManager &) {
    const llvm::DataLayout &layout = function.getDataLayout();
    for (llvm::Instruction &instruction :
         llvm::make_early_inc_range(llvm::instructions(function))) {
      auto *place = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction);
      if (!place || place->getNumIndices() != 1 ||
          place->hasAllConstantIndices() || place->getType()->isVectorTy())
        continue;
      uint64_t bytes = layout.getTypeAllocSize(place->getSourceElementType());
      llvm::IRBuilder<> b(place);
      llvm::Type *type = layout.getIndexType(place->getType());
      llvm::Value *index = b.CreateSExtOrTrunc(*place->idx_begin(), type);
      place->replaceAllUsesWith(b.CreatePtrAdd(
          place->getPointerOperand(),
          b.CreateMul(index, llvm::ConstantInt::get(type, bytes))));
      place->eraseFromParent();
    }
    return llvm::PreservedAnalyses::none();
  }
};

/// Says so of each load.
struct MarkInvariantLoads : llvm::PassInfoMixin<MarkInvariantLoads> {
  static llvm::PreservedAnalyses run(llvm::Function &function,
                                     llvm::FunctionAnalysisManager &) {
    llvm::MDNode *empty = llvm::MDNode::get(function.getContext(), {});
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
          load && isConstant(load->getPointerOperand()))
        load->setMetadata(llvm::LLVMContext::MD_invariant_load, empty);
    return llvm::PreservedAnalyses::all();
  }
};
} // namespace

/// Runs LLVM's optimisations without vectorisation: GPUs have no vector
/// registers, and loads of 16 bytes would be split.
static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager calls;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(calls);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, calls, modules);
  // What was read before a barrier is not read again behind it. Passes before
  // find that out of the next hundred instructions or so alone.
  builder.registerOptimizerLastEPCallback([](llvm::ModulePassManager &passes,
                                             llvm::OptimizationLevel,
                                             llvm::ThinOrFullLTOPhase) {
    llvm::FunctionPassManager manager;
    manager.addPass(UseByteOffsets());
    manager.addPass(llvm::InstCombinePass());
    manager.addPass(MarkInvariantLoads());
    manager.addPass(llvm::EarlyCSEPass());
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(manager)));
  });
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, modules);
}

/// Works on `module` alone: what decides the PTX is in its program.
static llvm::Expected<std::string> generatePtx(llvm::Module &module,
                                               llvm::TargetMachine &machine) {
  optimize(module, machine);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream os(text);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, os, nullptr,
                                  llvm::CodeGenFileType::AssemblyFile))
    return llvm::createStringError("cannot be written as PTX");
  passes.run(module);
  return text.str().str();
}

llvm::Expected<std::string> nvptx::emitPtx(mlir::gpu::GPUModuleOp module,
                                           llvm::StringRef prefix,
                                           const GpuArchitecture &architecture,
                                           llvm::StringRef libdevice,
                                           kernel::CodeSource codes) {
  auto machine = createMachine(architecture);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  auto code = mlir::translateModuleToLLVMIR(module, context, prefix);
  if (!code)
    return llvm::createStringError("cannot be translated to LLVM IR");
  code->setTargetTriple((*machine)->getTargetTriple());
  code->setDataLayout((*machine)->createDataLayout());
  if (!findUndefined(*code).empty())
    if (llvm::Error error = linkLibdevice(*code, libdevice))
      return error;
  if (auto names = findUndefined(*code); !names.empty())
    return llvm::createStringError("calls functions that nothing defines: " +
                                   llvm::join(names, ", "));
  // Tells libdevice to keep denormals and to round correctly.
  code->addModuleFlag(llvm::Module::Override, "nvvm-reflect-ftz", uint32_t(0));
  privatize(*code, prefix);
  std::string description =
      (architecture.name + " " + architecture.ptxFeature + "\n").str();
  return codes(kernel::describeProgram(*code, description),
               [&] { return generatePtx(*code, **machine); });
}
