
tg.mesh @mesh [dp = 4, tp = 2]

func.func @all_gather(%a: tensor<2x8xf32>, %b: tensor<3xbf16>) {
  %bucket = tg.all_gather %a, %b on @mesh [dp] dim 0 phase forward {tg.module = "layers.0"}
      : (tensor<2x8xf32>, tensor<3xbf16>) -> !tg.future<tensor<8x8xf32>, tensor<10xbf16>>
  %flattened = tg.all_gather %a on @mesh [tp, dp] dim 1 phase backward generation 2
      : (tensor<2x8xf32>) -> !tg.future<tensor<2x64xf32>>
  %one = tensor.extract_slice %b[0] [1] [1] : tensor<3xbf16> to tensor<1xbf16>
  %padded = tg.all_gather %one on @mesh [dp] dim 0 phase forward
      : (tensor<1xbf16>) -> !tg.future<tensor<1xbf16>>
  return
}

func.func @reduce_scatter(%a: tensor<10x8xbf16>, %b: tensor<10xi32>) {
  %sum = tg.reduce_scatter sum %a on @mesh [dp] dim 0 phase backward
      : (tensor<10x8xbf16>) -> !tg.future<tensor<3x8xbf16>>
  %avg = tg.reduce_scatter avg %a on @mesh [tp] dim 1 accumulate f64 phase backward
      : (tensor<10x8xbf16>) -> !tg.future<tensor<10x4xbf16>>
  %max = tg.reduce_scatter max %b on @mesh [dp] dim 0 phase optimizer generation 0
      : (tensor<10xi32>) -> !tg.future<tensor<3xi32>>
  return
}

func.func @all_reduce(%a: tensor<f32>, %b: tensor<0x4xf32>) {
  %sum = tg.all_reduce sum %a, %b on @mesh [dp] phase forward
      : (tensor<f32>, tensor<0x4xf32>) -> !tg.future<tensor<f32>, tensor<0x4xf32>>
  return
}

func.func @all_to_all(%a: tensor<3x10xf32>, %b: tensor<8xf32>) {
  %uneven = tg.all_to_all %a on @mesh [dp] split 1 concat 0 phase forward
      : (tensor<3x10xf32>) -> !tg.future<tensor<9x3xf32>>
  %same = tg.all_to_all %b on @mesh [dp] split 0 concat 0 phase forward
      : (tensor<8xf32>) -> !tg.future<tensor<8xf32>>
  return
}

func.func @broadcast_and_permute(%a: tensor<3xi1>) {
  %broadcast = tg.broadcast %a on @mesh [dp, tp] root 7 phase forward
      : (tensor<3xi1>) -> !tg.future<tensor<3xi1>>
  %permute = tg.permute %a on @mesh [dp] pairs [3 to 1, 0 to 0] phase forward
      : (tensor<3xi1>) -> !tg.future<tensor<3xi1>>
  %nothing = tg.permute %a on @mesh [dp] pairs [] phase forward
      : (tensor<3xi1>) -> !tg.future<tensor<3xi1>>
  return
}

func.func @empty_bucket() {
  %future = tg.all_gather on @mesh [dp] dim 0 phase forward : () -> !tg.future<>
  tg.wait %future : !tg.future<>
  return
}
