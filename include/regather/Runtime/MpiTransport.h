/*===- MpiTransport.h - Messages over MPI -------------------------*- C -*-===*\
|*                                                                            *|
|* Part of Regather, under the Apache License v2.0 with LLVM Exceptions.      *|
|* See LICENSE for license information.                                       *|
|* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception                    *|
|*                                                                            *|
|*===----------------------------------------------------------------------===*|
|*                                                                            *|
|* What the library regather_mpi exports. It alone is compiled with the       *|
|* headers of an MPI, since each MPI has an interface of its own between      *|
|* programs and libraries; who needs it opens it at run time. One file,       *|
|* lib/MPI/MpiTransport.cpp, is all of it:                                    *|
|*                                                                            *|
|*   mpicxx -std=c++17 -shared -fPIC -Iinclude lib/MPI/MpiTransport.cpp \     *|
|*          -o libregather_mpi.so                                             *|
|*                                                                            *|
\*===----------------------------------------------------------------------===*/

#ifndef REGATHER_RUNTIME_MPITRANSPORT_H
#define REGATHER_RUNTIME_MPITRANSPORT_H

#include "regather/Runtime/Runtime.h"
#include "regather/Runtime/Transport.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Changes with rg_transport and with what is declared here. */
#define RG_MPI_VERSION 2

/** The version that the library was compiled with. */
RG_EXPORT int32_t rg_mpi_version(void);
typedef int32_t (*rg_mpi_version_function)(void);

/** Initialises MPI, unless the process has, and fills the table for the ranks
 *  of MPI_COMM_WORLD. Called once, by the thread that calls rg_mpi_finish.
 *  Null, or why it fails, without a stop at its end. */
RG_EXPORT const char *rg_mpi_open(rg_transport *transport);
typedef const char *(*rg_mpi_open_function)(rg_transport *transport);

/** Waits for all ranks to call it, and ends MPI if rg_mpi_open began it. A rank
 *  that has failed does not call it: its process ends, and whoever started the
 *  job ends the others. Nothing is called after it. */
RG_EXPORT void rg_mpi_finish(void);
typedef void (*rg_mpi_finish_function)(void);

#ifdef __cplusplus
}
#endif

#endif /* REGATHER_RUNTIME_MPITRANSPORT_H */
