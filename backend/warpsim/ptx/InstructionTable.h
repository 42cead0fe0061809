// Which instructions PTX has: opcode, modifiers in order, types and operands, as rows of data.
#ifndef BACKEND_WARPSIM_PTX_INSTRUCTIONTABLE_H
#define BACKEND_WARPSIM_PTX_INSTRUCTIONTABLE_H
#include "backend/warpsim/Program.h"
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tw::warpsim::ptx {

/// The property that a modifier decides. The same word may be of several kinds (`lo` of mul and of
/// setp).
enum class ModifierKind : uint8_t {
  Flag,
  Type,
  SourceType,
  Space,
  Order,
  Scope,
  Hint,
  AtomOp,
  Compare,
  Bool,
  Rounding,
  Shfl,
  Vote,
  Testp,
  Prmt,
  VectorWidth,
  Shape,
  SecondType,
  Word /* part of the name, decided by the row's Op: `sync`, `wide` */
};

enum class Flag : uint8_t {
  Ftz,
  Saturating,
  SatFinite,
  Approximate,
  Full,
  NanMode,
  XorsignAbs,
  Relu,
  Wrapping,
  ShiftAmount,
  WritesCarry,
  Uniform,
  Aligned,
  ToSpace,
  High,
  ReadOnlyCache,
  Transposed
};
constexpr unsigned kNumFlags = 16;

/// The value that a word gives to its field, -1 if words of that kind do not include it.
int valueOfWord(ModifierKind kind, std::string_view word);
void setModifier(Instruction &instruction, ModifierKind kind, std::string_view word);

/// One place in an opcode's modifier list: the words that may stand there.
struct ModifierGroup {
  ModifierKind kind = ModifierKind::Word;
  bool isOptional = false;
  std::vector<std::string_view> words;
};

/// One operand: its role, and which type its register or literal must have.
struct OperandRule {
  enum class Role : uint8_t {
    Result,          // a register, or `_` where the row says so
    PredicateResult, // a predicate register or `_`; `isSecond`: after `|`
    Source,          // a register, a literal, or the name of a variable
    Predicate,       // a predicate register `p` or its negation `!p`
    Immediate,
    Address,  // [a+4]
    Vector,   // as many registers as VectorWidth says, in braces if more than one; `isResult`
    Fragment, // registers in braces: `count` of them, or as many as VectorWidth says; `isResult`
    SourceAddress, // [a+4] in global memory, the second address
    CopiedSize,    // the bytes that cp.async reads, or a predicate that it reads none
    CachePolicy,   // there if and only if the hint L2::cache_hint is
    Label,
    BranchTargets, // the label of a .branchtargets list
    Callee,        // (results), name, (arguments)
    Move           // both operands of mov
  };
  enum class TypeRule : uint8_t { OfInstruction, OfSource, DoubleWidth, Fixed };
  Role role = Role::Source;
  TypeRule typeRule = TypeRule::OfInstruction;
  Type fixed = Type::None;
  uint8_t count = 0;
  bool isRelaxed = false; // a register may be wider than the type
  bool isOptional = false, isSecond = false, mayBeSink = false, mayBeNegated = false,
       isResult = false;
};

/// One row as written in the table; `modifiers` and `operands` are explained in
/// InstructionRows.cpp.
struct RowText {
  std::string_view opcode;
  Op op;
  std::string_view modifiers, operands;
  unsigned minArch = 0;   // the NN of the first .target sm_NN that has it
  unsigned endArch = ~0u; // of the first one above it that does not
};
std::span<const RowText> instructionRows();

struct InstructionRow {
  RowText text;
  std::vector<ModifierGroup> groups;
  std::vector<OperandRule> operands;
};

/// The rows, with their patterns read. Built once, at first use.
class InstructionTable {
public:
  static const InstructionTable &get();

  /// The row for an opcode with these modifiers, and what they say; nothing with `message` set when
  /// there is none: the message names the opcode or the modifier that does not fit.
  const InstructionRow *match(std::string_view opcode, std::span<const std::string_view> modifiers,
                              Instruction &instruction, std::string &message) const;

  std::span<const InstructionRow> rows() const { return all; }

private:
  InstructionTable();

  std::vector<InstructionRow> all;
  std::map<std::string_view, std::vector<uint32_t>> rowsOfOpcode;
};

/// The modifiers that make `row` mean `instruction`, ".rn.f32"; nothing when it cannot mean that.
std::optional<std::string> spellModifiers(const InstructionRow &row,
                                          const Instruction &instruction);

/// How PTX writes a type, without the dot; "" for Type::None.
std::string_view typeName(Type type);
/// A type by that name; None for a word that is not a type.
Type typeNamed(std::string_view name);
/// A special register, "%tid.x"; nothing if PTX has none of that name (that we know). `type` is the
/// type of its value.
std::optional<Special> specialNamed(std::string_view name, Type &type);
std::string_view specialName(Special special);

} // namespace tw::warpsim::ptx
#endif
