// Changes to the text and to the structure of IR, drawn at random.
#ifndef TEST_FUZZ_MUTATIONS_H
#define TEST_FUZZ_MUTATIONS_H
#include "mlir/IR/BuiltinOps.h"
#include "test/fuzz/Corpus.h"
#include <random>

namespace tw::fuzz {

/// The draws of one attempt at a case: seed and attempt say all of it.
class Draw {
public:
  Draw(uint64_t seed, unsigned attempt) {
    std::seed_seq sequence{uint32_t(seed), uint32_t(seed >> 32), attempt};
    generator.seed(sequence);
  }
  /// A number from 0 to `count` - 1; `count` is not 0.
  size_t below(size_t count) { return generator() % count; }
  bool chance(unsigned percent) { return below(100) < percent; }
  template <typename List> auto &of(List &&list) { return list[below(std::size(list))]; }

private:
  std::mt19937_64 generator;
};

/// A number as those that go wrong: small ones, neighbours of powers of two, limits of types, or
/// near `old`.
std::string drawNumber(Draw &draw, const std::string &old);

/// The text with one change: of numbers, types, words, names, lines, lists.
std::string mutateText(const std::string &text, const Corpus &corpus, Draw &draw);

/// The text, in the generic form of operations, with one attribute of an operation left out,
/// changed or replaced by one of the same name; as it is where none has attributes.
std::string changeAttribute(const std::string &text, Draw &draw);

/// Changes one thing of the module: deletes, repeats, reorders or wraps operations, exchanges
/// operands, takes over operations of `donor`, which is of the same context.
/// False where what was drawn is impossible here.
bool mutateModule(mlir::ModuleOp module, mlir::ModuleOp donor, Draw &draw);

} // namespace tw::fuzz
#endif
