// The key under which a compiled kernel is kept: a hash of everything that its binary depends on.
#include "backend/api/CacheKey.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/JSON.h"

using namespace tw;
using namespace tw::api;

namespace {
/// Changes when the meaning of the fields below changes.
constexpr llvm::StringLiteral kKeyFormat = "tilewright key 3";

/// Hashes a sequence of fields. Each goes in with its length, so no two sequences look alike.
class FieldHasher {
public:
  void add(llvm::StringRef text) {
    add(uint64_t(text.size()));
    hasher.update(text);
  }
  void add(uint64_t number) {
    hasher.update(llvm::ArrayRef(reinterpret_cast<const uint8_t *>(&number), sizeof(number)));
  }
  std::string finish() { return hexOf(hasher.final()); }

private:
  llvm::BLAKE3 hasher;
};
} // namespace

std::array<uint8_t, 32> api::hashBytes(std::string_view bytes) {
  return llvm::BLAKE3::hash(
      llvm::ArrayRef(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
}

std::string api::hexOf(const std::array<uint8_t, 32> &hash) {
  return llvm::toHex(llvm::ArrayRef(hash.data(), hash.size()), /*LowerCase=*/true);
}

using LeftOut = llvm::ArrayRef<llvm::StringRef>;

/// Adds a JSON value; members of objects go in sorted, those named in `leftOut` not at all.
static void addJson(FieldHasher &hasher, const llvm::json::Value &value, LeftOut leftOut) {
  hasher.add(uint64_t(value.kind()));
  if (const llvm::json::Array *array = value.getAsArray()) {
    hasher.add(array->size());
    for (const llvm::json::Value &element : *array)
      addJson(hasher, element, leftOut);
    return;
  }
  const llvm::json::Object *object = value.getAsObject();
  if (!object) {
    hasher.add(llvm::formatv("{0}", value).str());
    return;
  }
  std::vector<llvm::StringRef> names;
  for (const auto &member : *object)
    if (!llvm::is_contained(leftOut, llvm::StringRef(member.first)))
      names.push_back(member.first);
  llvm::sort(names);
  hasher.add(names.size());
  for (llvm::StringRef name : names) {
    hasher.add(name);
    addJson(hasher, *object->get(name), leftOut);
  }
}

/// Adds one function of the buffer without its place in the user's files. Only "@" is looked for
/// below the top: a captured name may well be `file` or `line`.
static void addFunction(FieldHasher &hasher, const llvm::json::Object &function) {
  std::vector<llvm::StringRef> names;
  for (const auto &member : function)
    if (llvm::StringRef name = member.first; name != "file" && name != "line" && name != "source")
      names.push_back(name);
  llvm::sort(names);
  hasher.add(names.size());
  for (llvm::StringRef name : names) {
    hasher.add(name);
    addJson(hasher, *function.get(name), {"@"});
  }
}

static bool namesLines(llvm::StringRef json) {
  return json.contains("\"device_assert\"") || json.contains("\"Assert\"");
}

std::string api::digestSource(const std::string &json) {
  FieldHasher hasher;
  llvm::Expected<llvm::json::Value> buffer = llvm::json::parse(json);
  const llvm::json::Object *root = buffer ? buffer->getAsObject() : nullptr;
  const llvm::json::Object *functions = root ? root->getObject("functions") : nullptr;
  if (!buffer)
    llvm::consumeError(buffer.takeError());
  if (!functions || namesLines(json)) {
    hasher.add("verbatim");
    hasher.add(json);
    return hasher.finish();
  }
  hasher.add("canonical");
  llvm::json::Object rest = *root;
  rest.erase("functions");
  addJson(hasher, std::move(rest), {});
  std::vector<llvm::StringRef> ids;
  for (const auto &function : *functions)
    ids.push_back(function.first);
  llvm::sort(ids);
  for (llvm::StringRef id : ids) {
    hasher.add(id);
    if (const llvm::json::Object *function = functions->getObject(id))
      addFunction(hasher, *function);
  }
  return hasher.finish();
}

static void addArgument(FieldHasher &hasher, const ArgumentSpec &argument) {
  hasher.add(uint64_t(argument.kind));
  hasher.add(argument.name);
  hasher.add(argument.type);
  hasher.add(argument.constexprJson);
  hasher.add(uint64_t(argument.divisibility));
  hasher.add(uint64_t(argument.equals.has_value()));
  hasher.add(uint64_t(argument.equals.value_or(0)));
  for (const ArgumentFact &fact : kArgumentFacts)
    hasher.add(uint64_t(argument.*fact.value));
}

std::string api::makeKey(const std::string &sourceDigest, const Specialization &specialization,
                         const std::string &target, const std::string &buildId) {
  FieldHasher hasher;
  hasher.add(kKeyFormat);
  hasher.add(buildId);
  hasher.add(target);
  hasher.add(sourceDigest);
  const CompileOptions &options = specialization.options;
  hasher.add(uint64_t(options.numWarps));
  hasher.add(uint64_t(options.numStages));
  hasher.add(uint64_t(options.debug));
  hasher.add(options.extra);
  hasher.add(specialization.arguments.size());
  for (const ArgumentSpec &argument : specialization.arguments)
    addArgument(hasher, argument);
  return hasher.finish();
}
