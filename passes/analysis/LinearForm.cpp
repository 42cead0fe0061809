// Sums and multiples of linear forms.
#include "passes/analysis/LinearForm.h"
#include "ir/tile/Tile.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tw;

std::optional<int64_t> tw::integerOf(Value value) {
  APInt number;
  if (!matchPattern(value, m_ConstantInt(&number)) || number.getSignificantBits() > 60)
    return std::nullopt;
  return number.getSExtValue();
}

unsigned tw::integerBits(Type type) {
  Type element = tile::elementTypeOf(type);
  return element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64;
}

/// Returns true if every number that a form stands for, and each part of it, has less than 61 bits,
/// so that 64 are enough to compute sums and differences of two of them.
static bool isComputable(const LinearForm &form) {
  using Wide = __int128;
  auto magnitude = [](int64_t value) { return value < 0 ? -Wide(value) : Wide(value); };
  Wide sum = std::max(magnitude(form.low), magnitude(form.high));
  for (const LinearForm::Term &term : form.terms)
    sum += magnitude(term.factor) << std::min(integerBits(term.leaf.getType()), kWideScalarBits);
  return sum < Wide(1) << 60;
}

static std::optional<LinearForm> computable(LinearForm form) {
  return isComputable(form) ? std::optional(std::move(form)) : std::nullopt;
}

std::optional<LinearForm> tw::combine(const LinearForm &lhs, const LinearForm &rhs, int64_t sign) {
  LinearForm sum = lhs;
  for (const LinearForm::Term &term : rhs.terms) {
    auto *same = llvm::find_if(sum.terms, [&](auto &own) { return own.leaf == term.leaf; });
    if (same == sum.terms.end())
      sum.terms.push_back({term.leaf, sign * term.factor});
    // One tile may stand at two elements in the two sums.
    else if (isa<RankedTensorType>(term.leaf.getType()))
      return std::nullopt;
    else
      same->factor += sign * term.factor;
  }
  llvm::erase_if(sum.terms, [](auto &term) { return term.factor == 0; });
  sum.first += sign * rhs.first;
  sum.low += sign > 0 ? rhs.low : -rhs.high;
  sum.high += sign > 0 ? rhs.high : -rhs.low;
  return computable(std::move(sum));
}

std::optional<LinearForm> tw::scaled(LinearForm form, int64_t factor) {
  auto scale = [&](int64_t &value) { return !llvm::MulOverflow(value, factor, value); };
  bool fits = scale(form.first) && scale(form.low) && scale(form.high);
  for (LinearForm::Term &term : form.terms)
    fits = fits && scale(term.factor);
  if (!fits)
    return std::nullopt;
  if (factor == 0)
    form.terms.clear();
  if (factor < 0)
    std::swap(form.low, form.high);
  return computable(std::move(form));
}
