// The words of modifiers and the fields of an instruction that they stand for, in both directions.
#include "backend/warpsim/ptx/InstructionTable.h"
#include <algorithm>
#include <span>

using namespace tw::warpsim;
using namespace tw::warpsim::ptx;

namespace {
struct Named {
  std::string_view text;
  int value;
};
} // namespace

template <typename Enum> static constexpr Named named(std::string_view text, Enum value) {
  return {text, int(value)};
}

static constexpr Named kTypes[] = {
    named("pred", Type::Pred),       named("b8", Type::B8),         named("b16", Type::B16),
    named("b32", Type::B32),         named("b64", Type::B64),       named("b128", Type::B128),
    named("u8", Type::U8),           named("u16", Type::U16),       named("u32", Type::U32),
    named("u64", Type::U64),         named("s8", Type::S8),         named("s16", Type::S16),
    named("s32", Type::S32),         named("s64", Type::S64),       named("f16", Type::F16),
    named("f16x2", Type::F16x2),     named("bf16", Type::BF16),     named("bf16x2", Type::BF16x2),
    named("tf32", Type::TF32),       named("f32", Type::F32),       named("f32x2", Type::F32x2),
    named("f64", Type::F64),         named("e4m3x2", Type::E4M3x2), named("e5m2x2", Type::E5M2x2),
    named("ue8m0x2", Type::UE8M0x2), named("e2m1x2", Type::E2M1x2), named("e2m3x2", Type::E2M3x2),
    named("e3m2x2", Type::E3M2x2),   named("u16x2", Type::U16x2),   named("s16x2", Type::S16x2),
    named("s4", Type::S4),           named("u4", Type::U4),         named("e4m3", Type::E4M3),
    named("e5m2", Type::E5M2)};
static constexpr Named kFlags[] = {named("ftz", Flag::Ftz),
                                   named("sat", Flag::Saturating),
                                   named("satfinite", Flag::SatFinite),
                                   named("approx", Flag::Approximate),
                                   named("full", Flag::Full),
                                   named("NaN", Flag::NanMode),
                                   named("xorsign", Flag::XorsignAbs),
                                   named("relu", Flag::Relu),
                                   named("wrap", Flag::Wrapping),
                                   named("shiftamt", Flag::ShiftAmount),
                                   named("cc", Flag::WritesCarry),
                                   named("uni", Flag::Uniform),
                                   named("aligned", Flag::Aligned),
                                   named("sync", Flag::Aligned),
                                   named("arrive", Flag::Aligned),
                                   named("red", Flag::Aligned),
                                   named("to", Flag::ToSpace),
                                   named("hi", Flag::High),
                                   named("nc", Flag::ReadOnlyCache),
                                   named("trans", Flag::Transposed)};
static constexpr Named kSpaces[] = {
    named("global", Space::Global),      named("shared", Space::Shared),
    named("shared::cta", Space::Shared), named("shared::cluster", Space::Shared),
    named("local", Space::Local),        named("const", Space::Const),
    named("param", Space::Param),        named("param::entry", Space::Param),
    named("param::func", Space::Param)};
static constexpr Named kOrders[] = {
    named("weak", Order::Weak),        named("relaxed", Order::Relaxed),
    named("acquire", Order::Acquire),  named("release", Order::Release),
    named("acq_rel", Order::AcqRel),   named("sc", Order::SeqCst),
    named("volatile", Order::Volatile)};
static constexpr Named kScopes[] = {named("cta", Scope::Cta), named("cluster", Scope::Cluster),
                                    named("gpu", Scope::Gpu), named("gl", Scope::Gpu),
                                    named("sys", Scope::Sys)};
static constexpr Named kAtomOps[] = {named("and", AtomOp::And),   named("or", AtomOp::Or),
                                     named("xor", AtomOp::Xor),   named("cas", AtomOp::Cas),
                                     named("exch", AtomOp::Exch), named("add", AtomOp::Add),
                                     named("inc", AtomOp::Inc),   named("dec", AtomOp::Dec),
                                     named("min", AtomOp::Min),   named("max", AtomOp::Max)};
