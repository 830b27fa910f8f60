//===- StoreReader.cpp - What strangers and ranks send to the store -------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reader.h"

#include "Store/StoreServer.h"

#include <cerrno>
#include <deque>
#include <netinet/in.h>
#include <poll.h>
#include <set>
#include <sys/socket.h>
#include <sys/time.h>

using namespace regather::fuzz;
using namespace regather::runtime;

/// How many processes connect.
static constexpr size_t kProcesses = 3;
static constexpr const char *kToken = "t";

namespace {
/// One that sends messages, and waits for the answer to the last one, but not
/// for long: a rank that does not is sent away.
class Process {
public:
  explicit Process(int32_t port);

  void send(const std::string &message, bool expectsAnswer);
  /// Ends, and reads until the server has ended the connection. Returns the
  /// first words of its replies.
  std::set<std::string> end();

private:
  void waitForAnswer();

  Socket socket;
  std::string received;
  bool isConnected = false, waits = false;
};
} // namespace

Process::Process(int32_t port)
    : socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  // libFuzzer's own limit comes before it.
  timeval patience = {120, 0};
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience,
             sizeof(patience));
  setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience,
             sizeof(patience));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(uint16_t(port));
  // Nobody listens any more when all ranks are there: messages then fail.
  isConnected = connect(socket.get(), reinterpret_cast<sockaddr *>(&address),
                        sizeof(address)) == 0;
}

void Process::waitForAnswer() {
  constexpr int kMilliseconds = 2;
  pollfd file = {socket.get(), POLLIN, 0};
  if (waits && poll(&file, 1, kMilliseconds) == 1)
    (void)socket.receive(received);
  waits = false;
}

void Process::send(const std::string &message, bool expectsAnswer) {
  waitForAnswer();
  // The server may have ended the connection.
  waits = isConnected && socket.send(message) && expectsAnswer;
}

std::set<std::string> Process::end() {
  shutdown(socket.get(), SHUT_WR);
  errno = 0;
  while (socket.receive(received))
    errno = 0;
  if (errno == EAGAIN || errno == EWOULDBLOCK)
    reportFind("the server keeps a connection that its other side has ended");
  std::set<std::string> words;
  StoreMessage message;
  StoreDecoding decoding = StoreDecoding::Complete;
  while ((decoding = decodeStoreMessage(received, message, SIZE_MAX)) ==
         StoreDecoding::Complete)
    words.insert(message.front());
  if (decoding == StoreDecoding::Malformed)
    reportFind("the server sends what is no message");
  return words;
}

/// `hello|0|2|0|t` as a message; `!` begins bytes that are sent as they are.
static std::string encode(std::string_view line) {
  if (!line.empty() && line.front() == '!')
    return std::string(line.substr(1));
  StoreMessage message;
  for (size_t begin = 0; begin <= line.size();) {
    size_t end = std::min(line.find('|', begin), line.size());
    message.emplace_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return encodeStoreMessage(message);
}

/// A line for each message: the number of the process that sends it, a space,
/// and the message. All processes end after that.
static std::string readStoreBytes(std::string_view bytes) {
  LaunchEnvironment environment;
  environment.ranks = 2;
  environment.token = kToken;
  StoreServer server(environment, /*seconds=*/60);
  if (regather::Failure failure = server.start())
    reportFind(failure.getMessage());
  std::deque<Process> processes;
  for (size_t i = 0; i != kProcesses; ++i)
    processes.emplace_back(server.getPort());
  while (!bytes.empty()) {
    std::string_view line = bytes.substr(0, bytes.find('\n'));
    bytes.remove_prefix(std::min(line.size() + 1, bytes.size()));
    if (line.size() < 2)
      continue;
    size_t process = size_t(uint8_t(line[0] - '0')) % kProcesses;
    line.remove_prefix(2);
    bool expectsAnswer = line.find('|') != std::string_view::npos;
    processes[process].send(encode(line), expectsAnswer);
  }
  std::set<std::string> words;
  for (Process &process : processes)
    words.merge(process.end());
  std::string all;
  for (const std::string &word : words)
    all += word + " ";
  return all;
}

const Reader regather::fuzz::storeReader = {"store", readStoreBytes};
