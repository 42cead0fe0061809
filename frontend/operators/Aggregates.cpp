// Makes objects of users' classes, and reads their fields, methods and properties.
#include "frontend/operators/Aggregates.h"
#include "frontend/emit/PythonEvaluation.h"
#include "frontend/emit/Walk.h"
#include "frontend/operators/ArgumentBinding.h"
#include "frontend/values/Parts.h"
#include "frontend/values/ValueText.h"
#include "runtime/codes/Codes.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using mlir::FailureOr;
using mlir::LogicalResult;

static std::string classNameOf(const Aggregate &aggregate) {
  return aggregate.type->getString("v").value_or("").str();
}

static std::optional<size_t> indexOfField(const Aggregate &aggregate, llvm::StringRef name) {
  const auto &fields = aggregate.contents->fields;
  auto found = llvm::find(fields, name);
  return found == fields.end() ? std::nullopt : std::optional<size_t>(found - fields.begin());
}

bool tw::isSameClass(const PyValue &a, const PyValue &b) {
  const Aggregate *left = a.as<Aggregate>(), *right = b.as<Aggregate>();
  if (!left || !right)
    return !left && !right;
  return left->type->getString("ref") == right->type->getString("ref");
}

bool tw::isStaticField(const PyValue &value, size_t field) {
  const Aggregate *aggregate = value.as<Aggregate>();
  const JsonArray *names = aggregate ? aggregate->type->getArray("static") : nullptr;
  return names && llvm::any_of(*names, [&](const JsonValue &name) {
           return name.getAsString() == llvm::StringRef(aggregate->contents->fields[field]);
         });
}

//===-- Making objects -----------------------------------------------------------------------===//

PyValue tw::unmade(const JsonObject &type) {
  TupleContents contents;
  if (const JsonArray *names = type.getArray("fields"))
    for (const JsonValue &name : *names) {
      contents.fields.push_back(name.getAsString().value_or("").str());
      contents.items.emplace_back();
    }
  return {Aggregate{std::make_shared<const TupleContents>(std::move(contents)), &type}};
}

/// The object with one field set; an error when the field takes compile-time values only.
static FailureOr<PyValue> withField(Emitter &emitter, const PyValue &object, size_t field,
                                    const PyValue &value, const Node &node) {
  const Aggregate &aggregate = *object.as<Aggregate>();
  if (value.is<Absent>())
    return emitter.rejectAbsent(value, node);
  if (isStaticField(object, field) && !isStatic(value))
    return emitter.error(Code::NotStatic, node,
                         "the field `" + aggregate.contents->fields[field] + "` of " +
                             classNameOf(aggregate) + " must be known at compile time",
                         "declare it as tw.tensor, or pass a constant",
                         {emitter.label(node, "this is " + typeName(value))});
  std::vector<PyValue> items = aggregate.contents->items;
  items[field] = isStaticField(object, field) ? named(value, /*isNamed=*/false) : value;
  return withParts(object, std::move(items));
}

FailureOr<PyValue> tw::checkMade(Emitter &emitter, const PyValue &object, const Node &site) {
  const Aggregate *aggregate = object.as<Aggregate>();
  if (!aggregate)
    return emitter.error(Code::WrongType, site, "the constructor gives its own object up",
                         "assign to the fields of the first parameter, not to its name");
  for (auto [name, item] : llvm::zip(aggregate->contents->fields, aggregate->contents->items))
    if (item.is<Absent>())
      return emitter.error(Code::AggregateField, site,
                           "the constructor of " + classNameOf(*aggregate) + " leaves the field `" +
                               name + "` without a value on some path",
                           "assign to self." + name + " on every path");
  return object;
}

/// The value of a class's attribute as it was captured.
static const JsonObject *memberOf(const Aggregate &aggregate, llvm::StringRef name) {
  const JsonObject *members = aggregate.type->getObject("members");
  return members ? members->getObject(name) : nullptr;
}

static std::optional<PyValue> memberValue(const JsonObject &member) {
  const JsonObject *value = member.getObject("v");
  return value ? fromJson(*value) : std::nullopt;
}

/// The fields of an object's class as parameters that a call may leave out.
static std::vector<Parameter> fieldsAsParameters(const Aggregate &aggregate, Parameter::Kind kind) {
  std::vector<Parameter> params;
  for (const std::string &field : aggregate.contents->fields)
    params.push_back({.name = field, .kind = kind, .hasDefault = true});
  return params;
}

/// The object with the fields replaced that the arguments are for.
static FailureOr<PyValue> withArguments(Emitter &emitter, const PyValue &object,
                                        const Signature &signature, const Arguments &arguments,
                                        const Node &site) {
  FailureOr<BoundArguments> bound = bindArguments(emitter, signature, arguments, site);
  if (failed(bound))
    return failure();
  FailureOr<PyValue> result = object;
  for (auto [i, given] : llvm::enumerate(bound->places)) {
    if (!given)
      continue;
    result = withField(emitter, *result, i, given->value, *given->node);
    if (failed(result))
      return failure();
  }
  return result;
}

FailureOr<PyValue> tw::replaceFields(Emitter &emitter, const PyValue &object,
                                     const Arguments &replacements, const Node &site) {
  const Aggregate &aggregate = *object.as<Aggregate>();
  std::vector<Parameter> fields = fieldsAsParameters(aggregate, Parameter::Kind::KeywordOnly);
  std::string name = classNameOf(aggregate);
  Signature signature{name, fields, llvm::join(aggregate.contents->fields, ", ")};
  return withArguments(emitter, object, signature, replacements, site);
}

