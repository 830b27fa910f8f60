//===- PassOptionText.cpp - Options of passes as text ---------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "regather/Pipelines/PassOptionText.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace llvm;
using namespace regather;

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

/// The end of the regular expression that begins at `begin`, such as
/// `/layers\.(0|1), head/`; nothing if there begins none but, for example, the
/// path of a file. It ends at a slash in front of what may follow an element of
/// a list, and holds no further option.
static std::optional<size_t> findRegexEnd(StringRef text, size_t begin) {
  if (text[begin] != '/' ||
      (begin > 0 && !StringRef("=,{[ ").contains(text[begin - 1])))
    return std::nullopt;
  for (size_t position = begin + 1; position < text.size(); ++position) {
    StringRef rest = text.drop_front(position);
    if (rest.front() == '\\')
      ++position;
    else if (isSpace(rest.front()) &&
             rest.ltrim().find_first_of("= /") != StringRef::npos &&
             rest.ltrim()[rest.ltrim().find_first_of("= /")] == '=')
      return std::nullopt;
    else if (rest.front() == '/' && position > begin + 1 &&
             (rest.size() == 1 || StringRef(":,]} \t\n").contains(rest[1])))
      return position + 1;
  }
  return std::nullopt;
}

/// The position of the first character from `begin` on that `isEnd` holds for
/// and that lies in no brackets, quotes or regular expression; the length of
/// `text` if there is none.
static size_t findEnd(StringRef text, size_t begin,
                      llvm::function_ref<bool(char)> isEnd) {
  unsigned depth = 0;
  char quote = 0;
  size_t position = begin;
  for (; position < text.size(); ++position) {
    char c = text[position];
    if (quote) {
      quote = c == quote ? 0 : quote;
      continue;
    }
    if (depth == 0 && isEnd(c))
      break;
    if (std::optional<size_t> end = findRegexEnd(text, position)) {
      position = *end - 1;
      continue;
    }
    if (c == '"' || c == '\'')
      quote = c;
    depth += StringRef("{[(").contains(c);
    depth -= StringRef("}])").contains(c) && depth > 0;
  }
  return position;
}

/// Takes quotes, or the braces around all of it, off a value.
static StringRef unwrap(StringRef text) {
  text = text.trim();
  if (text.size() < 2)
    return text;
  char first = text.front();
  if ((first == '"' || first == '\'') && text.back() == first)
    return text.drop_front().drop_back().trim();
  auto isClosing = [](char c) { return c == '}'; };
  if (first == '{' && findEnd(text, 1, isClosing) == text.size() - 1)
    return text.drop_front().drop_back().trim();
  return text;
}

static SmallVector<StringRef> splitList(StringRef text) {
  SmallVector<StringRef> elements;
  if (text.empty())
    return elements;
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = findEnd(text, begin, [](char c) { return c == ','; });
    elements.push_back(unwrap(text.slice(begin, end)));
    begin = end + 1;
  }
  return elements;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

static std::string printNumber(double value) {
  std::string text;
  raw_string_ostream(text) << format("%.12g", value);
  return text;
}

/// A value that a pipeline takes as one word.
static std::string printText(StringRef value) {
  bool isWord = !value.empty() && findEnd(value, 0, [](char c) {
                                    return isSpace(c);
                                  }) == value.size();
  return isWord ? value.str() : "{" + value.str() + "}";
}

OptionField regather::makeField(StringRef name, std::string &value) {
  return {name,
          "",
          {},
          [&value](StringRef text) {
            value = text.str();
            return true;
          },
          [&value] { return printText(value); },
          [&value] { return json::Value(value); }};
}

OptionField regather::makeField(StringRef name, bool &value) {
  return {name,
          "true or false",
          {},
          [&value](StringRef text) {
            bool isOn = is_contained({"", "true", "TRUE", "True", "1"}, text);
            if (!isOn && !is_contained({"false", "FALSE", "False", "0"}, text))
              return false;
            value = isOn;
            return true;
          },
          [&value] { return std::string(value ? "true" : "false"); },
          [&value] { return json::Value(value); }};
}

template <typename T>
static OptionField makeIntegerField(StringRef name, T &value) {
  return {name,
          "an integer",
          {},
          [&value](StringRef text) {
            T read = 0;
            if (text.getAsInteger(0, read))
              return false;
            value = read;
            return true;
          },
          [&value] { return std::to_string(value); },
          [&value] { return json::Value(value); }};
}

