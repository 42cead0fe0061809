// What launches on AMD's GPUs add to a kernel's own parameters.
#ifndef BACKEND_WARPSIM_IMPLICITPARAMETERS_H
#define BACKEND_WARPSIM_IMPLICITPARAMETERS_H
#include "backend/warpsim/Launch.h"

namespace tw::warpsim {

/// Appends the grid and the block to the launch's parameters. Nothing is added for PTX.
void addImplicitParameters(const Program &program, Launch &launch);

} // namespace tw::warpsim
#endif
