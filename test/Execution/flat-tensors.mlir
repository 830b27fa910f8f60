// Both engines take flat tensors apart, and put them together, alike.

// RUN: regather run %s --engine=interpreter --json --quiet | FileCheck %s
// RUN: regather run %s --engine=cpu --json --quiet | FileCheck %s

// CHECK: "losses":[1000720]

// The members of [0, 1, 2, 3, 4, 5, 6] are a scalar, 1, a matrix, [[3], [4]],
// and a vector, [5, 6]. In their new places, with the weights below, they give
// 5 * 10 + 6 * 100, then 3 * 10 + 4 * 10, then 10^6. Of the gaps, whose weights
// are large, nothing may be seen.
func.func @step() -> (tensor<f32> {tg.role = #tg.role<loss>}) {
  %flat = arith.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<7xf32>
  %scalar, %matrix, %vector = tg.unflatten %flat offsets [1, 3, 5]
      : (tensor<7xf32>) -> (tensor<f32>, tensor<2x1xf32>, tensor<2xf32>)
  %again = tg.flatten %vector, %matrix, %scalar offsets [1, 4, 8]
      : (tensor<2xf32>, tensor<2x1xf32>, tensor<f32>) -> tensor<10xf32>
  %weights = arith.constant dense<[1.0e9, 10.0, 100.0, 1.0e9, 10.0, 10.0, 1.0e9, 1.0e9, 1.0e6, 1.0e9]>
      : tensor<10xf32>
  %zero = arith.constant dense<0.0> : tensor<f32>
  %loss = linalg.dot ins(%again, %weights : tensor<10xf32>, tensor<10xf32>)
                     outs(%zero : tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
