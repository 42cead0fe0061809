// Tilewright as a library: kernels compiled while a program runs, without Python. C++17, no exceptions
// thrown, no type of LLVM's. `tilewright compile FILE.py:NAME --emit source` writes a kernel's source.
#ifndef TILEWRIGHT_TILEWRIGHT_H
#define TILEWRIGHT_TILEWRIGHT_H
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>
#define TILEWRIGHT_API __attribute__((visibility("default")))
namespace tilewright {

enum class Type : uint8_t {
  Bool, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64,
  Float16, BFloat16, Float32, Float64, Float8E4M3, Float8E5M2, Float8E4M3FNUZ, Float8E5M2FNUZ
};

/// A report of the compiler or of a launch: words and parts. `tilewright explain CODE` has more.
struct Report {
  std::string kind;     // "compile", "unsupported", "launch", "device", "internal"
  std::string severity; // "error", "warning"
  std::string code, message, hint;
  std::string rendered; // everything, with the line of the kernel
};

/// The outcome of an operation; if it was not done, the reports say why.
struct Status {
  std::vector<Report> reports; // warnings too
  bool isOk = true;
  explicit operator bool() const { return isOk; }
  /// The text of all reports, for a log.
  TILEWRIGHT_API std::string text() const;
};

template <typename T> constexpr Type typeOf() {
  using Value = std::remove_cv_t<T>;
  static_assert(std::is_arithmetic_v<Value>, "name the type: Argument::array(address, Type::...)");
  constexpr int log = sizeof(T) == 8 ? 3 : sizeof(T) == 4 ? 2 : sizeof(T) == 2 ? 1 : 0;
  if constexpr (std::is_same_v<Value, bool>)
    return Type::Bool;
  else if constexpr (std::is_floating_point_v<Value>)
    return sizeof(T) == 4 ? Type::Float32 : Type::Float64;
  else
    return Type(int(std::is_signed_v<Value> ? Type::Int8 : Type::UInt8) + log);
}

/// One argument of a launch, in the kernel's order: a number, an array or a compile-time constant.
class Argument {
public:
  enum class Kind : uint8_t { Number, Array, Text };

  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  Argument(T value) : type(typeOf<T>()) {
    if constexpr (std::is_floating_point_v<T>)
      number = double(value);
    else
      bits = uint64_t(int64_t(value));
  }
  /// `count` elements from `data` on (null where there are none). A const array may not be stored to.
  template <typename T>
  Argument(T *data, size_t count)
      : kind(Kind::Array), type(typeOf<T>()), isReadOnly(std::is_const_v<T>),
        bits(data || count ? uint64_t(reinterpret_cast<uintptr_t>(data)) : 64), // nothing is there
        bytes(count * sizeof(T)) {}
  /// An array by its address; `bytes` 0: its size is not known, and it may overlap any other.
  static Argument array(const void *address, Type type, size_t bytes = 0, bool isReadOnly = false) {
    Argument argument(0);
    argument.kind = Kind::Array;
    argument.type = type;
    argument.isReadOnly = isReadOnly;
    argument.bits = uint64_t(reinterpret_cast<uintptr_t>(address));
    argument.bytes = bytes;
    return argument;
  }
  /// The value of a compile-time constant that is a text. It has to live until the call returns.
  Argument(const char *constant) : kind(Kind::Text), text(constant) {}

  Kind kind = Kind::Number;
  Type type = Type::Int32;
  bool isReadOnly = false;
  union {
    uint64_t bits; // of an integer, sign- or zero-extended; an address
    double number; // of floats
    const char *text;
  };
  uint64_t bytes = 0; // of an array
};

struct Grid {
  int32_t x = 1, y = 1, z = 1;
};

struct LaunchOptions {
  std::string device = "cpu"; // "cuda:0", "hip:0", "sim:sm_80", "reference", ...
  void *stream = nullptr;     // of GPUs: the driver's handle
  int numWarps = 4, numStages = 3;
  bool debug = false; // device assertions, overflow and bounds checks
  Grid cluster = {};  // programs of a cluster along each axis (NVIDIA GPUs from sm_90 on)
  bool launchPdl = false; // begin before earlier launches of the stream end, and wait (from sm_90 on)
};

struct Settings {
  std::string cacheDirectory; // of compiled kernels, for later processes; empty: none is kept
};

/// A kernel, compiled for each device and specialization when it is first launched. Copies share what
/// was compiled. All functions may be called from any thread.
class Kernel {
public:
  /// Reads a kernel source buffer. A kernel whose status has an error launches nothing but that error.
  TILEWRIGHT_API explicit Kernel(std::string source, Settings settings = {});

  TILEWRIGHT_API const Status &status() const;
  TILEWRIGHT_API const std::string &name() const;
  TILEWRIGHT_API std::vector<std::string> parameters() const;

  /// Runs the kernel over a grid: finished on return on the processor, in the stream on GPUs. The caller
  /// leaves out parameters that have defaults, at the end.
  TILEWRIGHT_API Status launch(Grid grid, const Argument *arguments, size_t count,
                               const LaunchOptions &options = {});
  Status launch(Grid grid, std::initializer_list<Argument> arguments,
                const LaunchOptions &options = {}) {
    return launch(grid, arguments.begin(), arguments.size(), options);
  }
  /// Compiles what such a launch would run, without running it.
  TILEWRIGHT_API Status prepare(const Argument *arguments, size_t count,
                                const LaunchOptions &options = {});
  Status prepare(std::initializer_list<Argument> arguments, const LaunchOptions &options = {}) {
    return prepare(arguments.begin(), arguments.size(), options);
  }

private:
  struct State;
  std::shared_ptr<State> state;
};

/// Waits until everything launched on a device has finished.
TILEWRIGHT_API Status synchronize(const std::string &device);
/// Devices and targets of this build.
TILEWRIGHT_API std::vector<std::string> devices();
/// Worker threads of the device `cpu`; 0: one for each core.
TILEWRIGHT_API bool setNumThreads(int count);
/// Names the only assemblers of PTX (ptxas, libnvJitLink), for devices that are not used yet.
TILEWRIGHT_API void setAssemblers(const std::vector<std::string> &paths);
TILEWRIGHT_API const char *version();
} // namespace tilewright
#endif
