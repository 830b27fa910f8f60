// What the loop of a kernel carries may change places, and take the place of
// something that it updates.
// RUN: regather run %s --engine=cpu --random-inputs=1 --outputs %t.a --quiet
// RUN: regather run %s --engine=interpreter --random-inputs=1 --outputs %t.b --quiet
// RUN: cmp %t.a %t.b

tg.kernel @rotate(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %out:3 = scf.for %i = %c0 to %c5 step %c1 iter_args(%a = %x, %b = %y, %c = %z)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %sum = arith.addf %a, %z : tensor<4xf32>
    scf.yield %b, %c, %sum : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  tg.return %out#0, %out#1, %out#2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

tg.kernel @update(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %out:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x, %b = %y) -> (tensor<4xf32>, tensor<4xf32>) {
    %element = tensor.extract %a[%i] : tensor<4xf32>
    %twice = arith.addf %element, %element : f32
    %new = tensor.insert %twice into %a[%c1] : tensor<4xf32>
    %last = tensor.insert %twice into %b[%i] : tensor<4xf32>
    scf.yield %last, %new : tensor<4xf32>, tensor<4xf32>
  }
  tg.return %out#0, %out#1 : tensor<4xf32>, tensor<4xf32>
}

func.func @step(%x: tensor<4xf32> {tg.name = "x"}, %y: tensor<4xf32> {tg.name = "y"}, %z: tensor<4xf32> {tg.name = "z"})
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0:3 = tg.launch @rotate(%x, %y, %z) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  %1:2 = tg.launch @update(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %0#0, %0#1, %0#2, %1#0, %1#1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
