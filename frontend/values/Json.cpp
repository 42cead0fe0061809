// Reads JSON in one pass over its text, which stays where it is.
#include "frontend/values/Json.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tw;

// Bounds the recursion of the reader and of everything that walks what it has read.
static constexpr int kMaxNesting = 800;

//===-- Objects ------------------------------------------------------------------------------===//

/// Returns the last of the members with a name, as other readers do.
const JsonValue *JsonObject::get(llvm::StringRef name) const {
  const JsonField *at = fields.end();
  if (fields.size() < kSortedFrom)
    while (at != fields.begin() && at[-1].name != name)
      --at;
  else
    at = llvm::upper_bound(fields, name, [](llvm::StringRef name, const JsonField &field) {
      return name < field.name;
    });
  return at != fields.begin() && at[-1].name == name ? &at[-1].value : nullptr;
}

std::optional<llvm::StringRef> JsonObject::getString(llvm::StringRef name) const {
  const JsonValue *value = get(name);
  return value ? value->getAsString() : std::nullopt;
}

std::optional<int64_t> JsonObject::getInteger(llvm::StringRef name) const {
  const JsonValue *value = get(name);
  return value ? value->getAsInteger() : std::nullopt;
}

std::optional<bool> JsonObject::getBoolean(llvm::StringRef name) const {
  const JsonValue *value = get(name);
  return value ? value->getAsBoolean() : std::nullopt;
}

const JsonObject *JsonObject::getObject(llvm::StringRef name) const {
  const JsonValue *value = get(name);
  return value ? value->getAsObject() : nullptr;
}

const JsonArray *JsonObject::getArray(llvm::StringRef name) const {
  const JsonValue *value = get(name);
  return value ? value->getAsArray() : nullptr;
}

//===-- Reading ------------------------------------------------------------------------------===//

namespace {
class Reader {
public:
  Reader(llvm::StringRef text, llvm::BumpPtrAllocator &memory)
      : text(text), at(text.begin()), end(text.end()), memory(memory) {}

