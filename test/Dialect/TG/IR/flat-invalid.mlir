// Flat tensors that the verifier rejects.
// RUN: regather-opt %s -split-input-file -verify-diagnostics

func.func @rank(%flat: tensor<2x4xf32>) {
  // expected-error @+1 {{operand #0 must be 1-d ranked tensor, but got 'tensor<2x4xf32>'}}
  %0 = tg.unflatten %flat offsets [0] : (tensor<2x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @number(%flat: tensor<8xf32>) {
  // expected-error @+1 {{'tg.unflatten' op expects one offset for each of 1 results, got 2}}
  %0 = tg.unflatten %flat offsets [0, 4] : (tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @dynamic_flat(%flat: tensor<?xf32>) {
  // expected-error @+1 {{'tg.unflatten' op flat tensor must have a static shape, got 'tensor<?xf32>'}}
  %0 = tg.unflatten %flat offsets [0] : (tensor<?xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @dynamic_member(%a: tensor<?xf32>) {
  // expected-error @+1 {{'tg.flatten' op operand 0 must have a static shape, got 'tensor<?xf32>'}}
  %0 = tg.flatten %a offsets [0] : (tensor<?xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @element_type(%a: tensor<4xf32>, %b: tensor<4xbf16>) {
  // expected-error @+1 {{'tg.flatten' op operand 1 must have the element type 'f32' of the flat tensor, got 'tensor<4xbf16>'}}
  %0 = tg.flatten %a, %b offsets [0, 4] : (tensor<4xf32>, tensor<4xbf16>) -> tensor<8xf32>
  return
}

// -----

func.func @negative(%flat: tensor<8xf32>) {
  // expected-error @+1 {{'tg.unflatten' op offset of result 0 must not be negative, got -1}}
  %0 = tg.unflatten %flat offsets [-1] : (tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @overlap(%flat: tensor<8xf32>) {
  // expected-error @+1 {{'tg.unflatten' op result 1 begins at element 3, but the one before it ends at element 4}}
  %0:2 = tg.unflatten %flat offsets [0, 3] : (tensor<8xf32>) -> (tensor<4xf32>, tensor<2xf32>)
  return
}

// -----

func.func @order(%a: tensor<4xf32>) {
  // expected-error @+1 {{'tg.flatten' op operand 1 begins at element 0, but the one before it ends at element 8}}
  %0 = tg.flatten %a, %a offsets [4, 0] : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @end(%a: tensor<4xf32>) {
  // expected-error @+1 {{'tg.flatten' op operand 0 has 4 elements from 5 on, but the flat tensor has 8}}
  %0 = tg.flatten %a offsets [5] : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @overflow(%a: tensor<4xf32>) {
  // expected-error @+1 {{'tg.flatten' op operand 0 has 4 elements from 9223372036854775807 on, but the flat tensor has 8}}
  %0 = tg.flatten %a offsets [9223372036854775807] : (tensor<4xf32>) -> tensor<8xf32>
  return
}

// -----

// expected-error @+1 {{two members are called "a"}}
func.func @names(%flat: tensor<8xf32> {tg.members = #tg.members<["a" at 0 of [2], "a" at 2 of [2]]>}) {
  return
}

// -----

// expected-error @+1 {{member "b" begins at element 1, but the one before it ends at element 2}}
func.func @member_overlap(%flat: tensor<8xf32> {tg.members = #tg.members<["a" at 0 of [2], "b" at 1 of [2]]>}) {
  return
}

// -----

// expected-error @+1 {{member "a" begins at element -1, but the one before it ends at element 0}}
func.func @member_offset(%flat: tensor<8xf32> {tg.members = #tg.members<["a" at -1 of [2]]>}) {
  return
}

// -----

// expected-error @+1 {{shape of member "a" must not be negative, got -2}}
func.func @member_shape(%flat: tensor<8xf32> {tg.members = #tg.members<["a" at 0 of [-2]]>}) {
  return
}

// -----

// expected-error @+1 {{member "a" has more elements than 64 bits can count}}
func.func @member_size(%flat: tensor<8xf32> {tg.members = #tg.members<["a" at 1 of [4294967296, 4294967296]]>}) {
  return
}

// -----

// expected-error @+1 {{attribute 'tg.members' must be a #tg.members, got 3 : i64}}
func.func @members_type(%flat: tensor<8xf32> {tg.role = #tg.role<parameter>, tg.members = 3 : i64}) {
  return
}

// -----

// expected-error @+1 {{'tg.members' of argument 0 is for parameters and optimizer states, got role "input"}}
func.func @members_role(%flat: tensor<8xf32> {tg.role = #tg.role<input>, tg.members = #tg.members<[]>}) {
  return
}

// -----

// expected-error @+1 {{'tg.members' of argument 0 is for parameters and optimizer states, got no role}}
func.func @members_no_role(%flat: tensor<8xf32> {tg.members = #tg.members<[]>}) {
  return
}

// -----

// expected-error @+1 {{'tg.members' of argument 0 needs a tensor of one static dimension, got 'tensor<2x4xf32>'}}
func.func @members_rank(%flat: tensor<2x4xf32> {tg.role = #tg.role<parameter>, tg.members = #tg.members<[]>}) {
  return
}

// -----

// expected-error @+1 {{'tg.members' of argument 0 places "b" up to element 9, but the global tensor has 8}}
func.func @members_end(%flat: tensor<8xf32> {
    tg.role = #tg.role<parameter>, tg.members = #tg.members<["a" at 0 of [2], "b" at 6 of [3]]>}) {
  return
}

// -----

// The global tensor has 16 elements.
tg.mesh @mesh [dp = 2]
// expected-error @+1 {{'tg.members' of argument 0 places "b" up to element 17, but the global tensor has 16}}
func.func @members_global_end(%flat: tensor<8xf32> {
    tg.role = #tg.role<parameter>, tg.placement = #tg.placement<@mesh [[dp] = shard 0]>,
    tg.members = #tg.members<["a" at 0 of [2], "b" at 14 of [3]]>}) {
  return
}

// -----

// expected-error @+1 {{unknown attribute 'tg.members' on result 0}}
func.func @members_of_result(%x: tensor<8xf32>) -> (tensor<8xf32> {tg.members = #tg.members<[]>}) {
  return %x : tensor<8xf32>
}
