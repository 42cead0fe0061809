// Values as text for messages and f-strings, and their form in the kernel source buffer.
#include "frontend/values/ValueText.h"
#include "frontend/values/DescriptorContents.h"
#include "frontend/values/Parts.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include <charconv>
#include <cmath>

using namespace tw;
namespace json = llvm::json;

std::string tw::floatText(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  char buffer[64];
  // Python switches to an exponent below 1e-4 and from 1e16 on.
  double magnitude = std::fabs(value);
  bool isScientific = magnitude != 0 && (magnitude < 1e-4 || magnitude >= 1e16);
  auto format = isScientific ? std::chars_format::scientific : std::chars_format::fixed;
  std::to_chars_result end = std::to_chars(buffer, buffer + sizeof(buffer), value, format);
  std::string text(buffer, end.ptr);
  return isScientific || llvm::StringRef(text).contains('.') ? text : text + ".0";
}

static std::string typeText(const TileType &type) {
  return llvm::formatv(
      "{0}[{1}]", type.element.str(),
      llvm::join(llvm::map_range(type.shape, [](int64_t n) { return std::to_string(n); }), ", "));
}

static std::string typeText(const DescriptorType &type) {
  return (type.isBlockPointer ? "block pointer of " : "tensor descriptor of ") +
         typeText(type.block);
}

std::string tw::typeName(const PyValue &value) {
  struct Namer {
    std::string operator()(const Absent &) { return "nothing"; }
    std::string operator()(const None &) { return "None"; }
    std::string operator()(bool) { return "bool"; }
    std::string operator()(const llvm::APSInt &) { return "int"; }
    std::string operator()(double) { return "float"; }
    std::string operator()(const std::string &) { return "str"; }
    std::string operator()(const Tuple &tuple) {
      return llvm::formatv("a tuple of {0}", tuple->items.size());
    }
    std::string operator()(const Aggregate &aggregate) {
      return aggregate.type->getString("v").value_or("").str();
    }
    std::string operator()(const DType &) { return "dtype"; }
    std::string operator()(const TileType &) { return "tile type"; }
    std::string operator()(const DescriptorType &type) {
      return type.isBlockPointer ? "block pointer type" : "tensor descriptor type";
    }
    std::string operator()(const Descriptor &value) { return typeText(value->type); }
    std::string operator()(const Callable &) { return "function"; }
    std::string operator()(const Opaque &opaque) { return opaque.isModule ? "module" : "object"; }
    std::string operator()(const SliceValue &) { return "slice"; }
    std::string operator()(const RangeValue &) { return "range"; }
    std::string operator()(const TypedValue &value) { return value.str(); }
  };
  return std::visit(Namer(), value.data);
}

static std::string tupleText(const TupleContents &tuple) {
  std::string text = "(";
  for (auto [i, item] : llvm::enumerate(tuple.items)) {
    text += i == 0 ? "" : ", ";
    text += i < tuple.fields.size() ? tuple.fields[i] + "=" : "";
    text += toText(item, /*isRepr=*/true);
  }
  return text + (tuple.items.size() == 1 && tuple.fields.empty() ? ",)" : ")");
}

/// As Python writes a text of ASCII characters; for others see PythonEvaluation.cpp.
static std::string quoted(llvm::StringRef text) {
  char quote = text.contains('\'') && !text.contains('"') ? '"' : '\'';
  std::string result(1, quote);
  for (char c : text) {
    if (c == '\n' || c == '\t' || c == '\r')
      result += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r";
    else if (c == quote || c == '\\')
      result += {'\\', c};
    else
      result += c;
  }
  return result + quote;
}

