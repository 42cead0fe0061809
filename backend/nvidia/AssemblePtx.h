// From PTX to machine code, by whichever assembler this machine has.
#ifndef BACKEND_NVIDIA_ASSEMBLEPTX_H
#define BACKEND_NVIDIA_ASSEMBLEPTX_H
#include <string>
#include <vector>

namespace tw {

/// Where assemblers may be. What is given here is tried first, then the usual places.
struct AssemblerSettings {
  std::vector<std::string> libraryDirectories; // of libnvJitLink
  std::string ptxas;                           // path of the program
};

struct AssembledPtx {
  std::string cubin;     // empty: there is no assembler here, the driver assembles when it loads
  std::string log;       // what the assembler says of each function
  std::string assembler; // "nvJitLink" or "ptxas"
};

/// Assembles PTX for an architecture ("sm_80"). False with `error` when an assembler refuses the
/// text or dies; having none is no failure.
bool assemblePtx(const std::string &ptx, const std::string &arch, const AssemblerSettings &settings,
                 AssembledPtx &result, std::string &error);

} // namespace tw
#endif
