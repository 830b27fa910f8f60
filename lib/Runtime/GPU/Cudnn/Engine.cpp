//===- Engine.cpp - Engines of cuDNN --------------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine.h"

#include <sstream>

using namespace regather::runtime;

std::string DnnEngineChoice::describe() const {
  std::string text = "engine " + std::to_string(engine);
  for (const Knob &knob : knobs)
    text += (&knob == &knobs.front() ? ", knobs " : " ") +
            std::to_string(knob.type) + "=" + std::to_string(knob.value);
  return text;
}

bool DnnEngineChoice::parse(const std::string &text) {
  *this = {};
  std::istringstream stream(text);
  std::string word;
  char separator = 0;
  if (!(stream >> word >> engine) || word != "engine" || engine < 0)
    return false;
  if (stream >> separator >> word && (separator != ',' || word != "knobs"))
    return false;
  Knob knob = {};
  while (stream >> knob.type >> separator >> knob.value && separator == '=')
    knobs.push_back(knob);
  return stream.eof() && describe() == text;
}