std::string tw::toText(const PyValue &value, bool isRepr) {
  if (const bool *flag = value.as<bool>())
    return *flag ? "True" : "False";
  if (const llvm::APSInt *integer = value.as<llvm::APSInt>())
    return llvm::toString(*integer, 10);
  if (const double *number = value.as<double>())
    return floatText(*number);
  if (const std::string *text = value.as<std::string>())
    return isRepr ? quoted(*text) : *text;
  if (const TupleContents *parts = partsOf(value))
    return (value.is<Aggregate>() ? typeName(value) : "") + tupleText(*parts);
  if (const DType *dtype = value.as<DType>())
    return dtype->str();
  if (const TileType *type = value.as<TileType>())
    return typeText(*type);
  if (const DescriptorType *type = value.as<DescriptorType>())
    return typeText(*type);
  if (const Callable *callable = value.as<Callable>())
    return callable->name;
  if (const Opaque *opaque = value.as<Opaque>())
    return opaque->text;
  return typeName(value);
}

//===-- The buffer's encoding ----------------------------------------------------------------===//

static std::optional<PyValue> intFromText(llvm::StringRef text) {
  llvm::StringRef digits = text;
  digits.consume_front("-");
  if (digits.empty() || digits.size() > 1200 || !llvm::all_of(digits, llvm::isDigit))
    return std::nullopt;
  llvm::APInt value(unsigned(digits.size()) * 4 + 64, text, 10);
  return PyValue{llvm::APSInt(value.trunc(std::max(64u, value.getSignificantBits())), false)};
}

static std::optional<PyValue> floatFromText(llvm::StringRef text) {
  if (text == "inf" || text == "-inf")
    return PyValue{text[0] == '-' ? -HUGE_VAL : HUGE_VAL};
  if (text == "nan" || text == "-nan")
    return PyValue{std::nan("")};
  llvm::APFloat value(llvm::APFloat::IEEEdouble());
  llvm::Expected<llvm::APFloat::opStatus> status =
      value.convertFromString(text, llvm::APFloat::rmNearestTiesToEven);
  if (!status) {
    llvm::consumeError(status.takeError());
    return std::nullopt;
  }
  return PyValue{value.convertToDouble()};
}

static std::optional<PyValue> tupleFromJson(const JsonObject &object) {
  const JsonArray *array = object.getArray("v");
  if (!array)
    return std::nullopt;
  std::vector<PyValue> items;
  for (const JsonValue &item : *array) {
    const JsonObject *element = item.getAsObject();
    std::optional<PyValue> value = element ? fromJson(*element) : std::nullopt;
    if (!value)
      return std::nullopt;
    items.push_back(std::move(*value));
  }
  std::vector<std::string> fields;
  if (const JsonArray *names = object.getArray("fields"))
    for (const JsonValue &name : *names)
      fields.push_back(name.getAsString().value_or("").str());
  if (!fields.empty() && fields.size() != items.size())
    return std::nullopt;
  return makeTuple(std::move(items), std::move(fields));
}

static std::optional<PyValue> typeFromJson(llvm::StringRef kind, const JsonObject &object) {
  if (kind == "dtype") {
    DType dtype = findDType(object.getString("v").value_or(""));
    // A type of the language that this compiler lacks is an error only where it is used.
    if (!dtype.row)
      return PyValue{Opaque{"dtype " + object.getString("v").value_or("").str(), false, &object}};
    return PyValue{dtype};
  }
  const JsonObject *pointee = object.getObject("v");
  std::optional<PyValue> element = pointee ? fromJson(*pointee) : std::nullopt;
  if (!element || !element->is<DType>() || element->as<DType>()->isPointer)
    return std::nullopt;
  return PyValue{
      DType{element->as<DType>()->row, true, object.getBoolean("const").value_or(false)}};
}

/// An instance of a user's class that Python answered with.
static std::optional<PyValue> aggregateFromJson(const JsonObject &object) {
  const JsonObject *type = object.getObject("type");
  std::optional<PyValue> fields = tupleFromJson(object);
  if (!type || !fields)
    return std::nullopt;
  return PyValue{Aggregate{*fields->as<Tuple>(), type}};
}

