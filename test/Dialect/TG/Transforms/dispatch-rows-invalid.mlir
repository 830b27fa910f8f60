// RUN: not regather-opt %s --tg-dispatch-rows=capacity=0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not regather-opt %s --tg-dispatch-rows=capacity=-1.5 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not regather-opt %s --tg-dispatch-rows=capacity=nan 2>&1 | FileCheck %s --check-prefix=NAN
// RUN: not regather-opt %s --tg-dispatch-rows=capacity=much 2>&1 | FileCheck %s --check-prefix=WORD
// ZERO: option 'capacity' must be above 0, got 0
// NEGATIVE: option 'capacity' must be above 0, got -1.5
// NAN: option 'capacity' must be above 0, got nan
// WORD: 'much' value invalid

func.func @step(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
