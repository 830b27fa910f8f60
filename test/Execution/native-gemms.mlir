// Matrix products that are large enough for the library: on integers both
// engines give the same bits.
//
// RUN: regather run %s --engine=cpu --random-inputs=3,integers --outputs %t.cpu --json --quiet
// RUN: regather run %s --engine=interpreter --random-inputs=3,integers --outputs %t.interpreter --json --quiet
// RUN: cmp %t.cpu %t.interpreter

#mk = affine_map<(b, m, n, k) -> (b, m, k)>
#nk = affine_map<(b, m, n, k) -> (n, b, k)>
#nm = affine_map<(b, m, n, k) -> (b, n, m)>

func.func @step(
    %a: tensor<40x64xf32> {tg.role = #tg.role<input>, tg.name = "a"},
    %b: tensor<64x48xf32> {tg.role = #tg.role<input>, tg.name = "b"},
    %c: tensor<40x48xf32> {tg.role = #tg.role<input>, tg.name = "c"},
    %p: tensor<3x33x40xf32> {tg.role = #tg.role<input>, tg.name = "p"},
    %q: tensor<35x3x40xf32> {tg.role = #tg.role<input>, tg.name = "q"})
    -> (tensor<40x48xf32>, tensor<40x48xf32>, tensor<3x35x33xf32>,
        tensor<40x48xf32>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<40x48xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<40x48xf32>) -> tensor<40x48xf32>
  %plain = linalg.matmul ins(%a, %b : tensor<40x64xf32>, tensor<64x48xf32>)
      outs(%init : tensor<40x48xf32>) -> tensor<40x48xf32>
  %added = linalg.matmul ins(%a, %b : tensor<40x64xf32>, tensor<64x48xf32>)
      outs(%c : tensor<40x48xf32>) -> tensor<40x48xf32>

  // Operands and result in other orders than the loops.
  %empty_batch = tensor.empty() : tensor<3x35x33xf32>
  %init_batch = linalg.fill ins(%zero : f32) outs(%empty_batch : tensor<3x35x33xf32>) -> tensor<3x35x33xf32>
  %batch = linalg.generic {indexing_maps = [#mk, #nk, #nm],
      iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%p, %q : tensor<3x33x40xf32>, tensor<35x3x40xf32>)
      outs(%init_batch : tensor<3x35x33xf32>) {
  ^body(%x: f32, %y: f32, %sum: f32):
    %product = arith.mulf %x, %y : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  } -> tensor<3x35x33xf32>

  // Looks like a product, but subtracts.
  %not_a_product = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<40x64xf32>, tensor<64x48xf32>)
      outs(%c : tensor<40x48xf32>) {
  ^body(%x: f32, %y: f32, %sum: f32):
    %product = arith.mulf %x, %y : f32
    %next = arith.subf %sum, %product : f32
    linalg.yield %next : f32
  } -> tensor<40x48xf32>
  return %plain, %added, %batch, %not_a_product : tensor<40x48xf32>, tensor<40x48xf32>, tensor<3x35x33xf32>, tensor<40x48xf32>
}