OptionField regather::makeField(StringRef name, unsigned &value) {
  return makeIntegerField(name, value);
}

OptionField regather::makeField(StringRef name, int64_t &value) {
  return makeIntegerField(name, value);
}

OptionField regather::makeField(StringRef name, uint64_t &value) {
  return makeIntegerField(name, value);
}

OptionField regather::makeField(StringRef name, ByteCount &value) {
  return {name,
          "a number of bytes, such as 40GB or 512MiB",
          {},
          [&value](StringRef text) {
            std::optional<int64_t> bytes = parseBytes(text);
            if (bytes)
              value = *bytes;
            else if (text == "-1")
              value = -1;
            return bytes || text == "-1";
          },
          [&value] { return std::to_string(value.bytes); },
          [&value] { return json::Value(value.bytes); }};
}

OptionField regather::makeField(StringRef name, double &value) {
  return {name,
          "a number",
          {},
          [&value](StringRef text) {
            double read = 0;
            if (text.getAsDouble(read))
              return false;
            value = read;
            return true;
          },
          [&value] { return printNumber(value); },
          [&value] { return json::Value(value); }};
}

OptionField regather::makeField(StringRef name,
                                SmallVectorImpl<std::string> &values) {
  return {name,
          "",
          {},
          [&values](StringRef text) {
            values.clear();
            for (StringRef element : splitList(text))
              values.push_back(element.str());
            return true;
          },
          [&values] { return printText(join(values, ",")); },
          [&values] { return json::Value(json::Array(values)); }};
}

OptionField regather::makeField(StringRef name,
                                SmallVectorImpl<double> &values) {
  return {name,
          "numbers",
          {},
          [&values](StringRef text) {
            SmallVector<double> read;
            for (StringRef element : splitList(text))
              if (element.getAsDouble(read.emplace_back()))
                return false;
            values.assign(read.begin(), read.end());
            return true;
          },
          [&values] { return join(map_range(values, printNumber), ","); },
          [&values] { return json::Value(json::Array(values)); }};
}

OptionField regather::makeField(StringRef name, const OptionChoices &choices,
                                std::function<int()> get,
                                std::function<void(int)> set) {
  OptionField field;
  field.name = name;
  for (const auto &[word, number] : choices.values)
    field.choices.push_back(word);
  field.expected = "one of " + join(field.choices, ", ");
  field.read = [choices, set = std::move(set)](StringRef text) {
    for (const auto &[word, number] : choices.values)
      if (word == text) {
        set(number);
        return true;
      }
    return false;
  };
  field.print = [choices, get = std::move(get)] {
    for (const auto &[word, number] : choices.values)
      if (number == get())
        return word;
    llvm_unreachable("every value has a word");
  };
  field.getJson = [print = field.print] { return json::Value(print()); };
  return field;
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

const OptionField *PassOptionFields::find(StringRef name) const {
  const auto *it = llvm::find_if(getFields(), [&](const OptionField &field) {
    return field.name == name;
  });
  return it == getFields().end() ? nullptr : it;
}

std::vector<PassOptionValue> regather::splitPassOptions(StringRef text) {
  std::vector<PassOptionValue> options;
  for (text = text.trim(); !text.empty(); text = text.ltrim()) {
    size_t end = findEnd(text, 0, [](char c) { return isSpace(c); });
    auto [name, value] = text.take_front(end).split('=');
    options.push_back({name.str(), unwrap(value).str()});
    text = text.drop_front(end);
  }
  return options;
}

Failure PassOptionFields::set(const PassOptionValue &option,
                              StringRef origin) const {
  const OptionField *field = find(option.name);
  if (!field) {
    SmallVector<StringRef> names;
    for (const OptionField &known : fields)
      names.push_back(known.name);
    llvm::sort(names);
    return Failure((origin + " has no option \"" + option.name +
                    "\"; there are " + join(names, ", "))
                       .str());
  }
  if (!field->read(option.value))
    return Failure((origin + " expects " + field->expected + " for \"" +
                    option.name + "\", got \"" + option.value + "\"")
                       .str());
  return Failure();
}

Failure PassOptionFields::read(StringRef text, StringRef origin) const {
  for (const PassOptionValue &option : splitPassOptions(text))
    if (Failure failure = set(option, origin))
      return failure;
  return Failure();
}
