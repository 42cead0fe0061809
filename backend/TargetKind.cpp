// Finds targets and devices by name among the kinds that this build has.
#include "backend/TargetKind.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/StringExtras.h"

using namespace tw;

static std::string fullName(const TargetKind &kind, const std::string &variant) {
  return kind.facts.kind + (variant.empty() ? "" : ":" + variant);
}

static bool hasName(const TargetKind &kind, llvm::StringRef name) {
  return llvm::any_of(kind.variants,
                      [&](const std::string &variant) { return name == fullName(kind, variant); });
}

const TargetKind *tw::findKind(llvm::ArrayRef<TargetKind> kinds, llvm::StringRef name) {
  for (const TargetKind &kind : kinds)
    if (hasName(kind, name))
      return &kind;
  for (const TargetKind &kind : kinds)
    if (kind.countDevices && name.split(':').first == kind.facts.kind)
      return &kind;
  return nullptr;
}

std::vector<std::string> tw::namesOf(llvm::ArrayRef<TargetKind> kinds) {
  std::vector<std::string> names;
  for (const TargetKind &kind : kinds)
    for (const std::string &variant : kind.variants)
      names.push_back(fullName(kind, variant));
  return names;
}

/// The digits of a name as a number: 90 of "sm_90".
static int numberIn(llvm::StringRef name) {
  int number = 0;
  name.drop_until(llvm::isDigit).take_while(llvm::isDigit).getAsInteger(10, number);
  return number;
}

std::string tw::closestName(llvm::StringRef name, llvm::ArrayRef<std::string> known) {
  // Of names that are equally like it, the one with the nearest number: v2 for v1.
  auto distance = [&](llvm::StringRef other) {
    return std::pair(name.edit_distance_insensitive(other),
                     std::abs(numberIn(name) - numberIn(other)));
  };
  auto closer = [&](llvm::StringRef a, llvm::StringRef b) { return distance(a) < distance(b); };
  return *llvm::min_element(known, closer);
}

static RuntimeError unknownName(llvm::ArrayRef<TargetKind> kinds, llvm::StringRef name) {
  auto [first, variant] = name.split(':');
  RuntimeError error{RuntimeError::Kind::Launch, Code::UnknownDevice,
                     ("there is no device `" + name + "`").str(), ""};
  std::vector<std::string> variants;
  for (const TargetKind &kind : kinds)
    if (first == kind.facts.kind)
      llvm::copy_if(kind.variants, std::back_inserter(variants),
                    [](const std::string &other) { return !other.empty(); });
  if (variants.empty()) {
    error.hint = "this build has: " + llvm::join(namesOf(kinds), ", ");
    return error;
  }
  if (!variant.empty())
    error.hint = ("did you mean " + first + ":" + closestName(variant, variants) + "? ").str();
  error.hint +=
      ("there are " + first + ":" + llvm::join(variants, (", " + first + ":").str())).str();
  return error;
}

std::optional<TargetEntry> tw::makeTarget(llvm::ArrayRef<TargetKind> kinds, const std::string &name,
                                          const TargetSettings &settings, RuntimeError &error) {
  if (const TargetKind *kind = findKind(kinds, name))
    return kind->make(llvm::StringRef(name).split(':').second.str(), settings, error);
  error = unknownName(kinds, name);
  return std::nullopt;
}

std::optional<TargetFacts> tw::findFacts(llvm::ArrayRef<TargetKind> kinds,
                                         const std::string &name) {
  const TargetKind *kind = findKind(kinds, name);
  if (!kind)
    return std::nullopt;
  TargetFacts facts = kind->facts;
  std::string variant = llvm::StringRef(name).split(':').second.str();
  if (kind->countDevices)
    llvm::to_integer(variant, facts.index, 10);
  if (kind->addFacts)
    kind->addFacts(variant, facts);
  return facts;
}

namespace {
class CompileOnlyDevice final : public Device {
public:
  CompileOnlyDevice(std::string target, std::string hint)
      : target(std::move(target)), hint(std::move(hint)) {}
  std::string name() const override { return target; }
  std::shared_ptr<LoadedKernel> load(const Artifact &, RuntimeError &) override {
    return std::make_shared<LoadedKernel>();
  }
  std::optional<RuntimeError> launch(LoadedKernel &, const LaunchGrid &,
                                     std::span<const LaunchArgument>) override {
    return RuntimeError{RuntimeError::Kind::Device, Code::TargetIsNoDevice,
                        "`" + target + "` is a target to compile for, not a device", hint};
  }

private:
  std::string target, hint;
};
} // namespace

std::shared_ptr<Device> tw::makeCompileOnlyDevice(const std::string &target,
                                                  const std::string &hint) {
  return std::make_shared<CompileOnlyDevice>(target, hint);
}
