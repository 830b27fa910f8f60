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
           "::mlir::FunctionType":$type)>,
    InterfaceMethod<[{
      False if there is a routine for hosts alone. For GPUs code is generated
      from the body then.
    }], "bool", "hasDeviceRoutine", (ins), [{}], [{ return true; }]>
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

    With `segments`, which divide `k`, A B is a balanced tree of sums over equal
    segments of k: that over s segments is the one over the first s / 2 plus
    the one over the others, in f32. The sum of each segment is that of a GEMM
    of its own, rounded to `segment_type` first if there is one. On GPUs kernels
    add up to 64 segments.

    A GEMM of a transposed weight with bias, as `form-kernels` marks it:

    ```
    tg.kernel @addmm_0(%w: tensor<96x128xf32>, %x: tensor<64x128xf32>,
                       %b: tensor<96xf32>) -> tensor<64x96xf32>
        attributes {library_call = #tg.gemm<
            m = 64, n = 96, k = 128, a = <1 strides[128, 1]>,
            b = <0 strides[1, 128]>, c = <3 strides[96, 1]>,
            addends = [<2 strides[0, 1]>]>}
    ```

    The gradient of a weight in bf16 over four segments of the batch:

    ```
    #tg.gemm<m = 96, n = 128, k = 256, a = <0 strides[1, 96]>,
             b = <1 strides[128, 1]>, c = <2 strides[128, 1]>,
             segments = 4, segment_type = bf16>
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
    }]>:$alpha,
    DefaultValuedParameter<"int64_t", "1">:$segments,
    OptionalParameter<"::mlir::Type">:$segment_type
  );
  let assemblyFormat = [{
    `<` struct($m, $n, $k, custom<SizeList>($batch), $a, $b, $c,
               custom<ViewList>($addends), $relu, $alpha, $segments,
               $segment_type) `>`
  }];
  let extraClassDeclaration = [{
    /// What the libraries take at most.
    static constexpr int64_t kMaxBatchRank = 6, kMaxAddends = 2,
                             kMaxSegments = 65536;
  }];
}

def TG_AttentionAttr : TG_LibraryCall<"Attention", "attention"> {
  let summary = "scaled dot-product attention, or its gradients";
  let description = [{
    Computes, for each element of the batch and each of `heads` heads of Q, with
    the head of K and V that it belongs to:

    ```
    S = scale * Q K^T              softcap * tanh(S / softcap) if there is one
    S = S + mask                   -inf above the diagonal if `causal`
    O = softmax(S) V
    L = log(sum(exp(S)))           along the columns
    ```

    Scores are `rows` x `columns`. Heads of Q and K have `width` elements, those
    of V and O `value_width`. `groups` heads of Q that follow each other share a
    head of K and V. A view has four strides: of the batch, of heads, of rows (of
    K and V: of columns) and of elements; L has no elements, and so three.

    With `grad_o`, the call computes the gradients of Q, K and V, and reads O and
    L, and with `grad_mask` that of the mask, in f32, which is a sum over the batch
    if its view has a stride of zero there. Without `grad_o`, the results are O and, if it is
    there, L. A mask is added to the scores; a mask of i1 hides where it is false.
    All arithmetic is f32. Only hosts have a routine for `softcap` and
    `grad_mask`.

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
    OptionalParameter<"::mlir::FloatAttr">:$softcap,
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
    OptionalParameter<"::regather::tg::BufferViewAttr">:$grad_v,
    OptionalParameter<"::regather::tg::BufferViewAttr">:$grad_mask
  );
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    bool hasDeviceRoutine() const { return !getSoftcap() && !getGradMask(); }

    /// True if the call computes gradients.
    bool isBackward() const { return getGradO() != nullptr; }
  }];
}

def TG_ConvolutionAttr : TG_LibraryCall<"Convolution", "convolution"> {
  let summary = "a convolution, or its gradients";
  let description = [{
    Relates x, w and y, with `inner` channels of x and `outer` channels of y in
    each group, windows of `sizes` that move over `extents` to `counts` places,
    and zeros outside of x:

    ```
    y[n, g, k, i] = sum_{c, s} x[n, g, c, p(i, s)] * w[g, k, c, s]
    p(i, s) = i * stride - padding + s * dilation
    ```

    The call reads some of them and writes others: `to_y` from x and w; `to_x`,
    the adjoint in x, from y and w; `to_w`, the adjoint in w, from x and y. A
    convolution writes `to_y`, plus a bias; a `transposed` one reads y and writes
    `to_x`, plus a bias. Gradients are the other two, and `to_bias`, the sum of
    all but the channels of y, or of x if it is transposed.

    Views of x and y have strides of the batch, groups, channels, and of each
    dimension of windows; those of w of groups, outer and inner channels, and of
    windows; a bias has strides of groups and channels. Elements are f32, bf16 or
    f16. Sums are f32, and are rounded with the bias once.

    ```
    tg.kernel @convolution_0(%x: tensor<2x3x16x16xf32>,
                             %w: tensor<8x3x3x3xf32>)
        -> tensor<2x8x16x16xf32>
        attributes {library_call = #tg.convolution<
            batch = 2, inner = 3, outer = 8, extents = [16, 16],
            counts = [16, 16], sizes = [3, 3], strides = [1, 1],
            padding = [1, 1], dilation = [1, 1],
            x = <0 strides[768, 768, 256, 16, 1]>,
            w = <1 strides[216, 27, 9, 3, 1]>,
            to_y = <2 strides[2048, 2048, 256, 16, 1]>>}
    ```
  }];
  let parameters = (ins
    "int64_t":$batch,
    DefaultValuedParameter<"int64_t", "1">:$groups,
    "int64_t":$inner,
    "int64_t":$outer,
    ArrayRefParameter<"int64_t">:$extents,
    ArrayRefParameter<"int64_t">:$counts,
    ArrayRefParameter<"int64_t">:$sizes,
    ArrayRefParameter<"int64_t">:$strides,
    ArrayRefParameter<"int64_t">:$padding,
    ArrayRefParameter<"int64_t">:$dilation,
    DefaultValuedParameter<"bool", "false">:$transposed,
    OptionalParameter<"::regather::tg::BufferViewAttr">:$x,
    OptionalParameter<"::regather::tg::BufferViewAttr">:$w,
    OptionalParameter<"::regather::tg::BufferViewAttr">:$y,
    OptionalParameter<"::regather::tg::BufferViewAttr">:$bias,
    OptionalParameter<"::regather::tg::BufferViewAttr">:$to_x,
    OptionalParameter<"::regather::tg::BufferViewAttr">:$to_w,
    OptionalParameter<"::regather::tg::BufferViewAttr">:$to_y,
    OptionalParameter<"::regather::tg::BufferViewAttr">:$to_bias
  );
  let assemblyFormat = [{
    `<` struct($batch, $groups, $inner, $outer, custom<SizeList>($extents),
               custom<SizeList>($counts), custom<SizeList>($sizes),
               custom<SizeList>($strides), custom<SizeList>($padding),
               custom<SizeList>($dilation), $transposed, $x, $w, $y, $bias,
               $to_x, $to_w, $to_y, $to_bias) `>`
  }];
  let extraClassDeclaration = [{
    /// Most dimensions that windows can have.
    static constexpr size_t kMaxRank = 3;

    bool hasDeviceRoutine() const { return false; }

    /// Sizes of x, w, y and the bias, as their views have them.
    llvm::SmallVector<int64_t> getXShape() const;
    llvm::SmallVector<int64_t> getWShape() const;
    llvm::SmallVector<int64_t> getYShape() const;
    llvm::SmallVector<int64_t> getBiasShape() const;
  }];
}

def TG_GroupedGemmAttr : TG_LibraryCall<"GroupedGemm", "grouped_gemm"> {
  let summary = "rows times the matrix of their group, or gradients of this";
  let description = [{
    Relates x, w and y, where g(t) is the first group whose end, a number of
    rows, lies behind row t:

    ```
    y[t, n] = sum_k x[t, k] * w[g(t), k, n]
    ```

    The call reads some of them and writes others: `to_y` from x and w; `to_x`,
    the adjoint in x, from y and w; `to_w`, the adjoint in w, from x and y. Rows
    behind all ends get NaN, or zeros with `fills_zeros`, and no matrix counts
    them. Views of x have strides of `rows` and of `inner`, those of w of
    `groups`, `inner` and `outer`, those of y of `rows` and `outer`, that of
    `ends` of `groups`. Elements are f32, bf16 or f16, ends i32 or i64. Sums are
    f32, and are rounded once.

    ```
    tg.kernel @experts_0(%x: tensor<64x32xf32>, %w: tensor<4x32x48xf32>,
                         %ends: tensor<4xi32>) -> tensor<64x48xf32>
        attributes {library_call = #tg.grouped_gemm<
            groups = 4, rows = 64, inner = 32, outer = 48,
            x = <0 strides[32, 1]>, w = <1 strides[1536, 48, 1]>,
            ends = <2 strides[1]>, to_y = <3 strides[48, 1]>>}
    ```
  }];
  let parameters = (ins
    "int64_t":$groups,
    "int64_t":$rows,
    "int64_t":$inner,
    "int64_t":$outer,
    DefaultValuedParameter<"bool", "false">:$fills_zeros,
    OptionalParameter<"::regather::tg::BufferViewAttr">:$x,
    OptionalParameter<"::regather::tg::BufferViewAttr">:$w,
    OptionalParameter<"::regather::tg::BufferViewAttr">:$y,
    "::regather::tg::BufferViewAttr":$ends,
    OptionalParameter<"::regather::tg::BufferViewAttr">:$to_x,
    OptionalParameter<"::regather::tg::BufferViewAttr">:$to_w,
    OptionalParameter<"::regather::tg::BufferViewAttr">:$to_y
  );
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    bool hasDeviceRoutine() const { return false; }

    /// Sizes of x, w and y, as their views have them.
    llvm::SmallVector<int64_t> getXShape() const;
    llvm::SmallVector<int64_t> getWShape() const;
    llvm::SmallVector<int64_t> getYShape() const;
  }];
}

#endif // REGATHER_DIALECT_TG_IR_TGLIBRARYATTRIBUTES
