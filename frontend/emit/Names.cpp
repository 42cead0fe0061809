// What names stand for: those of the activation, of functions around it, and captured ones.
#include "frontend/emit/Names.h"
#include "frontend/values/ValueText.h"
#include "runtime/codes/Codes.h"

using namespace tw;
using mlir::FailureOr;

static const Binding *findLocal(const Frame *frame, const std::string &name) {
  for (; frame; frame = frame->enclosing.get()) {
    if (auto found = frame->names.find(name); found != frame->names.end())
      return &found->second;
    if (frame->locals.count(name)) // assigned later, as in Python
      return nullptr;
  }
  return nullptr;
}

static const JsonObject *findCaptured(const Frame &frame, llvm::StringRef name) {
  return frame.source->names ? frame.source->names->getObject(name) : nullptr;
}

static FailureOr<PyValue> readCaptured(Emitter &emitter, const JsonObject &json, const Node &node) {
  std::optional<PyValue> value = fromJson(json);
  if (!value)
    return emitter.error(Code::MalformedBuffer, node, "a captured value is malformed",
                         "report this as a bug of the capture");
  return *value;
}

FailureOr<PyValue> tw::readName(Emitter &emitter, const Node &node) {
  std::string name = node.text("id").str();
  if (const Binding *binding = findLocal(&emitter.frame(), name)) {
    if (const Absent *reason = binding->value.as<Absent>())
      return emitter.reportAbsent(*reason, name, node);
    return binding->value;
  }
  if (const JsonObject *json = findCaptured(emitter.frame(), name))
    return readCaptured(emitter, *json, node);
  std::vector<std::string> known;
  for (const Frame *scope = &emitter.frame(); scope; scope = scope->enclosing.get())
    for (const auto &[candidate, binding] : scope->names)
      known.push_back(candidate);
  if (emitter.frame().source->names)
    for (const auto &[candidate, value] : *emitter.frame().source->names)
      known.push_back(candidate.str());
  llvm::sort(known);
  std::string nearest = nearestName(name, known);
  return emitter.error(Code::UnknownName, node, "name `" + name + "` is not defined",
                       nearest.empty()
                           ? "assign it before this line, or define it outside the kernel"
                           : "did you mean `" + nearest + "`?");
}

std::optional<FailureOr<PyValue>> tw::readChain(Emitter &emitter, const Node &node) {
  std::string chain = dottedName(node);
  llvm::StringRef root = llvm::StringRef(chain).split('.').first;
  // A chain from a captured name was resolved by the capture; local names hide captured ones.
  if (chain.empty() || findLocal(&emitter.frame(), root.str()))
    return std::nullopt;
  const JsonObject *json = findCaptured(emitter.frame(), chain);
  return json ? std::optional(readCaptured(emitter, *json, node)) : std::nullopt;
}
