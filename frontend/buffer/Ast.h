// The kernel source buffer as C++ data: Python's syntax tree and the captured functions around it.
#ifndef FRONTEND_AST_H
#define FRONTEND_AST_H
#include "frontend/values/Json.h"
#include "frontend/values/OperatorTable.h"
#include "frontend/values/OrReason.h"
#include "frontend/values/Parameter.h"
#include "ir/Diagnostic.h"
#include "llvm/ADT/ArrayRef.h"
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tw {

/// The classes of Python's `ast` module that the frontend looks at; Other is any further class.
enum class NodeKind {
  Missing,
  Other,
  FunctionDef,
  Lambda,
  Return,
  Delete,
  Assign,
  AugAssign,
  AnnAssign,
  NamedExpr,
  For,
  While,
  If,
  Assert,
  With,
  Expr,
  Pass,
  Break,
  Continue,
  BoolOp,
  BinOp,
  UnaryOp,
  IfExp,
  ListComp,
  GeneratorExp,
  Compare,
  Call,
  JoinedStr,
  FormattedValue,
  Constant,
  Attribute,
  Subscript,
  Starred,
  Name,
  List,
  Tuple,
  Slice
};

/// One node. Fields keep the names of the `ast` module; a field that is absent or of another kind
/// than asked for reads as a Missing node, an empty list or an empty text, and a node with an
/// unknown operator is Missing, so a malformed buffer cannot lead outside the tree.
struct Node {
  NodeKind kind = NodeKind::Missing;
  llvm::StringRef className;
  int line = 0, column = 0, endLine = 0, endColumn = 0;
  BinaryOperator binary = BinaryOperator::Add; // of a BinOp or AugAssign
  UnaryOperator unary = UnaryOperator::UAdd;   // of a UnaryOp
  bool isAnd = false;                          // of a BoolOp: `and`, not `or`
  llvm::ArrayRef<Comparison> comparisons;      // of a Compare
  const JsonObject *json = nullptr;
  llvm::ArrayRef<std::pair<llvm::StringRef, const Node *>> children;
  llvm::ArrayRef<std::pair<llvm::StringRef, llvm::ArrayRef<const Node *>>> lists;

  bool is(NodeKind other) const { return kind == other; }
  bool has(llvm::StringRef field) const { return child(field).kind != NodeKind::Missing; }
  const Node &child(llvm::StringRef field) const;
  llvm::ArrayRef<const Node *> list(llvm::StringRef field) const;
  llvm::StringRef text(llvm::StringRef field) const;
};

struct FunctionSource {
  std::string id, name, file, source;
  int line = 1;
  bool isLibrary = false; // of the language's own library, which no user can correct
  const Node *ast = nullptr;
  std::vector<Parameter> params;
  const JsonObject *names = nullptr; // null: none
};

/// A parsed buffer. Owns what its nodes and functions point to, but not the buffer's text.
struct Program {
  JsonDocument document; // with the nodes in its memory
  std::map<std::string, FunctionSource> functions;
  const FunctionSource *entry = nullptr;
  const JsonObject *methods = nullptr; // null: none
};

/// Reads a buffer, which must live as long as the program, or says in what way it is malformed.
OrReason<std::unique_ptr<Program>> parseBuffer(llvm::StringRef buffer);

/// The parameters of a nested function or a lambda, from its `args` node; default values are
/// evaluated by the caller (`defaults` holds the expression or null, one per parameter).
std::vector<Parameter> parametersOf(const Node &function, std::vector<const Node *> &defaults);

/// Calls `visit` for `node` and everything below it, but not inside nested functions and lambdas.
/// `visit` answers false to leave out what is below a node.
void walk(const Node &node, llvm::function_ref<bool(const Node &)> visit);

} // namespace tw
#endif
