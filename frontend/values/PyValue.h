// What a name of a kernel can stand for: a run-time scalar or tile, or a value known at compile
// time.
#ifndef FRONTEND_PYVALUE_H
#define FRONTEND_PYVALUE_H
#include "frontend/values/ArrayTypes.h"
#include "frontend/values/Parameter.h"
#include "frontend/values/TypedValue.h"
#include "ir/Diagnostic.h"
#include "llvm/ADT/APSInt.h"
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tw {

struct PyValue;
struct Frame;          // emit/Scopes.h
struct Node;           // buffer/Ast.h
struct FunctionSource; // buffer/Ast.h

/// Why a name has no usable value; reported when it is read.
struct Absent {
  enum class Reason {
    Never,
    OnePath,
    TwoTypes,
    LoopBody,
    TwoConstexprs,
    Deleted,
    PartialReturn
  } reason = Reason::Never;
  SourceSpan first, second; // where it is defined, on which paths
  std::string firstType, secondType;
};
struct None {};
struct TupleContents {
  std::vector<PyValue> items;
  std::vector<std::string> fields; // of a namedtuple, else empty
};
using Tuple = std::shared_ptr<const TupleContents>;
/// A value of a class that a user defined for kernels; the class as it was captured
/// (buffer/FORMAT.md).
struct Aggregate {
  Tuple contents;
  const JsonObject *type = nullptr;
};
/// A nested function or lambda with the names around it.
struct Closure {
  const Node *node = nullptr;
  const FunctionSource *source = nullptr;
  std::shared_ptr<Frame> enclosing;
  std::vector<Parameter> params;
  std::vector<std::shared_ptr<const PyValue>> defaults; // null: required
};
struct Callable {
  enum class Kind {
    Jit,
    Closure,
    Builtin,
    PyBuiltin,
    Host,
    Method,
    Aggregate
  } kind = Kind::Builtin;
  std::string name;                       // function id, builtin, method
  std::string hint;                       // of a builtin that is not implemented
  bool isPlain = false;                   // Jit: a function without the decorator
  const JsonObject *json = nullptr;       // as captured
  std::shared_ptr<const PyValue> self;    // Method
  std::shared_ptr<const Closure> closure; // Closure
};
/// A module or object that only the evaluator understands.
struct Opaque {
  std::string text;
  bool isModule = false;
  const JsonObject *json = nullptr;
};
struct SliceValue {
  std::shared_ptr<const PyValue> lower, upper, step; // None when left out
};
/// A range; bounds may be run-time integers. Options are those of tw.range.
struct RangeValue {
  std::shared_ptr<const PyValue> start, stop, step;
  bool isStatic = false; // static_range: always unrolled
  std::vector<std::pair<std::string, int64_t>> options;
};
struct PyValue {
  std::variant<Absent, None, bool, llvm::APSInt, double, std::string, Tuple, Aggregate, DType,
               TileType, DescriptorType, Callable, Opaque, SliceValue, RangeValue, TypedValue,
               Descriptor>
      data;
  bool isNamed = false; // a number that a variable of a kernel was given; see TypedValue

  template <typename T> const T *as() const { return std::get_if<T>(&data); }
  template <typename T> bool is() const { return std::holds_alternative<T>(data); }
  bool isRuntime() const { return is<TypedValue>(); }
  bool isNumber() const { return is<bool>() || is<llvm::APSInt>() || is<double>(); }
  bool isInteger() const { return is<bool>() || is<llvm::APSInt>(); }
};

PyValue makeInt(int64_t value);
PyValue makeTuple(std::vector<PyValue> items, std::vector<std::string> fields = {});
std::shared_ptr<const PyValue> share(PyValue value);

/// The value as a variable holds it, its numbers named, also those inside of a tuple; or as a
/// constexpr does, none of them named.
PyValue named(PyValue value, bool isNamed = true);

/// True when nothing inside is a run-time value or absent.
bool isStatic(const PyValue &value);
bool truthOf(const PyValue &value);                    // of a static value
double toDouble(const PyValue &number);                // of a static number
llvm::APSInt toInteger(const PyValue &integer);        // of a bool or int
std::optional<int64_t> toInt64(const PyValue &value);  // of a bool or int that fits
bool areEqual(const PyValue &a, const PyValue &b);     // Python's ==, of static values
bool areIdentical(const PyValue &a, const PyValue &b); // nothing can tell them apart
/// -1, 0 or 1, exactly: an integer of many bits is not rounded to be compared. nullopt for NaN.
std::optional<int> orderOfNumbers(const PyValue &a, const PyValue &b);
std::string typeName(const PyValue &value); // "int", "float32[64, 32]"
/// Number of elements of a static range; nullopt when a bound is not a compile-time integer.
std::optional<int64_t> lengthOf(const RangeValue &range);

} // namespace tw
#endif
