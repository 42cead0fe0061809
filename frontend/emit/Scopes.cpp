// The names and flags of an activation, and questions about syntax that need no evaluation.
#include "frontend/emit/Scopes.h"

using namespace tw;

SourceSpan tw::spanOf(const Node &node, const FunctionSource &source) {
  return {source.file, node.line, node.column, node.endLine, node.endColumn};
}

void Frame::bind(llvm::StringRef name, PyValue value, const Node &site, bool isConstexpr) {
  names[name.str()] = {std::move(value), spanOf(site, *source), isConstexpr};
}

PyValue Frame::flag(llvm::StringRef name) const {
  auto found = names.find(name.str());
  return found == names.end() ? PyValue{} : found->second.value;
}

void Frame::setFlag(llvm::StringRef name, PyValue value) {
  names[name.str()] = {std::move(value), {}, false};
}

void Frame::clearJumps() {
  for (llvm::StringRef name : {kJumped, kBroke, kReturned})
    setFlag(name, {false});
  setFlag(kResult, {});
}

void Frame::leaveLoop() {
  PyValue returned = flag(kReturned);
  setFlag(kJumped, returned);
  setFlag(kBroke, loopDepth > 0 ? returned : PyValue{false});
}

static void addTarget(const Node &target, std::set<std::string> &names) {
  if (target.is(NodeKind::Name))
    names.insert(target.text("id").str());
  if (target.is(NodeKind::Starred))
    addTarget(target.child("value"), names);
  for (const Node *item : target.list("elts"))
    addTarget(*item, names);
}

std::set<std::string> tw::targetNames(const Node &target) {
  std::set<std::string> names;
  addTarget(target, names);
  return names;
}

std::set<std::string> tw::assignedNames(llvm::ArrayRef<const Node *> body) {
  std::set<std::string> names;
  auto visit = [&](const Node &node) {
    if (node.is(NodeKind::FunctionDef))
      names.insert(node.text("name").str());
    if (node.is(NodeKind::Assign) || node.is(NodeKind::Delete))
      for (const Node *target : node.list("targets"))
        addTarget(*target, names);
    if (node.is(NodeKind::AugAssign) || node.is(NodeKind::AnnAssign) ||
        node.is(NodeKind::NamedExpr) || node.is(NodeKind::For))
      addTarget(node.child("target"), names);
    // A comprehension's targets are its own.
    return true;
  };
  for (const Node *statement : body)
    walk(*statement, visit);
  return names;
}

bool tw::alwaysJumps(llvm::ArrayRef<const Node *> body) {
  if (body.empty())
    return false;
  const Node &last = *body.back();
  if (last.is(NodeKind::If))
    return alwaysJumps(last.list("body")) && alwaysJumps(last.list("orelse"));
  return last.is(NodeKind::Return) || last.is(NodeKind::Break) || last.is(NodeKind::Continue);
}

bool tw::mayBreak(llvm::ArrayRef<const Node *> body) {
  bool found = false;
  for (const Node *statement : body)
    walk(*statement, [&](const Node &node) {
      bool isLoop = node.is(NodeKind::For) || node.is(NodeKind::While);
      // A break in the `else` of an inner loop ends the loop around it.
      found = found || node.is(NodeKind::Break) || (isLoop && mayBreak(node.list("orelse")));
      return !isLoop;
    });
  return found;
}

std::string tw::dottedName(const Node &node) {
  if (node.is(NodeKind::Name))
    return node.text("id").str();
  if (!node.is(NodeKind::Attribute))
    return "";
  std::string base = dottedName(node.child("value"));
  return base.empty() ? "" : base + "." + node.text("attr").str();
}

std::string tw::nearestName(llvm::StringRef name, llvm::ArrayRef<std::string> candidates) {
  std::string best;
  if (name.size() < 2) // every other letter is as near
    return best;
  unsigned bestDistance = std::max<size_t>(1, name.size() / 3) + 1;
  for (const std::string &candidate : candidates) {
    unsigned distance = name.edit_distance(candidate, /*AllowReplacements=*/true, bestDistance);
    if (distance < bestDistance && !isHidden(candidate)) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}
