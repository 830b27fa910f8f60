// Kernels run on both engines: several results, one result twice, an argument
// as a result, an empty kernel.
// RUN: regather run %s --engine=cpu --random-inputs=3 --outputs %t.cpu --json --quiet
// RUN: regather run %s --engine=interpreter --random-inputs=3 --outputs %t.interpreter --json --quiet
// RUN: cmp %t.cpu %t.interpreter

tg.kernel @sum_and_product(%x: tensor<5x3xf32>, %y: tensor<5x3xf32>)
    -> (tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>) {
  %sum = arith.addf %x, %y : tensor<5x3xf32>
  %product = arith.mulf %sum, %y : tensor<5x3xf32>
  tg.return %sum, %product, %product, %x : tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>
}

tg.kernel @nothing() {
  tg.return
}

func.func @step(%x: tensor<5x3xf32>, %y: tensor<5x3xf32>)
    -> (tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>) {
  tg.launch @nothing() : () -> ()
  %c = arith.constant dense<2.0> : tensor<5x3xf32>
  %a:4 = tg.launch @sum_and_product(%x, %c) : (tensor<5x3xf32>, tensor<5x3xf32>) -> (tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>)
  %b:4 = tg.launch @sum_and_product(%a#1, %y) : (tensor<5x3xf32>, tensor<5x3xf32>) -> (tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>)
  return %b#0, %b#1, %b#2, %b#3 : tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>, tensor<5x3xf32>
}
