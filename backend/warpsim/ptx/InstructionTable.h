// Which instructions PTX has: opcode, modifiers in order, types and operands, as rows of data.
#ifndef BACKEND_WARPSIM_PTX_INSTRUCTIONTABLE_H
#define BACKEND_WARPSIM_PTX_INSTRUCTIONTABLE_H
#include "backend/warpsim/Program.h"
#include "backend/warpsim/ptx/OperandRule.h"
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
  WarpgroupShape,
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

/// One row as written in the table; `modifiers` and `operands` are explained in
/// InstructionRows.cpp.
struct RowText {
  std::string_view opcode;
  Op op;
  std::string_view modifiers, operands;
  unsigned minArch = 0;    // the NN of the first .target sm_NN that has it
  unsigned endArch = ~0u;  // of the first one above it that does not
  unsigned minVersion = 0; // ten times the first .version that has it
  bool isSpecific = false; // only the targets sm_NNa have it
};
std::span<const RowText> instructionRows();

struct InstructionRow {
  RowText text;
  std::vector<ModifierGroup> groups;
  std::vector<OperandRule> operands;
};

/// The registers of the accumulator of wgmma, and the type of each.
unsigned numAccumulatorRegisters(const Instruction &instruction);
Type accumulatorRegisterType(const Instruction &instruction);

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
