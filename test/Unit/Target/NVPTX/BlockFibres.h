//===- BlockFibres.h - The threads of a block as fibres ---------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_TEST_UNIT_TARGET_NVPTX_BLOCKFIBRES_H
#define REGATHER_TEST_UNIT_TARGET_NVPTX_BLOCKFIBRES_H

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
void emulateTrap();
void emulateAccess(char *address, int64_t bytes, int64_t alignment,
                   int32_t kind);

} // namespace regather::nvptx

#endif // REGATHER_TEST_UNIT_TARGET_NVPTX_BLOCKFIBRES_H
