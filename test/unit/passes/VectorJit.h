// Compiles functions in LLVM and vector dialects through expand-math, or functions of one lane
// through expand-simt-math, to machine code, for tests of values.
#ifndef TEST_UNIT_PASSES_VECTORJIT_H
#define TEST_UNIT_PASSES_VECTORJIT_H
#include <cstdint>
#include <memory>
#include <string>

namespace tw::test {

/// Bytes of the widest vector register of this machine that expand-math has a form for: 16, 32
/// or 64.
unsigned hostVectorBytes();

/// An elementwise computation: `out[i] = expression(a[i], b[i])` over vectors of `lanes` elements.
struct VectorFunction {
  std::string inputElement, outputElement; // MLIR types
  unsigned lanes = 16;
  std::string body; // operations that use %a and %b and define %r, all of them vectors
};

/// The same of one element: %a, %b and %r are scalars.
struct LaneFunction {
  std::string inputElement, outputElement;
  std::string body;
};

/// Stands in for a GPU's instructions.
struct LaneMachine {
  float (*approximate)(uint32_t kind, float x) = nullptr; // a tw::simt::ApproxKind
  float (*divide)(float a, float b) = nullptr;
};

/// Machine code of one function. Arrays hold a whole number of vectors.
class VectorJit {
public:
  /// Null, with the reason on standard error, when any step fails.
  static std::unique_ptr<VectorJit> compile(const VectorFunction &function, unsigned vectorBytes);
  static std::unique_ptr<VectorJit> compile(const LaneFunction &function,
                                            const LaneMachine &machine);
  ~VectorJit();
  void run(const void *a, const void *b, void *out, int64_t numVectors) const;

private:
  struct State;
  explicit VectorJit(std::unique_ptr<State> state);
  template <typename Expand>
  static std::unique_ptr<VectorJit> build(const std::string &text, Expand expand,
                                          const LaneMachine &machine);
  std::unique_ptr<State> state;
};

} // namespace tw::test
#endif
