//===- ReportJson.h - Values of reports as JSON -----------------*- C++ -*-===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REGATHER_LIB_EXECUTION_TRAINING_REPORTJSON_H
#define REGATHER_LIB_EXECUTION_TRAINING_REPORTJSON_H

#include "regather/Execution/Training/RunReport.h"

#include <nlohmann/json.hpp>

namespace regather {

/// Keeps its fields in the order in which they are set.
using OrderedJson = nlohmann::ordered_json;

/// Sets the fields `collectives`, an array, `collective_count` and
/// `collective_bytes`.
void addCollectives(OrderedJson &json,
                    const std::vector<CollectiveSummary> &collectives);

} // namespace regather

#endif // REGATHER_LIB_EXECUTION_TRAINING_REPORTJSON_H
