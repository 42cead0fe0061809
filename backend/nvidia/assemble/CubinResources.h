// What a kernel uses of a GPU, read from its machine code.
#ifndef BACKEND_NVIDIA_CUBINRESOURCES_H
#define BACKEND_NVIDIA_CUBINRESOURCES_H
#include <cstdint>
#include <map>
#include <string>

namespace tw {

/// Adds "registers", "stack_bytes", "static_shared_bytes" and, as far as the assembler's log tells,
/// "spill_bytes" of the kernel `symbol`; and returns the bytes of its instructions.
uint64_t readCubinResources(const std::string &cubin, const std::string &log,
                            const std::string &symbol, std::map<std::string, int64_t> &resources);

/// Whether an assembler's output is a whole ELF file for this vendor's GPUs: each section lies in
/// it, and one holds instructions. What is not must never be kept.
bool holdsMachineCode(const std::string &cubin);

} // namespace tw
#endif
