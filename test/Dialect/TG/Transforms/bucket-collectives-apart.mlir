// RUN: regather-opt %s -split-input-file --tg-bucket-collectives --tg-verify-step | FileCheck %s
// RUN: regather-opt %s -split-input-file --tg-bucket-collectives --remark-format=emitRemark --remarks-filter=tg-bucket-collectives -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

// What differs in an attribute is not one.
// CHECK-LABEL: @attributes
// CHECK-COUNT-7: tg.all_reduce
// CHECK-COUNT-2: tg.all_gather
// CHECK-NOT: tg.all
// REMARK: all_reduce stays apart in bucket "b": axes [dp] and [tp] differ
// REMARK: all_reduce stays apart in bucket "b": phase forward and backward differ
// REMARK: all_reduce stays apart in bucket "b": reduction sum and max differ
// REMARK: all_reduce stays apart in bucket "b": accumulate none and f64 differ
// REMARK: all_reduce stays apart in bucket "b": generation none and 1 differ
// REMARK: all_reduce stays apart in bucket "b": element types f32 and bf16 differ
// REMARK: all_gather of "argument 0" stays apart in bucket "b": dim 0 and 1 differ
tg.mesh @mesh [dp = 2, tp = 2]

func.func @attributes(%w: tensor<2x4xf32> {tg.role = #tg.role<parameter>}, %x: tensor<4xf32>, %h: tensor<4xbf16>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xbf16>, tensor<4x4xf32>, tensor<2x8xf32>) {
  %0 = tg.all_reduce sum %x on @mesh [dp] phase forward {tg.bucket = "b"} : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %1 = tg.wait %0 : !tg.future<tensor<4xf32>>
  %2 = tg.all_reduce sum %x on @mesh [tp] phase forward {tg.bucket = "b"} : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %3 = tg.wait %2 : !tg.future<tensor<4xf32>>
  %4 = tg.all_reduce sum %x on @mesh [dp] phase backward {tg.bucket = "b"} : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %5 = tg.wait %4 : !tg.future<tensor<4xf32>>
  %6 = tg.all_reduce max %x on @mesh [dp] phase forward {tg.bucket = "b"} : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %7 = tg.wait %6 : !tg.future<tensor<4xf32>>
  %8 = tg.all_reduce sum %x on @mesh [dp] accumulate f64 phase forward {tg.bucket = "b"} : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %9 = tg.wait %8 : !tg.future<tensor<4xf32>>
  %10 = tg.all_reduce sum %x on @mesh [dp] phase forward generation 1 {tg.bucket = "b"} : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %11 = tg.wait %10 : !tg.future<tensor<4xf32>>
  %12 = tg.all_reduce sum %h on @mesh [dp] phase forward {tg.bucket = "b"} : (tensor<4xbf16>) -> !tg.future<tensor<4xbf16>>
  %13 = tg.wait %12 : !tg.future<tensor<4xbf16>>
  %14 = tg.all_gather %w on @mesh [dp] dim 0 phase forward {tg.bucket = "b"} : (tensor<2x4xf32>) -> !tg.future<tensor<4x4xf32>>
  %15 = tg.wait %14 : !tg.future<tensor<4x4xf32>>
  %16 = tg.all_gather %w on @mesh [dp] dim 1 phase forward {tg.bucket = "b"} : (tensor<2x4xf32>) -> !tg.future<tensor<2x8xf32>>
  %17 = tg.wait %16 : !tg.future<tensor<2x8xf32>>
  return %1, %3, %5, %7, %9, %11, %13, %15, %17
      : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xbf16>, tensor<4x4xf32>, tensor<2x8xf32>
}

// -----

// What must be recomputed does not start with what is saved.
// CHECK-LABEL: @policies
// CHECK-COUNT-2: tg.all_gather
// REMARK: stays apart in bucket "b": policies none and must_recompute differ
tg.mesh @mesh [dp = 2]

func.func @policies(%w: tensor<2xf32> {tg.role = #tg.role<parameter>}, %v: tensor<2xf32> {tg.role = #tg.role<parameter>}) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = tg.all_gather %w on @mesh [dp] dim 0 phase forward {tg.bucket = "b"} : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  %1 = tg.wait %0 : !tg.future<tensor<4xf32>>
  %2 = tg.all_gather %v on @mesh [dp] dim 0 phase forward {tg.bucket = "b", tg.policy = #tg.policy<must_recompute>} : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  %3 = tg.wait %2 : !tg.future<tensor<4xf32>>
  return %1, %3 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Shards of six bytes would leave an f32 behind them without alignment: gathers
// are grouped by element type. The near miss has shards of eight bytes.
// CHECK-LABEL: @layouts
// CHECK-DAG: tg.all_gather %{{[a-z0-9]+}}, %{{[a-z0-9]+}} on @mesh [dp] dim 0 phase forward {tg.bucket = "odd"} : (tensor<2xf32>, tensor<1xf32>)
// CHECK-DAG: tg.all_gather %{{[a-z0-9]+}} on @mesh [dp] dim 0 phase forward {tg.bucket = "odd"} : (tensor<3xbf16>)
// CHECK-DAG: tg.all_gather %{{[a-z0-9]+}}, %{{[a-z0-9]+}} on @mesh [dp] dim 0 phase forward {tg.bucket = "even"} : (tensor<2xf32>, tensor<4xbf16>)
// REMARK: all_gather of "c" stays apart in bucket "odd": element types differ, and shards cannot be aligned behind each other
tg.mesh @mesh [dp = 2]

func.func @layouts(%a: tensor<2xf32> {tg.role = #tg.role<parameter>, tg.name = "a"}, %b: tensor<1xf32> {tg.role = #tg.role<parameter>, tg.name = "b"},
                   %c: tensor<3xbf16> {tg.role = #tg.role<parameter>, tg.name = "c"}, %d: tensor<2xf32> {tg.role = #tg.role<parameter>},
                   %e: tensor<4xbf16> {tg.role = #tg.role<parameter>})
    -> (tensor<4xf32>, tensor<2xf32>, tensor<6xbf16>, tensor<4xf32>, tensor<8xbf16>) {
  %0 = tg.all_gather %a on @mesh [dp] dim 0 phase forward {tg.bucket = "odd"} : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  %1 = tg.wait %0 : !tg.future<tensor<4xf32>>
  %2 = tg.all_gather %b on @mesh [dp] dim 0 phase forward {tg.bucket = "odd"} : (tensor<1xf32>) -> !tg.future<tensor<2xf32>>
  %3 = tg.wait %2 : !tg.future<tensor<2xf32>>
  %4 = tg.all_gather %c on @mesh [dp] dim 0 phase forward {tg.bucket = "odd"} : (tensor<3xbf16>) -> !tg.future<tensor<6xbf16>>
  %5 = tg.wait %4 : !tg.future<tensor<6xbf16>>
  %6 = tg.all_gather %d on @mesh [dp] dim 0 phase forward {tg.bucket = "even"} : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  %7 = tg.wait %6 : !tg.future<tensor<4xf32>>
  %8 = tg.all_gather %e on @mesh [dp] dim 0 phase forward {tg.bucket = "even"} : (tensor<4xbf16>) -> !tg.future<tensor<8xbf16>>
  %9 = tg.wait %8 : !tg.future<tensor<8xbf16>>
  return %1, %3, %5, %7, %9 : tensor<4xf32>, tensor<2xf32>, tensor<6xbf16>, tensor<4xf32>, tensor<8xbf16>
}

// -----

// A member that needs another one starts later; the third one does not.
// CHECK-LABEL: @cycle
// CHECK:      tg.all_reduce sum %[[A:.*]], %[[A]] on
// CHECK:      tg.wait
// CHECK:      tg.node "double"
// CHECK:      tg.all_reduce sum %{{.*}} on
// REMARK:     all_reduce stays apart in bucket "b": others of the bucket depend on it
// REMARK:     2 all_reduce collectives of phase forward are one in bucket "b"
tg.mesh @mesh [tp = 2]

func.func @cycle(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = tg.all_reduce sum %x on @mesh [tp] phase forward {tg.bucket = "b"} : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %1 = tg.wait %0 : !tg.future<tensor<4xf32>>
  %2 = tg.node "double"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = tg.all_reduce sum %2 on @mesh [tp] phase forward {tg.bucket = "b"} : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %4 = tg.wait %3 : !tg.future<tensor<4xf32>>
  %5 = tg.all_reduce sum %x on @mesh [tp] phase forward {tg.bucket = "b"} : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %6 = tg.wait %5 : !tg.future<tensor<4xf32>>
  return %4, %6 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Each of two buckets would wait for the other one. One is enough to cut.
// CHECK-LABEL: @crossing
// CHECK:      tg.all_reduce sum %{{[a-z0-9]+}} on @mesh [tp] phase forward {tg.bucket = "a"}
// CHECK:      tg.all_reduce sum %{{[a-z0-9]+}}, %{{[a-z0-9]+}} on @mesh [tp] phase forward {tg.bucket = "b"}
// CHECK:      tg.all_reduce sum %{{[a-z0-9#]+}} on @mesh [tp] phase forward {tg.bucket = "a"}
// REMARK:     stays apart in bucket "a": others of the bucket depend on it, through bucket "b"
tg.mesh @mesh [tp = 2]

func.func @crossing(%x: tensor<4xf32>, %y: tensor<2xf32>) -> (tensor<4xf32>, tensor<2xf32>) {
  %0 = tg.all_reduce sum %x on @mesh [tp] phase forward {tg.bucket = "a"} : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %1 = tg.wait %0 : !tg.future<tensor<4xf32>>
  %2 = tg.all_reduce sum %y on @mesh [tp] phase forward {tg.bucket = "b"} : (tensor<2xf32>) -> !tg.future<tensor<2xf32>>
  %3 = tg.wait %2 : !tg.future<tensor<2xf32>>
  %4 = tg.all_reduce sum %1 on @mesh [tp] phase forward {tg.bucket = "b"} : (tensor<4xf32>) -> !tg.future<tensor<4xf32>>
  %5 = tg.wait %4 : !tg.future<tensor<4xf32>>
  %6 = tg.all_reduce sum %3 on @mesh [tp] phase forward {tg.bucket = "a"} : (tensor<2xf32>) -> !tg.future<tensor<2xf32>>
  %7 = tg.wait %6 : !tg.future<tensor<2xf32>>
  return %5, %7 : tensor<4xf32>, tensor<2xf32>
}

// -----

// Nothing crosses control flow that communicates: its collectives would come in
// another order.
// CHECK-LABEL: @barrier
// CHECK:      tg.all_gather %{{[a-z0-9]+}}, %{{[a-z0-9]+}} on
// CHECK:      scf.for
// CHECK:      tg.all_reduce
// CHECK:      tg.all_gather %{{[a-z0-9]+}} on
// REMARK:     stays apart in bucket "b": others of the bucket depend on it
tg.mesh @mesh [dp = 2]

func.func @barrier(%u: tensor<2xf32> {tg.role = #tg.role<parameter>}, %v: tensor<2xf32> {tg.role = #tg.role<parameter>},
                   %w: tensor<2xf32> {tg.role = #tg.role<parameter>}, %x: tensor<2xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = tg.all_gather %u on @mesh [dp] dim 0 phase forward {tg.bucket = "b"} : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  %1 = tg.wait %0 : !tg.future<tensor<4xf32>>
  %2 = tg.all_gather %v on @mesh [dp] dim 0 phase forward {tg.bucket = "b"} : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  %3 = tg.wait %2 : !tg.future<tensor<4xf32>>
  %4 = scf.for %i = %c0 to %c1 step %c1 iter_args(%arg = %x) -> tensor<2xf32> {
    %5 = tg.all_reduce sum %arg on @mesh [dp] phase forward : (tensor<2xf32>) -> !tg.future<tensor<2xf32>>
    %6 = tg.wait %5 : !tg.future<tensor<2xf32>>
    scf.yield %6 : tensor<2xf32>
  }
  %7 = tg.all_gather %w on @mesh [dp] dim 0 phase forward {tg.bucket = "b"} : (tensor<2xf32>) -> !tg.future<tensor<4xf32>>
  %8 = tg.wait %7 : !tg.future<tensor<4xf32>>
  return %1, %3, %8, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2xf32>
}
