// What a target makes of a kernel: the binary and every fact needed to load and launch it.
#ifndef RUNTIME_ARTIFACT_H
#define RUNTIME_ARTIFACT_H
#include "runtime/TensorMaps.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tw {

/// One run-time parameter of a compiled kernel; constexpr and ==1 parameters are not among them.
struct ArtifactParameter {
  std::string name;
  std::string type;      // "i32", "fp32", ... or "*fp32" for a pointer
  bool isStored = false; // the kernel writes through this pointer
  bool isLoaded = false; // the kernel reads through this pointer; atomics do both
  int sourceIndex = 0;   // position in the Python signature
};

/// A named part of the shared memory of a program, for reports.
struct ArtifactBuffer {
  std::string name;
  uint64_t offset = 0, bytes = 0;
};

struct Artifact {
  std::string target; // "cpu", "reference", ...
  std::string symbol; // name of the entry in the binary
  std::string
      binary; // cpu: relocatable ELF object; reference: Tile IR bytecode; GPUs: assembly text
  std::vector<ArtifactParameter> parameters;
  uint64_t scratchBytes = 0; // private memory that each running program needs, 64-byte aligned
  uint64_t codeBytes = 0;    // machine code, for reports
  std::string assembled;     // GPUs: machine code made of `binary` (CUBIN); empty: at load
  std::string assembler;     // what made `assembled`: "ptxas 13.0.88"
  std::string buildOptions;  // OpenCL: what the driver's compiler is told about `binary`
  std::map<std::string, int64_t> resources; // GPUs: num_warps, shared_bytes, registers, ...
  std::vector<ArtifactBuffer> sharedBuffers;
  std::vector<TensorMapRecipe> tensorMaps; // what the kernel gets behind its parameters
  /// Simulators, and debug builds for the CPU: Tile IR that checks the kernel's promises. The first
  /// that can decide them does; empty: there are none to check.
  std::vector<std::string> promises;
  std::map<std::string, double> milliseconds; // compile time by piece: frontend, passes, llvm, ...
};

/// A self-contained encoding with a format version; `decodeArtifact` rejects anything malformed.
std::string encodeArtifact(const Artifact &artifact);
bool decodeArtifact(const std::string &bytes, Artifact &artifact);

} // namespace tw
#endif
