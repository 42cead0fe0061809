// A kernel's parameters as its source buffer has them, and arguments bound to them.
#include "backend/api/library/KernelSignature.h"
#include "ir/tile/Tables.h"
#include "runtime/codes/Codes.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <array>
#include <bit>
#include <cmath>

using namespace tw;
using namespace tw::library;
using tilewright::Argument;
using tilewright::Type;

/// The names of `Type` in specializations, in its order.
static constexpr const char *kTypeNames[] = {
    "i1",   "i8",   "i16",  "i32",  "i64",     "u8",    "u16",     "u32",     "u64",
    "fp16", "bf16", "fp32", "fp64", "fp8e4nv", "fp8e5", "fp8e4b8", "fp8e5b16"};

using Row = tile::ElementTypeRow;

static_assert(std::size(kTypeNames) == size_t(Type::Float8E5M2FNUZ) + 1);

static const Row &rowOf(Type type) {
  static const auto rows = [] {
    std::array<const Row *, std::size(kTypeNames)> found;
    llvm::transform(kTypeNames, found.begin(), tile::findElementType);
    assert(llvm::all_of(found, [](const Row *row) { return row; }) && "an unknown name");
    return found;
  }();
  return *rows[size_t(type)];
}

std::optional<KernelSignature> library::readSignature(const std::string &buffer,
                                                      std::string &error) {
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(buffer);
  if (!parsed) {
    error = llvm::toString(parsed.takeError());
    return std::nullopt;
  }
  const llvm::json::Object *top = parsed->getAsObject();
  const llvm::json::Object *functions = top ? top->getObject("functions") : nullptr;
  std::optional<llvm::StringRef> entry = top ? top->getString("entry") : std::nullopt;
  const llvm::json::Object *kernel = functions && entry ? functions->getObject(*entry) : nullptr;
  const llvm::json::Array *parameters = kernel ? kernel->getArray("params") : nullptr;
  if (!parameters) {
    error = "there is no kernel in it";
    return std::nullopt;
  }
  KernelSignature signature;
  signature.name = kernel->getString("name").value_or("").str();
  for (const llvm::json::Value &value : *parameters) {
    const llvm::json::Object *object = value.getAsObject();
    if (!object) {
      error = "a parameter is not an object";
      return std::nullopt;
    }
    SignatureParameter &parameter = signature.parameters.emplace_back();
    parameter.name = object->getString("name").value_or("").str();
    parameter.isConstexpr = object->getBoolean("constexpr").value_or(false);
    std::string annotation = object->getString("annotation").value_or("").str();
    parameter.type = tile::findElementType(annotation) ? annotation : "";
    if (const llvm::json::Value *standard = object->get("default"))
      parameter.defaultJson = llvm::formatv("{0}", *standard).str();
  }
  return signature;
}

/// A constant in the value encoding of frontend/buffer/FORMAT.md.
static std::string encodeConstant(const Argument &argument) {
  auto encode = [](llvm::StringRef kind, llvm::json::Value value) {
    return llvm::formatv(
               "{0}", llvm::json::Value(llvm::json::Object{{"k", kind}, {"v", std::move(value)}}))
        .str();
  };
  if (argument.kind == Argument::Kind::Text)
    return encode("str", argument.text);
  const Row &type = rowOf(argument.type);
  if (type.is("bool"))
    return encode("bool", argument.bits != 0);
  if (type.is("float")) {
    if (!std::isfinite(argument.number))
      return encode("float", std::isnan(argument.number) ? "nan"
                             : argument.number > 0       ? "inf"
                                                         : "-inf");
    char text[64];
    snprintf(text, sizeof(text), "%a", argument.number);
    return encode("float", text);
  }
  return encode("int", type.is("uint") ? std::to_string(argument.bits)
                                       : std::to_string(int64_t(argument.bits)));
}

static RuntimeError refuse(Code code, const KernelSignature &signature,
                           const SignatureParameter &parameter, const std::string &why) {
  return {RuntimeError::Kind::Launch, code,
          "argument `" + parameter.name + "` of " + signature.name + ": " + why, ""};
}

