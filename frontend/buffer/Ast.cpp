// Reads the kernel source buffer into nodes, once, checking every assumption about its form.
#include "frontend/buffer/Ast.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <limits>

using namespace tw;
namespace json = llvm::json;

// Bounds the recursion of the JSON reader and of everything that walks the tree.
static constexpr int kMaxNesting = 800;

static constexpr std::pair<llvm::StringLiteral, NodeKind> kKinds[] = {
    {"FunctionDef", NodeKind::FunctionDef},
    {"Lambda", NodeKind::Lambda},
    {"Return", NodeKind::Return},
    {"Delete", NodeKind::Delete},
    {"Assign", NodeKind::Assign},
    {"AugAssign", NodeKind::AugAssign},
    {"AnnAssign", NodeKind::AnnAssign},
    {"NamedExpr", NodeKind::NamedExpr},
    {"For", NodeKind::For},
    {"While", NodeKind::While},
    {"If", NodeKind::If},
    {"Assert", NodeKind::Assert},
    {"With", NodeKind::With},
    {"Expr", NodeKind::Expr},
    {"Pass", NodeKind::Pass},
    {"Break", NodeKind::Break},
    {"Continue", NodeKind::Continue},
    {"BoolOp", NodeKind::BoolOp},
    {"BinOp", NodeKind::BinOp},
    {"UnaryOp", NodeKind::UnaryOp},
    {"IfExp", NodeKind::IfExp},
    {"ListComp", NodeKind::ListComp},
    {"GeneratorExp", NodeKind::GeneratorExp},
    {"Compare", NodeKind::Compare},
    {"Call", NodeKind::Call},
    {"JoinedStr", NodeKind::JoinedStr},
    {"FormattedValue", NodeKind::FormattedValue},
    {"Constant", NodeKind::Constant},
    {"Attribute", NodeKind::Attribute},
    {"Subscript", NodeKind::Subscript},
    {"Starred", NodeKind::Starred},
    {"Name", NodeKind::Name},
    {"List", NodeKind::List},
    {"Tuple", NodeKind::Tuple},
    {"Slice", NodeKind::Slice},
};

static constinit const Node kMissing{};

const Node &Node::child(llvm::StringRef field) const {
  for (const auto &[name, node] : children)
    if (name == field)
      return *node;
  return kMissing;
}

llvm::ArrayRef<const Node *> Node::list(llvm::StringRef field) const {
  for (const auto &[name, nodes] : lists)
    if (name == field)
      return nodes;
  return {};
}

llvm::StringRef Node::text(llvm::StringRef field) const {
  return json ? json->getString(field).value_or("") : "";
}

static bool isNestedTooDeeply(llvm::StringRef buffer) {
  int depth = 0;
  bool inString = false;
  for (size_t i = 0; i < buffer.size(); ++i) {
    char c = buffer[i];
    if (inString) {
      if (c == '\\')
        ++i;
      inString = c != '"' || buffer[std::min(i, buffer.size() - 1)] != '"';
      continue;
    }
    inString = c == '"';
    depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    if (depth > kMaxNesting)
      return true;
  }
  return false;
}

/// A position of a span; out-of-range numbers become 0, "unknown".
static int position(const json::Array &span, size_t index) {
  std::optional<int64_t> value = span[index].getAsInteger();
  return value && *value > 0 && *value < (1 << 30) ? int(*value) : 0;
}

/// The operators of a comparison; false when one of them is unknown.
static bool readComparisons(const json::Array &names, std::vector<Comparison> &comparisons) {
  for (const json::Value &name : names) {
    std::optional<Comparison> op = findOperator<Comparison>(name.getAsString().value_or(""));
    if (!op)
      return false;
    comparisons.push_back(*op);
  }
  return true;
}

/// Fills in the operator of a name of Python's `ast` module; false when there is none of the name.
template <typename Operator> static bool readOperator(llvm::StringRef name, Operator &op) {
  std::optional<Operator> found = findOperator<Operator>(name);
  op = found.value_or(op);
  return found.has_value();
}

/// The operators of a node of a kind that has some; false when one of them is unknown.
static bool readOperators(Node &node) {
  switch (node.kind) {
  case NodeKind::BinOp:
  case NodeKind::AugAssign:
    return readOperator(node.text("op"), node.binary);
  case NodeKind::UnaryOp:
    return readOperator(node.text("op"), node.unary);
  case NodeKind::BoolOp:
    node.isAnd = node.text("op") == "And";
    return node.isAnd || node.text("op") == "Or";
  case NodeKind::Compare:
    if (const json::Array *names = node.json->getArray("ops"))
      return readComparisons(*names, node.comparisons);
    return true;
  default:
    return true;
  }
}

