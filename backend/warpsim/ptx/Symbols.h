// What the names of a PTX text stand for while it is parsed.
#ifndef BACKEND_WARPSIM_PTX_SYMBOLS_H
#define BACKEND_WARPSIM_PTX_SYMBOLS_H
#include "backend/warpsim/Program.h"
#include "backend/warpsim/ptx/Lexer.h"
#include <unordered_map>

namespace tw::warpsim::ptx {

/// `.reg .b32 %r<9>` or `.reg .b32 %a`.
struct DeclaredRegisters {
  Type type = Type::B32;
  Register first;
  uint32_t count = 1;
};
struct TypedRegister {
  Register reg;
  Type type = Type::None;
};

/// A formal parameter or result: a `.param` one has a place (in the parameter space of a kernel, in
/// the frame of a .func), a `.reg` one a register.
struct Formal {
  Parameter parameter;
  std::string_view name;
  bool isRegister = false;
};

struct FunctionSymbol {
  std::string_view name;
  bool isKernel = false, isExtern = false;
  std::vector<Formal> results, arguments;
  uint32_t frameBytes = 0;
  int32_t programIndex = -1; // -1: not defined (yet)
  int line = 0;
};

/// A `.param` variable of a call. Its place is known when the call is: the callee's frame.
struct CallParameter {
  Parameter parameter;
  std::vector<int32_t> uses; // instructions before the call
  bool isBound = false;
  int line = 0;
  int32_t frame = -1; // FunctionSymbol whose frame holds it
  int64_t slot = 0;
  uint32_t numCallsBefore = 0; // at the first use, then at the call
};

/// An address that is known at the end only: `frame` >= 0 the frame of that function, -1 the
/// beginning of dynamic shared memory.
struct Fixup {
  int32_t instruction = 0, source = -1; // source -1: the address
  int32_t frame = -1;
  int64_t offset = 0;
};

struct CallEdge {
  int32_t instruction = 0, caller = 0, callee = 0; // function symbols
  int line = 0;
};

struct LabelUse {
  int32_t instruction = 0, slot = -1; // slot of `targets`, -1: `target`
  std::string_view name;
  int line = 0;
};

/// A `{ }` of a function body.
struct BodyScope {
  std::unordered_map<std::string_view, DeclaredRegisters> registers, numberedRegisters;
  std::unordered_map<std::string_view, uint32_t> variables; // into Program::variables
  std::unordered_map<std::string_view, CallParameter> callParameters;
  std::unordered_map<std::string_view, int32_t> labels;
  std::unordered_map<std::string_view, std::vector<Token>> branchTargets;
  std::vector<LabelUse> unresolved;
};

} // namespace tw::warpsim::ptx
#endif