  OrReason<JsonValue> readAll() {
    JsonValue value;
    skipSpace();
    if (!readValue(value))
      return refuse(problem);
    skipSpace();
    if (at == end)
      return value;
    fail("text after the end");
    return refuse(problem);
  }

private:
  bool fail(const llvm::Twine &what) {
    problem = ("it is not JSON: byte " + llvm::Twine(at - text.begin()) + ": " + what).str();
    return false;
  }
  void skipSpace() {
    while (at != end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r'))
      ++at;
  }
  /// Steps over a character, and the space before it; false where another one stands.
  bool accept(char wanted) {
    skipSpace();
    if (at == end || *at != wanted)
      return false;
    ++at;
    return true;
  }

  bool readValue(JsonValue &value);
  bool readWord(llvm::StringRef word, JsonValue meaning, JsonValue &value);
  bool readNumber(JsonValue &value);
  bool readString(llvm::StringRef &string);
  bool readEscapes(const char *start, llvm::StringRef &string);
  bool readEscape(llvm::SmallVectorImpl<char> &characters);
  bool readCodeUnit(unsigned &unit);
  bool enter(); // one level deeper, unless that is too deep
  bool readArray(JsonValue &value);
  bool readObject(JsonValue &value);
  bool readField(JsonField &field);
  llvm::ArrayRef<JsonField> keepFields(llvm::ArrayRef<JsonField> written);

  llvm::StringRef text;
  const char *at, *end;
  llvm::BumpPtrAllocator &memory;
  // Of the arrays and objects that are open, the innermost one's last.
  llvm::SmallVector<JsonValue, 64> items;
  llvm::SmallVector<JsonField, 64> fields;
  int depth = 0;
  std::string problem;
};
} // namespace

bool Reader::readValue(JsonValue &value) {
  if (at == end)
    return fail("the text ends early");
  switch (*at) {
  case '"': {
    llvm::StringRef string;
    bool isRead = readString(string);
    value = JsonValue(string);
    return isRead;
  }
  case '{':
    return readObject(value);
  case '[':
    return readArray(value);
  case 'n':
    return readWord("null", JsonValue(), value);
  case 't':
    return readWord("true", JsonValue(true), value);
  case 'f':
    return readWord("false", JsonValue(false), value);
  default:
    return readNumber(value);
  }
}

bool Reader::readWord(llvm::StringRef word, JsonValue meaning, JsonValue &value) {
  if (!llvm::StringRef(at, end - at).starts_with(word))
    return fail("a value is expected");
  at += word.size();
  value = meaning;
  return true;
}

bool Reader::readNumber(JsonValue &value) {
  llvm::StringRef digits = llvm::StringRef(at, end - at).take_while([](char c) {
    return llvm::isDigit(c) || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
  });
  int64_t integer;
  double number;
  if (!digits.getAsInteger(10, integer))
    value = JsonValue(integer);
  else if (digits.empty() || !llvm::to_float(digits, number))
    return fail("a value is expected");
  at += digits.size();
  return true;
}

/// From its opening quotation mark on.
bool Reader::readString(llvm::StringRef &string) {
  const char *start = ++at;
  while (at != end && *at != '"' && *at != '\\' && uint8_t(*at) >= ' ')
    ++at;
  if (at != end && *at == '\\')
    return readEscapes(start, string);
  if (at == end || *at != '"')
    return fail("a string does not end");
  string = llvm::StringRef(start, at - start);
  ++at;
  return true;
}

/// The rest of a string that has escapes, from the first one on.
bool Reader::readEscapes(const char *start, llvm::StringRef &string) {
  llvm::SmallString<256> characters(llvm::StringRef(start, at - start));
  while (at != end && *at != '"' && uint8_t(*at) >= ' ') {
    if (*at == '\\') {
      ++at;
      if (!readEscape(characters))
        return false;
      continue;
    }
    const char *plain = at;
    while (at != end && *at != '"' && *at != '\\' && uint8_t(*at) >= ' ')
      ++at;
    characters.append(plain, at);
  }
  if (at == end || *at != '"')
    return fail("a string does not end");
  ++at;
  string = characters.str().copy(memory);
  return true;
}

bool Reader::readCodeUnit(unsigned &unit) {
  llvm::StringRef digits = llvm::StringRef(at, end - at).take_front(4);
  if (digits.size() != 4 || !llvm::all_of(digits, llvm::isHexDigit) ||
      digits.getAsInteger(16, unit))
    return fail("an escape has no four digits");
  at += 4;
  return true;
}

/// Reads the characters behind a backslash.
bool Reader::readEscape(llvm::SmallVectorImpl<char> &characters) {
  static constexpr llvm::StringLiteral kWritten = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
  if (at == end)
    return fail("a string does not end");
  char written = *at++;
  if (size_t place = kWritten.find(written); place != llvm::StringRef::npos) {
    characters.push_back(kMeant[place]);
    return true;
  }
  unsigned code;
  if (written != 'u')
    return fail("an unknown escape");
  if (!readCodeUnit(code))
    return false;
  // Characters beyond 16 bits are written as two surrogates. One alone means nothing.
  if (code >= 0xD800 && code < 0xDC00 && llvm::StringRef(at, end - at).starts_with("\\u")) {
    const char *second = at;
    at += 2;
    unsigned low;
    if (!readCodeUnit(low))
      return false;
    if (low >= 0xDC00 && low < 0xE000)
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    else
      at = second;
  }
  char encoded[UNI_MAX_UTF8_BYTES_PER_CODE_POINT], *last = encoded;
  if (!llvm::ConvertCodePointToUTF8(code, last)) {
    last = encoded;
    llvm::ConvertCodePointToUTF8(0xFFFD, last); // the replacement character
  }
  characters.append(encoded, last);
  return true;
}

bool Reader::enter() {
  if (++depth <= kMaxNesting)
    return true;
  problem = llvm::formatv("it is nested more than {0} deep", kMaxNesting);
  return false;
}

bool Reader::readArray(JsonValue &value) {
  if (!enter())
    return false;
  ++at;
  size_t first = items.size();
  if (!accept(']')) {
    do {
      skipSpace();
      JsonValue item;
      if (!readValue(item))
        return false;
      items.push_back(item);
    } while (accept(','));
    if (!accept(']'))
      return fail("`,` or `]` is expected");
  }
  auto *array = memory.Allocate<JsonArray>();
  value = JsonValue(new (array) JsonArray(llvm::ArrayRef(items).drop_front(first).copy(memory)));
  items.truncate(first);
  --depth;
  return true;
}

bool Reader::readField(JsonField &field) {
  skipSpace();
  if (at == end || *at != '"')
    return fail("a name is expected");
  if (!readString(field.name))
    return false;
  if (!accept(':'))
    return fail("`:` is expected");
  skipSpace();
  return readValue(field.value);
}

/// The members of an object in the order of JsonObject.
llvm::ArrayRef<JsonField> Reader::keepFields(llvm::ArrayRef<JsonField> written) {
  if (written.size() < JsonObject::kSortedFrom)
    return written.copy(memory);
  auto order = llvm::to_vector(llvm::make_pointer_range(written));
  llvm::sort(order, [](const JsonField *a, const JsonField *b) {
    return std::tie(a->name, a) < std::tie(b->name, b);
  });
  return llvm::ArrayRef(llvm::to_vector(llvm::make_pointee_range(order))).copy(memory);
}

bool Reader::readObject(JsonValue &value) {
  if (!enter())
    return false;
  const char *start = at++;
  size_t first = fields.size();
  if (!accept('}')) {
    do {
      JsonField field;
      if (!readField(field))
        return false;
      fields.push_back(field);
    } while (accept(','));
    if (!accept('}'))
      return fail("`,` or `}` is expected");
  }
  llvm::ArrayRef<JsonField> own = keepFields(llvm::ArrayRef(fields).drop_front(first));
  auto *object = memory.Allocate<JsonObject>();
  value = JsonValue(new (object) JsonObject(own, llvm::StringRef(start, at - start)));
  fields.truncate(first);
  --depth;
  return true;
}

OrReason<JsonValue> JsonDocument::read(llvm::StringRef text) {
  size_t at = 0;
  if (!llvm::json::isUTF8(text, &at))
    return refuse("it is not JSON: byte " + llvm::Twine(at) + ": not UTF-8");
  // Sizes of strings are 32 bits.
  if (text.size() > std::numeric_limits<uint32_t>::max())
    return refuse("it is larger than 4 GB");
  return Reader(text, memory).readAll();
}

OrReason<JsonValue> JsonDocument::readCopy(llvm::StringRef text) { return read(text.copy(memory)); }

llvm::json::Object tw::copyOf(const JsonObject &object) {
  llvm::Expected<llvm::json::Value> copy = llvm::json::parse(object.text());
  llvm::json::Object *fields = copy ? copy->getAsObject() : nullptr;
  if (fields)
    return std::move(*fields);
  llvm::consumeError(copy.takeError());
  return {};
}