static constexpr Named kCompares[] = {
    named("eq", Compare::Eq),   named("ne", Compare::Ne),   named("lt", Compare::Lt),
    named("le", Compare::Le),   named("gt", Compare::Gt),   named("ge", Compare::Ge),
    named("lo", Compare::Lo),   named("ls", Compare::Ls),   named("hi", Compare::Hi),
    named("hs", Compare::Hs),   named("equ", Compare::Equ), named("neu", Compare::Neu),
    named("ltu", Compare::Ltu), named("leu", Compare::Leu), named("gtu", Compare::Gtu),
    named("geu", Compare::Geu), named("num", Compare::Num), named("nan", Compare::Nan)};
static constexpr Named kBools[] = {named("and", Bool::And), named("or", Bool::Or),
                                   named("xor", Bool::Xor), named("popc", Bool::Popc)};
static constexpr Named kRoundings[] = {named("rn", Rounding::Rn),   named("rz", Rounding::Rz),
                                       named("rm", Rounding::Rm),   named("rp", Rounding::Rp),
                                       named("rna", Rounding::Rna), named("rni", Rounding::Rni),
                                       named("rzi", Rounding::Rzi), named("rmi", Rounding::Rmi),
                                       named("rpi", Rounding::Rpi), named("rs", Rounding::Rs)};
static constexpr Named kShuffles[] = {named("up", ShflMode::Up), named("down", ShflMode::Down),
                                      named("bfly", ShflMode::Bfly), named("idx", ShflMode::Idx)};
static constexpr Named kVotes[] = {named("all", VoteMode::All), named("any", VoteMode::Any),
                                   named("uni", VoteMode::Uni), named("ballot", VoteMode::Ballot)};
static constexpr Named kTestps[] = {
    named("finite", TestpKind::Finite), named("infinite", TestpKind::Infinite),
    named("number", TestpKind::Number), named("notanumber", TestpKind::NotANumber),
    named("normal", TestpKind::Normal), named("subnormal", TestpKind::Subnormal)};
static constexpr Named kPrmts[] = {named("f4e", PrmtMode::F4e), named("b4e", PrmtMode::B4e),
                                   named("rc8", PrmtMode::Rc8), named("ecl", PrmtMode::Ecl),
                                   named("ecr", PrmtMode::Ecr), named("rc16", PrmtMode::Rc16)};
static constexpr Named kVectorWidths[] = {{"v2", 2}, {"v4", 4}, {"v8", 8}, {"x1", 1},
                                          {"x2", 2}, {"x4", 4}, {"1d", 1}, {"2d", 2},
                                          {"3d", 3}, {"4d", 4}, {"5d", 5}};
static constexpr Named kShapes[] = {
    named("m8n8", MatrixShape::M8n8),         named("m8n8k4", MatrixShape::M8n8k4),
    named("m8n8k16", MatrixShape::M8n8k16),   named("m8n8k32", MatrixShape::M8n8k32),
    named("m16n8k4", MatrixShape::M16n8k4),   named("m16n8k8", MatrixShape::M16n8k8),
    named("m16n8k16", MatrixShape::M16n8k16), named("m16n8k32", MatrixShape::M16n8k32),
    named("m16n8k64", MatrixShape::M16n8k64)};

static std::span<const Named> wordsOf(ModifierKind kind) {
  switch (kind) {
  case ModifierKind::Flag:
    return kFlags;
  case ModifierKind::Type:
  case ModifierKind::SourceType:
  case ModifierKind::SecondType:
    return kTypes;
  case ModifierKind::Space:
    return kSpaces;
  case ModifierKind::Order:
    return kOrders;
  case ModifierKind::Scope:
    return kScopes;
  case ModifierKind::AtomOp:
    return kAtomOps;
  case ModifierKind::Compare:
    return kCompares;
  case ModifierKind::Bool:
    return kBools;
  case ModifierKind::Rounding:
    return kRoundings;
  case ModifierKind::Shfl:
    return kShuffles;
  case ModifierKind::Vote:
    return kVotes;
  case ModifierKind::Testp:
    return kTestps;
  case ModifierKind::Prmt:
    return kPrmts;
  case ModifierKind::VectorWidth:
    return kVectorWidths;
  case ModifierKind::Shape:
    return kShapes;
  case ModifierKind::Hint:
  case ModifierKind::WarpgroupShape:
  case ModifierKind::Word:
    return {};
  }
  return {};
}

/// The numbers of `m64n128k16`, as 128 << 8 | 16.
static int valueOfShape(std::string_view word) {
  int numbers[2] = {}, *number = nullptr;
  for (char c : word)
    if (c == 'n' || c == 'k')
      number = &numbers[c == 'k'];
    else if (number)
      *number = *number * 10 + (c - '0');
  return numbers[0] << 8 | numbers[1];
}

