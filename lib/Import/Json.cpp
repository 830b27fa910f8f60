//===- Json.cpp - JSON with places and exact numbers ----------------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Json.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/JSON.h"
#include <charconv>

using namespace regather::fx;
using namespace llvm;
using Kind = JsonValue::Kind;

StringRef regather::fx::describeKind(Kind kind) {
  switch (kind) {
  case Kind::Null:
    return "null";
  case Kind::Boolean:
    return "a boolean";
  case Kind::Integer:
    return "an integer";
  case Kind::Float:
    return "a float";
  case Kind::String:
    return "a string";
  case Kind::Array:
    return "an array";
  case Kind::Object:
    return "an object";
  }
  llvm_unreachable("unknown kind of JSON value");
}

const JsonValue *JsonValue::find(StringRef key) const {
  if (!is(Kind::Object))
    return nullptr;
  for (const JsonMember &member : getMembers())
    if (member.key == key)
      return &member.value;
  return nullptr;
}

namespace regather::fx {
/// The state of one parse. Arrays and objects that are still open keep their
/// finished children on two stacks; closing one moves its children, which lie
/// on top, into the arena in one piece.
class JsonParser {
public:
  JsonParser(StringRef text, JsonDocument &document)
      : text(text), allocator(document.allocator) {}

  std::optional<JsonError> run(JsonValue &root);

private:
  struct Frame {
    JsonValue container;
    /// Number of values, or members, on the stack below its children.
    size_t first;
  };

  /// Both return false after setting `error`.
  bool parseScalar(JsonValue &value);
  bool parseNumber(JsonValue &value);
  bool parseString(StringRef &result);
  bool parseEscape(SmallVectorImpl<char> &out);
  std::optional<unsigned> parseHex4();
  bool parseKey();
  bool open(Kind kind);
  bool close(JsonValue &value);
  void attach(const JsonValue &value);

  bool fail(const Twine &message, size_t offset) {
    error = JsonError{message.str(), offset};
    return false;
  }
  /// Fails because `expected` does not stand here.
  bool failExpected(const Twine &expected);

  void skipSpace() {
    while (position < text.size() && isSpaceByte(text[position]))
      ++position;
  }
  static bool isSpaceByte(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
  }
  bool consume(char c) {
    if (position == text.size() || text[position] != c)
      return false;
    ++position;
    return true;
  }

  StringRef text;
  BumpPtrAllocator &allocator;
  size_t position = 0;
  SmallVector<Frame> frames;
  SmallVector<JsonValue, 0> values;
  SmallVector<JsonMember, 0> members;
  std::optional<JsonError> error;
};
} // namespace regather::fx

bool JsonParser::failExpected(const Twine &expected) {
  if (position < text.size()) {
    std::string got =
        isPrint(text[position])
            ? "'" + std::string(1, text[position]) + "'"
            : "byte 0x" + utohexstr(static_cast<unsigned char>(text[position]));
    return fail("expects " + expected + ", got " + got, position);
  }
  fail("expects " + expected + ", but the file ends", position);
  if (!frames.empty())
    error->opened = frames.back().container.getOffset();
  return false;
}

std::optional<JsonError> JsonParser::run(JsonValue &root) {
  while (true) {
    // A value begins here. An opening bracket goes on with its first child.
    skipSpace();
    JsonValue value;
    if (position < text.size() &&
        (text[position] == '[' || text[position] == '{')) {
      bool isObject = text[position] == '{';
      if (!open(isObject ? Kind::Object : Kind::Array))
        return error;
      skipSpace();
      if (!consume(isObject ? '}' : ']')) {
        if (isObject && !parseKey())
          return error;
        continue;
      }
      if (!close(value))
        return error;
    } else if (!parseScalar(value)) {
      return error;
    }

    // A value is complete, and so may be the containers around it.
    while (true) {
      skipSpace();
      if (frames.empty()) {
        if (position != text.size()) {
          fail("expects the end of the file after the value", position);
          return error;
        }
        root = value;
        return std::nullopt;
      }
      attach(value);
      bool isObject = frames.back().container.is(Kind::Object);
      if (consume(',')) {
        if (isObject && !parseKey())
          return error;
        break;
      }
      if (!consume(isObject ? '}' : ']')) {
        failExpected(isObject ? "',' or '}'" : "',' or ']'");
        return error;
      }
      if (!close(value))
        return error;
    }
  }
}

