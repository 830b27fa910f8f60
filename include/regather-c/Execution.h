/*===- Execution.h - Steps on memory of the caller ---------------*- C -*-===*
 *
 * Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===*
 *
 * Compiles a step in this process and runs it. On processors, arguments and
 * results lie in memory of the caller, and nothing of a run is kept in the
 * executable, so results live as long as their memory does. On a GPU, arguments
 * lie in memory of the device that the executable holds, and stay there.
 *
 *===----------------------------------------------------------------------===*/

#ifndef REGATHER_C_EXECUTION_H
#define REGATHER_C_EXECUTION_H

#include "regather-c/Option.h"
#include "regather-c/Status.h"
#include "regather/Runtime/Store.h"
#include "regather/Runtime/Transport.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct RegatherExecutable RegatherExecutable;

/** Zero means the default in every field. */
typedef struct RegatherExecutableOptions {
  /** Nonzero: the document is a captured graph, as docs/fx-json.md describes
      it; otherwise a module of MLIR, as text or bytecode. */
  int32_t isCapture;
  /** Threads that compute; 0: as many as the hardware runs at once. Has no
      effect on results. */
  int32_t threads;
  /** What messages call the document; null: "step". */
  const char *name;
  /** Names are entry, plan, pass-option, mesh, policy and so on, without
      dashes. */
  uint32_t numOptions;
  const RegatherOption *options;
  /** Null: a step of one rank. Otherwise this process is one rank of a job, and
      the step is compiled for all of its ranks and run as this one. Functions
      are copied; what they need outlives the executable. All ranks create the
      executable and run it equally often. */
  const rg_transport *transport;
  /** In a job, seconds that a rank waits for others before the step fails; 0:
      600. */
  double timeoutSeconds;
  /** Where it runs: null or "cpu"; "cuda:N", the GPU with number N as the
     driver counts; or "cuda", the one that the launcher of the process says
     (LOCAL_RANK of torchrun and the like), or the first. Kernels are compiled
     for it. */
  const char *device;
  /** On a GPU, another executable on it, or null: arguments of this one that
      are no inputs lie in the memory of its arguments of the same name, if it
      has any. The two do not run at the same time. It may be destroyed
      first. */
  const RegatherExecutable *memoryOf;
  /** On a GPU, what `transport` is on processors: this process is one rank of a
      job. NCCL moves data; the ranks find each other by the store, and compare
      what they have compiled before the first collective. */
  const rg_store *store;
  /** Nonzero: the step has room for the rows of all experts, whatever
      `expert-capacity` says. It takes the same arguments as without, and has
      the same results but for the `overflow`; it is what a step is run again
      with whose overflow is above zero, and which has updated nothing. */
  int32_t hasRoomForAll;
} RegatherExecutableOptions;

/** Compiles the step of a document, for one rank or as one of a job. `plan` and
    then `pass-option` go over other options, in whichever order they are given.
    Compiled kernels are kept in
    the same folder as those of `regather run`. The status holds all errors, one
    on each line: before a step is compiled for a GPU, all that is missing of
    driver, device and libraries. */
REGATHER_C_EXPORT RegatherStatus *
regatherExecutableCreate(const char *document, size_t size,
                         const RegatherExecutableOptions *options,
                         RegatherExecutable **executable);

/** Does nothing for null. No run may be under way. */
REGATHER_C_EXPORT void
regatherExecutableDestroy(RegatherExecutable *executable);

/** That a dimension of a value is cut into `count` shards of one size, rounded
    up, of which this rank has the one with number `index`. What lies behind the
    end of the whole value is padding. `axes` are the numbers of the axes of the
    mesh whose ranks have the shards, the one first on which they change most
    slowly. */
typedef struct RegatherShard {
  uint32_t dimension;
  uint32_t count;
  uint32_t index;
  uint32_t numAxes;
  const uint32_t *axes;
} RegatherShard;

/** An argument or a result. Texts and shapes live as long as the executable. */
typedef struct RegatherValue {
  const char *name;
  /** As in MLIR: f32, bf16, i64, i1 (a byte that is 0 or 1). */
  const char *elementType;
  /** As in `#tg.role`: parameter, input, loss, update and so on; empty if it
      has none. */
  const char *role;
  /** Of a gradient or an update: the number of its argument; else -1. */
  int32_t argument;
  /** Of an argument: nonzero if the step writes to it. Of a result: nonzero if
      it lies in its argument, so that it needs no memory. */
  int32_t isDonated;
  uint32_t rank;
  /** Of this rank. Row-major, without gaps. */
  const int64_t *shape;
  uint64_t bytes;
  /** Of the value that all ranks together hold. */
  const int64_t *globalShape;
  /** What this rank has of it; none if all of it. */
  uint32_t numShards;
  const RegatherShard *shards;
  /** Nonzero: ranks hold contributions that are still to be reduced. */
  int32_t isPartial;
} RegatherValue;

REGATHER_C_EXPORT uint32_t
regatherExecutableGetNumArguments(const RegatherExecutable *executable);
REGATHER_C_EXPORT uint32_t
regatherExecutableGetNumResults(const RegatherExecutable *executable);

/** All fields are zero if there is none of this number. */
REGATHER_C_EXPORT RegatherValue regatherExecutableGetArgument(
    const RegatherExecutable *executable, uint32_t number);
REGATHER_C_EXPORT RegatherValue regatherExecutableGetResult(
    const RegatherExecutable *executable, uint32_t number);

/** The number of the GPU that it runs on; -1 for processors. */
REGATHER_C_EXPORT int32_t
regatherExecutableGetDevice(const RegatherExecutable *executable);

/** Bytes of memory that the executable holds: its arena and scratch memory. */
REGATHER_C_EXPORT uint64_t
regatherExecutableGetBytes(const RegatherExecutable *executable);

/** On a GPU, copies an argument to the device: from the host or, if
   `isOnDevice` is not 0, from other memory of the device, such as that of a
   tensor of PyTorch, that no work under way still writes to. An argument has
   undefined contents before. Fails on processors. */
REGATHER_C_EXPORT RegatherStatus *
regatherExecutableWrite(RegatherExecutable *executable, uint32_t argument,
                        const void *data, int32_t isOnDevice);

/** On a GPU, copies the present value of an argument to the host. Fails on
    processors. */
REGATHER_C_EXPORT RegatherStatus *
regatherExecutableRead(RegatherExecutable *executable, uint32_t argument,
                       void *data);

/** Runs the step once. Pointers are aligned to the size of an element, and may
    be null where a value has no bytes, or is a result that needs no memory.
    Donated arguments and results overlap nothing else. Any number of threads
    may call; they take turns. On a GPU all pointers are to memory of the host
    and may be null: arguments are copied to the device first unless they are
    null, and results that are asked for are copied to the host. Updates are in
    their arguments then, which regatherExecutableRead gives; the calling thread
    has the current device of CUDA that it had. After an error of the step
   itself, such as an index out of bounds, all further runs fail. */
REGATHER_C_EXPORT RegatherStatus *
regatherExecutableRun(RegatherExecutable *executable, void *const *arguments,
                      void *const *results);

#ifdef __cplusplus
}
#endif

#endif /* REGATHER_C_EXECUTION_H */
