//===- TGLibraryAttributes.td - Calls of libraries ---------*- tablegen -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_IR_TGLIBRARYATTRIBUTES
#define REGATHER_DIALECT_TG_IR_TGLIBRARYATTRIBUTES

include "regather/Dialect/TG/IR/TGAttributes.td"

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

def TG_LibraryCallAttrInterface : AttrInterface<"LibraryCallAttrInterface"> {
  let cppNamespace = "::regather::tg";
  let description = [{
    What a library computes in place of the body of a kernel. The buffers of a
    call are the arguments of the kernel, then its results, each of them dense
    and row-major; so they are numbered like the operands of an `exec.launch`.
  }];
  let methods = [
    InterfaceMethod<[{
      Checks the call against the tensors of a kernel: views of arguments read
      nothing outside of them, each result is written once as a whole, and the
      element types are those of the library. Emits an error.
    }], "::llvm::LogicalResult", "verifyBuffers",
      (ins "::llvm::function_ref<::mlir::InFlightDiagnostic()>":$emitError,
           "::mlir::FunctionType":$type)>
  ];
}

def TG_LibraryCallAttr : Attr<
    CPred<"::llvm::isa<::regather::tg::LibraryCallAttrInterface>($_self)">,
    "a library call, such as #tg.gemm or #tg.attention"> {
  let storageType = "::regather::tg::LibraryCallAttrInterface";
  let returnType = storageType;
  let convertFromStorage = "$_self";
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

class TG_LibraryCall<string name, string attrMnemonic>
    : TG_Attr<name, attrMnemonic, [
        DeclareAttrInterfaceMethods<TG_LibraryCallAttrInterface>]> {
  let genVerifyDecl = 1;
}

def TG_BufferViewAttr : TG_Attr<"BufferView", "buffer_view"> {
  let summary = "elements of a buffer that a library reads or writes";
  let description = [{
    The elements of a buffer from `offset` on that lie `strides` apart, one
    stride for each dimension of the view. Offset and strides count elements. A
    stride of zero repeats what is read. The sizes are those of the call.

    ```
    #tg.buffer_view<1 at 128 strides[256, 1]>
    ```
  }];
  let parameters = (ins
    "int64_t":$buffer,
    DefaultValuedParameter<"int64_t", "0">:$offset,
    ArrayRefParameter<"int64_t">:$strides
  );
  let assemblyFormat = [{
    `<` $buffer (`at` $offset^)? `strides` `[` $strides `]` `>`
  }];
  let genVerifyDecl = 1;
}

def TG_GemmAttr : TG_LibraryCall<"Gemm", "gemm"> {
  let summary = "a general matrix multiplication";
  let description = [{
    Computes, for each element of the batch, with addends D0 and D1 if there are
    any:

    ```
    C = convert(relu(alpha * (A B) + D0 + D1))
    ```

    A is `m` x `k`, B `k` x `n`, C and the addends are `m` x `n`. The strides of
    a view are those of the batch, then along rows and columns; so a transposed
    operand is one whose last two strides change places, and a bias is an
    addend with a stride of zero. A, B and the addends are views of arguments; C
    is all of the only result. A step that accumulates gradients has the old sum
    as an addend, which may lie where C does.

    Elements are f32, bf16 or f16, those of A and B of one type. Sums are f32,
    and each operation behind the sum rounds to f32 once. `relu` and `alpha` are
    left out if they change nothing.

    A GEMM of a transposed weight with bias, as `form-kernels` marks it:

    ```
    tg.kernel @addmm_0(%w: tensor<96x128xf32>, %x: tensor<64x128xf32>,
                       %b: tensor<96xf32>) -> tensor<64x96xf32>
        attributes {library_call = #tg.gemm<
            m = 64, n = 96, k = 128, a = <1 strides[128, 1]>,
            b = <0 strides[1, 128]>, c = <3 strides[96, 1]>,
            addends = [<2 strides[0, 1]>]>}
    ```
  }];
  let parameters = (ins
    "int64_t":$m,
    "int64_t":$n,
    "int64_t":$k,
    OptionalArrayRefParameter<"int64_t">:$batch,
    "::regather::tg::BufferViewAttr":$a,
    "::regather::tg::BufferViewAttr":$b,
    "::regather::tg::BufferViewAttr":$c,
    OptionalArrayRefParameter<"::regather::tg::BufferViewAttr">:$addends,
    DefaultValuedParameter<"bool", "false">:$relu,
    DefaultValuedParameter<"::mlir::FloatAttr", [{
      ::mlir::FloatAttr::get(::mlir::Float32Type::get($_ctxt), 1.0)
    }]>:$alpha
  );
  let assemblyFormat = [{
    `<` struct($m, $n, $k, custom<SizeList>($batch), $a, $b, $c,
               custom<ViewList>($addends), $relu, $alpha) `>`
  }];
  let extraClassDeclaration = [{
    /// What the libraries take at most.
    static constexpr int64_t kMaxBatchRank = 6, kMaxAddends = 2;
  }];
}

def TG_AttentionAttr : TG_LibraryCall<"Attention", "attention"> {
  let summary = "scaled dot-product attention, or its gradients";
  let description = [{
    Computes, for each element of the batch and each of `heads` heads of Q, with
    the head of K and V that it belongs to:

    ```
    S = scale * Q K^T + mask       -inf above the diagonal if `causal`
    O = softmax(S) V
    L = log(sum(exp(S)))           along the columns
    ```

    Scores are `rows` x `columns`. Heads of Q and K have `width` elements, those
    of V and O `value_width`. `groups` heads of Q that follow each other share a
    head of K and V. A view has four strides: of the batch, of heads, of rows (of
    K and V: of columns) and of elements; L has no elements, and so three.

    With `grad_o`, the call computes the gradients of Q, K and V, and reads O and
    L. Without it, the results are O and, if it is there, L. A mask is added to
    the scores; a mask of i1 hides where it is false. All arithmetic is f32.

    ```
    tg.kernel @attention_0(%q: tensor<1x4x16x8xf32>, %kv: tensor<1x2x16x8xf32>)
        -> tensor<1x4x16x8xf32>
        attributes {library_call = #tg.attention<
            batch = 1, heads = 4, groups = 2, rows = 16, columns = 16,
            width = 8, value_width = 8, scale = 5.0e-01 : f32, causal = true,
            q = <0 strides[512, 128, 8, 1]>, k = <1 strides[256, 128, 8, 1]>,
            v = <1 strides[256, 128, 8, 1]>, o = <2 strides[512, 128, 8, 1]>>}
    ```
  }];
  let parameters = (ins
    "int64_t":$batch,
    "int64_t":$heads,
    DefaultValuedParameter<"int64_t", "1">:$groups,
    "int64_t":$rows,
    "int64_t":$columns,
    "int64_t":$width,
    "int64_t":$value_width,
    "::mlir::FloatAttr":$scale,
    DefaultValuedParameter<"bool", "false">:$causal,
    "::regather::tg::BufferViewAttr":$q,
    "::regather::tg::BufferViewAttr":$k,
    "::regather::tg::BufferViewAttr":$v,
    OptionalParameter<"::regather::tg::BufferViewAttr">:$mask,
    "::regather::tg::BufferViewAttr":$o,
    OptionalParameter<"::regather::tg::BufferViewAttr">:$l,
    OptionalParameter<"::regather::tg::BufferViewAttr">:$grad_o,
    OptionalParameter<"::regather::tg::BufferViewAttr">:$grad_q,
    OptionalParameter<"::regather::tg::BufferViewAttr">:$grad_k,
    OptionalParameter<"::regather::tg::BufferViewAttr">:$grad_v
  );
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// True if the call computes gradients.
    bool isBackward() const { return getGradO() != nullptr; }
  }];
}

#endif // REGATHER_DIALECT_TG_IR_TGLIBRARYATTRIBUTES
