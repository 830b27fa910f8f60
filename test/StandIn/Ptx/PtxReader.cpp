//===- PtxReader.cpp - Kernels in PTX, read -------------------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PtxInterpreter.h"
#include "PtxText.h"

#include <algorithm>
#include <cstdlib>

using namespace regather::runtime;

using Kind = PtxInstruction::Kind;

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

namespace {
/// A variable of a file: an offset in shared memory, or the address of a table.
struct Symbol {
  int64_t address;
  /// Of a variable in static shared memory; else 0.
  int64_t sharedBytes;
};
using SymbolTable = std::map<std::string, Symbol, std::less<>>;

/// Reads the body of one function.
class FunctionReader {
public:
  FunctionReader(const PtxModule &module, PtxFunction &function,
                 const SymbolTable &symbols)
      : module(module), function(function), symbols(symbols) {}

  int getRegister(std::string_view name);
  void read(std::string_view body);

private:
  bool readStatement(std::string_view statement);
  bool readInstruction(std::string_view text, PtxInstruction &instruction);
  bool readMemory(std::string_view opcode,
                  const std::vector<std::string_view> &operands,
                  PtxInstruction &instruction);
  bool readMove(std::string_view opcode,
                const std::vector<std::string_view> &operands,
                PtxInstruction &instruction);
  bool readCall(const std::vector<std::string_view> &operands,
                PtxInstruction &instruction);
  bool readMultiplyAdd(std::string_view opcode,
                       const std::vector<std::string_view> &operands,
                       PtxInstruction &instruction);
  bool readLocal(std::string_view declaration);
  bool readCopy(std::string_view opcode,
                const std::vector<std::string_view> &operands,
                PtxInstruction &instruction);
  bool readTensorCores(std::string_view opcode,
                       const std::vector<std::string_view> &operands,
                       PtxInstruction &instruction);
  int readAddress(std::string_view address, int64_t &offset);
  bool readShuffle(std::string_view opcode,
                   const std::vector<std::string_view> &operands,
                   PtxInstruction &instruction);
  bool readCompute(std::string_view opcode,
                   const std::vector<std::string_view> &operands,
                   PtxInstruction &instruction);
  std::vector<int> getRegisters(std::string_view list);

  const PtxModule &module;
  PtxFunction &function;
  const SymbolTable &symbols;
  std::map<std::string, int, std::less<>> registers;
  std::map<std::string, size_t, std::less<>> labels;
  /// Instructions that branch, and where to.
  std::vector<std::pair<size_t, std::string>> branches;
};
} // namespace

/// The number of a register, of which there is one for each constant, too.
int FunctionReader::getRegister(std::string_view name) {
  auto found = registers.find(name);
  if (found != registers.end())
    return found->second;
  uint64_t value = 0;
  std::string text(name);
  if (auto symbol = symbols.find(name); symbol != symbols.end()) {
    value = uint64_t(symbol->second.address);
    function.staticSharedBytes += symbol->second.sharedBytes;
  } else if (startsWith(name, "0f") || startsWith(name, "0d"))
    value = std::strtoull(text.c_str() + 2, nullptr, 16);
  else if (name[0] == '-')
    value = uint64_t(std::strtoll(text.c_str(), nullptr, 0));
  else if (name[0] >= '0' && name[0] <= '9')
    value = std::strtoull(text.c_str(), nullptr, 0);
  function.initial.push_back(value);
  int number = int(function.initial.size()) - 1;
  registers.emplace(std::move(text), number);
  return number;
}

/// `{%r1, %r2}` or `%r1`; `_` is -1.
std::vector<int> FunctionReader::getRegisters(std::string_view list) {
  if (!list.empty() && (list[0] == '{' || list[0] == '('))
    list = list.substr(1, list.size() - 2);
  std::vector<int> numbers;
  for (std::string_view name : split(list, ','))
    numbers.push_back(name == "_" ? -1 : getRegister(name));
  return numbers;
}

/// The bytes of a type such as `b32`; negative if it has a sign.
static int getTypeBytes(std::string_view type) {
  auto bits = int(readNumber(type.substr(1)));
  return type[0] == 's' ? -bits / 8 : bits / 8;
}

/// The register of `[register+offset]`; -1 if it is no address.
int FunctionReader::readAddress(std::string_view address, int64_t &offset) {
  if (address.size() < 2 || address[0] != '[')
    return -1;
  address = address.substr(1, address.size() - 2);
  size_t plus = address.find('+');
  if (plus != std::string_view::npos)
    offset = readNumber(address.substr(plus + 1));
  return getRegister(trim(address.substr(0, plus)));
}

