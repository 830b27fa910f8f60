// Flat tensors through print and parse, and their canonical form.
// RUN: regather-opt %s | FileCheck %s
// RUN: regather-opt %s --mlir-print-op-generic | regather-opt | FileCheck %s
// RUN: regather-opt %s --canonicalize | FileCheck %s --check-prefix=CANON

// Members may be scalars or empty, and leave gaps.
// CHECK-LABEL: @members
// CHECK: tg.unflatten %{{.*}} offsets [1, 2, 2, 4] {tg.module = "layers.0"} :
// CHECK-SAME: (tensor<8xbf16>) -> (tensor<bf16>, tensor<0x3xbf16>, tensor<2xbf16>, tensor<2x1xbf16>)
// CHECK: tg.flatten %{{.*}} offsets [1] : (tensor<bf16>) -> tensor<4xbf16>
func.func @members(%flat: tensor<8xbf16>)
    -> (tensor<bf16>, tensor<0x3xbf16>, tensor<2xbf16>, tensor<2x1xbf16>, tensor<4xbf16>) {
  %members:4 = tg.unflatten %flat offsets [1, 2, 2, 4] {tg.module = "layers.0"}
      : (tensor<8xbf16>) -> (tensor<bf16>, tensor<0x3xbf16>, tensor<2xbf16>, tensor<2x1xbf16>)
  %one = tg.flatten %members#0 offsets [1] : (tensor<bf16>) -> tensor<4xbf16>
  return %members#0, %members#1, %members#2, %members#3, %one
      : tensor<bf16>, tensor<0x3xbf16>, tensor<2xbf16>, tensor<2x1xbf16>, tensor<4xbf16>
}

// Nothing is a flat tensor of zeros.
// CHECK-LABEL: @nothing
// CHECK: tg.flatten offsets [] : () -> tensor<4xf32>
func.func @nothing() -> tensor<4xf32> {
  %zeros = tg.flatten offsets [] : () -> tensor<4xf32>
  return %zeros : tensor<4xf32>
}

// What was flattened is read from where it came from.
// CANON-LABEL: @unflatten_of_flatten
// CANON-SAME: (%[[A:.*]]: tensor<2x2xf32>, %[[B:.*]]: tensor<3xf32>)
// CANON-NOT: tg.
// CANON: return %[[B]], %[[A]]
func.func @unflatten_of_flatten(%a: tensor<2x2xf32>, %b: tensor<3xf32>)
    -> (tensor<3xf32>, tensor<2x2xf32>) {
  %flat = tg.flatten %a, %b offsets [0, 5] : (tensor<2x2xf32>, tensor<3xf32>) -> tensor<8xf32>
  %members:2 = tg.unflatten %flat offsets [0, 5] : (tensor<8xf32>) -> (tensor<2x2xf32>, tensor<3xf32>)
  return %members#1, %members#0 : tensor<3xf32>, tensor<2x2xf32>
}

// Near misses: another offset, another type.
// CANON-LABEL: @keeps_other_places
// CANON-SAME: (%[[A:.*]]: tensor<2x2xf32>, %[[B:.*]]: tensor<3xf32>)
// CANON: %[[FLAT:.*]] = tg.flatten %[[A]], %[[B]] offsets [0, 5]
// CANON: tg.unflatten %[[FLAT]] offsets [0, 4] : (tensor<8xf32>) -> (tensor<4xf32>, tensor<3xf32>)
func.func @keeps_other_places(%a: tensor<2x2xf32>, %b: tensor<3xf32>) -> (tensor<4xf32>, tensor<3xf32>) {
  %flat = tg.flatten %a, %b offsets [0, 5] : (tensor<2x2xf32>, tensor<3xf32>) -> tensor<8xf32>
  %members:2 = tg.unflatten %flat offsets [0, 4] : (tensor<8xf32>) -> (tensor<4xf32>, tensor<3xf32>)
  return %members#0, %members#1 : tensor<4xf32>, tensor<3xf32>
}

// Members that nobody reads leave; attributes stay.
// CANON-LABEL: @prunes_members
// CANON: tg.unflatten %{{.*}} offsets [0, 5] {tg.module = "m"} : (tensor<8xf32>) -> (tensor<2xf32>, tensor<3xf32>)
func.func @prunes_members(%flat: tensor<8xf32>) -> (tensor<2xf32>, tensor<3xf32>) {
  %members:3 = tg.unflatten %flat offsets [0, 2, 5] {tg.module = "m"}
      : (tensor<8xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<3xf32>)
  return %members#0, %members#2 : tensor<2xf32>, tensor<3xf32>
}

// Near miss: a recorded decision numbers the results.
// CANON-LABEL: @keeps_numbered_members
// CANON: offsets [0, 2, 5]
func.func @keeps_numbered_members(%flat: tensor<8xf32>) -> (tensor<2xf32>, tensor<3xf32>) {
  %members:3 = tg.unflatten %flat offsets [0, 2, 5] {tg.saved_results = array<i64: 2>}
      : (tensor<8xf32>) -> (tensor<2xf32>, tensor<2xf32>, tensor<3xf32>)
  return %members#0, %members#2 : tensor<2xf32>, tensor<3xf32>
}

// CANON-LABEL: @flatten_of_unflatten
// CANON-SAME: (%[[FLAT:.*]]: tensor<8xf32>)
// CANON: return %[[FLAT]]
func.func @flatten_of_unflatten(%flat: tensor<8xf32>) -> tensor<8xf32> {
  %members:2 = tg.unflatten %flat offsets [0, 5] : (tensor<8xf32>) -> (tensor<5xf32>, tensor<3xf32>)
  %again = tg.flatten %members#0, %members#1 offsets [0, 5] : (tensor<5xf32>, tensor<3xf32>) -> tensor<8xf32>
  return %again : tensor<8xf32>
}

// Near misses: the gap becomes zero; the members change places.
// CANON-LABEL: @keeps_gap
// CANON: tg.flatten
func.func @keeps_gap(%flat: tensor<8xf32>) -> tensor<8xf32> {
  %members:2 = tg.unflatten %flat offsets [0, 5] : (tensor<8xf32>) -> (tensor<4xf32>, tensor<3xf32>)
  %again = tg.flatten %members#0, %members#1 offsets [0, 5] : (tensor<4xf32>, tensor<3xf32>) -> tensor<8xf32>
  return %again : tensor<8xf32>
}

// CANON-LABEL: @keeps_exchange
// CANON: tg.flatten
func.func @keeps_exchange(%flat: tensor<8xf32>) -> tensor<8xf32> {
  %members:2 = tg.unflatten %flat offsets [0, 4] : (tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %again = tg.flatten %members#1, %members#0 offsets [0, 4] : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return %again : tensor<8xf32>
}
