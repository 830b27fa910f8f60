//===- IsolatedCase.cpp - Run a case where it may crash -------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IsolatedCase.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <cstring>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace regather::fuzz;
using llvm::StringRef;
namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// Outcomes as text
//===----------------------------------------------------------------------===//

static json::Object toJson(const CheckOutcome &outcome) {
  json::Array passes;
  for (const PassOutcome &pass : outcome.passes)
    passes.push_back(json::Object{{"pass", pass.call.pass},
                                  {"options", pass.call.options},
                                  {"result", pass.result},
                                  {"reason", json::fixUTF8(pass.reason)}});
  return json::Object{{"kind", outcome.kind},
                      {"message", json::fixUTF8(outcome.message)},
                      {"invalid", json::fixUTF8(outcome.invalid)},
                      {"passes", std::move(passes)}};
}

static CheckOutcome fromJson(const json::Object &object) {
  CheckOutcome outcome;
  auto text = [](const json::Object &of, StringRef key) {
    return of.getString(key).value_or("").str();
  };
  outcome.kind = text(object, "kind");
  outcome.message = text(object, "message");
  outcome.invalid = text(object, "invalid");
  if (const json::Array *passes = object.getArray("passes"))
    for (const json::Value &value : *passes)
      if (const json::Object *pass = value.getAsObject())
        outcome.passes.push_back({{text(*pass, "pass"), text(*pass, "options")},
                                  text(*pass, "result"),
                                  text(*pass, "reason")});
  return outcome;
}

std::string regather::fuzz::printOutcome(const CheckOutcome &outcome,
                                         uint64_t number, StringRef origin) {
  json::Object object = toJson(outcome);
  object["case"] = static_cast<int64_t>(number);
  object["origin"] = origin;
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(std::move(object));
  return text;
}

//===----------------------------------------------------------------------===//
// Processes
//===----------------------------------------------------------------------===//

static void writeAll(int fd, StringRef text) {
  while (!text.empty()) {
    ssize_t count = ::write(fd, text.data(), text.size());
    if (count <= 0)
      return;
    text = text.drop_front(count);
  }
}

static std::string readAll(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = ::read(fd, buffer, sizeof(buffer))) > 0;)
    text.append(buffer, count);
  return text;
}

[[noreturn]] static void runChild(int results, int messages, unsigned seconds,
                                  const std::function<CheckOutcome()> &check) {
  ::dup2(messages, STDERR_FILENO);
  ::dup2(messages, STDOUT_FILENO);
  // A crash is expected to be cheap.
  rlimit none = {0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  // On a busy machine, a case takes long without being slow; one that waits for
  // itself takes no time of a processor.
  rlimit time = {seconds, seconds};
  ::setrlimit(RLIMIT_CPU, &time);
  ::alarm(10 * seconds);
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(toJson(check()));
  writeAll(results, text);
  ::_exit(0);
}

CheckOutcome
regather::fuzz::runIsolated(unsigned seconds,
                            const std::function<CheckOutcome()> &check) {
  CheckOutcome lost;
  lost.invalid = "no process could be started";
  int results[2];
  FILE *messages = std::tmpfile();
  if (!messages || ::pipe(results) != 0)
    return lost;
  pid_t child = ::fork();
  if (child == 0) {
    ::close(results[0]);
    runChild(results[1], ::fileno(messages), seconds, check);
  }
  ::close(results[1]);
  std::string text = child > 0 ? readAll(results[0]) : "";
  ::close(results[0]);
  int status = 0;
  if (child > 0)
    ::waitpid(child, &status, 0);
  std::string said =
      std::fseek(messages, 0, SEEK_SET) == 0 ? readAll(::fileno(messages)) : "";
  std::fclose(messages);
  if (child < 0)
    return lost;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    auto value = json::parse(text);
    if (!value)
      llvm::consumeError(value.takeError());
    else if (const json::Object *object = value->getAsObject())
      return fromJson(*object);
  }
  CheckOutcome outcome;
  int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  // The limit on the time of a processor kills at once where both are equal.
  bool isLate = signal == SIGALRM || signal == SIGXCPU || signal == SIGKILL;
  outcome.kind = isLate ? "hang" : "crash";
  outcome.message = signal ? ::strsignal(signal) : "the process ended early";
  outcome.message += ": " + StringRef(said).take_back(2000).trim().str();
  return outcome;
}