static const Node *parseNode(const json::Object &object, Program &program);

static void parseField(llvm::StringRef name, const json::Value &value, Node &node,
                       Program &program) {
  if (const json::Object *child = value.getAsObject()) {
    if (child->get("_"))
      node.children.emplace_back(name, parseNode(*child, program));
    return;
  }
  const json::Array *array = value.getAsArray();
  if (!array || name == "@")
    return;
  std::vector<const Node *> items;
  for (const json::Value &item : *array) {
    const json::Object *child = item.getAsObject();
    items.push_back(child && child->get("_") ? parseNode(*child, program) : &kMissing);
  }
  node.lists.emplace_back(name, std::move(items));
}

/// A long chain `a + b + c` or `if .. elif ..` comes as a list of the nodes that are nested in each
/// other, the outermost first, and of what stands at the end: see FORMAT.md.
static const Node *parseChain(const json::Object &object, Program &program) {
  const json::Array *links = object.getArray("links");
  llvm::StringRef field = object.getString("inner").value_or("");
  Node end;
  if (const json::Value *last = object.get("end"))
    parseField(field, *last, end, program);
  std::vector<const Node *> inner = end.list(field).vec();
  bool isExpression = field == "left";
  if (!links || links->empty() || (isExpression ? inner.size() != 1 : field != "orelse"))
    return &kMissing;
  for (const json::Value &link : llvm::reverse(*links)) {
    const json::Object *fields = link.getAsObject();
    const Node *parsed = fields ? parseNode(*fields, program) : &kMissing;
    if (parsed->kind != (isExpression ? NodeKind::BinOp : NodeKind::If))
      return &kMissing;
    Node &outer = program.nodes.emplace_back(*parsed);
    if (isExpression)
      outer.children.emplace_back(field, inner.front());
    else
      outer.lists.emplace_back(field, std::move(inner));
    inner = {&outer};
  }
  return inner.front();
}

static const Node *parseNode(const json::Object &object, Program &program) {
  if (object.getString("_") == "Chain")
    return parseChain(object, program);
  Node &node = program.nodes.emplace_back();
  node.json = &object;
  node.className = object.getString("_").value_or("");
  // Such names are the frontend's own: see Scopes.h.
  if (node.className == "Name" && (node.text("id").empty() || node.text("id").starts_with(".")))
    return &kMissing;
  const auto *row = llvm::find_if(kKinds, [&](const auto &r) { return r.first == node.className; });
  node.kind = row == std::end(kKinds) ? NodeKind::Other : row->second;
  if (!readOperators(node))
    return &kMissing;
  if (const json::Array *span = object.getArray("@"); span && span->size() == 4) {
    node.line = position(*span, 0);
    node.column = position(*span, 1);
    node.endLine = position(*span, 2);
    node.endColumn = position(*span, 3);
  }
  if (node.kind == NodeKind::Constant) // its value is a VALUE, read on demand
    return &node;
  // Sorted, so that nothing downstream depends on the order of a hash table.
  std::vector<const json::Object::value_type *> fields;
  for (const json::Object::value_type &field : object)
    fields.push_back(&field);
  llvm::sort(fields, [](const auto *a, const auto *b) { return a->first < b->first; });
  for (const json::Object::value_type *field : fields)
    parseField(field->first, field->second, node, program);
  return &node;
}

static Parameter::Kind parameterKind(llvm::StringRef kind) {
  return llvm::StringSwitch<Parameter::Kind>(kind)
      .Case("positional_only", Parameter::Kind::PositionalOnly)
      .Case("keyword_only", Parameter::Kind::KeywordOnly)
      .Case("var_positional", Parameter::Kind::VarPositional)
      .Case("var_keyword", Parameter::Kind::VarKeyword)
      .Default(Parameter::Kind::Positional);
}

