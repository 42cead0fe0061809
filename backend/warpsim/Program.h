// A decoded PTX kernel: what the parser makes and the machine executes.
#ifndef BACKEND_WARPSIM_PROGRAM_H
#define BACKEND_WARPSIM_PROGRAM_H
#include "backend/warpsim/Instruction.h"
#include <map>

namespace tw::warpsim {

/// A place in the user's source, from `.loc`; `inlinedAt` is a location too, or -1.
struct SourceLocation {
  int32_t file = 0, line = 0, column = 0, inlinedAt = -1;
};

struct Parameter {
  std::string name;
  Type type = Type::B32;
  uint32_t offset = 0, bytes = 0, alignment = 1;
  bool isPointer = false; // .ptr, or a .u64/.b64 that the launcher binds to an array
};

/// A `.shared`, `.global`, `.const` or `.local` variable. Shared and local offsets count from the
/// start of the space; global and const ones from the start of Program::globalImage / constImage.
struct Variable {
  std::string name;
  Space space = Space::Shared;
  uint64_t offset = 0, bytes = 0, alignment = 1;
};

/// Registers declared together: `.reg .b32 %r<9>` is {"%r", 9 registers, numbered}.
struct RegisterNames {
  std::string name;
  Register first;
  uint32_t count = 1;
  bool isNumbered = false; // the names are name0, name1, ...
  bool isWide = false;     // .b128: two 64-bit registers each
};

/// A function or kernel body. Instructions of all functions are in one vector, so that branch
/// targets and `pc` are plain numbers.
struct Function {
  std::string name;
  bool isKernel = false;
  int32_t begin = 0, end = 0; // instructions [begin, end)
  std::vector<Parameter> parameters;
  // .func with `.reg` parameters: registers that carry arguments and results, in order; a Call's
  // sources and results correspond to them. `.param` parameters need nothing of a Call: see below.
  std::vector<Register> arguments, results;
  std::array<uint32_t, 3> numRegisters = {}; // by RegisterFile
  // Local memory of one lane. Every function has its own fixed range of the local space (there is
  // no recursion), so local addresses are plain constants and a call moves no base: a kernel's
  // localBytes covers all that it may call, and a .func's is the end of its own range. `.param`
  // parameters of a .func and the `.param` variables of a call are in that range too (their
  // accesses are decoded as Space::Local, each argument already at the callee's place). Only
  // kernels have `parameters`. A Call of a host function has the values of its arguments as
  // sources.
  uint32_t localBytes = 0;
  std::array<uint32_t, 3> maxNtid = {}, reqNtid = {}, cluster = {}; // 0: not said
  uint32_t minCtas = 0, maxRegisters = 0;
  std::vector<RegisterNames> registerNames; // for reports
};

/// First addresses of the spaces. Shared memory does not begin at 0, so that code which takes an
/// offset for an address fails; global and const variables have windows of the generic space apart
/// from the host's memory, as shared (0x07), local (0x06) and param (0x05) have by their top byte.
constexpr uint64_t kSharedBase = 1024, kGlobalBase = uint64_t(0x03) << 56,
                   kConstBase = uint64_t(0x04) << 56;

/// An instruction as its text has it, for reports, and what statistics count it as.
struct InstructionText {
  std::string name, text;
};

struct Program {
  std::string version, target; // "8.7", "sm_80"
  std::vector<Function> functions;
  std::vector<Instruction> code;
  std::vector<Variable> variables;
  std::string globalImage, constImage; // initial bytes of .global and .const variables
  /// The addresses that the parser has added to the offset of every variable that an instruction
  /// names: the first ones of the spaces (kSharedBase, ...), or 0. `Variable::offset` itself is
  /// without them.
  uint64_t sharedBase = 0, globalBase = 0, constBase = 0;
  uint32_t staticSharedBytes = 0;
  bool hasDynamicShared = false; // `.extern .shared`: begins at staticSharedBytes, aligned to 16
  std::vector<SourceLocation> locations;
  std::map<int32_t, std::string> files;
  const Function *findKernel(const std::string &name) const;
  /// The NN of the target sm_NN; 0 where there is none.
  unsigned arch() const;
  /// The lanes that run in lock step. Waves of 64 are two warps that meet where lanes exchange
  /// values: core/wave/.
  unsigned waveSize = 32;
  /// Lanes of what the simulator executes in lock step: a wave, or half of a large one.
  unsigned lanesPerWarp() const { return waveSize < 32 ? waveSize : 32; }
  /// Barriers order nothing by themselves, but what the fences around them cover; instructions are
  /// told by `texts`, and the bytes of the parameters go on with the launch's own facts.
  bool isAmdgcn = false;
  std::vector<InstructionText> texts;
  uint32_t implicitParameters = 0; // where those facts begin
  std::vector<int32_t> textOf;     // by instruction: into `texts`
};

} // namespace tw::warpsim
#endif
