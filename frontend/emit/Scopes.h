// Names of one function activation, and what a piece of syntax may do to them.
#ifndef FRONTEND_SCOPES_H
#define FRONTEND_SCOPES_H
#include "frontend/buffer/Ast.h"
#include "frontend/values/PyValue.h"
#include "mlir/IR/Location.h"
#include <map>
#include <memory>
#include <set>

namespace tw {

struct Binding {
  PyValue value;
  SourceSpan where;
  bool isConstexpr = false; // declared so: never becomes a run-time value
};
using Names = std::map<std::string, Binding>;

/// Jumps are ordinary variables under names that Python cannot spell, so that the rules which join
/// names after branches and carry them through loops hold for jumps too. Whenever a statement is
/// emitted, all flags are the compile-time False.
inline constexpr llvm::StringLiteral kJumped = ".jumped";     // the rest of this block is left out
inline constexpr llvm::StringLiteral kBroke = ".broke";       // the innermost loop ends
inline constexpr llvm::StringLiteral kReturned = ".returned"; // the function ends
inline constexpr llvm::StringLiteral kResult = ".result";     // what it returns
inline bool isHidden(llvm::StringRef name) { return name.starts_with("."); }

/// One activation: of the kernel or of an inlined function.
struct Frame {
  const FunctionSource *source = nullptr;
  const Node *function = nullptr;
  std::string name;
  Names names;
  std::shared_ptr<Frame> enclosing; // of a nested function
  std::set<std::string> locals;     // of a nested function: names that hide those around it
  const Node *callNode = nullptr;   // in the caller; null for the kernel
  const FunctionSource *callSource = nullptr;
  mlir::LocationAttr callSite;
  std::set<std::string> declaredConstexprs; // by `name: tw.constexpr` without a value
  int loopDepth = 0;
  std::string constructed; // in a constructor: the name of the object that is made

  void bind(llvm::StringRef name, PyValue value, const Node &site, bool isConstexpr = false);
  PyValue flag(llvm::StringRef name) const;
  void setFlag(llvm::StringRef name, PyValue value);
  void clearJumps();
  /// Behind a loop: what a `break` of it means is over, what a `return` in it means is not.
  void leaveLoop();
};

SourceSpan spanOf(const Node &node, const FunctionSource &source);

/// Names that executing the statements may bind.
std::set<std::string> assignedNames(llvm::ArrayRef<const Node *> body);
/// Names that an assignment to the target binds.
std::set<std::string> targetNames(const Node &target);
/// True when executing the statements always ends in a return, break or continue.
bool alwaysJumps(llvm::ArrayRef<const Node *> body);
/// True when the statements may break out of the loop whose body they are.
bool mayBreak(llvm::ArrayRef<const Node *> body);
/// The dotted text of a name or an attribute chain of names; empty for anything else.
std::string dottedName(const Node &node);
/// The candidate nearest to a misspelt name; empty when none is near.
std::string nearestName(llvm::StringRef name, llvm::ArrayRef<std::string> candidates);

} // namespace tw
#endif