bool FunctionReader::readMemory(std::string_view opcode,
                                const std::vector<std::string_view> &operands,
                                PtxInstruction &instruction) {
  if (operands.size() != 2)
    return false;
  bool isLoad = startsWith(opcode, "ld.");
  std::vector<std::string_view> parts = split(opcode, '.');
  std::string_view address = operands[isLoad ? 1 : 0];
  int base = readAddress(address, instruction.offset);
  if (base < 0)
    return false;
  std::vector<int> values = getRegisters(operands[isLoad ? 0 : 1]);
  instruction.bytes = getTypeBytes(parts.back());
  if (parts[1] == "param") {
    // Parameters are registers.
    instruction.compute = findPtxOperation("mov.b64");
    instruction.results = {isLoad ? values[0] : base};
    int source = isLoad ? base : values[0];
    instruction.operands = {source, source, source};
    return values.size() == 1 && instruction.offset == 0;
  }
  instruction.operands = {base};
  if (isLoad)
    instruction.results = values;
  else
    instruction.operands.insert(instruction.operands.end(), values.begin(),
                                values.end());
  if (parts[1] == "shared")
    instruction.kind = isLoad ? Kind::LoadShared : Kind::StoreShared;
  else if (parts[1] == "local")
    instruction.kind = isLoad ? Kind::LoadLocal : Kind::StoreLocal;
  else if (parts[1] == "global")
    instruction.kind = isLoad ? Kind::LoadGlobal : Kind::StoreGlobal;
  else if (parts.size() == 2 || parts[1] == "v2" || parts[1] == "v4")
    instruction.kind = isLoad ? Kind::LoadGeneric : Kind::StoreGeneric;
  else
    return false;
  return instruction.bytes != 0;
}

/// Moves between one register and several.
bool FunctionReader::readMove(std::string_view opcode,
                              const std::vector<std::string_view> &operands,
                              PtxInstruction &instruction) {
  bool isUnpack = operands[0][0] == '{';
  instruction.kind = isUnpack ? Kind::Unpack : Kind::Pack;
  instruction.results = getRegisters(operands[0]);
  instruction.operands = getRegisters(operands[1]);
  size_t parts =
      std::max(instruction.results.size(), instruction.operands.size());
  int bits = 8 * std::abs(getTypeBytes(split(opcode, '.').back()));
  instruction.bytes = bits / int(parts);
  return bits != 0;
}

/// `(result), function, (parameters)`.
bool FunctionReader::readCall(const std::vector<std::string_view> &operands,
                              PtxInstruction &instruction) {
  if (operands.size() != 3)
    return false;
  auto callee = module.functions.find(operands[1]);
  if (callee == module.functions.end())
    return false;
  instruction.kind = Kind::Call;
  instruction.callee = callee->second.get();
  instruction.results = getRegisters(operands[0]);
  instruction.operands = getRegisters(operands[2]);
  return instruction.results.size() == instruction.callee->results.size() &&
         instruction.operands.size() == instruction.callee->parameters.size();
}

/// Such as `madc.hi.cc.u32`.
bool FunctionReader::readMultiplyAdd(
    std::string_view opcode, const std::vector<std::string_view> &operands,
    PtxInstruction &instruction) {
  if (operands.size() != 4 || split(opcode, '.').back() != "u32")
    return false;
  instruction.kind = Kind::MultiplyAdd;
  instruction.isHigh = opcode.find(".hi.") != std::string_view::npos;
  instruction.addsCarry = startsWith(opcode, "madc.");
  instruction.setsCarry = opcode.find(".cc.") != std::string_view::npos;
  instruction.results = {getRegister(operands[0])};
  for (size_t i = 1; i < operands.size(); ++i)
    instruction.operands.push_back(getRegister(operands[i]));
  return true;
}

/// `.local .align 4 .b8 name[28]`, of which a kernel has one at most.
bool FunctionReader::readLocal(std::string_view declaration) {
  size_t bracket = declaration.find('[');
  if (bracket == std::string_view::npos || function.localBytes ||
      !function.results.empty())
    return false;
  std::string_view name = declaration.substr(0, bracket);
  getRegister(name.substr(name.find_last_of(kSpace) + 1));
  function.localBytes = readNumber(declaration.substr(bracket + 1));
  return true;
}

