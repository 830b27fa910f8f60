// RUN: regather-opt %s --tg-shard-step=mesh=ep:3 -verify-diagnostics

func.func @experts(
    %w: tensor<4x8x6xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %rows: tensor<16x8xf32> {tg.role = #tg.role<input>, tg.name = "rows"},
    %ends: tensor<4xi32> {tg.role = #tg.role<input>, tg.name = "ends"})
    -> tensor<16x6xf32> {
  // expected-error@+1 {{the 4 experts of parameter "w" cannot be divided by the 3 ranks of axis "ep"}}
  %y = tg.node "aten._grouped_mm.default"(%rows, %w, %ends) {tg.phase = #tg.phase<forward>} : (tensor<16x8xf32>, tensor<4x8x6xf32>, tensor<4xi32>) -> tensor<16x6xf32>
  return %y : tensor<16x6xf32>
}
