// One training step of a three-layer perceptron on one device: forward, mean
// squared error, backward, SGD. examples/mlp-fsdp.mlir is the same step on four
// ranks.
//
//   regather run examples/mlp.mlir --steps 20 --random-inputs=1

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

func.func @step(
    %w0: tensor<16x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.0.weight", tg.module = "layers.0", tg.registration = 0 : i64, tg.donated},
    %b0: tensor<32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.0.bias", tg.module = "layers.0", tg.registration = 1 : i64, tg.donated},
    %w1: tensor<32x32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.1.weight", tg.module = "layers.1", tg.registration = 2 : i64, tg.donated},
    %b1: tensor<32xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.1.bias", tg.module = "layers.1", tg.registration = 3 : i64, tg.donated},
    %w2: tensor<32x8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.2.weight", tg.module = "layers.2", tg.registration = 4 : i64, tg.donated},
    %b2: tensor<8xf32> {tg.role = #tg.role<parameter>, tg.name = "layers.2.bias", tg.module = "layers.2", tg.registration = 5 : i64, tg.donated},
    %x: tensor<16x16xf32> {tg.role = #tg.role<input>, tg.name = "x"},
    %target: tensor<16x8xf32> {tg.role = #tg.role<input>, tg.name = "target"})
    -> (tensor<f32> {tg.role = #tg.role<loss>},
        tensor<16x32xf32> {tg.role = #tg.role<update of 0>},
        tensor<32xf32> {tg.role = #tg.role<update of 1>},
        tensor<32x32xf32> {tg.role = #tg.role<update of 2>},
        tensor<32xf32> {tg.role = #tg.role<update of 3>},
        tensor<32x8xf32> {tg.role = #tg.role<update of 4>},
        tensor<8xf32> {tg.role = #tg.role<update of 5>}) {
  %zero = arith.constant 0.0 : f32
  %learning_rate = arith.constant 0.0625 : f32
  // One over the number of elements of the output.
  %mean = arith.constant 0.0078125 : f32
  %mean_twice = arith.constant 0.015625 : f32

  // Forward.
  %empty0 = tensor.empty() : tensor<16x32xf32>
  %init0 = linalg.fill ins(%zero : f32) outs(%empty0 : tensor<16x32xf32>) -> tensor<16x32xf32>
  %product0 = linalg.matmul {tg.phase = #tg.phase<forward>, tg.module = "layers.0"} ins(%x, %w0 : tensor<16x16xf32>, tensor<16x32xf32>) outs(%init0 : tensor<16x32xf32>) -> tensor<16x32xf32>
  %h0 = linalg.generic {indexing_maps = [#whole, #column, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%product0, %b0 : tensor<16x32xf32>, tensor<32xf32>) outs(%empty0 : tensor<16x32xf32>) attrs = {tg.phase = #tg.phase<forward>, tg.module = "layers.0"} {
  ^body(%p: f32, %bias: f32, %out: f32):
    %sum = arith.addf %p, %bias : f32
    %relu = arith.maximumf %sum, %zero : f32
    linalg.yield %relu : f32
  } -> tensor<16x32xf32>
  %empty1 = tensor.empty() : tensor<16x32xf32>
  %init1 = linalg.fill ins(%zero : f32) outs(%empty1 : tensor<16x32xf32>) -> tensor<16x32xf32>
  %product1 = linalg.matmul {tg.phase = #tg.phase<forward>, tg.module = "layers.1"} ins(%h0, %w1 : tensor<16x32xf32>, tensor<32x32xf32>) outs(%init1 : tensor<16x32xf32>) -> tensor<16x32xf32>
  %h1 = linalg.generic {indexing_maps = [#whole, #column, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%product1, %b1 : tensor<16x32xf32>, tensor<32xf32>) outs(%empty1 : tensor<16x32xf32>) attrs = {tg.phase = #tg.phase<forward>, tg.module = "layers.1"} {
  ^body(%p: f32, %bias: f32, %out: f32):
    %sum = arith.addf %p, %bias : f32
    %relu = arith.maximumf %sum, %zero : f32
    linalg.yield %relu : f32
  } -> tensor<16x32xf32>
  %empty2 = tensor.empty() : tensor<16x8xf32>
  %init2 = linalg.fill ins(%zero : f32) outs(%empty2 : tensor<16x8xf32>) -> tensor<16x8xf32>
  %product2 = linalg.matmul {tg.phase = #tg.phase<forward>, tg.module = "layers.2"} ins(%h1, %w2 : tensor<16x32xf32>, tensor<32x8xf32>) outs(%init2 : tensor<16x8xf32>) -> tensor<16x8xf32>
  %h2 = linalg.generic {indexing_maps = [#whole, #column, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%product2, %b2 : tensor<16x8xf32>, tensor<8xf32>) outs(%empty2 : tensor<16x8xf32>) attrs = {tg.phase = #tg.phase<forward>, tg.module = "layers.2"} {
  ^body(%p: f32, %bias: f32, %out: f32):
    %sum = arith.addf %p, %bias : f32
    linalg.yield %sum : f32
  } -> tensor<16x8xf32>

  // Mean squared error.
  %error = linalg.generic {indexing_maps = [#whole, #whole, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%h2, %target : tensor<16x8xf32>, tensor<16x8xf32>) outs(%empty2 : tensor<16x8xf32>) attrs = {tg.phase = #tg.phase<forward>} {
  ^body(%y: f32, %t: f32, %out: f32):
    %difference = arith.subf %y, %t : f32
    linalg.yield %difference : f32
  } -> tensor<16x8xf32>
  // Rows first: a sum over fewer terms rounds less.
  %rows_empty = tensor.empty() : tensor<16xf32>
  %rows_init = linalg.fill ins(%zero : f32) outs(%rows_empty : tensor<16xf32>) -> tensor<16xf32>
  %rows = linalg.generic {indexing_maps = [#whole, #row], iterator_types = ["parallel", "reduction"]}
      ins(%error : tensor<16x8xf32>) outs(%rows_init : tensor<16xf32>) attrs = {tg.phase = #tg.phase<forward>} {
  ^body(%e: f32, %sum: f32):
    %square = arith.mulf %e, %e : f32
    %next = arith.addf %sum, %square : f32
    linalg.yield %next : f32
  } -> tensor<16xf32>
  %loss_empty = tensor.empty() : tensor<f32>
  %loss_init = linalg.fill ins(%zero : f32) outs(%loss_empty : tensor<f32>) -> tensor<f32>
  %loss = linalg.generic {indexing_maps = [#vector, #scalar], iterator_types = ["reduction"]}
      ins(%rows : tensor<16xf32>) outs(%loss_init : tensor<f32>) attrs = {tg.phase = #tg.phase<forward>} {
  ^body(%r: f32, %sum: f32):
    %scaled = arith.mulf %r, %mean : f32
    %next = arith.addf %sum, %scaled : f32
    linalg.yield %next : f32
  } -> tensor<f32>

  // Backward.
  %d2 = linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%error : tensor<16x8xf32>) outs(%empty2 : tensor<16x8xf32>) attrs = {tg.phase = #tg.phase<backward>} {
  ^body(%e: f32, %out: f32):
    %scaled = arith.mulf %e, %mean_twice : f32
    linalg.yield %scaled : f32
  } -> tensor<16x8xf32>
  %dw2_empty = tensor.empty() : tensor<32x8xf32>
  %dw2_init = linalg.fill ins(%zero : f32) outs(%dw2_empty : tensor<32x8xf32>) -> tensor<32x8xf32>
  %dw2 = linalg.matmul indexing_maps = [#a_transposed, #b, #c] {tg.phase = #tg.phase<backward>, tg.module = "layers.2"}
      ins(%h1, %d2 : tensor<16x32xf32>, tensor<16x8xf32>) outs(%dw2_init : tensor<32x8xf32>) -> tensor<32x8xf32>
  %db2_empty = tensor.empty() : tensor<8xf32>
  %db2_init = linalg.fill ins(%zero : f32) outs(%db2_empty : tensor<8xf32>) -> tensor<8xf32>
  %db2 = linalg.reduce ins(%d2 : tensor<16x8xf32>) outs(%db2_init : tensor<8xf32>) dimensions = [0] {tg.phase = #tg.phase<backward>, tg.module = "layers.2"}
    (%d: f32, %sum: f32) {
      %next = arith.addf %sum, %d : f32
      linalg.yield %next : f32
    }
  %dh1_init = linalg.fill ins(%zero : f32) outs(%empty1 : tensor<16x32xf32>) -> tensor<16x32xf32>
  %dh1 = linalg.matmul indexing_maps = [#a, #b_transposed, #c] {tg.phase = #tg.phase<backward>, tg.module = "layers.2"}
      ins(%d2, %w2 : tensor<16x8xf32>, tensor<32x8xf32>) outs(%dh1_init : tensor<16x32xf32>) -> tensor<16x32xf32>
  %d1 = linalg.generic {indexing_maps = [#whole, #whole, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%dh1, %h1 : tensor<16x32xf32>, tensor<16x32xf32>) outs(%empty1 : tensor<16x32xf32>) attrs = {tg.phase = #tg.phase<backward>, tg.module = "layers.1"} {
  ^body(%d: f32, %h: f32, %out: f32):
    %active = arith.cmpf ogt, %h, %zero : f32
    %masked = arith.select %active, %d, %zero : f32
    linalg.yield %masked : f32
  } -> tensor<16x32xf32>
  %dw1_empty = tensor.empty() : tensor<32x32xf32>
  %dw1_init = linalg.fill ins(%zero : f32) outs(%dw1_empty : tensor<32x32xf32>) -> tensor<32x32xf32>
  %dw1 = linalg.matmul indexing_maps = [#a_transposed, #b, #c] {tg.phase = #tg.phase<backward>, tg.module = "layers.1"}
      ins(%h0, %d1 : tensor<16x32xf32>, tensor<16x32xf32>) outs(%dw1_init : tensor<32x32xf32>) -> tensor<32x32xf32>
  %db1_empty = tensor.empty() : tensor<32xf32>
  %db1_init = linalg.fill ins(%zero : f32) outs(%db1_empty : tensor<32xf32>) -> tensor<32xf32>
  %db1 = linalg.reduce ins(%d1 : tensor<16x32xf32>) outs(%db1_init : tensor<32xf32>) dimensions = [0] {tg.phase = #tg.phase<backward>, tg.module = "layers.1"}
    (%d: f32, %sum: f32) {
      %next = arith.addf %sum, %d : f32
      linalg.yield %next : f32
    }
  %dh0_init = linalg.fill ins(%zero : f32) outs(%empty0 : tensor<16x32xf32>) -> tensor<16x32xf32>
  %dh0 = linalg.matmul indexing_maps = [#a, #b_transposed, #c] {tg.phase = #tg.phase<backward>, tg.module = "layers.1"}
      ins(%d1, %w1 : tensor<16x32xf32>, tensor<32x32xf32>) outs(%dh0_init : tensor<16x32xf32>) -> tensor<16x32xf32>
  %d0 = linalg.generic {indexing_maps = [#whole, #whole, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%dh0, %h0 : tensor<16x32xf32>, tensor<16x32xf32>) outs(%empty0 : tensor<16x32xf32>) attrs = {tg.phase = #tg.phase<backward>, tg.module = "layers.0"} {
  ^body(%d: f32, %h: f32, %out: f32):
    %active = arith.cmpf ogt, %h, %zero : f32
    %masked = arith.select %active, %d, %zero : f32
    linalg.yield %masked : f32
  } -> tensor<16x32xf32>
  %dw0_empty = tensor.empty() : tensor<16x32xf32>
  %dw0_init = linalg.fill ins(%zero : f32) outs(%dw0_empty : tensor<16x32xf32>) -> tensor<16x32xf32>
  %dw0 = linalg.matmul indexing_maps = [#a_transposed, #b, #c] {tg.phase = #tg.phase<backward>, tg.module = "layers.0"}
      ins(%x, %d0 : tensor<16x16xf32>, tensor<16x32xf32>) outs(%dw0_init : tensor<16x32xf32>) -> tensor<16x32xf32>
  %db0_empty = tensor.empty() : tensor<32xf32>
  %db0_init = linalg.fill ins(%zero : f32) outs(%db0_empty : tensor<32xf32>) -> tensor<32xf32>
  %db0 = linalg.reduce ins(%d0 : tensor<16x32xf32>) outs(%db0_init : tensor<32xf32>) dimensions = [0] {tg.phase = #tg.phase<backward>, tg.module = "layers.0"}
    (%d: f32, %sum: f32) {
      %next = arith.addf %sum, %d : f32
      linalg.yield %next : f32
    }

  // SGD.
  %w2_next = linalg.generic {indexing_maps = [#whole, #whole, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%w2, %dw2 : tensor<32x8xf32>, tensor<32x8xf32>) outs(%w2 : tensor<32x8xf32>) attrs = {tg.phase = #tg.phase<optimizer>, tg.module = "layers.2"} {
  ^body(%parameter: f32, %gradient: f32, %out: f32):
    %delta = arith.mulf %gradient, %learning_rate : f32
    %next = arith.subf %parameter, %delta : f32
    linalg.yield %next : f32
  } -> tensor<32x8xf32>
  %b2_next = linalg.generic {indexing_maps = [#vector, #vector, #vector], iterator_types = ["parallel"]}
      ins(%b2, %db2 : tensor<8xf32>, tensor<8xf32>) outs(%b2 : tensor<8xf32>) attrs = {tg.phase = #tg.phase<optimizer>, tg.module = "layers.2"} {
  ^body(%parameter: f32, %gradient: f32, %out: f32):
    %delta = arith.mulf %gradient, %learning_rate : f32
    %next = arith.subf %parameter, %delta : f32
    linalg.yield %next : f32
  } -> tensor<8xf32>
  %w1_next = linalg.generic {indexing_maps = [#whole, #whole, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%w1, %dw1 : tensor<32x32xf32>, tensor<32x32xf32>) outs(%w1 : tensor<32x32xf32>) attrs = {tg.phase = #tg.phase<optimizer>, tg.module = "layers.1"} {
  ^body(%parameter: f32, %gradient: f32, %out: f32):
    %delta = arith.mulf %gradient, %learning_rate : f32
    %next = arith.subf %parameter, %delta : f32
    linalg.yield %next : f32
  } -> tensor<32x32xf32>
  %b1_next = linalg.generic {indexing_maps = [#vector, #vector, #vector], iterator_types = ["parallel"]}
      ins(%b1, %db1 : tensor<32xf32>, tensor<32xf32>) outs(%b1 : tensor<32xf32>) attrs = {tg.phase = #tg.phase<optimizer>, tg.module = "layers.1"} {
  ^body(%parameter: f32, %gradient: f32, %out: f32):
    %delta = arith.mulf %gradient, %learning_rate : f32
    %next = arith.subf %parameter, %delta : f32
    linalg.yield %next : f32
  } -> tensor<32xf32>
  %w0_next = linalg.generic {indexing_maps = [#whole, #whole, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%w0, %dw0 : tensor<16x32xf32>, tensor<16x32xf32>) outs(%w0 : tensor<16x32xf32>) attrs = {tg.phase = #tg.phase<optimizer>, tg.module = "layers.0"} {
  ^body(%parameter: f32, %gradient: f32, %out: f32):
    %delta = arith.mulf %gradient, %learning_rate : f32
    %next = arith.subf %parameter, %delta : f32
    linalg.yield %next : f32
  } -> tensor<16x32xf32>
  %b0_next = linalg.generic {indexing_maps = [#vector, #vector, #vector], iterator_types = ["parallel"]}
      ins(%b0, %db0 : tensor<32xf32>, tensor<32xf32>) outs(%b0 : tensor<32xf32>) attrs = {tg.phase = #tg.phase<optimizer>, tg.module = "layers.0"} {
  ^body(%parameter: f32, %gradient: f32, %out: f32):
    %delta = arith.mulf %gradient, %learning_rate : f32
    %next = arith.subf %parameter, %delta : f32
    linalg.yield %next : f32
  } -> tensor<32xf32>
  return %loss, %w0_next, %b0_next, %w1_next, %b1_next, %w2_next, %b2_next
      : tensor<f32>, tensor<16x32xf32>, tensor<32xf32>, tensor<32x32xf32>, tensor<32xf32>, tensor<32x8xf32>, tensor<8xf32>
}
