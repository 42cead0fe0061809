// Runs the CTAs of a launch on host threads.
#ifndef BACKEND_WARPSIM_CORE_GRID_H
#define BACKEND_WARPSIM_CORE_GRID_H
#include "backend/warpsim/core/Machine.h"

namespace tw::warpsim {

/// Runs all CTAs that the options ask for, and adds up their statistics. CTAs that wait for others
/// are put aside and resumed; when all that are left wait, a deadlock is reported.
Statistics runGrid(LaunchState &launch);

} // namespace tw::warpsim
#endif
