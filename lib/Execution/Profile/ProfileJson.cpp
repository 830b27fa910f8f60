//===- ProfileJson.cpp - Profiles as JSON ---------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProfileKinds.h"

#include "regather/Execution/Profile/FormatProfile.h"

#include <nlohmann/json.hpp>

using namespace regather;
using Json = nlohmann::ordered_json;

static Json toJson(const KernelPlace &place) {
  return {{"module", place.module},
          {"source", place.source},
          {"calls", place.calls},
          {"seconds", place.seconds}};
}

static Json toJson(const KernelProfile &kernel, const StepProfile &profile) {
  Json json = {{"name", kernel.name},
               {"kind", getName(kernel.work)},
               {"seconds", kernel.seconds},
               {"share", getRatio(kernel.seconds, profile.kernelSeconds)},
               {"calls", kernel.calls},
               {"mean_seconds", getRatio(kernel.seconds, kernel.calls)},
               {"flops", kernel.flops},
               {"bytes", kernel.bytes},
               {"flops_per_second", kernel.getFlopsPerSecond()},
               {"bytes_per_second", kernel.getBytesPerSecond()}};
  if (double share = getRoofShare(kernel, profile.machine); share > 0)
    json["roof_share"] = share;
  json["places"] = Json::array();
  for (const KernelPlace &place : kernel.places)
    json["places"].push_back(toJson(place));
  return json;
}

Json regather::makeProfileJson(const StepProfile &profile) {
  const MachineRates &machine = profile.machine;
  Json json = {{"rank", profile.rank},
               {"threads", profile.threads},
               {"steps", profile.steps},
               {"leaves_out_first", profile.leavesOutFirst},
               {"machine",
                {{"processor", machine.processor},
                 {"f32_flops_per_second", machine.f32Flops},
                 {"bf16_flops_per_second", machine.bf16Flops},
                 {"bytes_per_second", machine.bytesPerSecond}}},
               {"seconds_per_step", profile.seconds},
               {"kernel_seconds", profile.kernelSeconds},
               {"wait_seconds", profile.waitSeconds},
               {"other_seconds", profile.getOtherSeconds()}};
  json["kinds"] = Json::array();
  for (const KindProfile &kind : listKinds(profile))
    json["kinds"].push_back(
        {{"kind", getName(kind.work)},
         {"seconds", kind.seconds},
         {"share", getRatio(kind.seconds, profile.kernelSeconds)},
         {"calls", kind.calls},
         {"kernels", kind.kernels}});
  json["kernels"] = Json::array();
  for (const KernelProfile &kernel : profile.kernels)
    json["kernels"].push_back(toJson(kernel, profile));
  return json;
}