bool FunctionReader::readShuffle(std::string_view opcode,
                                 const std::vector<std::string_view> &operands,
                                 PtxInstruction &instruction) {
  using Mode = PtxInstruction::ShuffleMode;
  const std::pair<std::string_view, Mode> modes[] = {{"bfly", Mode::Butterfly},
                                                     {"down", Mode::Down},
                                                     {"up", Mode::Up},
                                                     {"idx", Mode::Index}};
  std::vector<std::string_view> parts = split(opcode, '.');
  if (parts.size() != 4 || operands.size() != 5)
    return false;
  instruction.kind = Kind::Shuffle;
  instruction.results = {getRegister(operands[0])};
  instruction.operands = {getRegister(operands[1]), getRegister(operands[2])};
  for (auto [name, mode] : modes)
    if (parts[2] == name) {
      instruction.mode = mode;
      return true;
    }
  return false;
}

/// `cp.async.cg.shared.global [target], [source], 16, bytes`, the groups of
/// such copies, and the wait for all but a number of groups.
bool FunctionReader::readCopy(std::string_view opcode,
                              const std::vector<std::string_view> &operands,
                              PtxInstruction &instruction) {
  if (opcode == "cp.async.commit_group") {
    instruction.kind = Kind::CommitCopies;
    return operands.empty();
  }
  if (opcode == "cp.async.wait_group" && operands.size() == 1) {
    instruction.kind = Kind::WaitForCopies;
    instruction.offset = readNumber(operands[0]);
    return true;
  }
  if (opcode != "cp.async.cg.shared.global" || operands.size() < 3 ||
      operands[2] != "16")
    return false;
  instruction.kind = Kind::Copy;
  instruction.operands = {readAddress(operands[0], instruction.offset),
                          readAddress(operands[1], instruction.sourceOffset)};
  if (operands.size() == 4)
    instruction.operands.push_back(getRegister(operands[3]));
  return instruction.operands[0] >= 0 && instruction.operands[1] >= 0;
}

/// `ldmatrix` of four matrices, and `mma` of 16-bit floats.
bool FunctionReader::readTensorCores(
    std::string_view opcode, const std::vector<std::string_view> &operands,
    PtxInstruction &instruction) {
  instruction.isTransposed =
      opcode == "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16";
  if (instruction.isTransposed ||
      opcode == "ldmatrix.sync.aligned.m8n8.x4.shared.b16") {
    instruction.kind = Kind::LoadMatrices;
    instruction.results = getRegisters(operands.at(0));
    instruction.operands = {readAddress(operands.at(1), instruction.offset)};
    return instruction.results.size() == 4 && instruction.operands[0] >= 0;
  }
  constexpr std::string_view product = "mma.sync.aligned.m16n8k16.row.col.f32.";
  std::string_view types =
      startsWith(opcode, product) ? opcode.substr(product.size()) : "";
  instruction.kind = Kind::Multiply;
  instruction.isF16 = types == "f16.f16.f32";
  if (!instruction.isF16 && types != "bf16.bf16.f32")
    return false;
  instruction.results = getRegisters(operands.at(0));
  for (size_t i = 1; i < operands.size(); ++i)
    for (int number : getRegisters(operands[i]))
      instruction.operands.push_back(number);
  return instruction.results.size() == 4 && instruction.operands.size() == 10;
}

bool FunctionReader::readCompute(std::string_view opcode,
                                 const std::vector<std::string_view> &operands,
                                 PtxInstruction &instruction) {
  instruction.compute = findPtxOperation(opcode);
  if (!instruction.compute || operands.size() < 2 || operands.size() > 4)
    return false;
  for (size_t i = 1; i < 4; ++i)
    instruction.operands.push_back(
        getRegister(operands[std::min(i, operands.size() - 1)]));
  // `setp.lt.f16x2 p|q, a, b` is two instructions here.
  std::vector<std::string_view> results = split(operands[0], '|');
  if (results.size() == 2) {
    PtxInstruction high = instruction;
    high.compute = findPtxOperation(std::string(opcode) + ".high");
    if (!high.compute)
      return false;
    high.results = {getRegister(results[1])};
    function.instructions.push_back(std::move(high));
  }
  instruction.results = {getRegister(results[0])};
  return true;
}

