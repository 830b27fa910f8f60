//===- StreamingStores.cpp - Stores that bypass the cache -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamingStores.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/Module.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;
using namespace regather;

/// An attribute marks the arguments, since optimisation may renumber them.
static constexpr StringLiteral kStreamedAttr = "regather-streamed";

bool cpu::canStream(const Triple &triple) {
  return triple.getArch() == Triple::x86_64;
}

Function *cpu::cloneForStreaming(Function &kernel, ArrayRef<unsigned> results) {
  ValueToValueMapTy map;
  Function *streaming = CloneFunction(&kernel, map);
  streaming->setName(kernel.getName() + ".streaming");
  LLVMContext &context = kernel.getContext();
  for (unsigned result : results) {
    Argument *argument = streaming->getArg(result);
    argument->addAttr(
        Attribute::getWithAlignment(context, Align(kStreamAlignment)));
    argument->addAttr(Attribute::get(context, kStreamedAttr));
  }
  return streaming;
}

Value *cpu::callStreaming(IRBuilder<> &builder, Function &streaming,
                          ArrayRef<Value *> arguments) {
  Value *status = builder.CreateCall(&streaming, arguments);
  builder.CreateIntrinsic(Intrinsic::x86_sse_sfence, {});
  return status;
}

/// Makes the stores of one function bypass the caches.
static void streamStores(Function &function) {
  const DataLayout &layout = function.getParent()->getDataLayout();
  SmallPtrSet<const Value *, 4> streamed;
  for (const Argument &argument : function.args())
    if (argument.hasAttribute(kStreamedAttr))
      streamed.insert(&argument);
  for (Instruction &inst : instructions(function))
    if (inst.mayReadFromMemory())
      for (Value *operand : inst.operands())
        if (operand->getType()->isPointerTy())
          streamed.erase(getUnderlyingObject(operand, /*MaxLookup=*/0));
  if (streamed.empty())
    return;
  MDNode *nontemporal = MDNode::get(
      function.getContext(), ConstantAsMetadata::get(ConstantInt::get(
                                 Type::getInt32Ty(function.getContext()), 1)));
  for (Instruction &inst : instructions(function)) {
    auto *store = dyn_cast<StoreInst>(&inst);
    if (!store || !store->getValueOperand()->getType()->isVectorTy())
      continue;
    Value *pointer = store->getPointerOperand();
    uint64_t bytes =
        layout.getTypeStoreSize(store->getValueOperand()->getType());
    Align alignment =
        std::max(store->getAlign(), getKnownAlignment(pointer, layout, store));
    if (bytes < 16 || alignment.value() < bytes ||
        !streamed.contains(getUnderlyingObject(pointer, /*MaxLookup=*/0)))
      continue;
    store->setAlignment(alignment);
    store->setMetadata(LLVMContext::MD_nontemporal, nontemporal);
  }
}

void cpu::streamStores(Module &module) {
  for (Function &function : module)
    ::streamStores(function);
}
