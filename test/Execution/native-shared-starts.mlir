// Operations that start from one tensor: no result is written over another one
// (MLIR 22 merges the buffers).
// RUN: split-file %s %t
// RUN: regather run %t/sums.mlir --engine=cpu --random-inputs=1,integers --outputs %t/a --quiet
// RUN: regather run %t/sums.mlir --engine=interpreter --random-inputs=1,integers --outputs %t/b --quiet
// RUN: cmp %t/a %t/b
// RUN: regather run %t/insertions.mlir --engine=cpu --random-inputs=1 --outputs %t/a --quiet
// RUN: regather run %t/insertions.mlir --engine=interpreter --random-inputs=1 --outputs %t/b --quiet
// RUN: cmp %t/a %t/b
// RUN: regather run %t/computed.mlir --engine=cpu --random-inputs=1,integers --outputs %t/a --quiet
// RUN: regather run %t/computed.mlir --engine=interpreter --random-inputs=1,integers --outputs %t/b --quiet
// RUN: cmp %t/a %t/b

//--- sums.mlir
tg.kernel @sums(%x: tensor<8x16xf32>, %y: tensor<8x16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<16xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<16xf32>) -> tensor<16xf32>
  %product = arith.mulf %x, %y : tensor<8x16xf32>
  %0 = linalg.reduce { arith.addf } ins(%product : tensor<8x16xf32>) outs(%start : tensor<16xf32>) dimensions = [0]
  %1 = linalg.reduce { arith.addf } ins(%x : tensor<8x16xf32>) outs(%start : tensor<16xf32>) dimensions = [0]
  tg.return %0, %1 : tensor<16xf32>, tensor<16xf32>
}
func.func @step(%x: tensor<8x16xf32> {tg.name = "x"}, %y: tensor<8x16xf32> {tg.name = "y"})
    -> (tensor<16xf32> {tg.name = "of_products"}, tensor<16xf32> {tg.name = "of_x"}) {
  %0:2 = tg.launch @sums(%x, %y) : (tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  return %0#0, %0#1 : tensor<16xf32>, tensor<16xf32>
}

//--- insertions.mlir
tg.kernel @insertions(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>) -> (tensor<5x4xf32>, tensor<5x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<5x4xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<5x4xf32>) -> tensor<5x4xf32>
  %0 = tensor.insert_slice %x into %start[1, 0] [2, 4] [2, 1] : tensor<2x4xf32> into tensor<5x4xf32>
  %1 = tensor.insert_slice %y into %start[0, 0] [2, 4] [1, 1] : tensor<2x4xf32> into tensor<5x4xf32>
  tg.return %0, %1 : tensor<5x4xf32>, tensor<5x4xf32>
}
func.func @step(%x: tensor<2x4xf32> {tg.name = "x"}, %y: tensor<2x4xf32> {tg.name = "y"})
    -> (tensor<5x4xf32> {tg.name = "odd"}, tensor<5x4xf32> {tg.name = "first"}) {
  %0:2 = tg.launch @insertions(%x, %y) : (tensor<2x4xf32>, tensor<2x4xf32>) -> (tensor<5x4xf32>, tensor<5x4xf32>)
  return %0#0, %0#1 : tensor<5x4xf32>, tensor<5x4xf32>
}

//--- computed.mlir
tg.kernel @computed(%w: tensor<16xf32>, %x: tensor<8x16xf32>, %y: tensor<8x16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %empty = tensor.empty() : tensor<16xf32>
  %start = linalg.map { arith.mulf } ins(%w, %w : tensor<16xf32>, tensor<16xf32>) outs(%empty : tensor<16xf32>)
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<8x16xf32>) outs(%start : tensor<16xf32>) dimensions = [0]
  %1 = linalg.reduce { arith.addf } ins(%y : tensor<8x16xf32>) outs(%start : tensor<16xf32>) dimensions = [0]
  tg.return %0, %1 : tensor<16xf32>, tensor<16xf32>
}
func.func @step(%w: tensor<16xf32>, %x: tensor<8x16xf32>, %y: tensor<8x16xf32>)
    -> (tensor<16xf32> {tg.name = "of_x"}, tensor<16xf32> {tg.name = "of_y"}) {
  %0:2 = tg.launch @computed(%w, %x, %y) : (tensor<16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<16xf32>, tensor<16xf32>)
  return %0#0, %0#1 : tensor<16xf32>, tensor<16xf32>
}
