// Makes objects of users' classes, and reads their fields, methods and properties.
#include "frontend/emit/Aggregates.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tw;
using llvm::failed;
using llvm::failure;
using llvm::formatv;
using mlir::LogicalResult;

static std::string classNameOf(const Aggregate &aggregate) {
  return aggregate.type->getString("v").value_or("").str();
}

static std::optional<size_t> indexOfField(const Aggregate &aggregate, llvm::StringRef name) {
  const auto &fields = aggregate.contents->fields;
  auto found = llvm::find(fields, name);
  return found == fields.end() ? std::nullopt : std::optional<size_t>(found - fields.begin());
}

bool tw::isSameClass(const Value &a, const Value &b) {
  const Aggregate *left = a.as<Aggregate>(), *right = b.as<Aggregate>();
  if (!left || !right)
    return !left && !right;
  return left->type->getString("ref") == right->type->getString("ref");
}

bool tw::isStaticField(const Value &value, size_t field) {
  const Aggregate *aggregate = value.as<Aggregate>();
  const llvm::json::Array *names = aggregate ? aggregate->type->getArray("static") : nullptr;
  return names && llvm::any_of(*names, [&](const llvm::json::Value &name) {
           return name.getAsString() == llvm::StringRef(aggregate->contents->fields[field]);
         });
}

//===-- Making objects -----------------------------------------------------------------------===//

Value tw::unmade(const llvm::json::Object &type) {
  TupleContents contents;
  if (const llvm::json::Array *names = type.getArray("fields"))
    for (const llvm::json::Value &name : *names) {
      contents.fields.push_back(name.getAsString().value_or("").str());
      contents.items.emplace_back();
    }
  return {Aggregate{std::make_shared<const TupleContents>(std::move(contents)), &type}};
}

/// The object with one field set; an error when the field takes compile-time values only.
static ValueOr withField(Emitter &emitter, const Value &object, size_t field, const Value &value,
                         const Node &node) {
  const Aggregate &aggregate = *object.as<Aggregate>();
  if (value.is<Absent>())
    return emitter.rejectAbsent(value, node);
  if (isStaticField(object, field) && !isStatic(value))
    return emitter.error(Code::NotStatic, node,
                         "the field `" + aggregate.contents->fields[field] + "` of " +
                             classNameOf(aggregate) + " must be known at compile time",
                         "declare it as tw.tensor, or pass a constant",
                         {emitter.label(node, "this is " + typeName(value))});
  std::vector<Value> items = aggregate.contents->items;
  items[field] = isStaticField(object, field) ? named(value, /*isNamed=*/false) : value;
  return withParts(object, std::move(items));
}