FailureOr<PyValue> tw::withFieldsOf(Emitter &emitter, const PyValue &object,
                                    const Arguments &arguments, const Node &site) {
  const Aggregate &aggregate = *object.as<Aggregate>();
  std::vector<Parameter> fields = fieldsAsParameters(aggregate, Parameter::Kind::Positional);
  std::string name = classNameOf(aggregate);
  Signature signature{name, fields, llvm::join(aggregate.contents->fields, ", ")};
  FailureOr<PyValue> made = withArguments(emitter, object, signature, arguments, site);
  if (failed(made))
    return failure();
  for (auto [i, field] : llvm::enumerate(aggregate.contents->fields)) {
    if (!partsOf(*made)->items[i].is<Absent>())
      continue;
    const JsonObject *member = memberOf(aggregate, field);
    std::optional<PyValue> value = member ? memberValue(*member) : std::nullopt;
    if (!value)
      return wrongArguments(emitter, signature, site, "needs a value for `" + field + "`");
    made = withField(emitter, *made, i, *value, site);
    if (failed(made))
      return failure();
  }
  return made;
}

LogicalResult tw::assignField(Emitter &emitter, const Node &target, const PyValue &value) {
  const Node &base = target.child("value");
  llvm::StringRef name = target.text("attr");
  bool isOwn = base.is(NodeKind::Name) && !emitter.frame().constructed.empty() &&
               base.text("id") == emitter.frame().constructed;
  if (!isOwn)
    return emitter.unsupported(
        target, "assignment to an attribute",
        "objects are values: make a new one, or write x = tw.aggregate_replace(x, " + name +
            "=...)");
  Binding &binding = emitter.frame().names[emitter.frame().constructed];
  const Aggregate *object = binding.value.as<Aggregate>();
  if (!object)
    return emitter.error(Code::WrongType, base, "this is no longer the object that is constructed",
                         "do not assign to the name of the first parameter");
  std::optional<size_t> field = indexOfField(*object, name);
  if (!field)
    return emitter.error(Code::AggregateField, target,
                         classNameOf(*object) + " declares no field `" + name + "`",
                         "annotate it in the class: " + name + ": tw.tensor");
  FailureOr<PyValue> next = withField(emitter, binding.value, *field, value, target);
  if (failed(next))
    return failure();
  binding.value = *next;
  return mlir::success();
}

//===-- Fields and methods -------------------------------------------------------------------===//

FailureOr<PyValue> tw::callAggregateMethod(Emitter &emitter, const Callable &method,
                                           Arguments arguments, const Node &site) {
  const PyValue &self = *method.self;
  std::optional<PyValue> function = memberValue(*memberOf(*self.as<Aggregate>(), method.name));
  const Callable *callable = function ? function->as<Callable>() : nullptr;
  // Python runs compile-time methods on an instance that has the fields known at compile time.
  if (!callable || callable->kind == Callable::Kind::Host)
    return evaluateInPython(emitter, site);
  const Node &selfNode = site.child("func").has("value") ? site.child("func").child("value") : site;
  arguments.insert(arguments.begin(), {self, &selfNode, ""});
  return callValue(emitter, *function, std::move(arguments), site);
}

/// A field that is read before the constructor has assigned to it.
static LogicalResult rejectUnset(Emitter &emitter, const Aggregate &aggregate, llvm::StringRef name,
                                 const Node &node) {
  return emitter.error(Code::AggregateField, node,
                       "the field `" + name + "` of " + classNameOf(aggregate) +
                           " has no value yet",
                       "assign to it first, on every path");
}

FailureOr<PyValue> tw::aggregateAttribute(Emitter &emitter, const PyValue &base,
                                          llvm::StringRef name, const Node &node) {
  const Aggregate &aggregate = *base.as<Aggregate>();
  if (std::optional<size_t> field = indexOfField(aggregate, name)) {
    const PyValue &value = aggregate.contents->items[*field];
    return value.is<Absent>() ? FailureOr<PyValue>(rejectUnset(emitter, aggregate, name, node))
                              : FailureOr<PyValue>(value);
  }
  const JsonObject *member = memberOf(aggregate, name);
  std::optional<PyValue> value = member ? memberValue(*member) : std::nullopt;
  llvm::StringRef kind = member ? member->getString("kind").value_or("") : "";
  Callable method;
  method.kind = Callable::Kind::Method;
  method.name = name.str();
  method.self = share(base);
  if (value && kind == "property")
    return callAggregateMethod(emitter, method, {}, node);
  if (value && kind == "method")
    return PyValue{std::move(method)};
  if (value)
    return *value;
  std::vector<std::string> known = aggregate.contents->fields;
  if (const JsonObject *members = aggregate.type->getObject("members"))
    for (const auto &[other, ignored] : *members)
      known.push_back(other.str());
  llvm::sort(known);
  std::string nearest = nearestName(name, known);
  return emitter.error(Code::UnknownAttribute, node,
                       classNameOf(aggregate) + " has no field or method `" + name + "`",
                       nearest.empty() ? "it has " + llvm::join(known, ", ")
                                       : "did you mean `" + nearest + "`?");
}
