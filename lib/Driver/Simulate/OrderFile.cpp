//===- OrderFile.cpp - The order of a step in a file ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OrderFile.h"

#include "regather/Support/LLVM/ParseJson.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace regather;

namespace {
/// A name in the file.
struct Entry {
  std::string name;
  unsigned line = 1;
};

class OrderReader {
public:
  OrderReader(const std::string &path, const TimedGraph &program,
              llvm::ArrayRef<std::string> names)
      : path(path), program(program), names(names) {}

  Result<std::vector<uint32_t>> read();

private:
  Failure readJson(llvm::StringRef text);
  void readLines(llvm::StringRef text);
  Failure fail(unsigned line, const llvm::Twine &why) const {
    return Failure((path + ":" + llvm::Twine(line) + ": " + why).str());
  }
  Failure explain(const OrderViolation &violation,
                  llvm::ArrayRef<uint32_t> order) const;

  const std::string &path;
  const TimedGraph &program;
  llvm::ArrayRef<std::string> names;
  std::vector<Entry> entries;
};
} // namespace

static std::string quote(llvm::StringRef name) {
  return ("\"" + name + "\"").str();
}

void OrderReader::readLines(llvm::StringRef text) {
  for (unsigned line = 1; !text.empty(); ++line) {
    llvm::StringRef name;
    std::tie(name, text) = text.split('\n');
    name = name.split("//").first.trim();
    if (!name.empty())
      entries.push_back({name.str(), line});
  }
}

Failure OrderReader::readJson(llvm::StringRef text) {
  auto json = parseJson(text);
  if (!json)
    return Failure(path + ": " + llvm::toString(json.takeError()));
  for (const llvm::json::Value &value : *json->getAsArray()) {
    auto name = value.getAsString();
    if (!name)
      return Failure(path + ": expects a list of names, got an element that "
                            "is no string");
    entries.push_back({name->str()});
  }
  // The strings once more, for their lines.
  unsigned line = 1;
  bool isInside = false;
  auto entry = entries.begin();
  for (size_t i = 0; i != text.size(); ++i) {
    if (text[i] == '\n')
      ++line;
    else if (text[i] == '\\')
      ++i;
    else if (text[i] == '"' && !(isInside = !isInside))
      (entry++)->line = line;
  }
  return Failure();
}

Failure OrderReader::explain(const OrderViolation &violation,
                             llvm::ArrayRef<uint32_t> order) const {
  using Kind = OrderViolation::Kind;
  std::string op = quote(names[violation.op]);
  switch (violation.kind) {
  case Kind::Missing:
    return Failure(path + ": operation " + op + " is missing");
  case Kind::Repeated:
    return fail(entries[violation.place].line,
                "operation " + op + " comes a second time, after line " +
                    llvm::Twine(entries[violation.other].line));
  case Kind::TooEarly: {
    size_t needed = llvm::find(order, violation.other) - order.begin();
    return fail(entries[violation.place].line,
                "operation " + op + " comes before " +
                    quote(names[violation.other]) + " on line " +
                    llvm::Twine(entries[needed].line) + ", which it needs");
  }
  case Kind::Unknown:
    break;
  }
  llvm_unreachable("names that are unknown have no number");
}

Result<std::vector<uint32_t>> OrderReader::read() {
  auto file = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (!file)
    return Failure("cannot read order '" + path +
                   "': " + file.getError().message());
  llvm::StringRef text = (*file)->getBuffer();
  if (!text.ltrim().starts_with("["))
    readLines(text);
  else if (Failure failure = readJson(text))
    return failure;
  llvm::StringMap<uint32_t> numbers;
  for (auto [i, name] : llvm::enumerate(names))
    numbers[name] = i;
  std::vector<uint32_t> order;
  for (const Entry &entry : entries) {
    auto number = numbers.find(entry.name);
    if (number == numbers.end())
      return fail(entry.line, "the step has no operation " + quote(entry.name));
    order.push_back(number->second);
  }
  if (std::optional<OrderViolation> violation =
          findOrderViolation(program, order))
    return explain(*violation, order);
  return order;
}

Result<std::vector<uint32_t>>
regather::readOrder(const std::string &path, const TimedGraph &program,
                    llvm::ArrayRef<std::string> names) {
  return OrderReader(path, program, names).read();
}
