
func.func @members(%flat: tensor<8xbf16>)
    -> (tensor<bf16>, tensor<0x3xbf16>, tensor<2xbf16>, tensor<2x1xbf16>, tensor<4xbf16>) {
  %members:4 = tg.unflatten %flat offsets [1, 2, 2, 4] {tg.module = "layers.0"}
      : (tensor<8xbf16>) -> (tensor<bf16>, tensor<0x3xbf16>, tensor<2xbf16>, tensor<2x1xbf16>)
  %one = tg.flatten %members#0 offsets [1] : (tensor<bf16>) -> tensor<4xbf16>
  return %members#0, %members#1, %members#2, %members#3, %one
      : tensor<bf16>, tensor<0x3xbf16>, tensor<2xbf16>, tensor<2x1xbf16>, tensor<4xbf16>
}

func.func @nothing() -> tensor<4xf32> {
  %zeros = tg.flatten offsets [] : () -> tensor<4xf32>
  return %zeros : tensor<4xf32>
}

func.func @unflatten_of_flatten(%a: tensor<2x2xf32>, %b: tensor<3xf32>)
    -> (tensor<3xf32>, tensor<2x2xf32>) {
  %flat = tg.flatten %a, %b offsets [0, 5] : (tensor<2x2xf32>, tensor<3xf32>) -> tensor<8xf32>
  %members:2 = tg.unflatten %flat offsets [0, 5] : (tensor<8xf32>) -> (tensor<2x2xf32>, tensor<3xf32>)
  return %members#1, %members#0 : tensor<3xf32>, tensor<2x2xf32>
}

func.func @keeps_other_places(%a: tensor<2x2xf32>, %b: tensor<3xf32>) -> (tensor<4xf32>, tensor<3xf32>) {
  %flat = tg.flatten %a, %b offsets [0, 5] : (tensor<2x2xf32>, tensor<3xf32>) -> tensor<8xf32>
  %members:2 = tg.unflatten %flat offsets [0, 4] : (tensor<8xf32>) -> (tensor<4xf32>, tensor<3xf32>)
  return %members#0, %members#1 : tensor<4xf32>, tensor<3xf32>
}

func.func @prunes_members(%flat: tensor<8xf32>) -> (tensor<2xf32>, tensor<3xf32>) {
  %members:3 = tg.unflatten %flat offsets [0, 2, 5] {tg.module = "m"}
      : (tensor<8xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<3xf32>)
  return %members#0, %members#2 : tensor<2xf32>, tensor<3xf32>
}

func.func @keeps_numbered_members(%flat: tensor<8xf32>) -> (tensor<2xf32>, tensor<3xf32>) {
  %members:3 = tg.unflatten %flat offsets [0, 2, 5] {tg.saved_results = array<i64: 2>}
      : (tensor<8xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<3xf32>)
  return %members#0, %members#2 : tensor<2xf32>, tensor<3xf32>
}

func.func @flatten_of_unflatten(%flat: tensor<8xf32>) -> tensor<8xf32> {
  %members:2 = tg.unflatten %flat offsets [0, 5] : (tensor<8xf32>) -> (tensor<5xf32>, tensor<3xf32>)
  %again = tg.flatten %members#0, %members#1 offsets [0, 5] : (tensor<5xf32>, tensor<3xf32>) -> tensor<8xf32>
  return %again : tensor<8xf32>
}

func.func @keeps_gap(%flat: tensor<8xf32>) -> tensor<8xf32> {
  %members:2 = tg.unflatten %flat offsets [0, 5] : (tensor<8xf32>) -> (tensor<4xf32>, tensor<3xf32>)
  %again = tg.flatten %members#0, %members#1 offsets [0, 5] : (tensor<4xf32>, tensor<3xf32>) -> tensor<8xf32>
  return %again : tensor<8xf32>
}

func.func @keeps_exchange(%flat: tensor<8xf32>) -> tensor<8xf32> {
  %members:2 = tg.unflatten %flat offsets [0, 4] : (tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %again = tg.flatten %members#1, %members#0 offsets [0, 4] : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return %again : tensor<8xf32>
}
