//===- CommandLine.cpp - The command line of regather-run -----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"

#include <algorithm>

using namespace regather;

static bool hasFlag(const RunFlag &flag) {
  return flag.tools != RunFlagTools::ModulesOnly;
}

std::string regather::getUsage() {
  std::string text = "usage: regather-run FILE.rgb [flags]\n";
  for (const RunFlag &flag : getRunFlags()) {
    if (!hasFlag(flag))
      continue;
    std::string left = std::string("  --") + flag.name;
    if (flag.isOptional)
      left += std::string("[=") + flag.value + ']';
    else if (!flag.isSwitch())
      left += std::string("=") + flag.value;
    left.resize(std::max<size_t>(left.size() + 2, 34), ' ');
    text += left + flag.help + '\n';
  }
  return text;
}

/// Reads the flag at `next`, and its value if that is the argument behind it.
static Failure readFlag(const std::vector<std::string> &arguments, size_t &next,
                        RunFlags &flags) {
  const std::string &argument = arguments[next];
  size_t equals = std::min(argument.find('='), argument.size());
  size_t dashes = argument.rfind("--", 0) == 0 ? 2 : 1;
  std::string name = argument.substr(dashes, equals - dashes);
  const RunFlag *flag = findRunFlag(name);
  if (!flag || !hasFlag(*flag))
    return Failure("there is no flag --" + name);
  bool hasValue = equals < argument.size();
  if (flag->isSwitch() && hasValue)
    return Failure("--" + name + " takes no value");
  std::string value = hasValue ? argument.substr(equals + 1) : "";
  if (!flag->isSwitch() && !flag->isOptional && !hasValue) {
    if (++next == arguments.size())
      return Failure("--" + name + " needs a value");
    value = arguments[next];
  }
  return flag->read(flags, value);
}

Result<RunFlags>
regather::parseCommandLine(const std::vector<std::string> &arguments) {
  RunFlags flags;
  std::string &file = flags.options.file;
  for (size_t next = 0; next < arguments.size(); ++next) {
    const std::string &argument = arguments[next];
    if (argument.rfind("-", 0) == 0) {
      if (Failure failure = readFlag(arguments, next, flags))
        return failure;
      continue;
    }
    if (!file.empty())
      return Failure("expects one bundle, got '" + file + "' and '" + argument +
                     "'");
    file = argument;
  }
  if (file.empty())
    return Failure("expects the name of a bundle");
  if (Failure failure = checkRunFlags(flags))
    return failure;
  return flags;
}
