// Which argument of a call is for which parameter.
#ifndef FRONTEND_ARGUMENTBINDING_H
#define FRONTEND_ARGUMENTBINDING_H
#include "frontend/emit/Emitter.h"

namespace tw {

/// A function as its callers see it.
struct Signature {
  llvm::StringRef name;
  llvm::ArrayRef<Parameter> params;
  std::string text; // how messages show the parameters
};

struct BoundArguments {
  std::vector<std::optional<Argument>>
      places;      // one for each parameter; those of "*rest" as a tuple
  Arguments named; // what "**named" takes
};
/// The arguments by parameter, or the report of what is missing, given twice or unknown.
mlir::FailureOr<BoundArguments> bindArguments(Emitter &emitter, const Signature &signature,
                                              const Arguments &arguments, const Node &site);
/// An error that shows the signature. `message` goes on behind the function's name.
mlir::LogicalResult wrongArguments(Emitter &emitter, const Signature &signature, const Node &node,
                                   const llvm::Twine &message);

} // namespace tw
#endif