int tw::warpsim::ptx::valueOfWord(ModifierKind kind, std::string_view word) {
  if (kind == ModifierKind::WarpgroupShape)
    return valueOfShape(word);
  for (const Named &candidate : wordsOf(kind))
    if (candidate.text == word)
      return candidate.value;
  return -1;
}

template <typename Value> static std::string_view wordFor(ModifierKind kind, Value value) {
  for (const Named &candidate : wordsOf(kind))
    if (candidate.value == int(value))
      return candidate.text;
  return {};
}

std::string_view tw::warpsim::ptx::typeName(Type type) { return wordFor(ModifierKind::Type, type); }

Type tw::warpsim::ptx::typeNamed(std::string_view name) {
  return Type(std::max(0, valueOfWord(ModifierKind::Type, name)));
}

template <typename AnyInstruction> static auto &flagOf(AnyInstruction &instruction, Flag flag) {
  switch (flag) {
  case Flag::Ftz:
    return instruction.isFtz;
  case Flag::Saturating:
    return instruction.isSaturating;
  case Flag::SatFinite:
    return instruction.isSatFinite;
  case Flag::Approximate:
    return instruction.isApproximate;
  case Flag::Full:
    return instruction.isFull;
  case Flag::NanMode:
    return instruction.isNanMode;
  case Flag::XorsignAbs:
    return instruction.isXorsignAbs;
  case Flag::Relu:
    return instruction.isRelu;
  case Flag::Wrapping:
    return instruction.isWrapping;
  case Flag::ShiftAmount:
    return instruction.isShiftAmount;
  case Flag::WritesCarry:
    return instruction.writesCarry;
  case Flag::Uniform:
    return instruction.isUniform;
  case Flag::Aligned:
    return instruction.isAligned;
  case Flag::ToSpace:
    return instruction.toSpace;
  case Flag::High:
    return instruction.isHigh;
  case Flag::Transposed:
    return instruction.isTransposed;
  case Flag::ReadOnlyCache:
    break;
  }
  return instruction.isReadOnlyCache;
}

template <typename Field> static void assign(Field &field, int value) { field = Field(value); }

void tw::warpsim::ptx::setModifier(Instruction &instruction, ModifierKind kind,
                                   std::string_view word) {
  int value = valueOfWord(kind, word);
  switch (kind) {
  case ModifierKind::Flag:
    return assign(flagOf(instruction, Flag(value)), true);
  case ModifierKind::Type:
    return assign(instruction.type, value);
  case ModifierKind::SourceType:
    return assign(instruction.sourceType, value);
  case ModifierKind::Space:
    return assign(instruction.space, value);
  case ModifierKind::Order:
    return assign(instruction.order, value);
  case ModifierKind::Scope:
    return assign(instruction.scope, value);
  case ModifierKind::Hint:
    instruction.modifiers += "." + std::string(word);
    break;
  case ModifierKind::AtomOp:
    return assign(instruction.atomOp, value);
  case ModifierKind::Compare:
    return assign(instruction.compare, value);
  case ModifierKind::Bool:
    return assign(instruction.combine, value);
  case ModifierKind::Rounding:
    return assign(instruction.rounding, value);
  case ModifierKind::Shfl:
    return assign(instruction.shfl, value);
  case ModifierKind::Vote:
    instruction.vote = VoteMode(value);
    if (instruction.op == Op::Match)
      instruction.vote = word == "any" ? VoteMode::MatchAny : VoteMode::MatchAll;
    break;
  case ModifierKind::Testp:
    return assign(instruction.testp, value);
  case ModifierKind::Prmt:
    return assign(instruction.prmt, value);
  case ModifierKind::VectorWidth:
    return assign(instruction.vectorWidth, value);
  case ModifierKind::Shape:
    return assign(instruction.shape, value);
  case ModifierKind::SecondType:
    return assign(instruction.secondType, value);
  case ModifierKind::WarpgroupShape:
    instruction.columns = uint16_t(value >> 8);
    instruction.depth = uint8_t(value);
    break;
  case ModifierKind::Word:
    break;
  }
}

