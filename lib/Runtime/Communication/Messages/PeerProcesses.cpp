//===- PeerProcesses.cpp - Which processes have ended ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PeerProcesses.h"

#include <cstdlib>
#include <cstring>
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
  for (const auto &[rank, process] : watched)
    close(process.file);
}

void PeerProcesses::watch(int32_t rank, const ProcessIdentity &identity) {
  ProcessIdentity own = ProcessIdentity::getOwn();
  if (own.machine == 0 || identity.machine != own.machine ||
      identity.process == own.process || watched.count(rank) != 0)
    return;
#ifdef SYS_pidfd_open
  auto file = int(syscall(SYS_pidfd_open, pid_t(identity.process), 0));
  if (file >= 0)
    watched[rank] = {file, identity.process};
#endif
}

std::string regather::runtime::formatRanks(const std::set<int32_t> &ranks) {
  std::string text;
  for (int32_t rank : ranks)
    text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return (ranks.size() == 1 ? "rank " : "ranks ") + text;
}

std::set<int32_t> PeerProcesses::findEnded() const {
  std::vector<pollfd> polled;
  polled.reserve(watched.size());
  for (const auto &[rank, process] : watched)
    polled.push_back({process.file, POLLIN, 0});
  std::set<int32_t> ended;
  if (polled.empty() || poll(polled.data(), polled.size(), 0) <= 0)
    return ended;
  size_t i = 0;
  for (const auto &[rank, process] : watched)
    if (polled[i++].revents)
      ended.insert(rank);
  return ended;
}

/// Whether the system lists a process as stopped: 'T', or 't' by a debugger.
/// False for one that has ended.
static bool isStopped(int64_t process) {
  std::string path = "/proc/" + std::to_string(process) + "/stat";
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  char text[256] = {};
  ssize_t length = read(file, text, sizeof(text) - 1);
  close(file);
  // "number (name) state ...", where the name may hold parentheses.
  const char *end = length > 0 ? std::strrchr(text, ')') : nullptr;
  return end && end[1] == ' ' && (end[2] == 'T' || end[2] == 't');
}

std::string PeerProcesses::describeStopped() const {
  std::set<int32_t> ended = findEnded(), stopped;
  for (const auto &[rank, process] : watched)
    if (ended.count(rank) == 0 && isStopped(process.number))
      stopped.insert(rank);
  if (stopped.empty())
    return "";
  return (stopped.size() == 1 ? "; the process of " : "; the processes of ") +
         formatRanks(stopped) +
         (stopped.size() == 1 ? " is stopped" : " are stopped");
}
