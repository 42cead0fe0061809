// Functions of scalars that PTX has no instruction for, by name: what intrinsics of LLVM mean.
#ifndef BACKEND_WARPSIM_LLVMIR_NAMEDFUNCTIONS_H
#define BACKEND_WARPSIM_LLVMIR_NAMEDFUNCTIONS_H
#include "backend/warpsim/exec/Execute.h"
#include <string_view>

namespace tw::warpsim {

/// "exp2.f32", "ctlz.64", ...; null where there is none. Results of i1 are predicates.
Handler findNamedFunction(std::string_view name);

/// One row of a table of them.
struct NamedFunction {
  std::string_view name;
  Handler handler;
};
// The tables, one file each.
Handler findNamedFloat(std::string_view name);
Handler findNamedInteger(std::string_view name);

} // namespace tw::warpsim
#endif
