// RUN: regather-opt %s "--tg-shard-step=mesh=cp:2" -verify-diagnostics

// Images have their channels where a sequence would be.
// expected-error@+1 {{axis "cp", of which option 'shard' says nothing, asks for "image=[cp] shard 1", but the 2 ranks of axis "cp" do not divide the 3 elements of dimension 1 of "image"}}
func.func @channels(
    %w: tensor<8xf32> {tg.role = #tg.role<parameter>, tg.name = "w"},
    %x: tensor<4x3x8xf32> {tg.role = #tg.role<input>, tg.name = "image"})
    -> tensor<4x3x8xf32> {
  %y = tg.node "aten.mul.Tensor"(%x, %w) {tg.phase = #tg.phase<forward>} : (tensor<4x3x8xf32>, tensor<8xf32>) -> tensor<4x3x8xf32>
  return %y : tensor<4x3x8xf32>
}
