//===- TGKernelOps.cpp - Kernels and their launches -----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Dialect/TG/IR/FunctionSyntax.h"
#include "regather/Dialect/TG/IR/TG.h"

using namespace mlir;
using namespace regather::tg;

//===----------------------------------------------------------------------===//
// KernelOp
//===----------------------------------------------------------------------===//

ParseResult KernelOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseFunctionLike<KernelOp>(parser, result);
}

void KernelOp::print(OpAsmPrinter &printer) {
  printFunctionLike(*this, printer);
}

LogicalResult KernelOp::verify() {
  LibraryCallAttrInterface call = getLibraryCallAttr();
  if (!call)
    return success();
  return call.verifyBuffers([&] { return emitOpError("library call "); },
                            getFunctionType());
}

LogicalResult KernelOp::verifyRegions() {
  for (Operation &op : getBody().front().without_terminator())
    if (!isMemoryEffectFree(&op) || isa<CollectiveOpInterface, WaitOp>(op))
      return op.emitOpError("has effects, which a kernel must not have");
  Operation *end = getBody().front().getTerminator();
  if (TypeRange(end->getOperandTypes()) != TypeRange(getResultTypes()))
    return end->emitOpError("returns ")
           << end->getOperandTypes() << ", but kernel '" << getSymName()
           << "' has the results " << TypeRange(getResultTypes());
  return success();
}

//===----------------------------------------------------------------------===//
// LaunchOp
//===----------------------------------------------------------------------===//

KernelOp LaunchOp::lookupKernel() {
  return SymbolTable::lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto kernel =
      symbols.lookupNearestSymbolFrom<KernelOp>(*this, getKernelAttr());
  if (!kernel)
    return emitOpError("names '") << getKernel() << "', which is no kernel";
  auto type =
      FunctionType::get(getContext(), getOperandTypes(), getResultTypes());
  if (type == kernel.getFunctionType())
    return success();
  InFlightDiagnostic diag = emitOpError("has type ")
                            << type << ", but kernel '" << getKernel()
                            << "' has type " << kernel.getFunctionType();
  diag.attachNote(kernel.getLoc()) << "the kernel";
  return diag;
}

double LaunchOp::getFlops() {
  double flops = 0;
  if (KernelOp kernel = lookupKernel())
    for (Operation &op : kernel.getBody().front().without_terminator())
      flops += getOpCost(&op).flops;
  return flops;
}

int64_t LaunchOp::getReadBytes() { return getTensorBytes(getOperandTypes()); }

int64_t LaunchOp::getWrittenBytes() { return getTensorBytes(getResultTypes()); }

bool LaunchOp::isView() { return false; }
