/*===- Transport.h - How the processes of a job move bytes --------*- C -*-===*\
|*                                                                            *|
|* Part of Regather, under the Apache License v2.0 with LLVM Exceptions.      *|
|* See LICENSE for license information.                                       *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* Functions of the caller by which one rank, which is a process or a thread, *|
|* exchanges messages with the others: over MPI, over process groups of       *|
|* PyTorch, over sockets. All else that collectives need, sums among it, is   *|
|* the runtime's. docs/adding-a-communicator.md tells more.                   *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef REGATHER_RUNTIME_TRANSPORT_H
#define REGATHER_RUNTIME_TRANSPORT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One rank of a job. One thread at a time calls the functions, which is not
 *  the one that runs steps; none of them blocks. Those that return an int
 *  return 0, or anything else for a failure, of which `error` has the text. */
typedef struct rg_transport {
  /** The first argument of each function. */
  void *context;
  /** The number of this rank, and how many there are. */
  int32_t rank;
  int32_t ranks;
  /** Begin to send `bytes` bytes to another rank, or to receive as many from
   *  it, and set the number by which `test` knows the message. Both sides agree
   *  on `bytes`, which are not 0. Messages between two ranks on one channel, a
   *  small number, arrive in the order in which they were sent; those on
   *  different channels do not wait for each other. The memory is the
   *  message's until it is done, or `abort` has returned. */
  int32_t (*send)(void *context, int32_t to, int32_t channel, const void *data,
                  int64_t bytes, uint64_t *number);
  int32_t (*receive)(void *context, int32_t from, int32_t channel, void *data,
                     int64_t bytes, uint64_t *number);
  /** Sets `*done` to 1 if a message is done, else to 0. Not called again for a
   *  number that was done. Fails if the other rank is known to be gone. */
  int32_t (*test)(void *context, uint64_t number, int32_t *done);
  /** Ends all messages: nothing touches their memory any more, and those of
   *  other ranks with this one fail as soon as that can be told. Called once at
   *  most, and nothing but `error` after it. */
  void (*abort)(void *context);
  /** What failed last, and which rank is gone, without a stop at its end; valid
   *  until the next call. */
  const char *(*error)(void *context);
  /** Null, or a number, aligned to its size, that becomes another one whenever
   * a message is done or has failed, and that any thread may change. As long as
   *  it stays, `test` is asked about a message that was not done only every few
   *  milliseconds: for functions to which a call is expensive. */
  const uint64_t *changes;
} rg_transport;

#ifdef __cplusplus
}
#endif

#endif /* REGATHER_RUNTIME_TRANSPORT_H */
