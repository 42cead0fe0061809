// What the disk cache keeps of a kernel: its artifact, and words about it for people.
#include "backend/api/StoredKernel.h"
#include "backend/api/CacheKey.h"
#include "runtime/DiskCache.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace tw;
using namespace tw::api;

/// The argument as signatures spell it: "x: *fp32:16", "BLOCK={...}".
static std::string describeArgument(const ArgumentSpec &spec) {
  if (spec.kind == ArgumentSpec::Kind::Constexpr) {
    llvm::Expected<llvm::json::Value> value = llvm::json::parse(spec.constexprJson);
    std::string text = spec.constexprJson;
    if (!value)
      llvm::consumeError(value.takeError());
    else if (const llvm::json::Object *object = value->getAsObject())
      if (const llvm::json::Value *plain = object->get("v"))
        text =
            plain->getAsString() ? plain->getAsString()->str() : llvm::formatv("{0}", *plain).str();
    return spec.name + "=" + text;
  }
  std::string text = spec.name + ": ";
  text += (spec.kind == ArgumentSpec::Kind::Pointer ? "*" : "") + spec.type;
  if (spec.isOne)
    return text + ":1";
  if (spec.equals)
    return text + ":=" +
           (spec.type[0] == 'u' ? std::to_string(uint64_t(*spec.equals))
                                : std::to_string(*spec.equals));
  if (spec.divisibility > 1)
    text += ":" + std::to_string(spec.divisibility);
  for (const ArgumentFact &fact : kArgumentFacts)
    if (fact.kind == spec.kind && spec.*fact.value != fact.usual)
      text += std::string(":") + fact.text;
  return text;
}

std::string api::encodeStored(const Artifact &artifact, const Specialization &specialization,
                              const std::string &target, const std::string &build) {
  std::string arguments;
  for (const ArgumentSpec &spec : specialization.arguments)
    arguments += (arguments.empty() ? "" : ", ") + describeArgument(spec);
  std::string kernel = artifact.symbol.substr(0, artifact.symbol.find('.'));
  const CompileOptions &options = specialization.options;
  llvm::json::Object about{{"kernel", kernel},
                           {"target", target},
                           {"arguments", arguments},
                           {"num_warps", options.numWarps},
                           {"num_stages", options.numStages},
                           {"debug", options.debug},
                           {"options", options.extra},
                           {"build", build}};
  return llvm::formatv("{0}\n", llvm::json::Value(std::move(about))).str() +
         encodeArtifact(artifact);
}

bool api::decodeStored(std::string_view content, Artifact &artifact) {
  size_t line = content.find('\n');
  return line != std::string_view::npos &&
         decodeArtifact(std::string(content.substr(line + 1)), artifact);
}

std::optional<std::string> api::describeStored(const std::string &key, const std::string &file) {
  std::optional<std::string> content = DiskCache::contentOf(hashBytes, key, file);
  Artifact artifact;
  if (!content || !decodeStored(*content, artifact))
    return std::nullopt;
  return content->substr(0, content->find('\n'));
}
