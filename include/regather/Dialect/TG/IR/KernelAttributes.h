//===- KernelAttributes.h - Plans of kernels --------------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the passes that lower kernels decide, on the operations that a kernel is
// on its way to code. Numbers are i64 and not negative.
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_DIALECT_TG_IR_KERNELATTRIBUTES_H
#define REGATHER_DIALECT_TG_IR_KERNELATTRIBUTES_H

#include "llvm/ADT/StringRef.h"

namespace regather::tg {

/// On a `tg.kernel`: about how many bytes a tile of it touches, in the place of
/// the option of kernel-tile.
inline constexpr llvm::StringLiteral kTileBytesAttrName = "tg.tile_bytes";

/// On a function that a kernel became: the number of its tiles.
inline constexpr llvm::StringLiteral kNumTilesAttrName = "tg.num_tiles";

/// On a function that a kernel became: bytes of the scratch memory that its
/// last arguments lie in, and where each of them lies (array of i64).
inline constexpr llvm::StringLiteral kTileScratchBytesAttrName =
    "tg.tile_scratch_bytes";
inline constexpr llvm::StringLiteral kTileScratchOffsetsAttrName =
    "tg.tile_scratch_offsets";

/// On a `tg.kernel` of linalg operations: the kernel (symbol) that computes the
/// same by nodes, which may have more tiles.
inline constexpr llvm::StringLiteral kNodesAttrName = "tg.nodes";

/// On a stage of a kernel: the buffers that its arguments and results are
/// (array of i64). Those of the kernel come first, arguments before results,
/// and then the temporaries.
inline constexpr llvm::StringLiteral kBuffersAttrName = "tg.buffers";

/// On the module of a kernel's stages: the type of the kernel, and what stages
/// hand on that is no result of it (array of types).
inline constexpr llvm::StringLiteral kSignatureAttrName = "tg.signature";
inline constexpr llvm::StringLiteral kTemporariesAttrName = "tg.temporaries";

/// On the module of a kernel's stages: where the temporaries lie in its device
/// memory (array of i64).
inline constexpr llvm::StringLiteral kTemporaryOffsetsAttrName =
    "tg.temporary_offsets";

/// On the function of a stage: blocks of its launch, and threads of a block.
inline constexpr llvm::StringLiteral kLaunchBlocksAttrName = "tg.launch_blocks";
inline constexpr llvm::StringLiteral kLaunchThreadsAttrName =
    "tg.launch_threads";

/// On the function of a stage or the `gpu.func` that it became: bytes of shared
/// memory that the launch asks for.
inline constexpr llvm::StringLiteral kDynamicSharedBytesAttrName =
    "tg.dynamic_shared_bytes";

/// On a `gpu.func` that a kernel became: bytes of the device memory that its
/// last argument points to. On the module of a kernel's stages: those of all.
inline constexpr llvm::StringLiteral kScratchBytesAttrName = "tg.scratch_bytes";

} // namespace regather::tg

#endif // REGATHER_DIALECT_TG_IR_KERNELATTRIBUTES_H
