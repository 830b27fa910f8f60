//===- PtxTensorCores.h - Products of small matrices in PTX -----*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_STANDIN_PTX_PTXTENSORCORES_H
#define REGATHER_TEST_STANDIN_PTX_PTXTENSORCORES_H

#include "PtxInterpreter.h"

#include <array>
#include <cstddef>

namespace regather::runtime {

/// The registers of the lanes of a warp.
using PtxLanes = std::array<uint64_t *, 32>;

/// `mma.sync.m16n8k16` with f32 sums: operands are the registers of the left
/// factor, the right one and the sums.
void multiplyFragments(const PtxInstruction &instruction,
                       const PtxLanes &lanes);

/// The rows of 16 bytes that the lanes have the addresses of.
using PtxRows = std::array<const std::byte *, 32>;

/// True if two of the eight rows of a matrix lie in the same of the 32 banks of
/// 4 bytes.
bool meetInBanks(const std::byte *const *rows);

/// One of the two elements of a matrix that `ldmatrix` gives to a lane.
const std::byte *findElement(const PtxInstruction &instruction,
                             const PtxRows &rows, size_t lane, size_t matrix,
                             size_t half);

/// `ldmatrix.m8n8.x4`: rows 8 i to 8 i + 7 are those of matrix i.
void loadFragments(const PtxInstruction &instruction, const PtxRows &rows,
                   const PtxLanes &lanes);

} // namespace regather::runtime

#endif // REGATHER_TEST_STANDIN_PTX_PTXTENSORCORES_H
