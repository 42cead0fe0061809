// JSON text that is read in place: strings are parts of the text, objects and arrays lie in the
// memory of their document.
#ifndef FRONTEND_JSON_H
#define FRONTEND_JSON_H
#include "frontend/values/OrReason.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Allocator.h"
#include "llvm/Support/JSON.h"

namespace tw {

class JsonValue;
struct JsonField;
using JsonArray = llvm::ArrayRef<JsonValue>;

class JsonObject {
public:
  JsonObject(llvm::ArrayRef<JsonField> fields, llvm::StringRef text)
      : fields(fields), whole(text) {}

  const JsonField *begin() const;
  const JsonField *end() const;
  /// As it was written, with its braces.
  llvm::StringRef text() const { return whole; }

  /// The member of a name; null, or nullopt, where there is none, or one of another kind.
  const JsonValue *get(llvm::StringRef name) const;
  std::optional<llvm::StringRef> getString(llvm::StringRef name) const;
  std::optional<int64_t> getInteger(llvm::StringRef name) const;
  std::optional<bool> getBoolean(llvm::StringRef name) const;
  const JsonObject *getObject(llvm::StringRef name) const;
  const JsonArray *getArray(llvm::StringRef name) const;

  /// From so many members on they are in the order of their names, so that one is found by
  /// bisection.
  static constexpr size_t kSortedFrom = 16;

private:
  llvm::ArrayRef<JsonField> fields;
  llvm::StringRef whole;
};

class JsonValue {
public:
  JsonValue() = default; // null
  explicit JsonValue(bool truth) : kind(Kind::Boolean), truth(truth) {}
  explicit JsonValue(int64_t integer) : kind(Kind::Integer), integer(integer) {}
  explicit JsonValue(llvm::StringRef text)
      : kind(Kind::String), size(unsigned(text.size())), characters(text.data()) {}
  explicit JsonValue(const JsonArray *array) : kind(Kind::Array), array(array) {}
  explicit JsonValue(const JsonObject *object) : kind(Kind::Object), object(object) {}

  const JsonObject *getAsObject() const { return kind == Kind::Object ? object : nullptr; }
  const JsonArray *getAsArray() const { return kind == Kind::Array ? array : nullptr; }
  std::optional<llvm::StringRef> getAsString() const {
    return kind == Kind::String ? std::optional(llvm::StringRef(characters, size)) : std::nullopt;
  }
  std::optional<int64_t> getAsInteger() const {
    return kind == Kind::Integer ? std::optional(integer) : std::nullopt;
  }
  std::optional<bool> getAsBoolean() const {
    return kind == Kind::Boolean ? std::optional(truth) : std::nullopt;
  }

private:
  /// Numbers beside integers of 64 bits read as Null: nothing of a kernel has any.
  enum class Kind : uint8_t { Null, Boolean, Integer, String, Array, Object } kind = Kind::Null;
  uint32_t size = 0; // of a string
  union {
    bool truth;
    int64_t integer = 0;
    const char *characters;
    const JsonArray *array;
    const JsonObject *object;
  };
};

struct JsonField {
  llvm::StringRef name;
  JsonValue value;
};

inline const JsonField *JsonObject::begin() const { return fields.begin(); }
inline const JsonField *JsonObject::end() const { return fields.end(); }

/// Owns what the values of the texts that it has read point to, but not the texts.
class JsonDocument {
public:
  /// The value of a text, which must live as long as the value is used, or why it is not JSON.
  OrReason<JsonValue> read(llvm::StringRef text);
  /// Reads a text that need not live on.
  OrReason<JsonValue> readCopy(llvm::StringRef text);

  llvm::BumpPtrAllocator memory;
};

/// The same object to write it with others.
llvm::json::Object copyOf(const JsonObject &object);

} // namespace tw
#endif
