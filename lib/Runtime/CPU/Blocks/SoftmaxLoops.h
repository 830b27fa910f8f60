//===- SoftmaxLoops.h - Loops over rows of scores ---------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included like GemmLoops.h. Sums run over 16 partial sums, which are added
// in one order: element i belongs to sum i mod 16.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_RUNTIME_CPU_BLOCKS_SOFTMAXLOOPS_H
#define REGATHER_LIB_RUNTIME_CPU_BLOCKS_SOFTMAXLOOPS_H

#include "GemmLoops.h"

namespace regather::runtime {
namespace {

template <typename Lanes> float sumLanes(Lanes lanes) {
  float values[kLanes];
  lanes.store(values);
  for (int64_t half = kLanes / 2; half > 0; half /= 2)
    for (int64_t i = 0; i < half; ++i)
      values[i] += values[i + half];
  return values[0];
}

/// exp(x), within one unit in the last place of a normal number; zero where
/// that would be none. NaN stays NaN.
///
///   n = round(x / ln 2), r = x - n ln 2, exp(x) = 2^n * polynomial(r)
template <typename Lanes> Lanes exponential(Lanes x) {
  const Lanes lowest = Lanes::broadcast(-87.33654f);
  const Lanes highest = Lanes::broadcast(88.37626f);
  // Adding it rounds to an integer, which then is in the low bits.
  const Lanes shift = Lanes::broadcast(12582912.0f);
  // NaN is the second operand: it is what a comparison with it gives.
  Lanes bounded = Lanes::lesser(highest, Lanes::greater(lowest, x));
  Lanes shifted =
      Lanes::multiplyAdd(bounded, Lanes::broadcast(1.44269504f), shift);
  Lanes n = Lanes::subtract(shifted, shift);
  // ln 2 in two parts, the first with few bits, so that the product is exact.
  Lanes r = Lanes::multiplyAdd(n, Lanes::broadcast(-0.693359375f), bounded);
  r = Lanes::multiplyAdd(n, Lanes::broadcast(2.12194440e-4f), r);
  Lanes p = Lanes::broadcast(1.9875691500e-4f);
  p = Lanes::multiplyAdd(p, r, Lanes::broadcast(1.3981999507e-3f));
  p = Lanes::multiplyAdd(p, r, Lanes::broadcast(8.3334519073e-3f));
  p = Lanes::multiplyAdd(p, r, Lanes::broadcast(4.1665795894e-2f));
  p = Lanes::multiplyAdd(p, r, Lanes::broadcast(1.6666665459e-1f));
  p = Lanes::multiplyAdd(p, r, Lanes::broadcast(5.0000001201e-1f));
  p = Lanes::multiplyAdd(p, Lanes::multiply(r, r), r);
  p = Lanes::add(p, Lanes::broadcast(1.0f));
  Lanes result = Lanes::multiply(p, Lanes::powerOfTwo(shifted));
  return Lanes::clearBelow(x, lowest, result);
}

/// tanh(x), within one and a half units in the last place.
///
///   x + x P(x^2) near zero, else 1 - 2 / (exp(2 |x|) + 1) with the sign of x
template <typename Lanes> Lanes hyperbolicTangent(Lanes x) {
  const Lanes zero = Lanes::broadcast(0.0f), one = Lanes::broadcast(1.0f);
  Lanes negative = Lanes::subtract(zero, x);
  // NaN stays NaN: it is the second operand as well.
  Lanes magnitude = Lanes::greater(x, negative);
  Lanes square = Lanes::multiply(x, x);
  Lanes p = Lanes::broadcast(-5.70498872745e-3f);
  p = Lanes::multiplyAdd(p, square, Lanes::broadcast(2.06390887954e-2f));
  p = Lanes::multiplyAdd(p, square, Lanes::broadcast(-5.37397155531e-2f));
  p = Lanes::multiplyAdd(p, square, Lanes::broadcast(1.33314422036e-1f));
  p = Lanes::multiplyAdd(p, square, Lanes::broadcast(-3.33332819422e-1f));
  Lanes near = Lanes::multiplyAdd(Lanes::multiply(p, square), x, x);
  Lanes power = exponential(Lanes::add(magnitude, magnitude));
  Lanes far = Lanes::subtract(
      one, Lanes::divide(Lanes::broadcast(2.0f), Lanes::add(power, one)));
  far = Lanes::chooseBelow(x, zero, Lanes::subtract(zero, far), far);
  return Lanes::chooseBelow(magnitude, Lanes::broadcast(0.625f), near, far);
}

template <typename Lanes>
void capScores(float *row, int64_t count, float factor, float cap,
               float *slopes) {
  const Lanes factors = Lanes::broadcast(factor), caps = Lanes::broadcast(cap);
  const Lanes zero = Lanes::broadcast(0.0f), one = Lanes::broadcast(1.0f);
  for (int64_t j = 0; j < count; j += kLanes) {
    Lanes t = hyperbolicTangent(Lanes::multiply(Lanes::load(row + j), factors));
    Lanes::multiply(t, caps).store(row + j);
    if (slopes)
      Lanes::multiplyAdd(Lanes::subtract(zero, t), t, one).store(slopes + j);
  }
}

template <typename Lanes>
float scaleScores(float *row, int64_t valid, int64_t count, float scale,
                  const float *mask) {
  const Lanes factor = Lanes::broadcast(scale);
  float lowest = -__builtin_inff();
  Lanes max = Lanes::broadcast(lowest);
  for (int64_t j = 0; j < count; j += kLanes) {
    Lanes score = Lanes::multiply(Lanes::load(row + j), factor);
    if (mask)
      score = Lanes::add(score, Lanes::load(mask + j));
    if (j + kLanes > valid) {
      float values[kLanes];
      score.store(values);
      for (int64_t i = valid > j ? valid - j : 0; i < kLanes; ++i)
        values[i] = lowest;
      score = Lanes::load(values);
    }
    score.store(row + j);
    max = Lanes::greater(score, max);
  }
  float values[kLanes];
  max.store(values);
  float result = lowest;
  for (float value : values)
    result = value > result ? value : result;
  return result;
}

template <typename Lanes>
float exponentials(float *row, int64_t count, float shift) {
  Lanes sum = Lanes::broadcast(0.0f);
  const Lanes shifts = Lanes::broadcast(shift);
  for (int64_t j = 0; j < count; j += kLanes) {
    Lanes power = exponential(Lanes::subtract(Lanes::load(row + j), shifts));
    power.store(row + j);
    sum = Lanes::add(sum, power);
  }
  return sumLanes(sum);
}

template <typename Lanes>
void gradientsOfScores(const float *powers, float *gradients, int64_t count,
                       float along, float scale) {
  const Lanes shift = Lanes::broadcast(along), factor = Lanes::broadcast(scale);
  for (int64_t j = 0; j < count; j += kLanes) {
    Lanes change = Lanes::subtract(Lanes::load(gradients + j), shift);
    Lanes value = Lanes::multiply(Lanes::load(powers + j), change);
    Lanes::multiply(value, factor).store(gradients + j);
  }
}

template <typename Lanes>
float sumProducts(const float *a, const float *b, int64_t count) {
  Lanes sum = Lanes::broadcast(0.0f);
  for (int64_t j = 0; j < count; j += kLanes)
    sum = Lanes::multiplyAdd(Lanes::load(a + j), Lanes::load(b + j), sum);
  return sumLanes(sum);
}

template <typename Lanes>
void multiplyRow(float *row, int64_t count, float factor) {
  const Lanes factors = Lanes::broadcast(factor);
  for (int64_t j = 0; j < count; j += kLanes)
    Lanes::multiply(Lanes::load(row + j), factors).store(row + j);
}

template <typename Lanes>
void multiplyNumbers(float *row, const float *factors, int64_t count) {
  for (int64_t j = 0; j < count; j += kLanes)
    Lanes::multiply(Lanes::load(row + j), Lanes::load(factors + j))
        .store(row + j);
}

/// The kernels made of these loops: panels of `numRows` rows, and of
/// `numVectors` times 16 columns.
template <typename Lanes, int numRows, int numVectors>
constexpr BlockKernels makeBlockKernels(const char *name) {
  return {name,
          numRows,
          numVectors * kLanes,
          /*positions=*/1,
          packPanels<Lanes>,
          gatherNumbers<Lanes>,
          copyPieces<Lanes>,
          copyNarrowPieces,
          sumRows<Lanes>,
          multiplyPanels<Lanes, numRows, numVectors>,
          multiplyVector<Lanes>,
          capScores<Lanes>,
          scaleScores<Lanes>,
          exponentials<Lanes>,
          gradientsOfScores<Lanes>,
          sumProducts<Lanes>,
          multiplyRow<Lanes>,
          multiplyNumbers<Lanes>,
          narrowNumbers<Lanes>,
          addNarrowNumbers<Lanes>,
          roundNumbers<Lanes>,
          addNumbers<Lanes>};
}

} // namespace
} // namespace regather::runtime

#endif // REGATHER_LIB_RUNTIME_CPU_BLOCKS_SOFTMAXLOOPS_H
