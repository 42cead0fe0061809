// What a name of a kernel can stand for: a run-time scalar or tile, or a value known at compile
// time, with Python's meaning of operators on the latter.
#ifndef FRONTEND_STATICVALUES_H
#define FRONTEND_STATICVALUES_H
#include "frontend/buffer/Ast.h"
#include "frontend/values/ArrayTypes.h"
#include "frontend/values/TypedValue.h"
#include "llvm/ADT/APSInt.h"
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tw {

struct Value;
struct Frame;

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
  std::vector<Value> items;
  std::vector<std::string> fields; // of a namedtuple, else empty
};
using Tuple = std::shared_ptr<const TupleContents>;
/// A value of a class that a user defined for kernels; the class as it was captured (README.md).
struct Aggregate {
  Tuple contents;
  const llvm::json::Object *type = nullptr;
};
/// A nested function or lambda with the names around it.
struct Closure {
  const Node *node = nullptr;
  const FunctionSource *source = nullptr;
  std::shared_ptr<Frame> enclosing;
  std::vector<Parameter> params;
  std::vector<std::shared_ptr<const Value>> defaults; // null: required
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
  std::string name;                         // function id, builtin, method
  std::string hint;                         // of a builtin that is not implemented
  bool isPlain = false;                     // Jit: a function without the decorator
  const llvm::json::Object *json = nullptr; // as captured
  std::shared_ptr<const Value> self;        // Method
  std::shared_ptr<const Closure> closure;   // Closure
};
/// A module or object that only the evaluator understands.
struct Opaque {
  std::string text;
  bool isModule = false;
  const llvm::json::Object *json = nullptr;
};
struct SliceValue {
  std::shared_ptr<const Value> lower, upper, step; // None when left out
};
/// A range; bounds may be run-time integers. Options are those of tw.range.
struct RangeValue {
  std::shared_ptr<const Value> start, stop, step;
  bool isStatic = false; // static_range: always unrolled
  std::vector<std::pair<std::string, int64_t>> options;
};
struct Value {
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

/// A static value, or the text of the error that Python would raise.
struct StaticResult {
  std::optional<Value> value;
  std::string error;
  StaticResult(Value v) : value(std::move(v)) {}
  StaticResult(std::string e) : error(std::move(e)) {}
};

Value makeInt(int64_t value);
Value makeTuple(std::vector<Value> items, std::vector<std::string> fields = {});
std::shared_ptr<const Value> share(Value value);

/// The value as a variable holds it, its numbers named, also those inside of a tuple; or as a
/// constexpr does, none of them named.
Value named(Value value, bool isNamed = true);

/// True when nothing inside is a run-time value or absent.
bool isStatic(const Value &value);
bool truthOf(const Value &value);                    // of a static value
double toDouble(const Value &number);                // of a static number
llvm::APSInt toInteger(const Value &integer);        // of a bool or int
std::optional<int64_t> toInt64(const Value &value);  // of a bool or int that fits
bool areEqual(const Value &a, const Value &b);       // Python's ==, of static values
bool areIdentical(const Value &a, const Value &b);   // nothing can tell them apart
std::string typeName(const Value &value);            // "int", "float32[64, 32]"
std::string toText(const Value &value, bool isRepr); // str() and repr()
std::string floatText(double value);                 // repr() of a float

/// `op` is the class name of Python's operator: "Add", "FloorDiv", ...
StaticResult staticBinary(llvm::StringRef op, const Value &a, const Value &b);
StaticResult staticUnary(llvm::StringRef op, const Value &a);
/// `op` is "Lt", "Eq", "Is", "In", ...
StaticResult staticCompare(llvm::StringRef op, const Value &a, const Value &b);
/// Number of elements of a static range; nullopt when a bound is not a compile-time integer.
std::optional<int64_t> lengthOf(const RangeValue &range);

/// Between values and their form in the buffer. Malformed values read as nullopt.
std::optional<Value> fromJson(const llvm::json::Object &object);
std::optional<llvm::json::Value> toJson(const Value &value);

} // namespace tw
#endif
