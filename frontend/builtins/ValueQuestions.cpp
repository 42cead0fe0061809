// What isinstance and hasattr answer about values.
#include "frontend/builtins/Builtins.h"
#include "frontend/emit/Descriptors.h"
#include "frontend/emit/PythonEvaluation.h"
#include "frontend/values/TypeRules.h"

using namespace tw;

std::optional<bool> tw::isInstance(const PyValue &value, const PyValue &type) {
  if (const Tuple *types = type.as<Tuple>()) {
    bool isAny = false;
    for (const PyValue &item : (*types)->items) {
      std::optional<bool> answer = isInstance(value, item);
      if (!answer)
        return std::nullopt;
      isAny = isAny || *answer;
    }
    return isAny;
  }
  const Callable *named = type.as<Callable>();
  if (!named)
    return std::nullopt;
  if (const Aggregate *aggregate = value.as<Aggregate>();
      named->kind == Callable::Kind::Aggregate || aggregate)
    return aggregate && named->kind == Callable::Kind::Aggregate &&
           aggregate->type->getString("ref") == named->json->getString("ref");
  llvm::StringRef name = named->name;
  const Descriptor *descriptor = value.as<Descriptor>();
  bool isBlockPointer = descriptor && (*descriptor)->type.isBlockPointer;
  if (name == "tensor")
    return value.isRuntime() || isBlockPointer;
  if (name == "tensor_descriptor")
    return descriptor && !isBlockPointer;
  if (name == "tensor_descriptor_type")
    return value.is<DescriptorType>() && !value.as<DescriptorType>()->isBlockPointer;
  if (name == "constexpr")
    return isStatic(value) && !value.is<Tuple>();
  if (name == "int")
    return value.isInteger();
  if (name == "float")
    return value.is<double>();
  if (name == "bool")
    return value.is<bool>();
  if (name == "str")
    return value.is<std::string>();
  if (name == "tuple" || name == "list")
    return value.is<Tuple>();
  if (name == "dtype")
    return value.is<DType>();
  if (name == "pointer_type")
    return value.is<DescriptorType>() ? value.as<DescriptorType>()->isBlockPointer
                                      : value.is<DType>() && value.as<DType>()->isPointer;
  if (name == "block_type")
    return value.is<TileType>();
  return std::nullopt;
}

std::string tw::builtinOfMethod(llvm::StringRef name) {
  return name == "to" ? "cast" : name == "sqrt_rn" ? "sqrt" : name.str();
}

bool tw::hasAttribute(const PyValue &base, llvm::StringRef name, Emitter &emitter) {
  if (const Descriptor *descriptor = base.as<Descriptor>())
    return findDescriptorMethod((*descriptor)->type, name) ||
           descriptorAttribute(*descriptor, name).has_value();
  if (const DType *dtype = base.as<DType>())
    return dtypePredicate(*dtype, name).has_value() || name == "element_ty" || name == "scalar";
  if (const Tuple *tuple = base.as<Tuple>(); tuple && llvm::is_contained((*tuple)->fields, name))
    return true;
  if (!base.isRuntime()) { // a text, a number, a tuple: as Python knows them
    PyValue like = base.is<Tuple>() ? makeTuple({}) : base;
    OrReason<PyValue> answer = pythonCall(emitter, "hasattr", {like, PyValue{name.str()}});
    return answer && truthOf(*answer);
  }
  static constexpr llvm::StringLiteral kOfTiles[] = {"shape", "dtype", "type", "T", "to", "numel"};
  return base.isRuntime() &&
         (llvm::is_contained(kOfTiles, name) || findBuiltin(builtinOfMethod(name)) ||
          (emitter.program.methods && emitter.program.methods->get(name)));
}
