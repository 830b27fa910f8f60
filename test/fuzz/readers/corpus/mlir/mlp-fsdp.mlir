
#whole = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
#vector = affine_map<(i) -> (i)>
#row = affine_map<(i, j) -> (i)>
#scalar = affine_map<(i) -> ()>
#a = affine_map<(i, j, k) -> (i, k)>
#b = affine_map<(i, j, k) -> (k, j)>
#a_transposed = affine_map<(i, j, k) -> (k, i)>
#b_transposed = affine_map<(i, j, k) -> (j, k)>
#c = affine_map<(i, j, k) -> (i, j)>
#shard = #tg.placement<@mesh [[dp] = shard 0]>

tg.mesh @mesh [dp = 4]

func.func @step(
    %w0: tensor<4x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.0.weight", tg.module = "layers.0", tg.registration = 0 : i64, tg.placement = #shard, tg.donated},
    %b0: tensor<8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.0.bias", tg.module = "layers.0", tg.registration = 1 : i64, tg.placement = #shard, tg.donated},
    %w1: tensor<8x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.1.weight", tg.module = "layers.1", tg.registration = 2 : i64, tg.placement = #shard, tg.donated},
    %b1: tensor<8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.1.bias", tg.module = "layers.1", tg.registration = 3 : i64, tg.placement = #shard, tg.donated},
    %w2: tensor<8x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.2.weight", tg.module = "layers.2", tg.registration = 4 : i64, tg.placement = #shard, tg.donated},
    %b2: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.2.bias", tg.module = "layers.2", tg.registration = 5 : i64, tg.placement = #shard, tg.donated},
    %x: tensor<4x16xf32> {tg.role = #tg.role<input>, tg.name = "x", tg.placement = #shard},
    %target: tensor<4x8xf32> {tg.role = #tg.role<input>, tg.name = "target", tg.placement = #shard})
    -> (tensor<f32> {tg.role = #tg.role<loss>},
        tensor<4x32xf32> {tg.role = #tg.role<update of 0>},
        tensor<8xf32> {tg.role = #tg.role<update of 1>},
        tensor<8x32xf32> {tg.role = #tg.role<update of 2>},
        tensor<8xf32> {tg.role = #tg.role<update of 3>},
        tensor<8x8xf32> {tg.role = #tg.role<update of 4>},
        tensor<2xf32> {tg.role = #tg.role<update of 5>}) {
  %zero = arith.constant 0.0 : f32
  %learning_rate = arith.constant 0.0625 : f32
  %mean = arith.constant 0.03125 : f32
  %mean_twice = arith.constant 0.0625 : f32

  %gather0 = tg.all_gather %w0, %b0 on @mesh [dp] dim 0 phase forward {tg.module = "layers.0"}
      : (tensor<4x32xf32>, tensor<8xf32>) -> !tg.future<tensor<16x32xf32>, tensor<32xf32>>
  %w0_full, %b0_full = tg.wait %gather0 : !tg.future<tensor<16x32xf32>, tensor<32xf32>>
  %gather1 = tg.all_gather %w1, %b1 on @mesh [dp] dim 0 phase forward {tg.module = "layers.1"}
      : (tensor<8x32xf32>, tensor<8xf32>) -> !tg.future<tensor<32x32xf32>, tensor<32xf32>>
  %empty0 = tensor.empty() : tensor<4x32xf32>
  %init0 = linalg.fill ins(%zero : f32) outs(%empty0 : tensor<4x32xf32>) -> tensor<4x32xf32>
  %product0 = linalg.matmul {tg.phase = #tg.phase<forward>, tg.module = "layers.0"} ins(%x, %w0_full : tensor<4x16xf32>, tensor<16x32xf32>) outs(%init0 : tensor<4x32xf32>) -> tensor<4x32xf32>
  %h0 = linalg.generic {indexing_maps = [#whole, #column, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%product0, %b0_full : tensor<4x32xf32>, tensor<32xf32>) outs(%empty0 : tensor<4x32xf32>) attrs = {tg.phase = #tg.phase<forward>, tg.module = "layers.0"} {
  ^body(%p: f32, %bias: f32, %out: f32):
    %sum = arith.addf %p, %bias : f32
    %relu = arith.maximumf %sum, %zero : f32
    linalg.yield %relu : f32
  } -> tensor<4x32xf32>
  %w1_full, %b1_full = tg.wait %gather1 : !tg.future<tensor<32x32xf32>, tensor<32xf32>>
  %gather2 = tg.all_gather %w2, %b2 on @mesh [dp] dim 0 phase forward {tg.module = "layers.2"}
      : (tensor<8x8xf32>, tensor<2xf32>) -> !tg.future<tensor<32x8xf32>, tensor<8xf32>>
  %empty1 = tensor.empty() : tensor<4x32xf32>
  %init1 = linalg.fill ins(%zero : f32) outs(%empty1 : tensor<4x32xf32>) -> tensor<4x32xf32>
  %product1 = linalg.matmul {tg.phase = #tg.phase<forward>, tg.module = "layers.1"} ins(%h0, %w1_full : tensor<4x32xf32>, tensor<32x32xf32>) outs(%init1 : tensor<4x32xf32>) -> tensor<4x32xf32>
  %h1 = linalg.generic {indexing_maps = [#whole, #column, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%product1, %b1_full : tensor<4x32xf32>, tensor<32xf32>) outs(%empty1 : tensor<4x32xf32>) attrs = {tg.phase = #tg.phase<forward>, tg.module = "layers.1"} {
  ^body(%p: f32, %bias: f32, %out: f32):
    %sum = arith.addf %p, %bias : f32
    %relu = arith.maximumf %sum, %zero : f32
    linalg.yield %relu : f32
  } -> tensor<4x32xf32>
  %w2_full, %b2_full = tg.wait %gather2 : !tg.future<tensor<32x8xf32>, tensor<8xf32>>
  %empty2 = tensor.empty() : tensor<4x8xf32>
  %init2 = linalg.fill ins(%zero : f32) outs(%empty2 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %product2 = linalg.matmul {tg.phase = #tg.phase<forward>, tg.module = "layers.2"} ins(%h1, %w2_full : tensor<4x32xf32>, tensor<32x8xf32>) outs(%init2 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %h2 = linalg.generic {indexing_maps = [#whole, #column, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%product2, %b2_full : tensor<4x8xf32>, tensor<8xf32>) outs(%empty2 : tensor<4x8xf32>) attrs = {tg.phase = #tg.phase<forward>, tg.module = "layers.2"} {
  ^body(%p: f32, %bias: f32, %out: f32):
    %sum = arith.addf %p, %bias : f32
    linalg.yield %sum : f32
  } -> tensor<4x8xf32>

  %error = linalg.generic {indexing_maps = [#whole, #whole, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%h2, %target : tensor<4x8xf32>, tensor<4x8xf32>) outs(%empty2 : tensor<4x8xf32>) attrs = {tg.phase = #tg.phase<forward>} {
  ^body(%y: f32, %t: f32, %out: f32):
    %difference = arith.subf %y, %t : f32
    linalg.yield %difference : f32
  } -> tensor<4x8xf32>
  %rows_empty = tensor.empty() : tensor<4xf32>
  %rows_init = linalg.fill ins(%zero : f32) outs(%rows_empty : tensor<4xf32>) -> tensor<4xf32>
  %rows = linalg.generic {indexing_maps = [#whole, #row], iterator_types = ["parallel", "reduction"]}
      ins(%error : tensor<4x8xf32>) outs(%rows_init : tensor<4xf32>) attrs = {tg.phase = #tg.phase<forward>} {
  ^body(%e: f32, %sum: f32):
    %square = arith.mulf %e, %e : f32
    %next = arith.addf %sum, %square : f32
    linalg.yield %next : f32
  } -> tensor<4xf32>
  %loss_empty = tensor.empty() : tensor<f32>
  %loss_init = linalg.fill ins(%zero : f32) outs(%loss_empty : tensor<f32>) -> tensor<f32>
  %loss_local = linalg.generic {indexing_maps = [#vector, #scalar], iterator_types = ["reduction"]}
      ins(%rows : tensor<4xf32>) outs(%loss_init : tensor<f32>) attrs = {tg.phase = #tg.phase<forward>} {
  ^body(%r: f32, %sum: f32):
    %scaled = arith.mulf %r, %mean : f32
    %next = arith.addf %sum, %scaled : f32
    linalg.yield %next : f32
  } -> tensor<f32>
  %loss_reduce = tg.all_reduce avg %loss_local on @mesh [dp] phase forward : (tensor<f32>) -> !tg.future<tensor<f32>>

  %gather2_again = tg.all_gather %w2 on @mesh [dp] dim 0 phase backward generation 1 {tg.module = "layers.2"}
      : (tensor<8x8xf32>) -> !tg.future<tensor<32x8xf32>>
  %d2 = linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%error : tensor<4x8xf32>) outs(%empty2 : tensor<4x8xf32>) attrs = {tg.phase = #tg.phase<backward>} {
  ^body(%e: f32, %out: f32):
    %scaled = arith.mulf %e, %mean_twice : f32
    linalg.yield %scaled : f32
  } -> tensor<4x8xf32>
  %dw2_empty = tensor.empty() : tensor<32x8xf32>
  %dw2_init = linalg.fill ins(%zero : f32) outs(%dw2_empty : tensor<32x8xf32>) -> tensor<32x8xf32>
  %dw2 = linalg.matmul indexing_maps = [#a_transposed, #b, #c] {tg.phase = #tg.phase<backward>, tg.module = "layers.2"}
      ins(%h1, %d2 : tensor<4x32xf32>, tensor<4x8xf32>) outs(%dw2_init : tensor<32x8xf32>) -> tensor<32x8xf32>
  %db2_empty = tensor.empty() : tensor<8xf32>
  %db2_init = linalg.fill ins(%zero : f32) outs(%db2_empty : tensor<8xf32>) -> tensor<8xf32>
  %db2 = linalg.reduce ins(%d2 : tensor<4x8xf32>) outs(%db2_init : tensor<8xf32>) dimensions = [0] {tg.phase = #tg.phase<backward>, tg.module = "layers.2"}
    (%d: f32, %sum: f32) {
      %next = arith.addf %sum, %d : f32
      linalg.yield %next : f32
    }
  %scatter2 = tg.reduce_scatter avg %dw2, %db2 on @mesh [dp] dim 0 phase backward {tg.module = "layers.2"}
      : (tensor<32x8xf32>, tensor<8xf32>) -> !tg.future<tensor<8x8xf32>, tensor<2xf32>>
  %w2_again = tg.wait %gather2_again : !tg.future<tensor<32x8xf32>>
  %gather1_again = tg.all_gather %w1 on @mesh [dp] dim 0 phase backward generation 1 {tg.module = "layers.1"}
      : (tensor<8x32xf32>) -> !tg.future<tensor<32x32xf32>>
  %dh1_init = linalg.fill ins(%zero : f32) outs(%empty1 : tensor<4x32xf32>) -> tensor<4x32xf32>
  %dh1 = linalg.matmul indexing_maps = [#a, #b_transposed, #c] {tg.phase = #tg.phase<backward>, tg.module = "layers.2"}
      ins(%d2, %w2_again : tensor<4x8xf32>, tensor<32x8xf32>) outs(%dh1_init : tensor<4x32xf32>) -> tensor<4x32xf32>
  %d1 = linalg.generic {indexing_maps = [#whole, #whole, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%dh1, %h1 : tensor<4x32xf32>, tensor<4x32xf32>) outs(%empty1 : tensor<4x32xf32>) attrs = {tg.phase = #tg.phase<backward>, tg.module = "layers.1"} {
  ^body(%d: f32, %h: f32, %out: f32):
    %active = arith.cmpf ogt, %h, %zero : f32
    %masked = arith.select %active, %d, %zero : f32
    linalg.yield %masked : f32
  } -> tensor<4x32xf32>
  %dw1_empty = tensor.empty() : tensor<32x32xf32>
  %dw1_init = linalg.fill ins(%zero : f32) outs(%dw1_empty : tensor<32x32xf32>) -> tensor<32x32xf32>
  %dw1 = linalg.matmul indexing_maps = [#a_transposed, #b, #c] {tg.phase = #tg.phase<backward>, tg.module = "layers.1"}
      ins(%h0, %d1 : tensor<4x32xf32>, tensor<4x32xf32>) outs(%dw1_init : tensor<32x32xf32>) -> tensor<32x32xf32>
  %db1_empty = tensor.empty() : tensor<32xf32>
  %db1_init = linalg.fill ins(%zero : f32) outs(%db1_empty : tensor<32xf32>) -> tensor<32xf32>
  %db1 = linalg.reduce ins(%d1 : tensor<4x32xf32>) outs(%db1_init : tensor<32xf32>) dimensions = [0] {tg.phase = #tg.phase<backward>, tg.module = "layers.1"}
    (%d: f32, %sum: f32) {
      %next = arith.addf %sum, %d : f32
      linalg.yield %next : f32
    }
  %scatter1 = tg.reduce_scatter avg %dw1, %db1 on @mesh [dp] dim 0 phase backward {tg.module = "layers.1"}
      : (tensor<32x32xf32>, tensor<32xf32>) -> !tg.future<tensor<8x32xf32>, tensor<8xf32>>
  %w1_again = tg.wait %gather1_again : !tg.future<tensor<32x32xf32>>
  %dh0_init = linalg.fill ins(%zero : f32) outs(%empty0 : tensor<4x32xf32>) -> tensor<4x32xf32>
  %dh0 = linalg.matmul indexing_maps = [#a, #b_transposed, #c] {tg.phase = #tg.phase<backward>, tg.module = "layers.1"}
      ins(%d1, %w1_again : tensor<4x32xf32>, tensor<32x32xf32>) outs(%dh0_init : tensor<4x32xf32>) -> tensor<4x32xf32>
  %d0 = linalg.generic {indexing_maps = [#whole, #whole, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%dh0, %h0 : tensor<4x32xf32>, tensor<4x32xf32>) outs(%empty0 : tensor<4x32xf32>) attrs = {tg.phase = #tg.phase<backward>, tg.module = "layers.0"} {
  ^body(%d: f32, %h: f32, %out: f32):
    %active = arith.cmpf ogt, %h, %zero : f32
    %masked = arith.select %active, %d, %zero : f32
    linalg.yield %masked : f32
  } -> tensor<4x32xf32>
  %dw0_empty = tensor.empty() : tensor<16x32xf32>
  %dw0_init = linalg.fill ins(%zero : f32) outs(%dw0_empty : tensor<16x32xf32>) -> tensor<16x32xf32>
  %dw0 = linalg.matmul indexing_maps = [#a_transposed, #b, #c] {tg.phase = #tg.phase<backward>, tg.module = "layers.0"}
      ins(%x, %d0 : tensor<4x16xf32>, tensor<4x32xf32>) outs(%dw0_init : tensor<16x32xf32>) -> tensor<16x32xf32>
  %db0_empty = tensor.empty() : tensor<32xf32>
  %db0_init = linalg.fill ins(%zero : f32) outs(%db0_empty : tensor<32xf32>) -> tensor<32xf32>
  %db0 = linalg.reduce ins(%d0 : tensor<4x32xf32>) outs(%db0_init : tensor<32xf32>) dimensions = [0] {tg.phase = #tg.phase<backward>, tg.module = "layers.0"}
    (%d: f32, %sum: f32) {
      %next = arith.addf %sum, %d : f32
      linalg.yield %next : f32
    }
  %scatter0 = tg.reduce_scatter avg %dw0, %db0 on @mesh [dp] dim 0 phase backward {tg.module = "layers.0"}
      : (tensor<16x32xf32>, tensor<32xf32>) -> !tg.future<tensor<4x32xf32>, tensor<8xf32>>

  %gw2, %gb2 = tg.wait %scatter2 : !tg.future<tensor<8x8xf32>, tensor<2xf32>>
  %w2_next = linalg.generic {indexing_maps = [#whole, #whole, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%w2, %gw2 : tensor<8x8xf32>, tensor<8x8xf32>) outs(%w2 : tensor<8x8xf32>) attrs = {tg.phase = #tg.phase<optimizer>, tg.module = "layers.2"} {
  ^body(%parameter: f32, %gradient: f32, %out: f32):
    %delta = arith.mulf %gradient, %learning_rate : f32
    %next = arith.subf %parameter, %delta : f32
    linalg.yield %next : f32
  } -> tensor<8x8xf32>
  %b2_next = linalg.generic {indexing_maps = [#vector, #vector, #vector], iterator_types = ["parallel"]}
      ins(%b2, %gb2 : tensor<2xf32>, tensor<2xf32>) outs(%b2 : tensor<2xf32>) attrs = {tg.phase = #tg.phase<optimizer>, tg.module = "layers.2"} {
  ^body(%parameter: f32, %gradient: f32, %out: f32):
    %delta = arith.mulf %gradient, %learning_rate : f32
    %next = arith.subf %parameter, %delta : f32
    linalg.yield %next : f32
  } -> tensor<2xf32>
  %gw1, %gb1 = tg.wait %scatter1 : !tg.future<tensor<8x32xf32>, tensor<8xf32>>
  %w1_next = linalg.generic {indexing_maps = [#whole, #whole, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%w1, %gw1 : tensor<8x32xf32>, tensor<8x32xf32>) outs(%w1 : tensor<8x32xf32>) attrs = {tg.phase = #tg.phase<optimizer>, tg.module = "layers.1"} {
  ^body(%parameter: f32, %gradient: f32, %out: f32):
    %delta = arith.mulf %gradient, %learning_rate : f32
    %next = arith.subf %parameter, %delta : f32
    linalg.yield %next : f32
  } -> tensor<8x32xf32>
  %b1_next = linalg.generic {indexing_maps = [#vector, #vector, #vector], iterator_types = ["parallel"]}
      ins(%b1, %gb1 : tensor<8xf32>, tensor<8xf32>) outs(%b1 : tensor<8xf32>) attrs = {tg.phase = #tg.phase<optimizer>, tg.module = "layers.1"} {
  ^body(%parameter: f32, %gradient: f32, %out: f32):
    %delta = arith.mulf %gradient, %learning_rate : f32
    %next = arith.subf %parameter, %delta : f32
    linalg.yield %next : f32
  } -> tensor<8xf32>
  %gw0, %gb0 = tg.wait %scatter0 : !tg.future<tensor<4x32xf32>, tensor<8xf32>>
  %w0_next = linalg.generic {indexing_maps = [#whole, #whole, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%w0, %gw0 : tensor<4x32xf32>, tensor<4x32xf32>) outs(%w0 : tensor<4x32xf32>) attrs = {tg.phase = #tg.phase<optimizer>, tg.module = "layers.0"} {
  ^body(%parameter: f32, %gradient: f32, %out: f32):
    %delta = arith.mulf %gradient, %learning_rate : f32
    %next = arith.subf %parameter, %delta : f32
    linalg.yield %next : f32
  } -> tensor<4x32xf32>
  %b0_next = linalg.generic {indexing_maps = [#vector, #vector, #vector], iterator_types = ["parallel"]}
      ins(%b0, %gb0 : tensor<8xf32>, tensor<8xf32>) outs(%b0 : tensor<8xf32>) attrs = {tg.phase = #tg.phase<optimizer>, tg.module = "layers.0"} {
  ^body(%parameter: f32, %gradient: f32, %out: f32):
    %delta = arith.mulf %gradient, %learning_rate : f32
    %next = arith.subf %parameter, %delta : f32
    linalg.yield %next : f32
  } -> tensor<8xf32>
  %loss = tg.wait %loss_reduce : !tg.future<tensor<f32>>
  return %loss, %w0_next, %b0_next, %w1_next, %b1_next, %w2_next, %b2_next
      : tensor<f32>, tensor<4x32xf32>, tensor<8xf32>, tensor<8x32xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<2xf32>
}
