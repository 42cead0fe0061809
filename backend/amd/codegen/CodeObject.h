// Code objects (HSACO): linking one, and reading what it says of its kernel.
#ifndef BACKEND_AMD_CODEGEN_CODEOBJECT_H
#define BACKEND_AMD_CODEGEN_CODEOBJECT_H
#include <cstdint>
#include <map>
#include <string>

namespace tw::amd {

/// Makes a shared object of a relocatable one. False with the linker's words in `error`.
bool linkCodeObject(const std::string &object, std::string &linked, std::string &error);

/// Adds what the metadata of a code object ("Code Object V5 Metadata" of LLVM's guide) says of a
/// kernel: registers, accumulation_registers, scalar_registers, spilled_registers, spill_bytes,
/// scratch_bytes, argument_bytes, warp_size. False with `error` where there is no such kernel.
bool readCodeObject(const std::string &code, const std::string &symbol,
                    std::map<std::string, int64_t> &resources, std::string &error);

} // namespace tw::amd
#endif
