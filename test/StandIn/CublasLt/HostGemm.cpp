//===- HostGemm.cpp - A GEMM of cuBLASLt on the host ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostGemm.h"

#include "Numeric/Elements.h"

#include <string>

using namespace regather::runtime;

static rg_dtype getDtype(int type) {
  return type == kLtBF16 ? RG_BF16 : type == kLtF16 ? RG_F16 : RG_F32;
}

static uint64_t getBytes(int type) { return type == kLtF32 ? 4 : 2; }

static bool isSame(const LtLayoutTag &a, const LtLayoutTag &b) {
  return a.type == b.type && a.rows == b.rows && a.columns == b.columns &&
         a.leading == b.leading && a.batch == b.batch &&
         (a.batch == 1 || a.batchStride == b.batchStride);
}

bool HostGemm::isInPlace() const { return isSame(layoutC, layoutD); }

//===----------------------------------------------------------------------===//
// Descriptions
//===----------------------------------------------------------------------===//

const char *HostGemm::findProblem() const {
  for (const LtLayoutTag *layout : {&layoutA, &layoutB, &layoutC, &layoutD}) {
    if (layout->type != kLtF32 && layout->type != kLtBF16 &&
        layout->type != kLtF16)
      return "a type is not supported";
    if (layout->rows == 0 || layout->columns == 0)
      return "a matrix is empty";
    if (layout->leading < static_cast<int64_t>(layout->rows))
      return "the leading dimension is less than the number of rows";
    if (layout->batch < 1 || layout->batch != layoutD.batch)
      return "batches differ";
  }
  if (layoutD.batch > 1 && layoutD.batchStride == 0)
    return "results of a batch overlap";
  if (desc.computeType != kLtCompute32F || desc.scaleType != kLtF32)
    return "the type of the computation is not supported";
  // The table of types of cublasLtMatmul, as far as types are known here.
  if (layoutA.type != layoutB.type || layoutC.type != layoutD.type ||
      (layoutD.type != kLtF32 && layoutD.type != layoutA.type))
    return "the types do not go together";
  bool swapA = desc.transposeA == kLtTransposed;
  bool swapB = desc.transposeB == kLtTransposed;
  uint64_t m = swapA ? layoutA.columns : layoutA.rows;
  uint64_t k = swapA ? layoutA.rows : layoutA.columns;
  uint64_t n = swapB ? layoutB.rows : layoutB.columns;
  if (k != (swapB ? layoutB.columns : layoutB.rows) || m != layoutD.rows ||
      n != layoutD.columns || m != layoutC.rows || n != layoutC.columns)
    return "the sizes do not go together";
  if (desc.epilogue == 0 ||
      (desc.epilogue != kLtEpilogueDefault &&
       (desc.epilogue & ~(kLtEpilogueRelu | kLtEpilogueBias))))
    return "the epilogue is not supported";
  if (hasBias() && !desc.bias)
    return "there is no bias";
  if (hasBias() && desc.biasType != -1 && desc.biasType != layoutD.type)
    return "the bias has another type than the result";
  return nullptr;
}

uint64_t HostGemm::hash() const {
  std::string text;
  auto add = [&](auto value) { text += std::to_string(value) + ' '; };
  for (const LtLayoutTag *layout : {&layoutA, &layoutB, &layoutC, &layoutD}) {
    add(layout->type);
    add(layout->rows);
    add(layout->columns);
    add(layout->leading);
    add(layout->batch);
    add(layout->batchStride);
  }
  add(desc.transposeA);
  add(desc.transposeB);
  add(desc.epilogue);
  add(desc.biasBatchStride);
  // FNV-1a, which does not change from build to build.
  uint64_t hash = 14695981039346656037U;
  for (char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

DeviceRange HostGemm::getRange(const void *matrix,
                               const LtLayoutTag *layout) const {
  uint64_t last =
      static_cast<uint64_t>((layout->batch - 1) * layout->batchStride +
                            layout->leading *
                                static_cast<int64_t>(layout->columns - 1)) +
      layout->rows;
  return {reinterpret_cast<CuAddress>(matrix), last * getBytes(layout->type)};
}

DeviceRange HostGemm::getBiasRange() const {
  uint64_t last =
      static_cast<uint64_t>((layoutD.batch - 1) * desc.biasBatchStride) +
      layoutD.rows;
  return {desc.bias, last * getBytes(layoutD.type)};
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

static float load(const void *data, int type, int64_t index) {
  float value = 0;
  useRoutineFloat(getDtype(type), [&](auto element) {
    using Element = decltype(element);
    value = Element::template load<float>(
        static_cast<const typename Element::Storage *>(data)[index]);
  });
  return value;
}

static void store(void *data, int type, int64_t index, float value) {
  useRoutineFloat(getDtype(type), [&](auto element) {
    using Element = decltype(element);
    static_cast<typename Element::Storage *>(data)[index] =
        Element::store(value);
  });
}

namespace {
/// The elements of op(matrix), for one element of the batch.
struct FactorView {
  const void *data;
  int type;
  int64_t first, rowStride, columnStride;

  FactorView(const void *data, const LtLayoutTag &layout, int32_t transpose,
             int64_t batch)
      : data(data), type(layout.type), first(batch * layout.batchStride),
        rowStride(transpose == kLtTransposed ? layout.leading : 1),
        columnStride(transpose == kLtTransposed ? 1 : layout.leading) {}

  float at(int64_t row, int64_t column) const {
    return load(data, type, first + row * rowStride + column * columnStride);
  }
};
} // namespace

void HostGemm::run() const {
  auto rows = static_cast<int64_t>(layoutD.rows);
  auto columns = static_cast<int64_t>(layoutD.columns);
  auto depth = static_cast<int64_t>(
      desc.transposeA == kLtTransposed ? layoutA.rows : layoutA.columns);
  for (int64_t p = 0; p < layoutD.batch; ++p) {
    FactorView left(a, layoutA, desc.transposeA, p);
    FactorView right(b, layoutB, desc.transposeB, p);
    FactorView addend(c, layoutC, kLtPlain, p);
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t i = 0; i < rows; ++i) {
        double sum = 0;
        for (int64_t l = 0; l < depth; ++l)
          sum += double(left.at(i, l)) * double(right.at(l, j));
        float value = alpha * static_cast<float>(sum);
        if (beta != 0)
          value += beta * addend.at(i, j);
        if (hasBias())
          value += load(reinterpret_cast<const void *>(desc.bias), layoutD.type,
                        p * desc.biasBatchStride + i);
        if (desc.epilogue & kLtEpilogueRelu)
          value = value <= 0 ? 0.0f : value;
        int64_t index = p * layoutD.batchStride + j * layoutD.leading + i;
        store(d, layoutD.type, index, value);
      }
  }
}