bool FunctionReader::readInstruction(std::string_view text,
                                     PtxInstruction &instruction) {
  size_t end = std::min(text.find_first_of(kSpace), text.size());
  std::string_view opcode = text.substr(0, end);
  std::vector<std::string_view> operands = split(text.substr(end), ',');
  if (startsWith(opcode, "ld.") || startsWith(opcode, "st."))
    return readMemory(opcode, operands, instruction);
  if (startsWith(opcode, "mov.") && operands.size() == 2 &&
      (operands[0][0] == '{' || operands[1][0] == '{'))
    return readMove(opcode, operands, instruction);
  if (opcode == "mad.lo.cc.u32" || startsWith(opcode, "madc."))
    return readMultiplyAdd(opcode, operands, instruction);
  if (startsWith(opcode, "call"))
    return readCall(operands, instruction);
  if (startsWith(opcode, "shfl.sync"))
    return readShuffle(opcode, operands, instruction);
  if (startsWith(opcode, "cp.async."))
    return readCopy(opcode, operands, instruction);
  if (startsWith(opcode, "ldmatrix.") || startsWith(opcode, "mma."))
    return readTensorCores(opcode, operands, instruction);
  if (startsWith(opcode, "bar.sync") || startsWith(opcode, "barrier")) {
    instruction.kind = Kind::Barrier;
    return operands.size() == 1;
  }
  if (opcode == "bra" || opcode == "bra.uni") {
    instruction.kind = Kind::Branch;
    branches.emplace_back(function.instructions.size(),
                          std::string(operands.at(0)));
    return true;
  }
  if (opcode == "ret" || opcode == "exit" || opcode == "trap") {
    instruction.kind = opcode == "trap" ? Kind::Trap : Kind::Return;
    return true;
  }
  return readCompute(opcode, operands, instruction);
}

bool FunctionReader::readStatement(std::string_view statement) {
  // Scopes only matter for registers that are written before they are read.
  while (!statement.empty() && (statement[0] == '{' || statement[0] == '}'))
    statement = trim(statement.substr(1));
  if (startsWith(statement, ".local"))
    return readLocal(statement);
  if (statement.empty() || statement[0] == '.')
    return true;
  if (statement.back() == ':') {
    labels[std::string(statement.substr(0, statement.size() - 1))] =
        function.instructions.size();
    return true;
  }
  PtxInstruction instruction;
  if (statement[0] == '@') {
    size_t end = std::min(statement.find_first_of(kSpace), statement.size());
    instruction.isNegated = statement[1] == '!';
    instruction.predicate = getRegister(statement.substr(
        1 + instruction.isNegated, end - 1 - instruction.isNegated));
    statement = trim(statement.substr(end));
  }
  if (!readInstruction(statement, instruction))
    return false;
  function.instructions.push_back(std::move(instruction));
  return true;
}

