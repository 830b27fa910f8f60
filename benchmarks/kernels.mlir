// What the benchmark of kernels runs: the bodies are those that steps of
// language models have, the tensors larger than any cache.

tg.kernel @add(%x: tensor<8192x4096xf32> {tg.rows = 0}, %y: tensor<8192x4096xf32> {tg.rows = 0})
    -> (tensor<8192x4096xf32> {tg.rows = 0}) {
  %z = tg.node "aten.add.Tensor"(%x, %y) : (tensor<8192x4096xf32>, tensor<8192x4096xf32>) -> tensor<8192x4096xf32>
  tg.return %z : tensor<8192x4096xf32>
}

tg.kernel @add_bf16(%x: tensor<8192x4096xbf16> {tg.rows = 0}, %y: tensor<8192x4096xbf16> {tg.rows = 0})
    -> (tensor<8192x4096xbf16> {tg.rows = 0}) {
  %z = tg.node "aten.add.Tensor"(%x, %y) : (tensor<8192x4096xbf16>, tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
  tg.return %z : tensor<8192x4096xbf16>
}

tg.kernel @gelu(%x: tensor<8192x4096xf32> {tg.rows = 0}) -> (tensor<8192x4096xf32> {tg.rows = 0}) {
  %z = tg.node "aten.gelu.default"(%x) : (tensor<8192x4096xf32>) -> tensor<8192x4096xf32>
  tg.return %z : tensor<8192x4096xf32>
}

tg.kernel @gelu_tanh(%x: tensor<8192x4096xf32> {tg.rows = 0}) -> (tensor<8192x4096xf32> {tg.rows = 0}) {
  %z = tg.node "aten.gelu.default"(%x) kwargs {approximate = "tanh"} : (tensor<8192x4096xf32>) -> tensor<8192x4096xf32>
  tg.return %z : tensor<8192x4096xf32>
}

tg.kernel @swiglu(%x: tensor<8192x4096xf32> {tg.rows = 0}, %y: tensor<8192x4096xf32> {tg.rows = 0})
    -> (tensor<8192x4096xf32> {tg.rows = 0}) {
  %s = tg.node "aten.silu.default"(%x) : (tensor<8192x4096xf32>) -> tensor<8192x4096xf32>
  %z = tg.node "aten.mul.Tensor"(%s, %y) : (tensor<8192x4096xf32>, tensor<8192x4096xf32>) -> tensor<8192x4096xf32>
  tg.return %z : tensor<8192x4096xf32>
}

tg.kernel @swiglu_bf16(%x: tensor<8192x4096xbf16> {tg.rows = 0}, %y: tensor<8192x4096xbf16> {tg.rows = 0})
    -> (tensor<8192x4096xbf16> {tg.rows = 0}) {
  %s = tg.node "aten.silu.default"(%x) : (tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
  %z = tg.node "aten.mul.Tensor"(%s, %y) : (tensor<8192x4096xbf16>, tensor<8192x4096xbf16>) -> tensor<8192x4096xbf16>
  tg.return %z : tensor<8192x4096xbf16>
}

tg.kernel @rms_norm(%x: tensor<8192x4096xf32> {tg.rows = 0}, %w: tensor<4096xf32>)
    -> (tensor<8192x4096xf32> {tg.rows = 0}, tensor<8192x1xf32> {tg.rows = 0}) {
  %y:2 = tg.node "aten._fused_rms_norm.default"(%x, %w) args [#tg.operand<0>, [4096], #tg.operand<1>, 1.0e-5]
      : (tensor<8192x4096xf32>, tensor<4096xf32>) -> (tensor<8192x4096xf32>, tensor<8192x1xf32>)
  tg.return %y#0, %y#1 : tensor<8192x4096xf32>, tensor<8192x1xf32>
}

tg.kernel @rms_norm_bf16(%x: tensor<8192x4096xbf16> {tg.rows = 0}, %w: tensor<4096xbf16>)
    -> (tensor<8192x4096xbf16> {tg.rows = 0}, tensor<8192x1xf32> {tg.rows = 0}) {
  %y:2 = tg.node "aten._fused_rms_norm.default"(%x, %w) args [#tg.operand<0>, [4096], #tg.operand<1>, 1.0e-5]
      : (tensor<8192x4096xbf16>, tensor<4096xbf16>) -> (tensor<8192x4096xbf16>, tensor<8192x1xf32>)
  tg.return %y#0, %y#1 : tensor<8192x4096xbf16>, tensor<8192x1xf32>
}

tg.kernel @rms_norm_backward_input(%g: tensor<8192x4096xf32> {tg.rows = 0}, %x: tensor<8192x4096xf32> {tg.rows = 0},
    %r: tensor<8192x1xf32> {tg.rows = 0}, %w: tensor<4096xf32>) -> (tensor<8192x4096xf32> {tg.rows = 0}) {
  %d:2 = tg.node "aten._fused_rms_norm_backward.default"(%g, %x, %r, %w)
      args [#tg.operand<0>, #tg.operand<1>, [4096], #tg.operand<2>, #tg.operand<3>, [true, false]]
      : (tensor<8192x4096xf32>, tensor<8192x4096xf32>, tensor<8192x1xf32>, tensor<4096xf32>)
      -> (tensor<8192x4096xf32>, !tg.opaque<"none">)
  tg.return %d#0 : tensor<8192x4096xf32>
}

tg.kernel @rms_norm_backward_weight(%g: tensor<8192x4096xf32>, %x: tensor<8192x4096xf32>,
    %r: tensor<8192x1xf32>, %w: tensor<4096xf32>) -> tensor<4096xf32> {
  %d:2 = tg.node "aten._fused_rms_norm_backward.default"(%g, %x, %r, %w)
      args [#tg.operand<0>, #tg.operand<1>, [4096], #tg.operand<2>, #tg.operand<3>, [false, true]]
      : (tensor<8192x4096xf32>, tensor<8192x4096xf32>, tensor<8192x1xf32>, tensor<4096xf32>)
      -> (!tg.opaque<"none">, tensor<4096xf32>)
  tg.return %d#1 : tensor<4096xf32>
}

tg.kernel @layer_norm(%x: tensor<8192x4096xf32> {tg.rows = 0}, %w: tensor<4096xf32>, %b: tensor<4096xf32>)
    -> (tensor<8192x4096xf32> {tg.rows = 0}, tensor<8192x1xf32> {tg.rows = 0}, tensor<8192x1xf32> {tg.rows = 0}) {
  %y:3 = tg.node "aten.native_layer_norm.default"(%x, %w, %b) args [#tg.operand<0>, [4096], #tg.operand<1>, #tg.operand<2>, 1.0e-5]
      : (tensor<8192x4096xf32>, tensor<4096xf32>, tensor<4096xf32>) -> (tensor<8192x4096xf32>, tensor<8192x1xf32>, tensor<8192x1xf32>)
  tg.return %y#0, %y#1, %y#2 : tensor<8192x4096xf32>, tensor<8192x1xf32>, tensor<8192x1xf32>
}

tg.kernel @layer_norm_backward_input(%g: tensor<8192x4096xf32> {tg.rows = 0}, %x: tensor<8192x4096xf32> {tg.rows = 0},
    %m: tensor<8192x1xf32> {tg.rows = 0}, %r: tensor<8192x1xf32> {tg.rows = 0}, %w: tensor<4096xf32>, %b: tensor<4096xf32>)
    -> (tensor<8192x4096xf32> {tg.rows = 0}) {
  %d:3 = tg.node "aten.native_layer_norm_backward.default"(%g, %x, %m, %r, %w, %b)
      args [#tg.operand<0>, #tg.operand<1>, [4096], #tg.operand<2>, #tg.operand<3>, #tg.operand<4>, #tg.operand<5>, [true, false, false]]
      : (tensor<8192x4096xf32>, tensor<8192x4096xf32>, tensor<8192x1xf32>, tensor<8192x1xf32>, tensor<4096xf32>, tensor<4096xf32>)
      -> (tensor<8192x4096xf32>, !tg.opaque<"none">, !tg.opaque<"none">)
  tg.return %d#0 : tensor<8192x4096xf32>
}

tg.kernel @bias_gradient(%g: tensor<8192x4096xf32> {tg.rows = 1}) -> (tensor<4096xf32> {tg.rows = 0}) {
  %s = tg.node "aten.sum.dim_IntList"(%g) args [#tg.operand<0>, [0]] : (tensor<8192x4096xf32>) -> tensor<4096xf32>
  tg.return %s : tensor<4096xf32>
}

tg.kernel @softmax(%x: tensor<8192x4096xf32> {tg.rows = 0}) -> (tensor<8192x4096xf32> {tg.rows = 0}) {
  %y = tg.node "aten._softmax.default"(%x) args [#tg.operand<0>, -1, false] : (tensor<8192x4096xf32>) -> tensor<8192x4096xf32>
  tg.return %y : tensor<8192x4096xf32>
}

tg.kernel @softmax_backward(%g: tensor<8192x4096xf32> {tg.rows = 0}, %y: tensor<8192x4096xf32> {tg.rows = 0})
    -> (tensor<8192x4096xf32> {tg.rows = 0}) {
  %d = tg.node "aten._softmax_backward_data.default"(%g, %y) args [#tg.operand<0>, #tg.operand<1>, -1, 6]
      : (tensor<8192x4096xf32>, tensor<8192x4096xf32>) -> tensor<8192x4096xf32>
  tg.return %d : tensor<8192x4096xf32>
}

tg.kernel @cross_entropy(%x: tensor<2048x32000xf32> {tg.rows = 0}, %t: tensor<2048xi64> {tg.rows = 0})
    -> (tensor<2048x32000xf32> {tg.rows = 0}, tensor<2048xf32> {tg.rows = 0}) {
  %y = tg.node "aten._log_softmax.default"(%x) args [#tg.operand<0>, -1, false] : (tensor<2048x32000xf32>) -> tensor<2048x32000xf32>
  %l:2 = tg.node "aten.nll_loss_forward.default"(%y, %t) args [#tg.operand<0>, #tg.operand<1>, unit, 0, -100]
      : (tensor<2048x32000xf32>, tensor<2048xi64>) -> (tensor<2048xf32>, tensor<f32>)
  tg.return %y, %l#0 : tensor<2048x32000xf32>, tensor<2048xf32>
}

tg.kernel @cross_entropy_backward(%s: tensor<2048x32000xf32> {tg.rows = 0}, %t: tensor<2048xi64> {tg.rows = 0}, %g: tensor<2048xf32> {tg.rows = 0}, %w: tensor<f32>)
    -> (tensor<2048x32000xf32> {tg.rows = 0}) {
  %a = tg.node "aten.nll_loss_backward.default"(%g, %s, %t, %w) args [#tg.operand<0>, #tg.operand<1>, #tg.operand<2>, unit, 0, -100, #tg.operand<3>]
      : (tensor<2048xf32>, tensor<2048x32000xf32>, tensor<2048xi64>, tensor<f32>) -> tensor<2048x32000xf32>
  %d = tg.node "aten._log_softmax_backward_data.default"(%a, %s) args [#tg.operand<0>, #tg.operand<1>, -1, 6]
      : (tensor<2048x32000xf32>, tensor<2048x32000xf32>) -> tensor<2048x32000xf32>
  tg.return %d : tensor<2048x32000xf32>
}

#map = affine_map<(d0, d1) -> (d0, d1)>
tg.kernel @adamw(%p: tensor<8192x4096xf32> {tg.rows = 0}, %g: tensor<8192x4096xf32> {tg.rows = 0},
    %m: tensor<8192x4096xf32> {tg.rows = 0}, %v: tensor<8192x4096xf32> {tg.rows = 0})
    -> (tensor<8192x4096xf32> {tg.rows = 0}, tensor<8192x4096xf32> {tg.rows = 0}, tensor<8192x4096xf32> {tg.rows = 0}) {
  %b1 = arith.constant 0.9 : f32
  %c1 = arith.constant 0.1 : f32
  %b2 = arith.constant 0.999 : f32
  %c2 = arith.constant 0.001 : f32
  %eps = arith.constant 1.0e-8 : f32
  %rate = arith.constant -1.0e-3 : f32
  %decay = arith.constant 0.9999 : f32
  %e = tensor.empty() : tensor<8192x4096xf32>
  %r:3 = linalg.generic {indexing_maps = [#map, #map, #map, #map, #map, #map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%p, %g, %m, %v : tensor<8192x4096xf32>, tensor<8192x4096xf32>, tensor<8192x4096xf32>, tensor<8192x4096xf32>)
      outs(%e, %e, %e : tensor<8192x4096xf32>, tensor<8192x4096xf32>, tensor<8192x4096xf32>) {
  ^bb0(%pe: f32, %ge: f32, %me: f32, %ve: f32, %x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %me, %b1 : f32
    %1 = arith.mulf %ge, %c1 : f32
    %2 = arith.addf %0, %1 : f32
    %3 = arith.mulf %ve, %b2 : f32
    %4 = arith.mulf %ge, %ge : f32
    %5 = arith.mulf %4, %c2 : f32
    %6 = arith.addf %3, %5 : f32
    %7 = math.sqrt %6 : f32
    %8 = arith.addf %7, %eps : f32
    %9 = arith.divf %2, %8 : f32
    %10 = arith.mulf %9, %rate : f32
    %11 = arith.mulf %pe, %decay : f32
    %12 = arith.addf %11, %10 : f32
    linalg.yield %12, %2, %6 : f32, f32, f32
  } -> (tensor<8192x4096xf32>, tensor<8192x4096xf32>, tensor<8192x4096xf32>)
  tg.return %r#0, %r#1, %r#2 : tensor<8192x4096xf32>, tensor<8192x4096xf32>, tensor<8192x4096xf32>
}
