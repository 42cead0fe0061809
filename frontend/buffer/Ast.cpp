// Reads the kernel source buffer into nodes, once, checking every assumption about its form.
#include "frontend/buffer/Ast.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace tw;
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

/// A position of a span; out-of-range numbers become 0, "unknown".
static int position(JsonArray span, size_t index) {
  std::optional<int64_t> value = span[index].getAsInteger();
  return value && *value > 0 && *value < (1 << 30) ? int(*value) : 0;
}

template <typename T> static llvm::ArrayRef<T> keep(llvm::ArrayRef<T> items, Program &program) {
  return items.copy(program.document.memory);
}

/// The operators of a comparison; false when one of them is unknown.
static bool readComparisons(JsonArray names, Node &node, Program &program) {
  llvm::SmallVector<Comparison, 4> comparisons;
  for (const JsonValue &name : names) {
    std::optional<Comparison> op = findOperator<Comparison>(name.getAsString().value_or(""));
    if (!op)
      return false;
    comparisons.push_back(*op);
  }
  node.comparisons = keep<Comparison>(comparisons, program);
  return true;
}

/// Fills in the operator of a name of Python's `ast` module; false when there is none of the name.
template <typename Operator> static bool readOperator(llvm::StringRef name, Operator &op) {
  std::optional<Operator> found = findOperator<Operator>(name);
  op = found.value_or(op);
  return found.has_value();
}

/// The operators of a node of a kind that has some; false when one of them is unknown.
static bool readOperators(Node &node, Program &program) {
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
    if (const JsonArray *names = node.json->getArray("ops"))
      return readComparisons(*names, node, program);
    return true;
  default:
    return true;
  }
}

namespace {
/// The fields of a node while they are read.
struct Fields {
  llvm::SmallVector<std::pair<llvm::StringRef, const Node *>, 4> children;
  llvm::SmallVector<std::pair<llvm::StringRef, llvm::ArrayRef<const Node *>>, 4> lists;

  void giveTo(Node &node, Program &program) const {
    node.children = keep(llvm::ArrayRef(children), program);
    node.lists = keep(llvm::ArrayRef(lists), program);
  }
};
} // namespace

static Node &makeNode(const Node &node, Program &program) {
  return *new (program.document.memory.Allocate<Node>()) Node(node);
}

static const Node *parseNode(const JsonObject &object, Program &program);

static const Node *parseItem(const JsonValue &item, Program &program) {
  const JsonObject *object = item.getAsObject();
  return object && object->get("_") ? parseNode(*object, program) : &kMissing;
}

static void parseField(const JsonField &field, Fields &fields, Program &program) {
  if (const JsonObject *child = field.value.getAsObject()) {
    if (child->get("_"))
      fields.children.emplace_back(field.name, parseNode(*child, program));
    return;
  }
  const JsonArray *array = field.value.getAsArray();
  if (!array || field.name == "@")
    return;
  llvm::SmallVector<const Node *, 8> items;
  for (const JsonValue &item : *array)
    items.push_back(parseItem(item, program));
  fields.lists.emplace_back(field.name, keep<const Node *>(items, program));
}

/// A long chain `a + b + c` or `if .. elif ..` comes as a list of the nodes that are nested in each
/// other, the outermost first, and of what stands at the end: see FORMAT.md.
static const Node *parseChain(const JsonObject &object, Program &program) {
  const JsonArray *links = object.getArray("links"), *end = object.getArray("end");
  llvm::StringRef field = object.getString("inner").value_or("");
  llvm::SmallVector<const Node *> inner;
  for (const JsonValue &item : end ? *end : JsonArray())
    inner.push_back(parseItem(item, program));
  bool isExpression = field == "left";
  if (!links || links->empty() || (isExpression ? inner.size() != 1 : field != "orelse"))
    return &kMissing;
  for (const JsonValue &link : llvm::reverse(*links)) {
    const Node *parsed = parseItem(link, program);
    if (parsed->kind != (isExpression ? NodeKind::BinOp : NodeKind::If))
      return &kMissing;
    Node &outer = makeNode(*parsed, program);
    Fields fields;
    fields.children.assign(parsed->children.begin(), parsed->children.end());
    fields.lists.assign(parsed->lists.begin(), parsed->lists.end());
    if (isExpression)
      fields.children.emplace_back(field, inner.front());
    else
      fields.lists.emplace_back(field, keep<const Node *>(inner, program));
    fields.giveTo(outer, program);
    inner = {&outer};
  }
  return inner.front();
}