static std::optional<PyValue> callableFromJson(llvm::StringRef kind, const JsonObject &object) {
  using Kind = Callable::Kind;
  std::optional<Kind> callableKind = llvm::StringSwitch<std::optional<Kind>>(kind)
                                         .Case("jit", Kind::Jit)
                                         .Case("builtin", Kind::Builtin)
                                         .Case("pybuiltin", Kind::PyBuiltin)
                                         .Case("constexpr_function", Kind::Host)
                                         .Case("aggregate", Kind::Aggregate)
                                         .Default(std::nullopt);
  std::optional<llvm::StringRef> name = object.getString("v");
  if (!callableKind || !name)
    return std::nullopt;
  Callable callable;
  callable.kind = *callableKind;
  callable.name = name->str();
  callable.hint = object.getString("hint").value_or("").str();
  callable.isPlain = object.getBoolean("plain").value_or(false);
  callable.json = &object;
  return PyValue{std::move(callable)};
}

std::optional<PyValue> tw::fromJson(const JsonObject &object) {
  llvm::StringRef kind = object.getString("k").value_or("");
  if (kind == "none")
    return PyValue{None{}};
  if (kind == "bool" && object.getBoolean("v"))
    return PyValue{*object.getBoolean("v")};
  if (kind == "int")
    return intFromText(object.getString("v").value_or(""));
  if (kind == "float")
    return floatFromText(object.getString("v").value_or(""));
  if (kind == "str" && object.getString("v"))
    return PyValue{object.getString("v")->str()};
  if (kind == "tuple")
    return tupleFromJson(object);
  if (kind == "instance")
    return aggregateFromJson(object);
  if (kind == "dtype" || kind == "pointer_type")
    return typeFromJson(kind, object);
  if (kind == "constexpr" && object.getObject("v"))
    return fromJson(*object.getObject("v"));
  if (kind == "module" || kind == "object")
    return PyValue{Opaque{object.getString("v").value_or("").str(), kind == "module", &object}};
  return callableFromJson(kind, object);
}

static std::string hexText(double value) {
  if (!std::isfinite(value))
    return floatText(value);
  llvm::SmallString<40> digits;
  digits.resize(40);
  unsigned size = llvm::APFloat(value).convertToHexString(digits.data(), 0, false,
                                                          llvm::APFloat::rmNearestTiesToEven);
  return digits.substr(0, size).str();
}

std::optional<json::Value> tw::toJson(const PyValue &value) {
  auto make = [](llvm::StringRef kind, json::Value content) {
    return json::Value(json::Object{{"k", kind.str()}, {"v", std::move(content)}});
  };
  if (value.is<None>())
    return json::Value(json::Object{{"k", "none"}});
  if (const bool *flag = value.as<bool>())
    return make("bool", *flag);
  if (value.is<llvm::APSInt>())
    return make("int", toText(value, false));
  if (const double *number = value.as<double>())
    return make("float", hexText(*number));
  if (const std::string *text = value.as<std::string>())
    return make("str", *text);
  if (const DType *dtype = value.as<DType>()) {
    json::Value element = make("dtype", dtype->row->Name);
    if (!dtype->isPointer)
      return element;
    json::Value pointer = make("pointer_type", std::move(element));
    if (dtype->isConst)
      (*pointer.getAsObject())["const"] = true;
    return pointer;
  }
  if (const Callable *callable = value.as<Callable>(); callable && callable->json)
    return json::Value(copyOf(*callable->json));
  if (const Opaque *opaque = value.as<Opaque>(); opaque && opaque->json)
    return json::Value(copyOf(*opaque->json));
  const TupleContents *parts = partsOf(value);
  if (!parts)
    return std::nullopt;
  const Aggregate *aggregate = value.as<Aggregate>();
  json::Array items;
  for (const PyValue &item : parts->items) {
    std::optional<json::Value> element = toJson(item);
    if (!element && aggregate) // Python sees an instance that lacks this field
      element = json::Value(json::Object{{"k", "runtime"}});
    if (!element)
      return std::nullopt;
    items.push_back(std::move(*element));
  }
  json::Object result{{"k", aggregate ? "instance" : "tuple"}, {"v", std::move(items)}};
  if (!parts->fields.empty())
    result["fields"] = json::Array(parts->fields);
  if (aggregate)
    result["type"] = copyOf(*aggregate->type);
  return json::Value(std::move(result));
}
