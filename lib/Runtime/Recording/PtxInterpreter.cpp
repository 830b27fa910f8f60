//===- PtxInterpreter.cpp - Simple kernels in PTX, run here ---------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PtxInterpreter.h"

#include "../Numeric/Half.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace regather::runtime;

//===----------------------------------------------------------------------===//
// Instructions that compute
//===----------------------------------------------------------------------===//

namespace {

/// Registers hold the bits of a value in their low end.
template <typename T> T read(uint64_t bits) {
  if constexpr (sizeof(T) == 4)
    return bitCast<T>(uint32_t(bits));
  else
    return bitCast<T>(bits);
}

/// A NaN that an instruction makes has all bits of its mantissa.
uint64_t write(float value) {
  return std::isnan(value) ? 0x7FFFFFFF : bitCast<uint32_t>(value);
}
uint64_t write(double value) {
  return std::isnan(value) ? 0xFFF8000000000000 : bitCast<uint64_t>(value);
}

using Compute = uint64_t (*)(uint64_t, uint64_t, uint64_t);

template <typename T> uint64_t addFloats(uint64_t a, uint64_t b, uint64_t) {
  return write(read<T>(a) + read<T>(b));
}
template <typename T> uint64_t divideFloats(uint64_t a, uint64_t b, uint64_t) {
  return write(read<T>(a) / read<T>(b));
}
/// The other operand if one is NaN; +0 is above -0.
template <typename T> uint64_t maxFloats(uint64_t a, uint64_t b, uint64_t) {
  T first = read<T>(a), second = read<T>(b);
  if (std::isnan(first))
    return write(second);
  if (std::isnan(second))
    return write(first);
  if (first == second)
    return std::signbit(first) ? b : a;
  return first > second ? a : b;
}
template <typename T> uint64_t isUnordered(uint64_t a, uint64_t b, uint64_t) {
  return std::isnan(read<T>(a)) || std::isnan(read<T>(b));
}
uint64_t move(uint64_t a, uint64_t, uint64_t) { return a; }
uint64_t select(uint64_t a, uint64_t b, uint64_t c) { return c ? a : b; }

uint64_t narrowTowardsZero(uint64_t a, uint64_t, uint64_t) {
  double value = read<double>(a);
  auto narrow = float(value);
  if (std::fabs(double(narrow)) > std::fabs(value))
    narrow = std::nextafter(narrow, 0.0f);
  return write(narrow);
}

template <typename T> uint64_t toHalf(T value, uint16_t (*convert)(T)) {
  return std::isnan(value) ? 0x7FFF : convert(value);
}

struct ComputeOperation {
  const char *name;
  Compute compute;
};

constexpr ComputeOperation kComputeOperations[] = {
    {"mov.u32", move},
    {"mov.b32", move},
    {"mov.u64", move},
    {"cvta.to.global.u64", move},
    {"cvt.u64.u32", move},
    {"selp.b16", select},
    {"selp.b32", select},
    {"selp.f32", select},
    {"selp.f64", select},
    // Integers.
    {"add.u64",
     [](uint64_t a, uint64_t b, uint64_t) -> uint64_t { return a + b; }},
    {"add.s64",
     [](uint64_t a, uint64_t b, uint64_t) -> uint64_t { return a + b; }},
    {"add.s32",
     [](uint64_t a, uint64_t b, uint64_t) -> uint64_t {
       return uint32_t(a + b);
     }},
    {"max.s32",
     [](uint64_t a, uint64_t b, uint64_t) -> uint64_t {
       return uint32_t(std::max(read<int32_t>(a), read<int32_t>(b)));
     }},
    {"max.s64",
     [](uint64_t a, uint64_t b, uint64_t) -> uint64_t {
       return uint64_t(std::max(read<int64_t>(a), read<int64_t>(b)));
     }},
    {"mul.wide.u32",
     [](uint64_t a, uint64_t b, uint64_t) -> uint64_t {
       return uint64_t(uint32_t(a)) * uint32_t(b);
     }},
    {"mad.lo.u64",
     [](uint64_t a, uint64_t b, uint64_t c) -> uint64_t { return a * b + c; }},
    {"shl.b32",
     [](uint64_t a, uint64_t b, uint64_t) -> uint64_t {
       return uint32_t(a << b);
     }},
    {"or.b32",
     [](uint64_t a, uint64_t b, uint64_t) -> uint64_t { return a | b; }},
    {"xor.b32",
     [](uint64_t a, uint64_t b, uint64_t) -> uint64_t { return a ^ b; }},
    {"setp.ge.u64",
     [](uint64_t a, uint64_t b, uint64_t) -> uint64_t { return a >= b; }},
    // Floating point.
    {"add.rn.f32", addFloats<float>},
    {"add.rn.f64", addFloats<double>},
    {"div.rn.f32", divideFloats<float>},
    {"div.rn.f64", divideFloats<double>},
    {"max.f32", maxFloats<float>},
    {"max.f64", maxFloats<double>},
    {"setp.nan.f32", isUnordered<float>},
    {"setp.nan.f64", isUnordered<double>},
    {"setp.ne.f64",
     [](uint64_t a, uint64_t b, uint64_t) -> uint64_t {
       return read<double>(a) < read<double>(b) ||
              read<double>(a) > read<double>(b);
     }},
    // Conversions.
    {"cvt.rn.f32.u64",
     [](uint64_t a, uint64_t, uint64_t) { return write(float(a)); }},
    {"cvt.rn.f64.u64",
     [](uint64_t a, uint64_t, uint64_t) { return write(double(a)); }},
    {"cvt.f64.f32", [](uint64_t a, uint64_t,
                       uint64_t) { return write(double(read<float>(a))); }},
    {"cvt.rn.f32.f64", [](uint64_t a, uint64_t,
                          uint64_t) { return write(float(read<double>(a))); }},
    {"cvt.rz.f32.f64", narrowTowardsZero},
    {"cvt.f32.f16", [](uint64_t a, uint64_t,
                       uint64_t) { return write(fromF16(uint16_t(a))); }},
    {"cvt.f64.f16",
     [](uint64_t a, uint64_t, uint64_t) {
       return write(double(fromF16(uint16_t(a))));
     }},
    {"cvt.rn.f16.f32",
     [](uint64_t a, uint64_t, uint64_t) {
       return toHalf<float>(read<float>(a), toF16);
     }},
    {"cvt.rn.f16.f64",
     [](uint64_t a, uint64_t, uint64_t) {
       return toHalf<double>(read<double>(a), toF16);
     }},
    {"cvt.rn.bf16.f32",
     [](uint64_t a, uint64_t, uint64_t) {
       return toHalf<float>(read<float>(a), toBF16);
     }},
};

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

bool startsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

/// Splits at any of the separators; empty parts are left out.
std::vector<std::string_view> split(std::string_view text,
                                    std::string_view separators) {
  std::vector<std::string_view> parts;
  while (true) {
    size_t begin = text.find_first_not_of(separators);
    if (begin == std::string_view::npos)
      return parts;
    text.remove_prefix(begin);
    size_t end = std::min(text.find_first_of(separators), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

} // namespace

namespace regather::runtime {

/// Reads one kernel.
class PtxReader {
public:
  /// Null if something in it is not known.
  std::shared_ptr<const PtxKernel> read(std::string_view parameters,
                                        std::string_view body);

private:
  int getRegister(std::string_view name);
  bool readStatement(std::string_view statement);
  bool readMemory(std::string_view access, PtxInstruction &instruction);

  std::shared_ptr<PtxKernel> kernel = std::make_shared<PtxKernel>();
  std::map<std::string, int, std::less<>> registers;
  std::map<std::string, int, std::less<>> parameters;
  std::map<std::string, size_t, std::less<>> labels;
  /// Instructions that branch, and where to.
  std::vector<std::pair<size_t, std::string>> branches;
};

} // namespace regather::runtime

/// The number of a register, of which there is one for each constant, too.
int PtxReader::getRegister(std::string_view name) {
  auto found = registers.find(name);
  if (found != registers.end())
    return found->second;
  uint64_t value = 0;
  std::string text(name);
  if (startsWith(name, "0f") || startsWith(name, "0d"))
    value = std::strtoull(text.c_str() + 2, nullptr, 16);
  else if (name[0] != '%')
    value = std::strtoull(text.c_str(), nullptr, 0);
  kernel->initial.push_back(value);
  int number = int(kernel->initial.size()) - 1;
  registers.emplace(std::move(text), number);
  return number;
}

/// Reads what follows "ld." or "st.", such as "global.u16".
bool PtxReader::readMemory(std::string_view access,
                           PtxInstruction &instruction) {
  std::vector<std::string_view> parts = split(access, ".");
  if (parts.size() != 2 || parts[0] != "global")
    return false;
  int bits = std::atoi(std::string(parts[1].substr(1)).c_str());
  instruction.bytes = parts[1][0] == 's' ? -bits / 8 : bits / 8;
  return bits >= 8;
}

bool PtxReader::readStatement(std::string_view statement) {
  std::vector<std::string_view> words = split(statement, " \n,[]");
  if (words.empty() || words[0] == ".reg")
    return true;
  PtxInstruction instruction;
  if (startsWith(words[0], "@%")) {
    instruction.predicate = getRegister(words[0].substr(1));
    words.erase(words.begin());
  }
  while (!words.empty() && words[0].back() == ':') {
    labels[std::string(words[0].substr(0, words[0].size() - 1))] =
        kernel->instructions.size();
    words.erase(words.begin());
    if (!words.empty() && startsWith(words[0], "@%")) {
      instruction.predicate = getRegister(words[0].substr(1));
      words.erase(words.begin());
    }
  }
  if (words.empty())
    return false;
  std::string_view opcode = words[0];
  if (opcode == "ld.param.u64" && words.size() == 3) {
    auto found = parameters.find(words[2]);
    if (found == parameters.end())
      return false;
    instruction.compute = move;
    instruction.result = getRegister(words[1]);
    instruction.operands[0] = found->second;
  } else if (startsWith(opcode, "ld.") && words.size() == 3) {
    instruction.kind = PtxInstruction::Kind::Load;
    instruction.result = getRegister(words[1]);
    instruction.operands[0] = getRegister(words[2]);
    if (!readMemory(opcode.substr(3), instruction))
      return false;
  } else if (startsWith(opcode, "st.") && words.size() == 3) {
    instruction.kind = PtxInstruction::Kind::Store;
    instruction.operands[0] = getRegister(words[1]);
    instruction.operands[1] = getRegister(words[2]);
    if (!readMemory(opcode.substr(3), instruction))
      return false;
  } else if (opcode == "bra" && words.size() == 2) {
    instruction.kind = PtxInstruction::Kind::Branch;
    branches.emplace_back(kernel->instructions.size(), std::string(words[1]));
  } else if (opcode == "ret") {
    instruction.kind = PtxInstruction::Kind::Return;
  } else {
    const auto *found = std::find_if(
        std::begin(kComputeOperations), std::end(kComputeOperations),
        [&](const ComputeOperation &entry) { return entry.name == opcode; });
    if (found == std::end(kComputeOperations) || words.size() < 3 ||
        words.size() > 5)
      return false;
    instruction.compute = found->compute;
    instruction.result = getRegister(words[1]);
    for (size_t i = 2; i < words.size(); ++i)
      instruction.operands[i - 2] = getRegister(words[i]);
  }
  kernel->instructions.push_back(instruction);
  return true;
}

std::shared_ptr<const PtxKernel> PtxReader::read(std::string_view list,
                                                 std::string_view body) {
  std::vector<std::string_view> words = split(list, " \n,");
  for (size_t i = 0; i + 2 < words.size(); i += 3) {
    if (words[i] != ".param" || words[i + 1] != ".u64")
      return nullptr;
    int number = getRegister("%parameter " + std::to_string(i));
    kernel->parameterRegisters.push_back(number);
    parameters.emplace(words[i + 2], number);
  }
  kernel->thread = getRegister("%tid.x");
  kernel->threads = getRegister("%ntid.x");
  kernel->block = getRegister("%ctaid.x");
  kernel->blocks = getRegister("%nctaid.x");
  for (std::string_view statement : split(body, ";"))
    if (!readStatement(statement))
      return nullptr;
  for (const auto &[number, label] : branches) {
    auto found = labels.find(label);
    if (found == labels.end())
      return nullptr;
    kernel->instructions[number].target = found->second;
  }
  return kernel;
}

std::map<std::string, std::shared_ptr<const PtxKernel>>
regather::runtime::readPtxKernels(std::string_view text) {
  constexpr std::string_view kEntry = ".visible .entry ";
  std::map<std::string, std::shared_ptr<const PtxKernel>> kernels;
  for (size_t at = text.find(kEntry); at != std::string_view::npos;
       at = text.find(kEntry, at)) {
    at += kEntry.size();
    size_t list = text.find('(', at), listEnd = text.find(')', at);
    size_t body = text.find('{', at), bodyEnd = text.find("\n}", at);
    if (bodyEnd == std::string_view::npos || !(list < listEnd) ||
        !(listEnd < body) || !(body < bodyEnd))
      break;
    std::string name(text.substr(at, list - at));
    if (auto kernel =
            PtxReader().read(text.substr(list + 1, listEnd - list - 1),
                             text.substr(body + 1, bodyEnd - body - 1)))
      kernels.emplace(std::move(name), std::move(kernel));
    at = bodyEnd;
  }
  return kernels;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

static uint64_t loadBytes(uint64_t address, int bytes) {
  uint64_t value = 0;
  int size = std::abs(bytes);
  std::memcpy(&value, reinterpret_cast<const void *>(address), size_t(size));
  if (bytes < 0 && size < 8) {
    // Registers that integers of fewer bits are loaded into have 32.
    int shift = 64 - 8 * size;
    value = uint32_t(int64_t(value << shift) >> shift);
  }
  return value;
}

void PtxKernel::runThread(std::vector<uint64_t> &registers) const {
  using Kind = PtxInstruction::Kind;
  for (size_t i = 0; i < instructions.size();) {
    const PtxInstruction &instruction = instructions[i++];
    if (instruction.predicate >= 0 && !registers[size_t(instruction.predicate)])
      continue;
    uint64_t a = registers[size_t(instruction.operands[0])];
    uint64_t b = registers[size_t(instruction.operands[1])];
    uint64_t c = registers[size_t(instruction.operands[2])];
    switch (instruction.kind) {
    case Kind::Compute:
      registers[size_t(instruction.result)] = instruction.compute(a, b, c);
      break;
    case Kind::Load:
      registers[size_t(instruction.result)] = loadBytes(a, instruction.bytes);
      break;
    case Kind::Store:
      std::memcpy(reinterpret_cast<void *>(a), &b,
                  size_t(std::abs(instruction.bytes)));
      break;
    case Kind::Branch:
      i = instruction.target;
      break;
    case Kind::Return:
      return;
    }
  }
}

void PtxKernel::run(const uint64_t *values, int64_t numBlocks,
                    int64_t numThreads) const {
  for (int64_t blockIndex = 0; blockIndex < numBlocks; ++blockIndex)
    for (int64_t threadIndex = 0; threadIndex < numThreads; ++threadIndex) {
      std::vector<uint64_t> registers = initial;
      for (size_t i = 0; i < parameterRegisters.size(); ++i)
        registers[size_t(parameterRegisters[i])] = values[i];
      registers[size_t(thread)] = uint64_t(threadIndex);
      registers[size_t(threads)] = uint64_t(numThreads);
      registers[size_t(block)] = uint64_t(blockIndex);
      registers[size_t(blocks)] = uint64_t(numBlocks);
      runThread(registers);
    }
}
