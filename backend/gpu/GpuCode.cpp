// The text of a GPU's code, and what its launches need to know, as every GPU's artifact has them.
#include "backend/gpu/GpuCode.h"
#include "ir/simt/Simt.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace tw;

static int64_t integerAttribute(ModuleOp module, StringRef name, int64_t absent) {
  auto attribute = module->getAttrOfType<IntegerAttr>(name);
  return attribute ? attribute.getInt() : absent;
}

/// The named buffers that allocate-shared left on the module.
static std::vector<ArtifactBuffer> sharedBuffersOf(ModuleOp module) {
  std::vector<ArtifactBuffer> buffers;
  auto list = module->getAttrOfType<ArrayAttr>(simt::kSharedBuffers);
  for (Attribute entry : list ? list.getValue() : ArrayRef<Attribute>()) {
    auto fields = dyn_cast<ArrayAttr>(entry);
    if (!fields || fields.size() != 3)
      continue;
    auto name = dyn_cast<StringAttr>(fields[0]);
    auto offset = dyn_cast<IntegerAttr>(fields[1]), bytes = dyn_cast<IntegerAttr>(fields[2]);
    if (name && offset && bytes)
      buffers.push_back({name.str(), uint64_t(offset.getInt()), uint64_t(bytes.getInt())});
  }
  return buffers;
}

bool tw::gpu::emitText(ModuleOp lowered, const LlvmMachine &machine, unsigned warpSize,
                       Artifact &artifact, std::string &error, CodeForm form) {
  EmittedCode code;
  if (!emitLlvm(lowered, machine, form, code, error))
    return false;
  artifact.binary = std::move(code.bytes);
  addTimes(code, artifact);
  int64_t numWarps = integerAttribute(lowered, simt::kNumWarps, 4);
  artifact.resources["num_warps"] = numWarps;
  artifact.resources["threads"] = warpSize * (numWarps + simt::extraWarpsOf(lowered));
  artifact.resources["shared_bytes"] = integerAttribute(lowered, simt::kSharedBytes, 0);
  if (code.numLinkedFunctions > 0)
    artifact.resources["linked_functions"] = int64_t(code.numLinkedFunctions);
  artifact.sharedBuffers = sharedBuffersOf(lowered);
  return true;
}

std::string tw::gpu::symbolOf(StringRef kernelName, ArrayRef<StringRef> taken) {
  std::string symbol;
  for (char character : kernelName)
    symbol += llvm::isAlnum(character) || character == '_'
                  ? std::string(1, character)
                  : "$" + llvm::utohexstr(uint8_t(character), /*LowerCase=*/true, /*Width=*/2);
  return llvm::is_contained(taken, symbol) ? symbol + "$" : symbol;
}

std::string tw::gpu::kernelSymbol(ModuleOp lowered, LLVM::cconv::CConv convention) {
  for (auto function : lowered.getOps<LLVM::LLVMFuncOp>())
    if (function.getCConv() == convention)
      return function.getName().str();
  return "";
}

std::string tw::gpu::printResources(const Artifact &artifact) {
  llvm::json::Object object;
  for (const auto &[name, value] : artifact.resources)
    object[name] = value;
  if (!artifact.assembler.empty())
    object["assembler"] = artifact.assembler;
  llvm::json::Array buffers;
  for (const ArtifactBuffer &buffer : artifact.sharedBuffers)
    buffers.push_back(llvm::json::Object{{"name", llvm::json::fixUTF8(buffer.name)},
                                         {"offset", int64_t(buffer.offset)},
                                         {"bytes", int64_t(buffer.bytes)}});
  object["shared_buffers"] = std::move(buffers);
  return llvm::formatv("{0:2}\n", llvm::json::Value(std::move(object)));
}

int64_t tw::gpu::resourceOf(const Artifact &artifact, StringRef name, int64_t absent) {
  auto found = artifact.resources.find(name.str());
  return found == artifact.resources.end() ? absent : found->second;
}