/// A float's bits as a type of at most 16 bits has them are made by the compiler's own rounding.
static uint64_t floatBits(double number, llvm::StringRef type) {
  if (type == "fp64")
    return std::bit_cast<uint64_t>(number);
  if (type == "fp32")
    return std::bit_cast<uint32_t>(float(number));
  llvm::APFloat value(number);
  bool losesInfo = false;
  value.convert(type == "fp16" ? llvm::APFloat::IEEEhalf() : llvm::APFloat::BFloat(),
                llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return value.bitcastToAPInt().getZExtValue();
}

/// Returns true if an integer of one type fits another.
static bool fits(const Argument &argument, const Row &type) {
  bool isNegative = rowOf(argument.type).is("sint") && int64_t(argument.bits) < 0;
  unsigned bits = type.Bits;
  if (type.is("uint"))
    return !isNegative && (bits == 64 || argument.bits >> bits == 0);
  if (isNegative)
    return int64_t(argument.bits) >= -(int64_t(1) << (bits - 1));
  return argument.bits >> (bits - 1) == 0;
}

static void setType(BoundArguments &bound, size_t i, const Row &type) {
  bound.types[i] = unsigned(&type - tile::elementTypes().data());
  bound.specs[i].type = type.ShortName;
}

/// A number as its own type or as the one that the parameter is annotated with.
static std::optional<RuntimeError> bindNumber(const KernelSignature &signature,
                                              const SignatureParameter &parameter,
                                              BoundArguments &bound, size_t i) {
  const Argument &argument = *bound.given[i];
  const Row &given = rowOf(argument.type);
  // As from Python: a float without an annotation is a float32.
  const Row &type = !parameter.type.empty() ? *tile::findElementType(parameter.type)
                    : given.is("float")     ? rowOf(Type::Float32)
                                            : given;
  ArgumentSpec &spec = bound.specs[i];
  spec.kind = ArgumentSpec::Kind::Scalar;
  setType(bound, i, type);
  if (type.is("float")) {
    if (type.Bits < 16)
      return refuse(Code::UnpassableElements, signature, parameter,
                    "numbers of type " + spec.type + " cannot be passed");
    double number = given.is("float")  ? argument.number
                    : given.is("uint") ? double(argument.bits)
                                       : double(int64_t(argument.bits));
    bound.launched[i].bits = floatBits(number, spec.type);
    return std::nullopt;
  }
  if (given.is("float"))
    return refuse(Code::NumberRange, signature, parameter, "a float for one of type " + spec.type);
  bound.launched[i].bits = type.is("bool") ? argument.bits != 0 : argument.bits;
  if (type.is("bool"))
    return std::nullopt;
  if (!fits(argument, type))
    return refuse(Code::NumberRange, signature, parameter,
                  "the integer does not fit in " + spec.type);
  spec.assume(integerFacts(argument.bits, type.Bits));
  return std::nullopt;
}

RuntimeError library::refuseNull(const KernelSignature &signature, size_t index) {
  RuntimeError error = refuse(Code::WrongDevice, signature, signature.parameters[index],
                              "it has no memory for a kernel: its address is null");
  error.hint = "pass the address of the array; launch nothing where there is none";
  return error;
}

static std::optional<RuntimeError> bindOne(const KernelSignature &signature,
                                           const SignatureParameter &parameter,
                                           BoundArguments &bound, size_t i) {
  const Argument *argument = bound.given[i];
  bool isArray = argument && argument->kind == Argument::Kind::Array;
  if (!argument || parameter.isConstexpr || argument->kind == Argument::Kind::Text) {
    bound.specs[i].kind = ArgumentSpec::Kind::Constexpr;
    if (!argument && parameter.defaultJson.empty())
      return refuse(Code::LaunchArguments, signature, parameter, "none is given");
    if (isArray)
      return refuse(Code::UnpassableArgument, signature, parameter,
                    "an array cannot be a compile-time constant");
    if (argument && argument->kind == Argument::Kind::Text && !argument->text)
      return refuse(Code::UnpassableArgument, signature, parameter,
                    "the text of a compile-time constant is a null pointer");
    return std::nullopt;
  }
  if (!isArray)
    return bindNumber(signature, parameter, bound, i);
  bound.specs[i].kind = ArgumentSpec::Kind::Pointer;
  setType(bound, i, rowOf(argument->type));
  bound.specs[i].assume(pointerFacts(argument->bits, argument->bytes, streamingBytes()));
  bound.launched[i] = {argument->bits, argument->bits, argument->bytes, argument->isReadOnly};
  return std::nullopt;
}

std::optional<RuntimeError> library::bind(const KernelSignature &signature,
                                          const Argument *arguments, size_t count, bool countsBytes,
                                          BoundArguments &bound) {
  size_t expected = signature.parameters.size();
  if (count > expected)
    return RuntimeError{RuntimeError::Kind::Launch, Code::LaunchArguments,
                        "the kernel " + signature.name + " takes " + std::to_string(expected) +
                            " arguments, " + std::to_string(count) + " were given",
                        ""};
  if (count > 0 && !arguments)
    return RuntimeError{RuntimeError::Kind::Launch, Code::LaunchArguments,
                        "the arguments of the kernel " + signature.name + " are a null pointer",
                        ""};
  bound.specs.resize(expected);
  bound.launched.resize(expected);
  bound.given.assign(expected, nullptr);
  bound.types.assign(expected, 0);
  llvm::SmallVector<MemorySpan, 16> memory(expected);
  for (size_t i = 0; i < expected; ++i) {
    bound.given[i] = i < count ? &arguments[i] : nullptr;
    if (std::optional<RuntimeError> error = bindOne(signature, signature.parameters[i], bound, i))
      return error;
    const LaunchArgument &launched = bound.launched[i];
    if (bound.specs[i].kind == ArgumentSpec::Kind::Pointer)
      memory[i] = {launched.bits, launched.bits + launched.bytes, countsBytes};
  }
  assumeDisjoint(bound.specs, memory);
  return std::nullopt;
}

std::vector<ArgumentSpec> library::specsOf(const KernelSignature &signature,
                                           const BoundArguments &bound) {
  std::vector<ArgumentSpec> specs(bound.specs.begin(), bound.specs.end());
  for (size_t i = 0; i < specs.size(); ++i) {
    const SignatureParameter &parameter = signature.parameters[i];
    specs[i].name = parameter.name;
    if (specs[i].kind == ArgumentSpec::Kind::Constexpr)
      specs[i].constexprJson =
          bound.given[i] ? encodeConstant(*bound.given[i]) : parameter.defaultJson;
  }
  return specs;
}
