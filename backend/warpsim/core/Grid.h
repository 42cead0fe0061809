// Runs the CTAs of a launch on host threads.
#ifndef BACKEND_WARPSIM_CORE_GRID_H
#define BACKEND_WARPSIM_CORE_GRID_H
#include "backend/warpsim/core/state/Machine.h"

namespace tw::warpsim {

/// Runs all CTAs that the options ask for, and adds up their statistics. Independent CTAs run on as
/// many host threads as the options say. CTAs that see each other take turns on one, so that the
/// same seed does the same everywhere; when all that are left wait, a deadlock is reported.
Statistics runGrid(LaunchState &launch);

} // namespace tw::warpsim
#endif
