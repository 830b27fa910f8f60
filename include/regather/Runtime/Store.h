/*===- Store.h - How ranks of a caller find each other ------------*- C -*-===*\
|*                                                                            *|
|* Part of Regather, under the Apache License v2.0 with LLVM Exceptions.      *|
|* See LICENSE for license information.                                       *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Who has brought the ranks of a job together, such as PyTorch, has a store  *|
|* that all of them see. By it they exchange what NCCL needs to begin, and    *|
|* say why one of them ends.                                                  *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef REGATHER_RUNTIME_STORE_H
#define REGATHER_RUNTIME_STORE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The store as one rank sees it. One thread at a time calls the functions, of
 *  any threads, and none of them waits for other ranks. Those that return an
 * int return 0, or anything else for a failure, of which `error` has the text.
 * Keys are those of one executable, which the store keeps apart from others. */
typedef struct rg_store {
  /** The first argument of each function. */
  void *context;
  /** The number of this rank, and how many there are. */
  int32_t rank;
  int32_t ranks;
  /** Sets the value of a key, which all ranks see from then on. */
  int32_t (*set)(void *context, const char *key, const void *value,
                 int64_t bytes);
  /** Writes up to `capacity` bytes of the value of a key, and to `*bytes` how
   *  many it has: -1 if no rank has set the key. */
  int32_t (*get)(void *context, const char *key, void *value, int64_t capacity,
                 int64_t *bytes);
  /** What failed last, without a stop at its end; valid until the next call. */
  const char *(*error)(void *context);
} rg_store;

#ifdef __cplusplus
}
#endif

#endif /* REGATHER_RUNTIME_STORE_H */