ValueOr tw::checkMade(Emitter &emitter, const Value &object, const Node &site) {
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
static const llvm::json::Object *memberOf(const Aggregate &aggregate, llvm::StringRef name) {
  const llvm::json::Object *members = aggregate.type->getObject("members");
  return members ? members->getObject(name) : nullptr;
}

static std::optional<Value> memberValue(const llvm::json::Object &member) {
  const llvm::json::Object *value = member.getObject("v");
  return value ? fromJson(*value) : std::nullopt;
}

static LogicalResult wrongArgument(Emitter &emitter, const Aggregate &aggregate, const Node &node,
                                   const llvm::Twine &what) {
  return emitter.error(Code::WrongArguments, node, "`" + classNameOf(aggregate) + "` " + what,
                       "its fields are " + llvm::join(aggregate.contents->fields, ", "));
}

ValueOr tw::replaceFields(Emitter &emitter, const Value &object, const Arguments &replacements,
                          const Node &site) {
  (void)site;
  Value result = object;
  std::set<std::string> seen;
  for (const Argument &argument : replacements) {
    const Aggregate &aggregate = *result.as<Aggregate>();
    std::optional<size_t> field = indexOfField(aggregate, argument.keyword);
    if (!field)
      return wrongArgument(emitter, aggregate, *argument.node,
                           "has no field `" + argument.keyword + "`");
    if (!seen.insert(argument.keyword).second)
      return wrongArgument(emitter, aggregate, *argument.node,
                           "is given `" + argument.keyword + "` twice");
    ValueOr next = withField(emitter, result, *field, argument.value, *argument.node);
    if (failed(next))
      return failure();
    result = *next;
  }
  return result;
}

ValueOr tw::withFieldsOf(Emitter &emitter, const Value &object, const Arguments &arguments,
                         const Node &site) {
  const std::vector<std::string> &fields = object.as<Aggregate>()->contents->fields;
  Arguments named;
  for (const Argument &argument : arguments) {
    named.push_back(argument);
    if (!argument.keyword.empty())
      continue;
    if (named.size() > fields.size())
      return wrongArgument(emitter, *object.as<Aggregate>(), *argument.node,
                           formatv("has {0} fields, but more values are given", fields.size()));
    named.back().keyword = fields[named.size() - 1];
  }
  ValueOr made = replaceFields(emitter, object, named, site);
  if (failed(made))
    return failure();
  for (size_t i = 0; i < fields.size(); ++i) {
    const Aggregate &aggregate = *made->as<Aggregate>();
    if (!aggregate.contents->items[i].is<Absent>())
      continue;
    const llvm::json::Object *member = memberOf(aggregate, fields[i]);
    std::optional<Value> value = member ? memberValue(*member) : std::nullopt;
    if (!value)
      return wrongArgument(emitter, aggregate, site, "needs a value for `" + fields[i] + "`");
    made = withField(emitter, *made, i, *value, site);
    if (failed(made))
      return failure();
  }
  return made;
}

LogicalResult tw::assignField(Emitter &emitter, const Node &target, const Value &value) {
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
  ValueOr next = withField(emitter, binding.value, *field, value, target);
  if (failed(next))
    return failure();
  binding.value = *next;
  return mlir::success();
}

//===-- Fields and methods -------------------------------------------------------------------===//

ValueOr tw::callAggregateMethod(Emitter &emitter, const Callable &method, Arguments arguments,
                                const Node &site) {
  const Value &self = *method.self;
  std::optional<Value> function = memberValue(*memberOf(*self.as<Aggregate>(), method.name));
  const Callable *callable = function ? function->as<Callable>() : nullptr;
  // Python runs compile-time methods on an instance that has the fields known at compile time.
  if (!callable || callable->kind == Callable::Kind::Host)
    return emitter.evaluateInPython(site);
  const Node &selfNode = site.child("func").has("value") ? site.child("func").child("value") : site;
  arguments.insert(arguments.begin(), {self, &selfNode, ""});
  return emitter.call(*function, std::move(arguments), site);
}

/// A field that is read before the constructor has assigned to it.
static LogicalResult rejectUnset(Emitter &emitter, const Aggregate &aggregate, llvm::StringRef name,
                                 const Node &node) {
  return emitter.error(Code::AggregateField, node,
                       "the field `" + name + "` of " + classNameOf(aggregate) +
                           " has no value yet",
                       "assign to it first, on every path");
}

ValueOr tw::aggregateAttribute(Emitter &emitter, const Value &base, llvm::StringRef name,
                               const Node &node) {
  const Aggregate &aggregate = *base.as<Aggregate>();
  if (std::optional<size_t> field = indexOfField(aggregate, name)) {
    const Value &value = aggregate.contents->items[*field];
    return value.is<Absent>() ? ValueOr(rejectUnset(emitter, aggregate, name, node))
                              : ValueOr(value);
  }
  const llvm::json::Object *member = memberOf(aggregate, name);
  std::optional<Value> value = member ? memberValue(*member) : std::nullopt;
  llvm::StringRef kind = member ? member->getString("kind").value_or("") : "";
  Callable method;
  method.kind = Callable::Kind::Method;
  method.name = name.str();
  method.self = share(base);
  if (value && kind == "property")
    return callAggregateMethod(emitter, method, {}, node);
  if (value && kind == "method")
    return Value{std::move(method)};
  if (value)
    return *value;
  std::vector<std::string> known = aggregate.contents->fields;
  if (const llvm::json::Object *members = aggregate.type->getObject("members"))
    for (const auto &[other, ignored] : *members)
      known.push_back(other.str());
  llvm::sort(known);
  std::string nearest = nearestName(name, known);
  return emitter.error(Code::UnknownAttribute, node,
                       classNameOf(aggregate) + " has no field or method `" + name + "`",
                       nearest.empty() ? "it has " + llvm::join(known, ", ")
                                       : "did you mean `" + nearest + "`?");
}