static NodeKind kindOf(llvm::StringRef className) {
  const auto *row = llvm::find_if(kKinds, [&](const auto &r) { return r.first == className; });
  return row == std::end(kKinds) ? NodeKind::Other : row->second;
}

static const Node *parseNode(const JsonObject &object, Program &program) {
  llvm::StringRef className = object.getString("_").value_or("");
  if (className == "Chain")
    return parseChain(object, program);
  Node &node = makeNode({}, program);
  node.json = &object;
  node.className = className;
  // Such names are the frontend's own: see Scopes.h.
  if (node.className == "Name" && (node.text("id").empty() || node.text("id").starts_with(".")))
    return &kMissing;
  node.kind = kindOf(className);
  if (!readOperators(node, program))
    return &kMissing;
  if (const JsonArray *span = object.getArray("@"); span && span->size() == 4) {
    node.line = position(*span, 0);
    node.column = position(*span, 1);
    node.endLine = position(*span, 2);
    node.endColumn = position(*span, 3);
  }
  if (node.kind == NodeKind::Constant) // its value is a VALUE, read on demand
    return &node;
  // Sorted, so that nothing downstream depends on the order in which they are written.
  llvm::SmallVector<const JsonField *, 8> sorted;
  for (const JsonField &field : object)
    if (field.value.getAsObject() || field.value.getAsArray())
      sorted.push_back(&field);
  llvm::sort(sorted, [](const auto *a, const auto *b) { return a->name < b->name; });
  Fields fields;
  for (const JsonField *field : sorted)
    parseField(*field, fields, program);
  fields.giveTo(node, program);
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

static std::optional<Parameter> parseParameter(const JsonValue &item) {
  const JsonObject *param = item.getAsObject();
  if (!param || !param->getString("name"))
    return std::nullopt;
  llvm::StringRef annotation = param->getString("annotation").value_or("");
  const JsonObject *defaultValue = param->getObject("default");
  return Parameter{.name = *param->getString("name"),
                   .kind = parameterKind(param->getString("kind").value_or("")),
                   .isConstexpr = param->getBoolean("constexpr").value_or(false),
                   .hasDefault = defaultValue != nullptr,
                   .isConst = annotation == "const" || annotation.starts_with("*k"),
                   .defaultValue = defaultValue};
}

static bool parseFunction(llvm::StringRef id, const JsonValue &value, Program &program) {
  const JsonObject *object = value.getAsObject();
  const JsonObject *ast = object ? object->getObject("ast") : nullptr;
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
  const JsonArray *params = object->getArray("params");
  if (!params ||
      (function.ast->kind != NodeKind::FunctionDef && !function.ast->is(NodeKind::Lambda)))
    return false;
  for (const JsonValue &item : *params) {
    std::optional<Parameter> param = parseParameter(item);
    if (!param)
      return false;
    function.params.push_back(*param);
  }
  program.functions[function.id] = std::move(function);
  return true;
}

OrReason<std::unique_ptr<Program>> tw::parseBuffer(llvm::StringRef buffer) {
  auto program = std::make_unique<Program>();
  OrReason<JsonValue> root = program->document.read(buffer);
  if (!root)
    return root.reason();
  const JsonObject *top = root->getAsObject();
  const JsonObject *functions = top ? top->getObject("functions") : nullptr;
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
