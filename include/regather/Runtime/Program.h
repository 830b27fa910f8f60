/*===- Program.h - A compiled step as tables ----------------------*- C -*-===*\
|*                                                                            *|
|* Part of Regather, under the Apache License v2.0 with LLVM Exceptions.      *|
|* See LICENSE for license information.                                       *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* What a step is once it is compiled: machine code for its kernels, and      *|
|* constant tables that say what runs in which order on which bytes. The      *|
|* tables are equal on all ranks. They are built in memory, or lie as         *|
|* constant data in the shared object of a bundle; Executor.h runs them.      *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef REGATHER_RUNTIME_PROGRAM_H
#define REGATHER_RUNTIME_PROGRAM_H

#include "regather/Runtime/Attention.h"
#include "regather/Runtime/Convolution.h"
#include "regather/Runtime/Gemm.h"
#include "regather/Runtime/GroupedGemm.h"
#include "regather/Runtime/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Changes whenever the layout or the meaning of a table does. */
#define RG_PROGRAM_VERSION 6

/** The symbol of the program in the shared object of a bundle. */
#define RG_PROGRAM_SYMBOL "regather_program"

/** The same of a program beside it that runs a step again with room for the
    rows of all experts, if the step may have too little. */
#define RG_ROOMY_PROGRAM_SYMBOL "regather_roomy_program"

/*===----------------------------------------------------------------------===*\
|* Memory
\*===----------------------------------------------------------------------===*/

/** Where bytes lie. */
typedef enum rg_space {
  /** In the arena, of which each rank has one. */
  RG_SPACE_ARENA = 0,
  /** In constant `index`, which is never written. */
  RG_SPACE_CONSTANT,
  /** In argument `index`, which is written only if it is donated. */
  RG_SPACE_ARGUMENT,
  /** In memory of the caller for result `index`. */
  RG_SPACE_RESULT,
  /** In the arena of the host, of which each rank has one; only copies touch
   *  it. */
  RG_SPACE_HOST
} rg_space;

/** The bytes of one dense, row-major buffer. */
typedef struct rg_slice {
  int32_t space; /**< an rg_space */
  int32_t index; /**< of the constant, the argument or the result */
  int64_t offset;
  int64_t bytes;
} rg_slice;

typedef struct rg_constant {
  const void *data;
  int64_t bytes;
} rg_constant;

/** An argument or a result. */
typedef struct rg_value {
  const char *name;
  int32_t dtype; /**< an rg_dtype */
  int32_t rank;
  const int64_t *shape; /**< on one rank */
  /** Of an argument: nonzero if the step may write to it. */
  int32_t donated;
  /** Nonzero if it lies in memory of the host, where only copies touch it. */
  int32_t on_host;
  /** Of a result: where it lies when the step has ended. */
  rg_slice slice;
} rg_value;

/*===----------------------------------------------------------------------===*\
|* Computation
\*===----------------------------------------------------------------------===*/

/** Computes the blocks [begin, end) of a kernel's rows. `buffers` are the
 *  arguments and then the results, aligned to their element size. `scratch` is
 *  private to the call and aligned to 64 bytes. Calls on ranges that do not
 *  overlap may run at once, and the bits do not depend on how rows are cut.
 *  Returns 0, or 1 if an index was out of bounds. */
typedef int32_t (*rg_kernel_function)(void *const *buffers, int64_t begin,
                                      int64_t end, void *scratch);

typedef struct rg_kernel {
  const char *name;
  rg_kernel_function function;
  /** Blocks that it can be cut into; 1 if it runs as a whole. */
  int64_t rows;
  /** Ranges begin at multiples of it. */
  int64_t grain;
  int64_t scratch_bytes;
} rg_kernel;

/*===----------------------------------------------------------------------===*\
|* Communication
\*===----------------------------------------------------------------------===*/

/** The groups of ranks along axes of a mesh. The member of a rank's group with
 *  index i[k] along axis k is f + sum of i[k] * strides[k], for the f of that
 *  sum in which the rank itself is a member; the last axis runs fastest. */
typedef struct rg_axes {
  int32_t count;
  int32_t reserved; /**< zero, as all fields of this name */
  const int64_t *sizes;
  const int64_t *strides; /**< in ranks */
} rg_axes;

/** A collective whose shapes are fixed. */
typedef struct rg_collective_entry {
  /** With null for the inputs and outputs of its members. */
  rg_collective collective;
  int32_t axes; /**< index into rg_program.axes */
  int32_t reserved;
} rg_collective_entry;

/*===----------------------------------------------------------------------===*\
|* Instructions
\*===----------------------------------------------------------------------===*/

/** What an instruction does with its slices. Integers that control depends on
 *  are signed and as wide as their slices. */
