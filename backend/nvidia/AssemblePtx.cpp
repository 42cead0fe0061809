// From PTX to machine code, by whichever assembler this machine has.
#include "backend/nvidia/AssemblePtx.h"
#include "backend/nvidia/JitLink.h"
#include "backend/nvidia/PtxasProgram.h"

using namespace tw;

bool tw::assemblePtx(const std::string &ptx, const std::string &arch,
                     const AssemblerSettings &settings, AssembledPtx &result, std::string &error) {
  error.clear();
  return nvidia::assembleWithJitLink(ptx, arch, settings.libraryDirectories, result, error) ||
         (error.empty() && nvidia::assembleWithProgram(ptx, arch, settings.ptxas, result, error)) ||
         error.empty();
}
