//===- FormatProfile.h - Profiles for people and programs ----- -*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_EXECUTION_PROFILE_FORMATPROFILE_H
#define REGATHER_EXECUTION_PROFILE_FORMATPROFILE_H

#include "regather/Execution/Profile/StepProfile.h"

#include <nlohmann/json_fwd.hpp>

namespace regather {

/// Tables for a terminal: kinds of kernels, and the slowest kernels; the lines
/// of each table add up to its total.
std::string formatProfile(const StepProfile &profile);

/// All kernels and places; docs/execution.md lists the fields.
nlohmann::ordered_json makeProfileJson(const StepProfile &profile);

/// A page of HTML by itself. `title` is what was run.
std::string renderProfile(const StepProfile &profile, const std::string &title);

} // namespace regather

#endif // REGATHER_EXECUTION_PROFILE_FORMATPROFILE_H
