// Launches a decoded kernel on the simulated GPU.
#ifndef BACKEND_WARPSIM_DEVICE_SIMULATE_H
#define BACKEND_WARPSIM_DEVICE_SIMULATE_H
#include "backend/warpsim/Launch.h"

namespace tw::warpsim {

/// Says why the machine that the program is for cannot run a launch; empty where it can.
std::string findObstacle(const Program &program, const Launch &launch);

/// Runs a launch. One with an obstacle is reported as unsupported, and nothing runs.
SimulationReport simulate(const Program &program, const Launch &launch);

} // namespace tw::warpsim
#endif