bool JsonParser::open(Kind kind) {
  if (frames.size() == JsonDocument::kMaxDepth)
    return fail("values are nested deeper than " +
                    Twine(JsonDocument::kMaxDepth) + " levels",
                position);
  frames.push_back({JsonValue(kind, position++),
                    kind == Kind::Array ? values.size() : members.size()});
  return true;
}

bool JsonParser::close(JsonValue &value) {
  Frame frame = frames.pop_back_val();
  value = frame.container;
  if (value.is(Kind::Array)) {
    ArrayRef<JsonValue> children =
        ArrayRef<JsonValue>(values).drop_front(frame.first).copy(allocator);
    value.elements = children.data();
    value.size = children.size();
    values.truncate(frame.first);
    return true;
  }
  ArrayRef<JsonMember> children =
      ArrayRef<JsonMember>(members).drop_front(frame.first).copy(allocator);
  value.members = children.data();
  value.size = children.size();
  members.truncate(frame.first);

  // JSON leaves the meaning of a repeated key open, so it is refused.
  auto failRepeated = [&](const JsonMember &member) {
    return fail("key \"" + member.key + "\" occurs twice in one object",
                member.value.getOffset());
  };
  constexpr size_t kFew = 16;
  if (children.size() <= kFew) {
    for (size_t i = 1; i < children.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (children[i].key == children[j].key)
          return failRepeated(children[i]);
    return true;
  }
  llvm::StringSet<> seen;
  for (const JsonMember &member : children)
    if (!seen.insert(member.key).second)
      return failRepeated(member);
  return true;
}

void JsonParser::attach(const JsonValue &value) {
  if (frames.back().container.is(Kind::Array))
    values.push_back(value);
  else
    members.back().value = value;
}

/// Reads `"key":` and leaves room for the value.
bool JsonParser::parseKey() {
  skipSpace();
  if (position == text.size() || text[position] != '"')
    return failExpected("a key in double quotes");
  StringRef key;
  if (!parseString(key))
    return false;
  skipSpace();
  if (!consume(':'))
    return failExpected("':' after key \"" + key + "\"");
  members.push_back({key, JsonValue()});
  return true;
}

bool JsonParser::parseScalar(JsonValue &value) {
  if (position == text.size())
    return failExpected("a value");
  char c = text[position];
  if (c == '"') {
    value = JsonValue(Kind::String, position);
    StringRef string;
    if (!parseString(string))
      return false;
    value.characters = string.data();
    value.size = string.size();
    return true;
  }
  if (c == '-' || isDigit(c))
    return parseNumber(value);
  StringRef rest = text.substr(position);
  for (auto [word, kind] :
       {std::pair<StringRef, Kind>("null", Kind::Null),
        std::pair<StringRef, Kind>("true", Kind::Boolean),
        std::pair<StringRef, Kind>("false", Kind::Boolean)}) {
    if (!rest.starts_with(word))
      continue;
    value = JsonValue(kind, position);
    if (kind == Kind::Boolean)
      value.boolean = c == 't';
    position += word.size();
    return true;
  }
  return failExpected("a value");
}

/// -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
bool JsonParser::parseNumber(JsonValue &value) {
  size_t begin = position;
  auto skipDigits = [&]() {
    size_t first = position;
    while (position < text.size() && isDigit(text[position]))
      ++position;
    return position != first;
  };
  consume('-');
  bool leadingZero = position < text.size() && text[position] == '0';
  size_t firstDigit = position;
  if (!skipDigits())
    return failExpected("a digit");
  if (leadingZero && position != firstDigit + 1)
    return fail("a number must not begin with zero", begin);
  bool isFloat = false;
  if (consume('.')) {
    isFloat = true;
    if (!skipDigits())
      return failExpected("a digit after the decimal point");
  }
  if (consume('e') || consume('E')) {
    isFloat = true;
    if (!consume('+'))
      consume('-');
    if (!skipDigits())
      return failExpected("a digit in the exponent");
  }
  // Unlike strtod, from_chars knows no locale.
  const char *first = text.data() + begin, *last = text.data() + position;
  value = JsonValue(isFloat ? Kind::Float : Kind::Integer, begin);
  std::errc status = isFloat ? std::from_chars(first, last, value.number).ec
                             : std::from_chars(first, last, value.integer).ec;
  if (status != std::errc())
    return fail(isFloat ? "float does not fit 64 bits"
                        : "integer does not fit 64 bits",
                begin);
  return true;
}

/// Reads a string. One without escapes is a part of the text.
bool JsonParser::parseString(StringRef &result) {
  size_t begin = position++;
  auto isPlain = [](char c) {
    return c != '"' && c != '\\' && static_cast<unsigned char>(c) >= 0x20;
  };
  SmallString<64> unescaped;
  size_t run = position;
  while (true) {
    while (position < text.size() && isPlain(text[position]))
      ++position;
    if (position == text.size())
      return fail("string is not closed", begin);
    if (text[position] == '"')
      break;
    if (text[position] != '\\')
      return fail("control character in a string", position);
    unescaped += text.slice(run, position);
    if (!parseEscape(unescaped))
      return false;
    run = position;
  }
  StringRef tail = text.slice(run, position++);
  if (run == begin + 1) {
    result = tail;
    return true;
  }
  unescaped += tail;
  result = unescaped.str().copy(allocator);
  return true;
}

std::optional<unsigned> JsonParser::parseHex4() {
  unsigned code;
  if (text.size() - position < 4 ||
      text.substr(position, 4).getAsInteger(16, code))
    return std::nullopt;
  position += 4;
  return code;
}

bool JsonParser::parseEscape(SmallVectorImpl<char> &out) {
  size_t begin = position++;
  char c = position < text.size() ? text[position++] : '\0';
  // A letter and what it stands for.
  static constexpr StringLiteral kLetters = "\"\\/bfnrt";
  static constexpr StringLiteral kMeanings = "\"\\/\b\f\n\r\t";
  if (size_t letter = kLetters.find(c); c && letter != StringRef::npos) {
    out.push_back(kMeanings[letter]);
    return true;
  }
  std::optional<unsigned> code = c == 'u' ? parseHex4() : std::nullopt;
  if (!code)
    return fail("invalid escape in a string", begin);
  // Two halves of one character beyond 16 bits; a half alone is replaced.
  if (*code >= 0xD800 && *code < 0xDC00 &&
      text.substr(position).starts_with("\\u")) {
    size_t second = position;
    position += 2;
    std::optional<unsigned> low = parseHex4();
    if (low && *low >= 0xDC00 && *low < 0xE000)
      code = 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00);
    else
      position = second;
  }
  if (*code >= 0xD800 && *code < 0xE000)
    code = 0xFFFD;
  char buffer[UNI_MAX_UTF8_BYTES_PER_CODE_POINT];
  char *end = buffer;
  ConvertCodePointToUTF8(*code, end);
  out.append(buffer, end);
  return true;
}

std::optional<JsonError> JsonDocument::parse(StringRef text) {
  size_t offset = 0;
  if (!json::isUTF8(text, &offset))
    return JsonError{"text is not UTF-8", offset};
  return JsonParser(text, *this).run(root);
}
