// A kernel's code as the driver has it: built of SPIR-V, or read from what was built before.
#include "backend/spirv/device/OpenClProgram.h"
#include "backend/gpu/GpuCode.h"
#include "backend/gpu/device/LaunchChecks.h"
#include "backend/spirv/device/SpirvNeeds.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/StringRef.h"

using namespace tw;
using namespace tw::spirv;

/// The driver's words on a program; no more than a screenful.
static std::string logOf(const OpenClContext &context, ClHandle program) {
  constexpr size_t maxBytes = 4000;
  const ClFactOn &call = context.call().buildFact;
  size_t bytes = 0;
  ClHandle device = context.entry().id;
  if (call(program, device, fact::kBuildLog, 0, nullptr, &bytes) != gpu::kSuccess)
    return "";
  std::string log(bytes, '\0');
  if (call(program, device, fact::kBuildLog, bytes, log.data(), nullptr) != gpu::kSuccess)
    return "";
  return llvm::StringRef(log.c_str()).trim().take_front(maxBytes).str();
}

/// The program of SPIR-V, or of the driver's machine code; null with a result.
static ClHandle create(const OpenClContext &context, const std::string &code, bool isBinary,
                       int &result) {
  const OpenClFunctions &call = context.call();
  if (!isBinary)
    return call.createProgram(context.context(), code.data(), code.size(), &result);
  size_t bytes = code.size();
  auto *start = reinterpret_cast<const unsigned char *>(code.data());
  int resultOfDevice = gpu::kSuccess;
  return call.createProgramOfBinary(context.context(), 1, &context.entry().id, &bytes, &start,
                                    &resultOfDevice, &result);
}

/// The refusals that need no driver.
static std::optional<RuntimeError> check(const OpenClContext &context, const Artifact &artifact) {
  const OpenClEntry &entry = context.entry();
  int64_t warps = std::max<int64_t>(1, gpu::resourceOf(artifact, "num_warps", 1));
  int64_t lanes = gpu::resourceOf(artifact, "threads", 1) / warps;
  if (auto error =
          checkNeeds(entry, context.name(), artifact.symbol, artifact.binary, uint64_t(lanes)))
    return error;
  return gpu::checkShared(artifact, int64_t(entry.localBytes), context.name());
}

/// The program of SPIR-V, or of the driver's machine code, built; null with a reason in `error`.
std::unique_ptr<OpenClProgram> OpenClProgram::buildOf(std::shared_ptr<OpenClContext> context,
                                                      const Artifact &artifact, bool isBinary,
                                                      const std::string &action,
                                                      RuntimeError &error) {
  int result = gpu::kSuccess;
  ClHandle handle =
      create(*context, isBinary ? artifact.assembled : artifact.binary, isBinary, result);
  if (!handle || result != gpu::kSuccess) {
    error = context->failureOf(
        result, isBinary ? "clCreateProgramWithBinary" : "clCreateProgramWithIL", action);
    return nullptr;
  }
  std::unique_ptr<OpenClProgram> program(new OpenClProgram(context, handle));
  const OpenClEntry &entry = context->entry();
  const char *options = artifact.buildOptions.c_str();
  result = context->call().build(handle, 1, &entry.id, options, nullptr, nullptr);
  if (result == gpu::kSuccess)
    return program;
  error = context->failureOf(result, context->call().build.name, action);
  if (std::string log = logOf(*context, handle); !log.empty())
    error.message += "; its log:\n" + log;
  return nullptr;
}

std::unique_ptr<OpenClProgram> OpenClProgram::build(std::shared_ptr<OpenClContext> context,
                                                    const Artifact &artifact, RuntimeError &error) {
  std::string action = "loading kernel " + artifact.symbol;
  std::optional<RuntimeError> refusal = check(*context, artifact);
  if (!refusal)
    refusal = context->enter(action);
  if (refusal) {
    error = std::move(*refusal);
    return nullptr;
  }
  const OpenClEntry &entry = context->entry();
  if (!artifact.assembled.empty() && artifact.assembler == entry.describe()) {
    if (auto program = buildOf(context, artifact, /*isBinary=*/true, action, error))
      return program;
    error.code = Code::DamagedCacheFile;
    error.message = "the driver refuses what it made of kernel " + artifact.symbol +
                    " before, which is built again: " + error.message;
    RuntimeError failure;
    auto program = buildOf(context, artifact, false, action, failure);
    if (!program)
      error = std::move(failure);
    return program;
  }
  return buildOf(context, artifact, /*isBinary=*/false, action, error);
}

OpenClProgram::~OpenClProgram() { context->call().releaseProgram(program); }

std::string OpenClProgram::readBinary() const {
  const OpenClFunctions &call = context->call();
  size_t bytes = 0;
  if (call.programFact(program, fact::kBinarySizes, sizeof(bytes), &bytes, nullptr) !=
      gpu::kSuccess)
    return "";
  std::string binary(bytes, '\0');
  char *start = binary.data();
  if (call.programFact(program, fact::kBinaries, sizeof(start), &start, nullptr) != gpu::kSuccess)
    return "";
  return binary;
}
