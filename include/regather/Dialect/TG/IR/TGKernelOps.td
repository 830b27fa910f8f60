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
include "regather/Dialect/TG/IR/TGHostOps.td"
include "regather/Dialect/TG/IR/TGLibraryAttributes.td"

def TG_KernelOp : TG_Op<"kernel", [
    FunctionOpInterface, IsolatedFromAbove,
    SingleBlockImplicitTerminator<"ReturnOp">, Symbol]> {
  let summary = "A group of operations that runs as one";
  let description = [{
    A function over tensors without communication and without effects: what
    code generation sees at one time. Operations that a step executes many
    times in equal groups, such as the layers of a model, share one kernel.

    It lowers to one function of the target, compiled once. A kernel with a
    `library_call` is computed by a library instead. Its body stays the
    definition of what it computes: costs and the interpreter read the body, and
    `tg-verify-step` checks that the call says the same. A kernel without
    `library_call` is always generated, whatever its body is.

    ```mlir
    tg.kernel @mm_0(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>)
        -> tensor<64x64xf32>
        attributes {library_call = #tg.gemm<
            m = 64, n = 64, k = 64, a = <0 strides[64, 1]>,
            b = <1 strides[64, 1]>, c = <2 strides[64, 1]>>} {
      %mm = tg.node "aten.mm.default"(%x, %y)
          : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      tg.return %mm : tensor<64x64xf32>
    }
    ```
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    TypeAttrOf<FunctionType>:$function_type,
    OptionalAttr<DictArrayAttr>:$arg_attrs,
    OptionalAttr<DictArrayAttr>:$res_attrs,
    OptionalAttr<TG_LibraryCallAttr>:$library_call
  );
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let builders = [
    OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::FunctionType":$type), [{
      build($_builder, $_state, name, type, /*arg_attrs=*/nullptr,
            /*res_attrs=*/nullptr, /*library_call=*/nullptr);
    }]>
  ];
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
