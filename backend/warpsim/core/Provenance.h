// Which argument an address comes from, so that running off one array into another is noticed.
#ifndef BACKEND_WARPSIM_CORE_PROVENANCE_H
#define BACKEND_WARPSIM_CORE_PROVENANCE_H
#include "backend/warpsim/Simulate.h"

namespace tw::warpsim {

/// For each instruction of the program, the allocation that its address is derived from, or -1
/// where that is unknown or several. Only the kernel's own instructions are looked at.
std::vector<int32_t> findProvenance(const Program &program, const Function &kernel,
                                    const Launch &launch);

} // namespace tw::warpsim
#endif