typedef enum rg_opcode {
  /** Runs kernel `index` on its arguments and results. */
  RG_OP_LAUNCH = 0,
  /** Runs GEMM, attention, convolution or grouped GEMM `index` on its buffers.
   *  Devices have neither of the last two. */
  RG_OP_GEMM,
  RG_OP_ATTENTION,
  RG_OP_CONVOLUTION,
  RG_OP_GROUPED_GEMM,
  /** Starts collective `index`; for each member its input and its output. */
  RG_OP_COLLECTIVE,
  /** Event `index` happens when everything before it on its stream is done. */
  RG_OP_RECORD,
  /** What follows on the stream runs after event `index`; an event that was
   *  not recorded yet has nothing to wait for. */
  RG_OP_WAIT,
  /** Copies the second slice to the first, of as many bytes. Copies between
   *  device and host have streams of their own, on which one runs after the
   *  other. */
  RG_OP_COPY,
  /** Writes the second slice, one element, all over the first. */
  RG_OP_FILL,
  /** Writes the rank's position along axes `index`, in 64 bits. */
  RG_OP_AXIS_INDEX,
  /** Waits for all streams. */
  RG_OP_SYNC,
  /** Goes on at `target`. */
  RG_OP_JUMP,
  /** Goes on at `target` if the slice holds zero. */
  RG_OP_JUMP_IF_ZERO,
  /** Begins loop `index` over a variable from a lower bound to below an upper
   *  one, by a step: the four slices, which are read once. Goes on at `target`
   *  if there is no iteration. */
  RG_OP_LOOP,
  /** Writes the next value of loop `index` to the slice and goes on at
   *  `target`, unless the loop is over. */
  RG_OP_NEXT
} rg_opcode;

/** Instructions are issued in order. Those of stream 0, which computes, run in
 *  that order. Those of the other streams, which communicate or copy to or from
 *  the host, start in that order, and that one is done is known only from an
 *  event. */
typedef struct rg_instruction {
  int32_t opcode; /**< an rg_opcode */
  int32_t stream;
  int32_t index;
  int32_t slice_count;
  int64_t first_slice; /**< index into rg_program.slices */
  int64_t target;      /**< number of an instruction, or their count */
  /** Operation and source location, for messages; may be null. */
  const char *description;
  /** What the cost model says of a computation: arithmetic operations, a
   *  multiply-add counts two, and bytes that are read and written. Nothing
   *  depends on it. */
  double flops;
  int64_t bytes;
} rg_instruction;

/** A compiled step. A table of no entries may be null. */
typedef struct rg_program {
  uint32_t version; /**< RG_PROGRAM_VERSION */
  /** Number of ranks it was compiled for; 0 if any number can run it. */
  int32_t ranks;
  const char *name;
  int64_t arena_bytes;
  /** The most bytes of the arena that are live at once. */
  int64_t arena_lower_bound;
  /** The same in memory of the host. */
  int64_t host_arena_bytes;
  int64_t host_arena_lower_bound;
  int64_t arena_alignment; /**< of both, a power of two, at most 4096 */
  int32_t stream_count;
  int32_t event_count;
  int32_t loop_count;
  int32_t reserved;

  int64_t argument_count;
  const rg_value *arguments;
  int64_t result_count;
  const rg_value *results;
  int64_t constant_count;
  const rg_constant *constants;
  int64_t kernel_count;
  const rg_kernel *kernels;
  int64_t gemm_count;
  const rg_gemm_desc *gemms;
  int64_t attention_count;
  const rg_attention_desc *attentions;
  int64_t convolution_count;
  const rg_convolution_desc *convolutions;
  int64_t grouped_gemm_count;
  const rg_grouped_gemm_desc *grouped_gemms;
  int64_t axes_count;
  const rg_axes *axes;
  int64_t collective_count;
  const rg_collective_entry *collectives;
  int64_t slice_count;
  const rg_slice *slices;
  int64_t instruction_count;
  const rg_instruction *instructions;
} rg_program;

/** Bytes of an argument or a result on one rank; -1 if no memory can hold
 *  them. */
RG_EXPORT int64_t rg_value_bytes(const rg_value *value);

/** Nonzero if a slice of the program lies in memory of the host. */
RG_EXPORT int32_t rg_slice_on_host(const rg_program *program,
                                   const rg_slice *slice);

/** Bytes of the arguments of one rank that lie on its device, or on its host;
 *  -1 if no memory can hold them. */
RG_EXPORT int64_t rg_argument_bytes(const rg_program *program, int32_t host);

#ifdef __cplusplus
}
#endif

#endif /* REGATHER_RUNTIME_PROGRAM_H */
