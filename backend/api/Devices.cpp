// The public C++ interface: which targets and devices there are, and what they have beside kernels.
#include "backend/api/Devices.h"
#include "backend/api/Service.h"
#include "backend/compile/Stages.h"
#include "runtime/Forks.h"

using namespace tw;
using namespace tw::api;

std::vector<std::string> api::targets() { return namesOf(service().kinds); }

std::optional<TargetFacts> api::targetFacts(const std::string &name) {
  return findFacts(service().kinds, name);
}

static api::StageForm formOf(CodeForm form) {
  if (form == CodeForm::Linked)
    return api::StageForm::Assembled;
  return form == CodeForm::Object ? api::StageForm::Binary : api::StageForm::Text;
}

std::vector<api::StageName> api::stagesOf(const std::string &target) {
  ForkShield shield;
  RuntimeError unused;
  const TargetEntry *entry = service().findTarget(target, unused);
  std::vector<StageName> stages;
  if (!entry)
    return stages;
  for (llvm::StringRef name : entry->target->irStages())
    stages.push_back({name.str()});
  for (const CodeStage &stage : entry->target->codeStages())
    stages.push_back({stage.name.str(), formOf(stage.form)});
  return stages;
}

std::vector<api::PassName> api::passesOf(const std::string &target, const CompileOptions &options) {
  ForkShield shield;
  RuntimeError unused;
  const TargetEntry *entry = service().findTarget(target, unused);
  std::vector<PassName> passes;
  if (entry)
    for (const tw::PassName &pass : tw::passesOf(*entry->target, options))
      passes.push_back({pass.name, pass.isOptional});
  return passes;
}

std::optional<RuntimeError> api::synchronize(const std::string &device) {
  RuntimeError error;
  const TargetEntry *entry = service().findTarget(device, error);
  return entry ? entry->device->synchronize() : error;
}

std::shared_ptr<DeviceMemory> api::allocate(const std::string &device, uint64_t bytes,
                                            RuntimeError &error) {
  const TargetEntry *entry = service().findTarget(device, error);
  return entry ? entry->device->allocate(bytes, error) : nullptr;
}

void api::setTargetSetting(const std::string &name, std::vector<std::string> values) {
  service().changeSetting(name, std::move(values));
}

std::vector<std::string> api::gpus(bool opens) {
  std::vector<std::string> names;
  const TargetSettings settings = service().settings();
  for (const TargetKind &kind : service().kinds) {
    int count = kind.countDevices ? kind.countDevices(settings, opens) : 0;
    for (int index = 0; index < count; ++index)
      names.push_back(kind.facts.kind + ":" + std::to_string(index));
  }
  return names;
}

std::vector<std::string> api::firstGpus() {
  std::vector<std::string> names;
  for (const TargetKind &kind : service().kinds)
    if (kind.countDevices)
      names.push_back(kind.facts.kind + ":0");
  return names;
}

std::optional<RuntimeError> api::checkTarget(const std::string &target) {
  ForkShield shield;
  RuntimeError error;
  if (service().findTarget(target, error))
    return std::nullopt;
  return error;
}

std::string api::targetOfDevice(const std::string &device, RuntimeError &error) {
  ForkShield shield;
  const TargetEntry *entry = service().findTarget(device, error);
  return entry ? entry->target->name() : "";
}

std::string api::assemblerOf(const std::string &target) {
  ForkShield shield;
  RuntimeError unused;
  const TargetEntry *entry = service().findTarget(target, unused);
  return entry ? entry->target->describeAssembler() : "";
}

static SimulatedDevice *findSimulated(const std::string &device) {
  RuntimeError unused;
  const TargetEntry *entry = service().findTarget(device, unused);
  return entry ? entry->device->asSimulated() : nullptr;
}

std::string api::simulationReport(const std::string &device) {
  SimulatedDevice *simulated = findSimulated(device);
  return simulated ? simulated->lastReport() : "";
}

uint64_t api::kernelNanoseconds() { return service().kernelNanoseconds(); }

bool api::setNumThreads(int count) { return service().host().setNumThreads(count); }

int api::numThreads() { return service().host().numThreads(); }
