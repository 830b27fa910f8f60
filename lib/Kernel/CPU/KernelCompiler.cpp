//===- KernelCompiler.cpp - Kernels to object files -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelCompiler.h"

#include "OptimizeModule.h"
#include "Prefetches.h"
#include "StreamingStores.h"

#include "regather/Dialect/TG/IR/KernelAttributes.h"
#include "regather/Kernel/CPU/Passes.h"
#include "regather/Kernel/Compilation/Program.h"
#include "regather/Kernel/Transforms/KernelPipelines.h"
#include "regather/Kernel/Transforms/ScratchLayout.h"

#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/Internalize.h"

using namespace mlir;
using namespace regather;
using namespace regather::cpu;

/// Name of the function that a kernel becomes.
static constexpr llvm::StringLiteral kFunctionName = "kernel";

static void initializeHostTarget() {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
}

KernelTarget::KernelTarget(llvm::orc::JITTargetMachineBuilder builder,
                           int64_t blockBytes, bool optimizes)
    : machine(std::move(builder)), blockBytes(blockBytes),
      optimizes(optimizes) {
  std::vector<std::string> features = machine.getFeatures().getFeatures();
  llvm::sort(features);
  machine.setFeatures(llvm::join(features, ","));
  machine.setCodeGenOptLevel(optimizes ? llvm::CodeGenOptLevel::Default
                                       : llvm::CodeGenOptLevel::None);
  // The linker expects position-independent code.
  machine.setRelocationModel(llvm::Reloc::PIC_);
  machine.setCodeModel(llvm::CodeModel::Small);

  llvm::raw_string_ostream os(description);
  os << (optimizes ? kOptimization : "O0") << '\n'
     << machine.getTargetTriple().str() << '\n'
     << machine.getCPU() << '\n'
     << machine.getFeatures().getString() << '\n'
     << blockBytes << '\n';
}

llvm::Expected<KernelTarget> KernelTarget::detectHost(int64_t blockBytes,
                                                      bool optimizes) {
  initializeHostTarget();
  auto machine = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!machine)
    return machine.takeError();
  return KernelTarget(std::move(*machine), blockBytes, optimizes);
}

llvm::Expected<KernelTarget> KernelTarget::getProcessor(llvm::StringRef name,
                                                        int64_t blockBytes) {
  initializeHostTarget();
  auto machine = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!machine)
    return machine.takeError();
  machine->setCPU(name.str());
  machine->setFeatures("");
  return KernelTarget(std::move(*machine), blockBytes, /*optimizes=*/true);
}

