// Finds the part of a kernel that decides whether its promises hold.
#ifndef BACKEND_PROMISES_H
#define BACKEND_PROMISES_H
#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace tw {

/// Returns, as bytecode, functions `symbol` that do nothing but check what a kernel in Tile IR
/// promises by tw.assume and tw.multiple_of: they have the kernel's parameters, and those of its
/// operations that the promises depend on. Empty where there is no promise, or where the compiler
/// can prove each. Where promises depend on memory, the first function writes poison for values
/// that matter to nothing but later reads: unless it reads those, it decides the promises. The
/// second one always does.
std::vector<std::string> promisesOf(mlir::ModuleOp module, const std::string &symbol);

} // namespace tw
#endif
