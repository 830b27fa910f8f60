//===- MpiTransport.cpp - Messages over MPI -------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A message is one MPI_Isend or MPI_Irecv, or several where it is longer than
// an int counts. Its channel is the tag. The communicator is one of our own, so
// that no message meets one of whoever else uses MPI in this process.
//
//===----------------------------------------------------------------------===//

#include "regather/Runtime/MpiTransport.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <mpi.h>
#include <string>
#include <thread>
#include <vector>

namespace {
/// The most that one call of MPI moves.
constexpr int64_t kPieceBytes = int64_t(1) << 30;
/// How long `abort` waits for messages that cannot be cancelled, since another
/// rank is at them.
constexpr std::chrono::milliseconds kAbortPatience(200);

class MpiTransport {
public:
  /// Null, or what went wrong.
  const char *open(rg_transport &table);
  void finish();

  int32_t transfer(bool isSend, int32_t peer, int32_t channel, void *data,
                   int64_t bytes, uint64_t &number);
  int32_t test(uint64_t number, int32_t &done);
  void abort();
  const char *getError() const { return error.c_str(); }

private:
  struct Message {
    int32_t peer;
    bool isSend;
    std::vector<MPI_Request> pieces;
  };

  int32_t fail(int32_t peer, int code);

  MPI_Comm ranks = MPI_COMM_NULL;
  bool ownsMpi = false;
  std::map<uint64_t, Message> messages;
  uint64_t numMessages = 0;
  std::string error;
};
} // namespace

static std::string describeError(int code) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  return std::string(text, size_t(length));
}

const char *MpiTransport::open(rg_transport &table) {
  int isInitialized = 0, level = MPI_THREAD_SINGLE;
  MPI_Initialized(&isInitialized);
  int code = isInitialized ? MPI_Query_thread(&level)
                           : MPI_Init_thread(nullptr, nullptr,
                                             MPI_THREAD_SERIALIZED, &level);
  ownsMpi = !isInitialized;
  if (code != MPI_SUCCESS) {
    error = "MPI does not start: " + describeError(code);
    return error.c_str();
  }
  // A thread of the communicator's own makes messages go on.
  if (level < MPI_THREAD_SERIALIZED)
    return "this MPI has no MPI_THREAD_SERIALIZED, which is needed";
  code = MPI_Comm_dup(MPI_COMM_WORLD, &ranks);
  if (code != MPI_SUCCESS) {
    error = describeError(code);
    return error.c_str();
  }
  // A connection that ends is an error of the call, and not of the process.
  signal(SIGPIPE, SIG_IGN);
  // What fails is reported with the collective that it is part of.
  MPI_Comm_set_errhandler(ranks, MPI_ERRORS_RETURN);
  int rank = 0, size = 0;
  MPI_Comm_rank(ranks, &rank);
  MPI_Comm_size(ranks, &size);
  table.rank = rank;
  table.ranks = size;
  return nullptr;
}

void MpiTransport::finish() {
  if (ranks == MPI_COMM_NULL)
    return;
  MPI_Barrier(ranks);
  MPI_Comm_free(&ranks);
  if (ownsMpi)
    MPI_Finalize();
}

int32_t MpiTransport::fail(int32_t peer, int code) {
  error = "rank " + std::to_string(peer) +
          " cannot be reached: " + describeError(code);
  return 1;
}

int32_t MpiTransport::transfer(bool isSend, int32_t peer, int32_t channel,
                               void *data, int64_t bytes, uint64_t &number) {
  Message message = {peer, isSend, {}};
  for (int64_t begin = 0; begin < bytes; begin += kPieceBytes) {
    auto length = int(std::min(bytes - begin, kPieceBytes));
    char *piece = static_cast<char *>(data) + begin;
    MPI_Request request = MPI_REQUEST_NULL;
    int code = isSend ? MPI_Isend(piece, length, MPI_BYTE, peer, channel, ranks,
                                  &request)
                      : MPI_Irecv(piece, length, MPI_BYTE, peer, channel, ranks,
                                  &request);
    if (code != MPI_SUCCESS)
      return fail(peer, code);
    message.pieces.push_back(request);
  }
  number = ++numMessages;
  messages.emplace(number, std::move(message));
  return 0;
}

int32_t MpiTransport::test(uint64_t number, int32_t &done) {
  auto found = messages.find(number);
  done = found == messages.end();
  if (done)
    return 0;
  std::vector<MPI_Request> &pieces = found->second.pieces;
  int isDone = 0;
  int code = MPI_Testall(int(pieces.size()), pieces.data(), &isDone,
                         MPI_STATUSES_IGNORE);
  if (code != MPI_SUCCESS)
    return fail(found->second.peer, code);
  if (isDone)
    messages.erase(found);
  done = isDone;
  return 0;
}

void MpiTransport::abort() {
  // What is sent is only read, and by nobody who would mind what it says.
  std::vector<MPI_Request> open;
  for (auto &[number, message] : messages)
    for (MPI_Request &piece : message.pieces)
      if (!message.isSend && piece != MPI_REQUEST_NULL) {
        MPI_Cancel(&piece);
        open.push_back(piece);
      }
  messages.clear();
  auto deadline = std::chrono::steady_clock::now() + kAbortPatience;
  int isDone = 0;
  while (!isDone && std::chrono::steady_clock::now() < deadline)
    if (MPI_Testall(int(open.size()), open.data(), &isDone,
                    MPI_STATUSES_IGNORE) != MPI_SUCCESS)
      break;
}

//===----------------------------------------------------------------------===//
// The interface
//===----------------------------------------------------------------------===//

static MpiTransport transport;

static int32_t send(void *, int32_t to, int32_t channel, const void *data,
                    int64_t bytes, uint64_t *number) {
  return transport.transfer(/*isSend=*/true, to, channel,
                            const_cast<void *>(data), bytes, *number);
}

static int32_t receive(void *, int32_t from, int32_t channel, void *data,
                       int64_t bytes, uint64_t *number) {
  return transport.transfer(/*isSend=*/false, from, channel, data, bytes,
                            *number);
}

static int32_t test(void *, uint64_t number, int32_t *done) {
  return transport.test(number, *done);
}

static void abortMessages(void *) { transport.abort(); }

static const char *getError(void *) { return transport.getError(); }

int32_t rg_mpi_version(void) { return RG_MPI_VERSION; }

const char *rg_mpi_open(rg_transport *table) {
  *table = {nullptr,       0,        1,      send, receive, test,
            abortMessages, getError, nullptr};
  return transport.open(*table);
}

void rg_mpi_finish(void) { transport.finish(); }
