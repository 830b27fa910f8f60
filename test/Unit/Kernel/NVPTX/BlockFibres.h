//===- BlockFibres.h - The threads of a block as fibres ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_UNIT_KERNEL_NVPTX_BLOCKFIBRES_H
#define REGATHER_TEST_UNIT_KERNEL_NVPTX_BLOCKFIBRES_H

#include "GpuEmulator.h"
#include "MemoryMonitor.h"

namespace regather::nvptx {

/// Runs `body` once for each thread of a block; inside of it, the functions
/// below are those of the thread. Stops at the first access that is wrong.
llvm::Error runBlock(int64_t block, int64_t threads, ThreadOrder order,
                     MemoryMonitor &monitor, llvm::function_ref<void()> body);

int64_t emulateThreadId();
int64_t emulateBlockId();
void emulateBarrier();
int64_t emulateShuffleXor(int64_t value, int32_t offset);
/// What four matrices and products give is received register by register.
void emulateLoadMatrices(int64_t address);
void emulateLoadTransposed(int64_t address);
void emulateMultiplyBF16(int32_t a0, int32_t a1, int32_t a2, int32_t a3,
                         int32_t b0, int32_t b1, int32_t c0, int32_t c1,
                         int32_t c2, int32_t c3);
void emulateMultiplyF16(int32_t a0, int32_t a1, int32_t a2, int32_t a3,
                        int32_t b0, int32_t b1, int32_t c0, int32_t c1,
                        int32_t c2, int32_t c3);
int32_t emulateReceived(int32_t number);
/// Copies `bytes` of 16 and fills up with zeros, later.
void emulateCopy(char *target, const char *source, int64_t bytes);
void emulateCommitCopies();
void emulateWaitForCopies(int32_t groups);
float emulateExp2(float x);
void emulateTrap();
void emulateAccess(char *address, int64_t bytes, int64_t alignment,
                   int32_t kind);

} // namespace regather::nvptx

#endif // REGATHER_TEST_UNIT_KERNEL_NVPTX_BLOCKFIBRES_H
