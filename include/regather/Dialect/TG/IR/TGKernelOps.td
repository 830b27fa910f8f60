//===- TGKernelOps.td - Kernels and their launches ---------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_IR_TGKERNELOPS
#define REGATHER_DIALECT_TG_IR_TGKERNELOPS

include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "regather/Dialect/TG/IR/TGFlatOps.td"

def TG_KernelOp : TG_Op<"kernel", [
    FunctionOpInterface, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"ReturnOp">, Symbol]> {
  let summary = "A group of operations that runs as one";
  let description = [{
    A function over tensors without communication and without effects: what
    code generation sees at one time. Operations that a step executes many
    times in equal groups, such as the layers of a model, share one kernel.

    It lowers to one function of the target, compiled once.
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    TypeAttrOf<FunctionType>:$function_type,
    OptionalAttr<DictArrayAttr>:$arg_attrs,
    OptionalAttr<DictArrayAttr>:$res_attrs
  );
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() {
      return getFunctionType().getInputs();
    }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() {
      return getFunctionType().getResults();
    }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
}

def TG_ReturnOp : TG_Op<"return", [
    Pure, ReturnLike, Terminator, HasParent<"KernelOp">]> {
  let summary = "End a kernel";
  let description = [{
    Returns the results of the kernel to the launch.
  }];
  let arguments = (ins Variadic<TG_Tensor>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
  let builders = [OpBuilder<(ins), [{ build($_builder, $_state, {}); }]>];
}

def TG_LaunchOp : TG_Op<"launch", [
    Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<TG_CostOpInterface>]> {
  let summary = "Run a kernel";
  let description = [{
    Runs a kernel on tensors. Launches are pure, as kernels are: they may be
    merged, moved and erased like the operations that the kernel was made from.

    It lowers to one launch on a stream.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<TG_Tensor>:$inputs);
  let results = (outs Variadic<TG_Tensor>:$outputs);
  let assemblyFormat = [{
    $kernel `(` $inputs `)` attr-dict `:` functional-type($inputs, $outputs)
  }];
  let extraClassDeclaration = [{
    /// The kernel as seen from this launch; scans one symbol table.
    KernelOp lookupKernel();
  }];
}

#endif // REGATHER_DIALECT_TG_IR_TGKERNELOPS
