// The hidden arguments of AMD's kernels.
#include "backend/warpsim/ImplicitParameters.h"
#include <cstring>

using namespace tw::warpsim;

void tw::warpsim::addImplicitParameters(const Program &program, Launch &launch) {
  if (!program.isAmdgcn)
    return;
  // LLVM, AMDGPUUsage, "Code Object V5 Metadata": hidden arguments from block counts on.
  constexpr size_t kBytes = 256, kSizesAt = 12;
  launch.parameters.resize(program.implicitParameters + kBytes);
  char *at = launch.parameters.data() + program.implicitParameters;
  for (unsigned axis = 0; axis < 3; ++axis) {
    uint16_t size = uint16_t(launch.block[axis]);
    memcpy(at + axis * 4, &launch.grid[axis], 4);
    memcpy(at + kSizesAt + axis * 2, &size, 2);
  }
}
