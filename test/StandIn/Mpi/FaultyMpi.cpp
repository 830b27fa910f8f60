//===- FaultyMpi.cpp - A transport over MPI that breaks when it is told to
//-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Stands in for libregather_mpi.so, which lies beside it and does all work:
// REGATHER_MPI_LIBRARY names this one, and REGATHER_FAULT says
// KIND:RANK:NUMBER. When that rank begins to send that message, counted from 0,
// it
//
//   kill      is killed
//   stop      is stopped
//   close     ends all connections of its process
//   corrupt   sends a copy of the message with one bit changed
//
// and the time, in nanoseconds of the monotonic clock, goes to the file that
// REGATHER_FAULT_MARK names. How many messages each rank has begun to send goes
// to files that REGATHER_FAULT_COUNT names, with the rank added, when MPI ends.
//
//===----------------------------------------------------------------------===//

#include "regather/Runtime/MpiTransport.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <dlfcn.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace {
/// What the environment asks for.
struct Fault {
  std::string kind;
  int32_t rank = -1;
  int64_t number = -1;

  static Fault read();
};

struct FaultyMpi {
  void *library = nullptr;
  rg_transport real = {};
  Fault fault;
  int64_t numSent = 0;
  /// Copies that were changed; they stay until the process ends.
  std::deque<std::vector<char>> copies;

  void open();
  const void *strike(const void *data, int64_t bytes);
};
} // namespace

static FaultyMpi faulty;

Fault Fault::read() {
  Fault fault;
  const char *given = getenv("REGATHER_FAULT");
  std::string text = given ? given : "";
  size_t first = text.find(':'), second = text.find(':', first + 1);
  if (second == std::string::npos)
    return fault;
  fault.kind = text.substr(0, first);
  fault.rank = int32_t(strtol(text.c_str() + first + 1, nullptr, 10));
  fault.number = strtoll(text.c_str() + second + 1, nullptr, 10);
  return fault;
}

static void write(const char *variable, const std::string &ending,
                  int64_t number) {
  const char *path = getenv(variable);
  FILE *file = path ? fopen((path + ending).c_str(), "w") : nullptr;
  if (!file)
    return;
  fprintf(file, "%lld", static_cast<long long>(number));
  fclose(file);
}

/// Opens the library that does the work.
void FaultyMpi::open() {
  Dl_info info = {};
  dladdr(reinterpret_cast<void *>(&rg_mpi_version), &info);
  std::string path = info.dli_fname ? info.dli_fname : "";
  path = path.substr(0, path.rfind('/') + 1) + "libregather_mpi.so";
  library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    _exit(2);
  }
}

/// Ends what other processes and this one have between them; pipes and files
/// stay.
static void closeSockets() {
  for (int file = 3; file < 1024; ++file) {
    sockaddr_storage address = {};
    socklen_t length = sizeof(address);
    if (getpeername(file, reinterpret_cast<sockaddr *>(&address), &length) ==
            0 &&
        address.ss_family != AF_UNIX)
      shutdown(file, SHUT_RDWR);
  }
}

const void *FaultyMpi::strike(const void *data, int64_t bytes) {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  write("REGATHER_FAULT_MARK", "",
        int64_t(now.tv_sec) * 1000000000 + now.tv_nsec);
  if (fault.kind == "kill")
    raise(SIGKILL);
  if (fault.kind == "stop")
    raise(SIGSTOP);
  if (fault.kind == "close")
    closeSockets();
  if (fault.kind != "corrupt")
    return data;
  const char *begin = static_cast<const char *>(data);
  std::vector<char> &copy = copies.emplace_back(begin, begin + bytes);
  copy[copy.size() / 2] = char(copy[copy.size() / 2] ^ 4);
  return copy.data();
}

static int32_t send(void *, int32_t to, int32_t channel, const void *data,
                    int64_t bytes, uint64_t *number) {
  int64_t index = faulty.numSent++;
  if (faulty.fault.rank == faulty.real.rank && faulty.fault.number == index)
    data = faulty.strike(data, bytes);
  return faulty.real.send(faulty.real.context, to, channel, data, bytes,
                          number);
}

int32_t rg_mpi_version(void) { return RG_MPI_VERSION; }

const char *rg_mpi_open(rg_transport *transport) {
  faulty.open();
  auto open = reinterpret_cast<rg_mpi_open_function>(
      dlsym(faulty.library, "rg_mpi_open"));
  if (const char *problem = open(&faulty.real))
    return problem;
  faulty.fault = Fault::read();
  *transport = faulty.real;
  transport->send = send;
  return nullptr;
}

void rg_mpi_finish(void) {
  write("REGATHER_FAULT_COUNT", std::to_string(faulty.real.rank),
        faulty.numSent);
  auto finish = reinterpret_cast<rg_mpi_finish_function>(
      dlsym(faulty.library, "rg_mpi_finish"));
  finish();
}
