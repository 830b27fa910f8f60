//===- PeerProcesses.cpp - Which processes have ended ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PeerProcesses.h"

#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

using namespace regather::runtime;

/// The number of the running system, which each start draws anew, and the name
/// space of its processes.
static std::string describeMachine() {
  char boot[64] = {}, space[64] = {};
  int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return "";
  ssize_t length = read(file, boot, sizeof(boot) - 1);
  close(file);
  if (length <= 0 ||
      readlink("/proc/self/ns/pid", space, sizeof(space) - 1) <= 0)
    return "";
  return std::string(boot) + space;
}

ProcessIdentity ProcessIdentity::getOwn() {
  ProcessIdentity identity;
  identity.process = getpid();
  std::string text = describeMachine();
  if (text.empty())
    return identity;
  // FNV-1a.
  identity.machine = 0xcbf29ce484222325;
  for (char c : text)
    identity.machine = (identity.machine ^ static_cast<unsigned char>(c)) *
                       uint64_t(0x100000001b3);
  return identity;
}

PeerProcesses::~PeerProcesses() {
  for (auto [rank, file] : files)
    close(file);
}

void PeerProcesses::watch(int32_t rank, const ProcessIdentity &identity) {
  ProcessIdentity own = ProcessIdentity::getOwn();
  if (own.machine == 0 || identity.machine != own.machine ||
      identity.process == own.process || files.count(rank) != 0)
    return;
#ifdef SYS_pidfd_open
  auto file = int(syscall(SYS_pidfd_open, pid_t(identity.process), 0));
  if (file >= 0)
    files[rank] = file;
#endif
}

std::set<int32_t> PeerProcesses::findEnded() const {
  std::vector<pollfd> polled;
  polled.reserve(files.size());
  for (auto [rank, file] : files)
    polled.push_back({file, POLLIN, 0});
  std::set<int32_t> ended;
  if (polled.empty() || poll(polled.data(), polled.size(), 0) <= 0)
    return ended;
  size_t i = 0;
  for (auto [rank, file] : files)
    if (polled[i++].revents)
      ended.insert(rank);
  return ended;
}