std::string KernelTarget::getName(llvm::StringRef text) const {
  return kernel::hashText(description, text);
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
KernelTarget::createMachine() const {
  return llvm::orc::JITTargetMachineBuilder(machine).createTargetMachine();
}

KernelCompiler::KernelCompiler(const DialectRegistry &dialects,
                               const KernelTarget &target)
    : context(dialects, MLIRContext::Threading::DISABLED), pipeline(&context),
      target(target) {
  kernel::loadKernelDialects(&context);
  KernelPipelineOptions options;
  options.tileBytes = target.getBlockBytes();
  buildKernelPipeline(pipeline, options);
  // What comes out is verified; behind each pass that would add three quarters
  // of the time that the passes take.
  pipeline.enableVerifier(false);
  DialectRegistry translations;
  registerBuiltinDialectTranslation(translations);
  registerLLVMDialectTranslation(translations);
  context.appendDialectRegistry(translations);
}

namespace {
/// The function that a kernel is called by.
class KernelEntry {
public:
  /// Adds the function; all others become private. `streamed` are the numbers
  /// of the buffers that are to be written around the caches, unless one of
  /// them is among the first `numArguments`, which are read: its lines are in
  /// the caches then, and a line of which one half is written around them must
  /// be written to memory before the other half can be read.
  KernelEntry(llvm::Module &module, llvm::StringRef name,
              const kernel::ScratchLayout &scratch, unsigned numArguments,
              ArrayRef<unsigned> streamed);

private:
  void setAttributes();
  void build(llvm::Function *entry);
  llvm::Value *buildMayStream(llvm::IRBuilder<> &builder,
                              ArrayRef<llvm::Value *> buffers) const;

  llvm::Function *kernel;
  llvm::Function *streaming = nullptr;
  const kernel::ScratchLayout &scratch;
  unsigned numArguments;
  ArrayRef<unsigned> streamed;
};
} // namespace

KernelEntry::KernelEntry(llvm::Module &module, llvm::StringRef name,
                         const kernel::ScratchLayout &scratch,
                         unsigned numArguments, ArrayRef<unsigned> streamed)
    : kernel(module.getFunction(kFunctionName)), scratch(scratch),
      numArguments(numArguments), streamed(streamed) {
  setAttributes();
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *pointer = llvm::PointerType::getUnqual(context);
  llvm::Type *number = llvm::Type::getInt64Ty(context);
  auto *entry = llvm::Function::Create(
      llvm::FunctionType::get(llvm::Type::getInt32Ty(context),
                              {pointer, number, number, pointer},
                              /*isVarArg=*/false),
      llvm::GlobalValue::ExternalLinkage, name, module);
  if (!streamed.empty() && canStream(module.getTargetTriple()))
    streaming = cloneForStreaming(*kernel, streamed);
  build(entry);
  llvm::internalizeModule(
      module, [&](const llvm::GlobalValue &value) { return &value == entry; });
}

/// Sets attributes of the arguments: buffers, two numbers and scratch memory.
void KernelEntry::setAttributes() {
  // Inlining would lose the attributes.
  kernel->addFnAttr(llvm::Attribute::NoInline);
  kernel->addFnAttr("prefer-vector-width", "512");
  // A result may share memory with an argument, but only if it is computed from
  // it element by element and nobody reads it. Then no access can move past
  // another one, and all buffers count as disjoint.
  for (llvm::Argument &argument : kernel->args())
    if (argument.getType()->isPointerTy())
      argument.addAttr(llvm::Attribute::NoAlias);
  for (size_t i = 1; i <= scratch.offsets.size(); ++i)
    kernel->getArg(kernel->arg_size() - i)
        ->addAttr(llvm::Attribute::getWithAlignment(
            kernel->getContext(), llvm::Align(kernel::kScratchAlignment)));
}

/// Whether the buffers to be streamed are aligned, and nobody reads them.
llvm::Value *
KernelEntry::buildMayStream(llvm::IRBuilder<> &builder,
                            ArrayRef<llvm::Value *> buffers) const {
  llvm::Value *bits = builder.getInt64(0);
  for (unsigned number : streamed)
    bits = builder.CreateOr(
        bits, builder.CreatePtrToInt(buffers[number], builder.getInt64Ty()));
  bits = builder.CreateAnd(bits, kStreamAlignment - 1);
  llvm::Value *may = builder.CreateIsNull(bits);
  for (unsigned number : streamed)
    for (llvm::Value *argument : buffers.take_front(numArguments))
      may = builder.CreateAnd(may,
                              builder.CreateICmpNE(buffers[number], argument));
  return may;
}

void KernelEntry::build(llvm::Function *entry) {
  llvm::LLVMContext &context = entry->getContext();
  llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "", entry));
  unsigned numBuffers = kernel->arg_size() - 2 - scratch.offsets.size();
  SmallVector<llvm::Value *> arguments;
  for (unsigned i = 0; i != numBuffers; ++i)
    arguments.push_back(builder.CreateLoad(
        builder.getPtrTy(),
        builder.CreateConstGEP1_64(builder.getPtrTy(), entry->getArg(0), i)));
  for (unsigned i : {1, 2})
    arguments.push_back(entry->getArg(i));
  for (int64_t offset : scratch.offsets)
    arguments.push_back(builder.CreateConstGEP1_64(builder.getInt8Ty(),
                                                   entry->getArg(3), offset));
  if (streaming) {
    llvm::Value *mayStream = buildMayStream(builder, arguments);
    auto *aligned = llvm::BasicBlock::Create(context, "", entry);
    auto *other = llvm::BasicBlock::Create(context, "", entry);
    builder.CreateCondBr(mayStream, aligned, other);
    builder.SetInsertPoint(aligned);
    builder.CreateRet(callStreaming(builder, *streaming, arguments));
    builder.SetInsertPoint(other);
  }
  builder.CreateRet(builder.CreateCall(kernel, arguments));
}