/// The value of the field that modifiers of a kind (not Flag, Hint or Word) decide.
static int fieldOf(const Instruction &instruction, ModifierKind kind) {
  switch (kind) {
  case ModifierKind::Type:
    return int(instruction.type);
  case ModifierKind::SourceType:
    return int(instruction.sourceType);
  case ModifierKind::Space:
    return int(instruction.space);
  case ModifierKind::Order:
    return int(instruction.order);
  case ModifierKind::Scope:
    return int(instruction.scope);
  case ModifierKind::AtomOp:
    return int(instruction.atomOp);
  case ModifierKind::Compare:
    return int(instruction.compare);
  case ModifierKind::Bool:
    return int(instruction.combine);
  case ModifierKind::Rounding:
    return int(instruction.rounding);
  case ModifierKind::Shfl:
    return int(instruction.shfl);
  case ModifierKind::Vote:
    return int(instruction.vote);
  case ModifierKind::Testp:
    return int(instruction.testp);
  case ModifierKind::Prmt:
    return int(instruction.prmt);
  case ModifierKind::VectorWidth:
    return int(instruction.vectorWidth);
  case ModifierKind::Shape:
    return int(instruction.shape);
  case ModifierKind::SecondType:
    return int(instruction.secondType);
  case ModifierKind::WarpgroupShape:
    return instruction.columns << 8 | instruction.depth;
  case ModifierKind::Flag:
  case ModifierKind::Hint:
  case ModifierKind::Word:
    break;
  }
  return 0;
}

/// Returns true if `word`, of any kind but Flag and Hint, says what the instruction says.
static bool agrees(const Instruction &instruction, ModifierKind kind, std::string_view word) {
  Instruction spelled;
  spelled.op = instruction.op;
  setModifier(spelled, kind, word);
  return fieldOf(spelled, kind) == fieldOf(instruction, kind);
}

/// The word of the group that says what the instruction says; "" for none. `hints` are those not
/// yet written; `flags` collects the flags that are.
static std::string_view wordOfGroup(const ModifierGroup &group, const Instruction &instruction,
                                    std::string_view &hints, unsigned &flags) {
  bool isPlain = (group.kind == ModifierKind::Order && instruction.order == Order::Weak) ||
                 group.kind == ModifierKind::Word;
  if (group.isOptional && isPlain)
    return {};
  for (std::string_view word : group.words) {
    if (group.kind == ModifierKind::Flag) {
      Flag flag = Flag(valueOfWord(group.kind, word));
      if (!flagOf(instruction, flag))
        continue;
      flags |= 1u << unsigned(flag);
      return word;
    }
    if (group.kind == ModifierKind::Hint) {
      bool starts = hints.size() > word.size() && hints.substr(1, word.size()) == word;
      if (!starts || (hints.size() > word.size() + 1 && hints[word.size() + 1] != '.'))
        continue;
      hints.remove_prefix(word.size() + 1);
      return word;
    }
    if (agrees(instruction, group.kind, word))
      return word;
  }
  return {};
}

std::optional<std::string> tw::warpsim::ptx::spellModifiers(const InstructionRow &row,
                                                            const Instruction &instruction) {
  std::string spelled;
  std::string_view hints = instruction.modifiers;
  unsigned flags = 0;
  unsigned written = 0;
  for (const ModifierGroup &group : row.groups) {
    std::string_view word = wordOfGroup(group, instruction, hints, flags);
    if (word.empty() && !group.isOptional)
      return std::nullopt;
    if (word.empty())
      continue;
    spelled += "." + std::string(word);
    written |= 1u << unsigned(group.kind);
  }
  // Whatever the instruction says and the row has no word for makes it another row's.
  using Kind = ModifierKind;
  for (Kind kind : {Kind::Type, Kind::SourceType, Kind::Space, Kind::Order, Kind::Scope,
                    Kind::AtomOp, Kind::Compare, Kind::Bool, Kind::Rounding, Kind::VectorWidth,
                    Kind::Shape, Kind::SecondType, Kind::WarpgroupShape}) {
    int unsaid = kind == Kind::VectorWidth ? 1 : 0;
    if (fieldOf(instruction, kind) != unsaid && !(written >> unsigned(kind) & 1))
      return std::nullopt;
  }
  for (unsigned flag = 0; flag < kNumFlags; ++flag)
    if (flagOf(instruction, Flag(flag)) && !(flags >> flag & 1))
      return std::nullopt;
  return hints.empty() ? std::optional(spelled) : std::nullopt;
}
