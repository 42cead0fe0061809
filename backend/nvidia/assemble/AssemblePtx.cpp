// From PTX to machine code, by an assembler of this machine.
#include "backend/nvidia/assemble/AssemblePtx.h"
#include "backend/codegen/ContainCrash.h"
#include "backend/nvidia/assemble/CubinResources.h"
#include "backend/nvidia/assemble/JitLink.h"
#include "backend/nvidia/assemble/PtxasProgram.h"
#include "llvm/ADT/StringRef.h"

using namespace tw;

bool nvidia::isTooOld(llvm::StringRef log) {
  return log.contains("Unsupported .version") || log.contains("unsupported .version") ||
         log.contains("is not defined for option") || log.contains("Unsupported .target");
}

bool nvidia::isComplaint(llvm::StringRef log) {
  return log.contains("error   :") || log.contains("fatal   :");
}

bool nvidia::assemblePtx(const std::string &ptx, const std::string &arch,
                         llvm::ArrayRef<Assembler> assemblers, AssembledPtx &result,
                         std::string &error) {
  std::string firstFault;
  for (const Assembler &assembler : assemblers) {
    auto *assemble =
        assembler.kind == Assembler::Kind::Ptxas ? assembleWithPtxas : assembleWithJitLink;
    if (assemble(ptx, arch, assembler.path, result, error)) {
      error.clear();
      // Machine code names its assembler from release 13.0 on.
      result.assembler = readAssembler(result.cubin);
      if (result.assembler.empty())
        result.assembler = nameOf(assembler);
      result.assemblerPath = assembler.path;
      return true;
    }
    if (wasInterrupted())
      return false;
    if (isTooOld(error))
      continue;
    if (isComplaint(error))
      return false;
    if (firstFault.empty())
      firstFault = std::move(error);
  }
  error = std::move(firstFault);
  return error.empty();
}
