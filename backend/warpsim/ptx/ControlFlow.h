// Where diverged lanes of a function meet again.
#ifndef BACKEND_WARPSIM_PTX_CONTROLFLOW_H
#define BACKEND_WARPSIM_PTX_CONTROLFLOW_H
#include "backend/warpsim/Program.h"

namespace tw::warpsim::ptx {

/// Sets Instruction::reconverge of the guarded branches and brx.idx of a function whose targets are
/// resolved: the first instruction of the branch's immediate post-dominator.
void findReconvergence(Program &program, const Function &function);

} // namespace tw::warpsim::ptx
#endif
