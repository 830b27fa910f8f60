//===- MpiJob.cpp - A process that is one rank of an MPI job --------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Engines/MpiJob.h"

#include <climits>
#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>
#include <vector>

using namespace regather;

static constexpr const char *kLibrary = "libregather_mpi.so";

/// `lib` beside the `bin` of this program, in the build tree as where it is
/// installed; empty if it cannot be told.
static std::string getOwnLibraryFolder() {
  char path[PATH_MAX] = {};
  if (readlink("/proc/self/exe", path, sizeof(path) - 1) <= 0)
    return "";
  std::string program(path);
  for (int i = 0; i < 2; ++i)
    program.resize(program.find_last_of('/') == std::string::npos
                       ? 0
                       : program.find_last_of('/'));
  return program + "/lib/";
}

static Result<void *> openLibrary() {
  std::vector<std::string> names = {getOwnLibraryFolder() + kLibrary, kLibrary};
  if (const char *given = getenv("REGATHER_MPI_LIBRARY"); given && *given)
    names = {given};
  std::string reasons;
  for (const std::string &name : names) {
    // Parts that an MPI opens by itself look for the rest of it everywhere.
    if (void *library = dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL))
      return library;
    const char *reason = dlerror();
    reasons +=
        (reasons.empty() ? "" : "; ") + std::string(reason ? reason : "");
  }
  return Failure("--comm=mpi needs " + std::string(kLibrary) +
                 ", which is built where CMake finds an MPI "
                 "(REGATHER_MPI_LIBRARY names one that lies elsewhere): " +
                 reasons);
}

Result<std::shared_ptr<MpiJob>> MpiJob::open() {
  Result<void *> library = openLibrary();
  if (!library)
    return library.getFailure();
  auto version = reinterpret_cast<rg_mpi_version_function>(
      dlsym(*library, "rg_mpi_version"));
  auto openMpi =
      reinterpret_cast<rg_mpi_open_function>(dlsym(*library, "rg_mpi_open"));
  auto finish = reinterpret_cast<rg_mpi_finish_function>(
      dlsym(*library, "rg_mpi_finish"));
  if (!version || !openMpi || !finish || version() != RG_MPI_VERSION)
    return Failure("--comm=mpi needs a " + std::string(kLibrary) +
                   " of version " + std::to_string(RG_MPI_VERSION) +
                   ", got one of " +
                   (version ? "version " + std::to_string(version()) : "none"));
  std::shared_ptr<MpiJob> job(new MpiJob());
  if (const char *problem = openMpi(&job->transport))
    return Failure(problem);
  job->finishMpi = finish;
  return job;
}

Failure MpiJob::checkRanks(int64_t ranks, const std::string &who) const {
  if (ranks == getNumRanks())
    return Failure();
  return Failure(
      who + " " + std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks") +
          ", but the MPI job has " + std::to_string(getNumRanks()) +
          ": start it with 'mpirun -n " + std::to_string(ranks) + "'",
      kFoundByAll);
}

void MpiJob::finish() const { finishMpi(); }
