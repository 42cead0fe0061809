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

/// Which assemblers `assemblePtx` finds, for cache keys: each one's name with its file's size and
/// time of change, which a new version changes. Opening the library to ask it would take 0.1 s.
std::string identifyAssemblers(const AssemblerSettings &settings);

/// Assembles PTX for an architecture ("sm_80"). False with `error` when an assembler refuses the
/// text or dies; having none is not a failure.
bool assemblePtx(const std::string &ptx, const std::string &arch, const AssemblerSettings &settings,
                 AssembledPtx &result, std::string &error);

namespace nvidia {
/// Whether an assembler's log only says that it is older than the PTX or the GPU.
bool isTooOld(const std::string &log);
} // namespace nvidia

} // namespace tw
#endif