static bool parseFunction(llvm::StringRef id, const json::Value &value, Program &program) {
  const json::Object *object = value.getAsObject();
  const json::Object *ast = object ? object->getObject("ast") : nullptr;
  if (!ast || !ast->get("_"))
    return false;
  FunctionSource function;
  function.id = id.str();
  function.name = object->getString("name").value_or("").str();
  function.file = object->getString("file").value_or("").str();
  function.source = object->getString("source").value_or("").str();
  function.isLibrary = object->getBoolean("library").value_or(false);
  int64_t line = object->getInteger("line").value_or(1);
  function.line = line > 0 && line < (1 << 30) ? int(line) : 1;
  function.names = object->getObject("names");
  function.ast = parseNode(*ast, program);
  const json::Array *params = object->getArray("params");
  if (!params ||
      (function.ast->kind != NodeKind::FunctionDef && !function.ast->is(NodeKind::Lambda)))
    return false;
  for (const json::Value &item : *params) {
    const json::Object *param = item.getAsObject();
    if (!param || !param->getString("name"))
      return false;
    llvm::StringRef annotation = param->getString("annotation").value_or("");
    const json::Object *defaultValue = param->getObject("default");
    function.params.push_back({.name = *param->getString("name"),
                               .kind = parameterKind(param->getString("kind").value_or("")),
                               .isConstexpr = param->getBoolean("constexpr").value_or(false),
                               .hasDefault = defaultValue != nullptr,
                               .isConst = annotation == "const" || annotation.starts_with("*k"),
                               .defaultValue = defaultValue});
  }
  program.functions[function.id] = std::move(function);
  return true;
}

OrReason<std::unique_ptr<Program>> tw::parseBuffer(llvm::StringRef buffer) {
  if (isNestedTooDeeply(buffer))
    return refuse(llvm::formatv("it is nested more than {0} deep", kMaxNesting));
  llvm::Expected<json::Value> root = json::parse(buffer);
  if (!root)
    return refuse("it is not JSON: " + llvm::toString(root.takeError()));
  auto program = std::make_unique<Program>();
  program->root = std::move(*root);
  const json::Object *top = program->root.getAsObject();
  const json::Object *functions = top ? top->getObject("functions") : nullptr;
  if (!functions || top->getInteger("version") != 1)
    return refuse("it has no functions, or its version is not 1");
  for (const auto &[id, function] : *functions)
    if (!parseFunction(id, function, *program))
      return refuse("function " + id.str() + " has no syntax tree or no parameters");
  auto entry = program->functions.find(top->getString("entry").value_or("").str());
  if (entry == program->functions.end())
    return refuse("its entry is not one of its functions");
  program->entry = &entry->second;
  program->methods = top->getObject("methods");
  return program;
}

std::vector<Parameter> tw::parametersOf(const Node &function, std::vector<const Node *> &defaults) {
  const Node &args = function.child("args");
  std::vector<Parameter> params;
  auto add = [&](const Node &arg, Parameter::Kind kind, const Node *defaultValue) {
    params.push_back({.name = arg.text("arg"), .kind = kind});
    defaults.push_back(defaultValue);
  };
  for (const Node *arg : args.list("posonlyargs"))
    add(*arg, Parameter::Kind::PositionalOnly, nullptr);
  for (const Node *arg : args.list("args"))
    add(*arg, Parameter::Kind::Positional, nullptr);
  llvm::ArrayRef<const Node *> values = args.list("defaults");
  for (size_t i = 0; i < values.size() && i < params.size(); ++i)
    defaults[params.size() - 1 - i] = values[values.size() - 1 - i];
  if (args.has("vararg"))
    add(args.child("vararg"), Parameter::Kind::VarPositional, nullptr);
  llvm::ArrayRef<const Node *> keywordDefaults = args.list("kw_defaults");
  for (auto [i, arg] : llvm::enumerate(args.list("kwonlyargs"))) {
    bool hasDefault = i < keywordDefaults.size() && !keywordDefaults[i]->is(NodeKind::Missing);
    add(*arg, Parameter::Kind::KeywordOnly, hasDefault ? keywordDefaults[i] : nullptr);
  }
  if (args.has("kwarg"))
    add(args.child("kwarg"), Parameter::Kind::VarKeyword, nullptr);
  for (auto [param, expression] : llvm::zip_equal(params, defaults))
    param.hasDefault = expression != nullptr;
  return params;
}

void tw::walk(const Node &node, llvm::function_ref<bool(const Node &)> visit) {
  if (!visit(node) || node.is(NodeKind::FunctionDef) || node.is(NodeKind::Lambda))
    return;
  for (const auto &[name, child] : node.children)
    walk(*child, visit);
  for (const auto &[name, nodes] : node.lists)
    for (const Node *child : nodes)
      walk(*child, visit);
}
