// Which argument an address comes from, so that running off one array into another is noticed.
#ifndef BACKEND_WARPSIM_CORE_PROVENANCE_H
#define BACKEND_WARPSIM_CORE_PROVENANCE_H
#include "backend/warpsim/Launch.h"

namespace tw::warpsim {

/// For each instruction of the program, the allocation that its address is derived from, or -1
/// where that is unknown or several. Only the kernel's own instructions are looked at.
std::vector<int32_t> findProvenance(const Program &program, const Function &kernel,
                                    const Launch &launch);

/// For each instruction of the kernel, the `.shared` variable (of Program::variables) that its
/// address is derived from, or -1. What is loaded from memory counts as an offset.
std::vector<int32_t> findSharedProvenance(const Program &program, const Function &kernel);

} // namespace tw::warpsim
#endif