void FunctionReader::read(std::string_view body) {
  function.thread = getRegister("%tid.x");
  function.threads = getRegister("%ntid.x");
  function.block = getRegister("%ctaid.x");
  function.blocks = getRegister("%nctaid.x");
  function.carry = getRegister("%carry");
  // Not at `;` in braces only: a scope of its own is one statement then.
  for (size_t begin = 0; begin < body.size();) {
    size_t end = std::min(body.find(';', begin), body.size());
    std::string_view statement = trim(body.substr(begin, end - begin));
    begin = end + 1;
    if (!readStatement(statement)) {
      function.unknown = statement;
      return;
    }
  }
  for (const auto &[number, label] : branches) {
    auto found = labels.find(label);
    if (found == labels.end())
      function.unknown = label;
    else
      function.instructions[number].target = found->second;
  }
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

namespace {
/// A function in the text.
struct FunctionText {
  std::string_view name, results, parameters, body;
};

/// Finds functions and shared memory.
class ModuleReader {
public:
  explicit ModuleReader(std::string_view text) : text(text) {}
  std::shared_ptr<const PtxModule> read();

private:
  void readShared();
  void readConstants();
  std::vector<FunctionText> findFunctions() const;

  std::string_view text;
  std::shared_ptr<PtxModule> module = std::make_shared<PtxModule>();
  SymbolTable symbols;
  int64_t sharedBytes = 0;
};
} // namespace

/// The next address that is aligned as asked for and not better: memory that is
/// read by wider accesses than its declaration allows is noticed.
static int64_t placeBarelyAligned(int64_t address, int64_t alignment) {
  int64_t place = (address + alignment - 1) / alignment * alignment;
  return place % (2 * alignment) == 0 ? place + alignment : place;
}

/// `.shared .align 16 .b8 name[1024];`; with `.extern` and no size it is what
/// launches ask for, behind all else. Without `.align`, its type aligns it.
void ModuleReader::readShared() {
  constexpr std::string_view kShared = ".shared ";
  std::vector<std::pair<std::string_view, int64_t>> dynamic;
  for (size_t at = text.find(kShared); at != std::string_view::npos;
       at = text.find(kShared, at + 1)) {
    std::vector<std::string_view> words =
        split(text.substr(at, text.find(';', at) - at), ' ');
    size_t bracket = words.back().find('[');
    std::string_view name = words.back().substr(0, bracket);
    int64_t count = 1;
    if (bracket != std::string_view::npos)
      count = readNumber(words.back().substr(bracket + 1));
    int64_t bytes = std::abs(getTypeBytes(words[words.size() - 2].substr(1)));
    int64_t alignment = words[1] == ".align" ? readNumber(words[2]) : bytes;
    if (count == 0) {
      dynamic.emplace_back(name, alignment);
      continue;
    }
    int64_t address = placeBarelyAligned(sharedBytes, alignment);
    symbols.emplace(name, Symbol{address, count * bytes});
    sharedBytes = address + count * bytes;
  }
  // All of them are the same memory.
  int64_t alignment = 1;
  for (const auto &[name, asked] : dynamic)
    alignment = std::max(alignment, asked);
  if (!dynamic.empty())
    sharedBytes = placeBarelyAligned(sharedBytes, alignment);
  for (const auto &[name, asked] : dynamic)
    symbols.emplace(name, Symbol{sharedBytes, 0});
}

/// `.global .align 4 .b8 name[2] = {65, 144};`.
void ModuleReader::readConstants() {
  constexpr std::string_view kGlobal = "\n.global ";
  for (size_t at = text.find(kGlobal); at != std::string_view::npos;
       at = text.find(kGlobal, at + 1)) {
    std::string_view declaration = text.substr(at, text.find(';', at) - at);
    size_t bracket = declaration.find('['), brace = declaration.find('{');
    // What has no values, or other elements, is left out.
    if (brace == std::string_view::npos || bracket > brace)
      continue;
    std::string_view name = declaration.substr(0, bracket);
    std::string_view type = trim(name.substr(0, name.find_last_of(kSpace)));
    auto bytes = std::make_unique<std::string>();
    if (type.substr(type.find_last_of(kSpace) + 1) != ".b8")
      continue;
    for (std::string_view value :
         split(declaration.substr(brace + 1, declaration.find('}') - brace - 1),
               ','))
      bytes->push_back(char(readNumber(value)));
    symbols.emplace(
        name.substr(name.find_last_of(kSpace) + 1),
        Symbol{int64_t(reinterpret_cast<uintptr_t>(bytes->data())), 0});
    module->constants.push_back(std::move(bytes));
  }
}

std::vector<FunctionText> ModuleReader::findFunctions() const {
  std::vector<FunctionText> found;
  auto skip = [&](size_t at) { return text.find_first_not_of(kSpace, at); };
  for (std::string_view word : {".entry", ".func"})
    for (size_t at = text.find(word); at != std::string_view::npos;
         at = text.find(word, at)) {
      FunctionText function;
      at = skip(at + word.size());
      if (text[at] == '(') {
        size_t end = text.find(')', at);
        function.results = text.substr(at + 1, end - at - 1);
        at = skip(end + 1);
      }
      size_t list = text.find('(', at), listEnd = text.find(')', at);
      function.name = trim(text.substr(at, list - at));
      function.parameters = text.substr(list + 1, listEnd - list - 1);
      // Without a body it is a declaration.
      size_t body = text.find_first_of("{;", listEnd);
      if (body == std::string_view::npos)
        break;
      at = body;
      if (text[body] == ';')
        continue;
      size_t bodyEnd = findClosingBrace(text, body);
      function.body = text.substr(body + 1, bodyEnd - body - 1);
      found.push_back(function);
      at = bodyEnd;
    }
  return found;
}

std::shared_ptr<const PtxModule> ModuleReader::read() {
  readShared();
  readConstants();
  std::vector<FunctionText> texts = findFunctions();
  std::vector<FunctionReader> readers;
  // Functions call what stands behind them.
  for (const FunctionText &function : texts) {
    auto &created = module->functions[std::string(function.name)];
    created = std::make_unique<PtxFunction>();
    created->name = function.name;
    created->sharedBytes = sharedBytes;
    FunctionReader &reader = readers.emplace_back(*module, *created, symbols);
    auto add = [&](std::string_view list, std::vector<int> &numbers) {
      for (std::string_view parameter : split(list, ','))
        numbers.push_back(reader.getRegister(
            parameter.substr(parameter.find_last_of(kSpace) + 1)));
    };
    add(function.parameters, created->parameters);
    add(function.results, created->results);
  }
  for (size_t i = 0; i < texts.size(); ++i)
    readers[i].read(texts[i].body);
  return module;
}

std::shared_ptr<const PtxModule>
regather::runtime::readPtx(std::string_view text) {
  std::string plain = removeComments(text);
  return ModuleReader(plain).read();
}
