//===- PrintRun.cpp - A run as people see it ------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Execution/Training/PrintRun.h"

#include "regather/Support/Signals.h"

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

using namespace regather;

int regather::printError(const std::string &message) {
  std::fprintf(stderr, "regather: error: %s\n", message.c_str());
  return 1;
}

int regather::finishOutput(int code) {
  // A line that failed before leaves no reason behind.
  errno = 0;
  if (std::fflush(stdout) == 0 && !std::ferror(stdout))
    return code;
  std::string reason = errno ? std::string(": ") + std::strerror(errno) : "";
  printError("cannot write to standard output" + reason);
  return code ? code : 1;
}

static void printWarning(const std::string &message) {
  std::fprintf(stderr, "regather: warning: %s\n", message.c_str());
}

static void printStep(const RunOptions &options, int64_t index,
                      std::optional<double> loss, double seconds) {
  int64_t first = options.inputs.firstStep;
  std::printf("step %" PRId64 "/%" PRId64, first + index,
              first + options.steps - 1);
  if (loss)
    std::printf("  loss %.9g", *loss);
  std::printf("  %.2f ms\n", seconds * 1e3);
  std::fflush(stdout);
}

/// Says where a run ended that was asked to end, and how to go on.
static void warnOfStop(int signal, int64_t last, const RunOptions &options) {
  std::string text = std::string("stopped by ") +
                     (signal == SIGINT ? "SIGINT" : "SIGTERM") +
                     " after step " + std::to_string(last);
  bool isSaved = !options.outputs.empty() || !options.outputsSharded.empty();
  text += isSaved ? "; its results are written, and --first-step=" +
                        std::to_string(last + 1) + " goes on"
                  : "; its results are lost: neither --outputs nor "
                    "--outputs-sharded was given";
  printWarning(text);
}

namespace {
/// Prints the lines of steps, which are the result; with --json, and on a
/// terminal, a bar shows how far the run is.
class RunPrinter : public RunListener {
public:
  RunPrinter(const RunOptions &options, bool isSilent, Progress &progress)
      : options(options), isSilent(isSilent), progress(progress) {}

  void warn(const std::string &message) override {
    if (!isSilent)
      printWarning(message);
  }
  void begin() override {
    progress.begin("training", options.steps);
    signals.emplace();
  }
  void finishStep(int64_t index, std::optional<double> loss,
                  double seconds) override {
    if (!options.json && !isSilent) {
      progress.clear();
      printStep(options, index, loss, seconds);
    }
    progress.advance(index + 1);
  }
  void saveStep(int64_t index) override {
    progress.note("saved step " +
                  std::to_string(options.inputs.firstStep + index) + " to '" +
                  options.outputsSharded + "'");
  }
  bool shouldStop() override { return signals->get() != 0; }
  void end() override { progress.end(); }

  /// The signal that ended the run. Another rank of the job may have been
  /// asked.
  int getSignal() const { return signals->get() ? signals->get() : SIGTERM; }

private:
  const RunOptions &options;
  bool isSilent;
  Progress &progress;
  /// Until the first step begins, they end the process.
  std::optional<StopSignals> signals;
};
} // namespace

int regather::printRun(const RunOptions &options, const RunSubject &subject,
                       Progress &progress) {
  // Rank 0 speaks for all processes of a job.
  bool isSilent = subject.onlyRank.value_or(0) != 0;
  if (isSilent)
    progress.silence();
  std::vector<Failure> unwritable = checkOutputs(options, subject.onlyRank);
  for (const Failure &failure : unwritable)
    printError(failure.getMessage());
  if (!unwritable.empty())
    return 1;
  RunPrinter printer(options, isSilent, progress);
  Result<RunReport> report = runStep(options, subject, printer);
  if (!report)
    return report.getMessage().empty() ? 1 : printError(report.getMessage());
  if (!isSilent) {
    std::string text =
        options.json ? formatJson(*report) : formatSummary(*report);
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  if (!report->isStopped)
    return finishOutput(0);
  auto done = static_cast<int64_t>(report->seconds.size());
  if (!isSilent)
    warnOfStop(printer.getSignal(), options.inputs.firstStep + done - 1,
               options);
  return finishOutput(128 + printer.getSignal());
}