/// Numbers of the arguments that are large enough to have left the caches.
static SmallVector<unsigned> getPrefetched(tg::KernelOp kernel) {
  SmallVector<unsigned> prefetched;
  for (auto [i, type] : llvm::enumerate(kernel.getArgumentTypes()))
    if (tg::getTensorBytes(cast<RankedTensorType>(type)) >= kMinPrefetchedBytes)
      prefetched.push_back(i);
  return prefetched;
}

/// Numbers, among arguments and results, of the results that are too large for
/// the caches.
static SmallVector<unsigned> getStreamed(tg::KernelOp kernel) {
  SmallVector<unsigned> streamed;
  for (auto [i, type] : llvm::enumerate(kernel.getResultTypes()))
    if (tg::getTensorBytes(cast<RankedTensorType>(type)) >= kMinStreamedBytes)
      streamed.push_back(kernel.getNumArguments() + i);
  return streamed;
}

/// True if an argument or a result has as many bytes.
static bool hasBytes(tg::KernelOp kernel, int64_t bytes) {
  auto isLarge = [=](Type type) {
    return tg::getTensorBytes(cast<RankedTensorType>(type)) >= bytes;
  };
  return llvm::any_of(kernel.getArgumentTypes(), isLarge) ||
         llvm::any_of(kernel.getResultTypes(), isLarge);
}

/// Works on `module` alone: what decides the code is in its program.
llvm::Expected<std::string> KernelCompiler::generate(llvm::Module &module,
                                                     bool isLarge) {
  if (target.isOptimizing())
    optimizeModule(module, *machine, isLarge);
  streamStores(module);
  prefetchLoads(module);
  auto object = llvm::orc::SimpleCompiler(*machine)(module);
  if (!object)
    return object.takeError();
  return (*object)->getBuffer().str();
}

llvm::Expected<std::string> KernelCompiler::compile(llvm::StringRef text,
                                                    llvm::StringRef name,
                                                    KernelShape &shape,
                                                    kernel::CodeSource codes) {
  // Locations of the text mean nothing; the caller names the kernel.
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (message.empty() &&
        diagnostic.getSeverity() == DiagnosticSeverity::Error)
      message = diagnostic.str();
    return success();
  });
  auto module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
  if (!module)
    return llvm::createStringError(message);
  tg::KernelOp kernel = *module->getOps<tg::KernelOp>().begin();
  kernel.setSymName(kFunctionName);
  SmallVector<unsigned> prefetched = getPrefetched(kernel);
  SmallVector<unsigned> streamed = getStreamed(kernel);
  unsigned numArguments = kernel.getNumArguments();
  bool isLarge = hasBytes(kernel, kMinUnrolledBytes);
  if (failed(pipeline.run(*module)) || failed(verify(*module)))
    return llvm::createStringError(message);
  Operation *func = module->lookupSymbol(kFunctionName);
  kernel::ScratchLayout scratch = kernel::getScratch(func);
  shape.numBlocks =
      func->getAttrOfType<IntegerAttr>(tg::kNumTilesAttrName).getInt();
  shape.scratchBytes = scratch.bytes;
  llvm::LLVMContext llvmContext;
  auto llvmModule = translateModuleToLLVMIR(*module, llvmContext, name);
  if (!llvmModule)
    return llvm::createStringError(message);

  if (!machine) {
    auto made = target.createMachine();
    if (!made)
      return made.takeError();
    machine = std::move(*made);
  }
  ExecutionEngine::setupTargetTripleAndDataLayout(llvmModule.get(),
                                                  machine.get());
  markPrefetched(*llvmModule->getFunction(kFunctionName), prefetched);
  KernelEntry(*llvmModule, name, scratch, numArguments, streamed);
  std::string description =
      (target.getDescription() + (isLarge ? "large\n" : "")).str();
  return codes(kernel::describeProgram(*llvmModule, description),
               [&] { return generate(*llvmModule, isLarge); });
}
