// Reads the rows' patterns and finds the row that an opcode with its modifiers belongs to.
#include "backend/warpsim/ptx/InstructionTable.h"
#include <algorithm>

using namespace tw::warpsim;
using namespace tw::warpsim::ptx;

using Role = OperandRule::Role;
using TypeRule = OperandRule::TypeRule;

/// Lists that many rows share. A list may name others.
static constexpr std::pair<std::string_view, std::string_view> kLists[] = {
    {"$int", "u16|u32|u64|s16|s32|s64"},
    {"$int8", "u8|u16|u32|u64|s8|s16|s32|s64"},
    {"$wide", "u32|u64|s32|s64"},
    {"$mem", "b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64"},
    {"$rnd", "rn|rz|rm|rp"},
    {"$irnd", "rni|rzi|rmi|rpi"},
    {"$bool", "and|or|xor"},
    {"$eq", "eq|ne"},
    {"$signed", "eq|ne|lt|le|gt|ge"},
    {"$unsigned", "eq|ne|lt|le|gt|ge|lo|ls|hi|hs"},
    {"$float", "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan"},
    {"$load", "global|shared|shared::cta|local|const|param|param::entry|param::func"},
    {"$store", "global|shared|shared::cta|local|param|param::func"},
    {"$shareable", "global|shared|shared::cta"},
    {"$scope", "cta|cluster|gpu|sys"},
    {"$sem", "relaxed|acquire|release|acq_rel"},
    {"$l1", "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate"},
    {"$l2", "L2::evict_normal|L2::evict_first|L2::evict_last"},
    {"$prefetch", "L2::64B|L2::128B|L2::256B"},
    // Whole groups. Vectors of 32 bytes have 32- or 64-bit elements (sm_100).
    {"$mma", "sync aligned"},
    {"$i8", "s8|u8"},
    {"$i4", "s4|u4"},
    {"$fp8", "e4m3|e5m2"},
    // Shapes of wgmma by depth: multiples of 8 columns, of integers also of 16.
    {"$m64k8", "m64n8k8|m64n16k8|m64n24k8|m64n32k8|m64n40k8|m64n48k8|m64n56k8|m64n64k8|m64n72k8|"
               "m64n80k8|m64n88k8|m64n96k8|m64n104k8|m64n112k8|m64n120k8|m64n128k8|m64n136k8|"
               "m64n144k8|m64n152k8|m64n160k8|m64n168k8|m64n176k8|m64n184k8|m64n192k8|m64n200k8|"
               "m64n208k8|m64n216k8|m64n224k8|m64n232k8|m64n240k8|m64n248k8|m64n256k8"},
    {"$m64k16",
     "m64n8k16|m64n16k16|m64n24k16|m64n32k16|m64n40k16|m64n48k16|m64n56k16|m64n64k16|"
     "m64n72k16|m64n80k16|m64n88k16|m64n96k16|m64n104k16|m64n112k16|m64n120k16|m64n128k16|"
     "m64n136k16|m64n144k16|m64n152k16|m64n160k16|m64n168k16|m64n176k16|m64n184k16|"
     "m64n192k16|m64n200k16|m64n208k16|m64n216k16|m64n224k16|m64n232k16|m64n240k16|"
     "m64n248k16|m64n256k16"},
    {"$m64k32",
     "m64n8k32|m64n16k32|m64n24k32|m64n32k32|m64n40k32|m64n48k32|m64n56k32|m64n64k32|"
     "m64n72k32|m64n80k32|m64n88k32|m64n96k32|m64n104k32|m64n112k32|m64n120k32|m64n128k32|"
     "m64n136k32|m64n144k32|m64n152k32|m64n160k32|m64n168k32|m64n176k32|m64n184k32|"
     "m64n192k32|m64n200k32|m64n208k32|m64n216k32|m64n224k32|m64n232k32|m64n240k32|"
     "m64n248k32|m64n256k32"},
    {"$m64k32i", "m64n8k32|m64n16k32|m64n24k32|m64n32k32|m64n48k32|m64n64k32|m64n80k32|m64n96k32|"
                 "m64n112k32|m64n128k32|m64n144k32|m64n160k32|m64n176k32|m64n192k32|m64n208k32|"
                 "m64n224k32|m64n240k32|m64n256k32"},
    {"$cached", "?h:L2::cache_hint ?h:$prefetch"},
    {"$v32", "v:v8 t:b32|u32|s32|f32"},
    {"$v4x64", "v:v4 t:b64|u64|s64|f64"},
    {"$ordered", "?o:release|relaxed ?k:cta|cluster"},
    {"$awaited", "?o:acquire|relaxed ?k:cta|cluster"},
    {"$here", "?x:shared|shared::cta"},
    {"$counted", "x:shared::cta|shared::cluster global"},
    {"$bytes", "mbarrier::complete_tx::bytes ?h:L2::cache_hint"},
    {"$grouped", "global x:shared::cta"},
    {"$dims", "1d|2d|3d|4d|5d"},
    {"$where", "?o:$sem ?k:$scope ?x:$shareable"},
    {"$where_red", "?o:relaxed|release ?k:$scope ?x:$shareable"},
};

static std::string_view listNamed(std::string_view name) {
  for (const auto &[listName, text] : kLists)
    if (listName == name)
      return text;
  return {};
}

/// Takes the piece before `separator` off `text`.
static std::string_view takePiece(std::string_view &text, char separator) {
  size_t end = std::min(text.find(separator), text.size());
  std::string_view piece = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return piece;
}

static void readWords(std::string_view pattern, std::vector<std::string_view> &words) {
  while (!pattern.empty()) {
    std::string_view word = takePiece(pattern, '|');
    if (word.front() == '$')
      readWords(listNamed(word), words);
    else
      words.push_back(word);
  }
}

static ModifierKind modeKind(Op op) {
  switch (op) {
  case Op::Shfl:
    return ModifierKind::Shfl;
  case Op::Testp:
    return ModifierKind::Testp;
  case Op::Prmt:
    return ModifierKind::Prmt;
  default:
    return ModifierKind::Vote;
  }
}

static ModifierKind kindOfLetter(char letter, Op op) {
  switch (letter) {
  case 'f':
    return ModifierKind::Flag;
  case 't':
    return ModifierKind::Type;
  case 's':
    return ModifierKind::SourceType;
  case 'x':
    return ModifierKind::Space;
  case 'o':
    return ModifierKind::Order;
  case 'k':
    return ModifierKind::Scope;
  case 'h':
    return ModifierKind::Hint;
  case 'a':
    return ModifierKind::AtomOp;
  case 'c':
    return ModifierKind::Compare;
  case 'b':
    return ModifierKind::Bool;
  case 'r':
    return ModifierKind::Rounding;
  case 'v':
    return ModifierKind::VectorWidth;
  case 'g':
    return ModifierKind::Shape;
  case 'u':
    return ModifierKind::SecondType;
  case 'w':
    return ModifierKind::WarpgroupShape;
  default:
    return modeKind(op);
  }
}

static void readModifiers(std::string_view pattern, InstructionRow &row) {
  while (!pattern.empty()) {
    std::string_view text = takePiece(pattern, ' ');
    if (text.front() == '$') {
      readModifiers(listNamed(text), row);
      continue;
    }
    ModifierGroup group;
    if (text.front() == '?') {
      group.isOptional = true;
      text.remove_prefix(1);
    }
    if (text.size() > 1 && text[1] == ':') {
      group.kind = kindOfLetter(text[0], row.text.op);
      text.remove_prefix(2);
    }
    readWords(text, group.words);
    row.groups.push_back(std::move(group));
  }
}

static void readTypeRule(std::string_view text, OperandRule &rule) {
  if (text == "x" || text == "xs")
    rule.isRelaxed = true;
  if (text == "s" || text == "xs")
    rule.typeRule = TypeRule::OfSource;
  else if (text == "2")
    rule.typeRule = TypeRule::DoubleWidth;
  else if (Type type = typeNamed(text); type != Type::None) {
    rule.typeRule = TypeRule::Fixed;
    rule.fixed = type;
  }
}

static Role roleNamed(std::string_view name) {
  static constexpr std::pair<std::string_view, Role> kRoles[] = {
      {"D", Role::Result},        {"P", Role::PredicateResult}, {"A", Role::Source},
      {"N", Role::Predicate},     {"I", Role::Immediate},       {"M", Role::Address},
      {"V", Role::Vector},        {"DV", Role::Vector},         {"MOVE", Role::Move},
      {"F", Role::Fragment},      {"DF", Role::Fragment},       {"ACC", Role::Accumulator},
      {"MATRIX", Role::MatrixA},  {"SIGN", Role::Sign},         {"MAJOR", Role::Major},
      {"MAJORA", Role::MajorOfA}, {"G", Role::SourceAddress},   {"B", Role::BarrierAddress},
      {"T", Role::TensorPlace},   {"S", Role::CopiedSize},      {"H", Role::CachePolicy},
      {"LABEL", Role::Label},     {"CALLEE", Role::Callee},     {"TARGETS", Role::BranchTargets}};
  for (const auto &[text, role] : kRoles)
    if (text == name)
      return role;
  return Role::Source;
}

static OperandRule readOperand(std::string_view text) {
  OperandRule rule;
  if (text.front() == '?') {
    rule.isOptional = true;
    text.remove_prefix(1);
  }
  if (text.front() == '|') {
    rule.isSecond = true;
    text.remove_prefix(1);
  }
  if (text.back() == '_') {
    rule.mayBeSink = true;
    text.remove_suffix(1);
  }
  std::string_view type = text, name = takePiece(type, ':');
  if (name.back() >= '0' && name.back() <= '9') {
    rule.count = uint8_t(name.back() - '0');
    name.remove_suffix(1);
  }
  rule.role = roleNamed(name);
  rule.isResult = name == "DV" || name == "DF";
  rule.isRelaxed = rule.role == Role::Vector;
  readTypeRule(type, rule);
  return rule;
}

unsigned tw::warpsim::ptx::numAccumulatorRegisters(const Instruction &instruction) {
  return instruction.columns / (instruction.type == Type::F16 ? 4 : 2);
}

Type tw::warpsim::ptx::accumulatorRegisterType(const Instruction &instruction) {
  return instruction.type == Type::F16 ? Type::F16x2 : instruction.type;
}

InstructionTable::InstructionTable() {
  for (const RowText &text : instructionRows()) {
    InstructionRow row;
    row.text = text;
    readModifiers(text.modifiers, row);
    std::string_view operands = text.operands;
    while (!operands.empty())
      row.operands.push_back(readOperand(takePiece(operands, ' ')));
    rowsOfOpcode[text.opcode].push_back(uint32_t(all.size()));
    all.push_back(std::move(row));
  }
}

const InstructionTable &InstructionTable::get() {
  static const InstructionTable table;
  return table;
}

/// Which groups the modifiers belong to; empty if they do not fit, and how many did.
static std::optional<std::vector<const ModifierGroup *>>
assignGroups(const InstructionRow &row, std::span<const std::string_view> modifiers,
             size_t &numFitting) {
  std::vector<const ModifierGroup *> chosen;
  for (const ModifierGroup &group : row.groups) {
    bool fits = chosen.size() < modifiers.size() &&
                std::ranges::find(group.words, modifiers[chosen.size()]) != group.words.end();
    if (fits)
      chosen.push_back(&group);
    else if (!group.isOptional)
      break;
    numFitting = std::max(numFitting, chosen.size());
    if (&group == &row.groups.back() && chosen.size() == modifiers.size())
      return chosen;
  }
  if (row.groups.empty() && modifiers.empty())
    return chosen;
  return std::nullopt;
}

/// Sets the order and scope that PTX assumes where a memory instruction names none.
static void setDefaults(std::string_view opcode, Instruction &instruction) {
  if (instruction.op == Op::Atom || instruction.op == Op::Red) {
    if (instruction.order == Order::Weak)
      instruction.order = Order::Relaxed;
    if (instruction.scope == Scope::None)
      instruction.scope = Scope::Gpu;
  }
  if (instruction.op == Op::Membar && instruction.order == Order::Weak)
    // membar is a synonym of fence.sc since sm_70.
    instruction.order = opcode == "membar" ? Order::SeqCst : Order::AcqRel;
  instruction.readsCarry = instruction.op == Op::Addc || instruction.op == Op::Subc ||
                           instruction.op == Op::Madc || instruction.op == Op::MadcHi;
}

const InstructionRow *InstructionTable::match(std::string_view opcode,
                                              std::span<const std::string_view> modifiers,
                                              Instruction &instruction,
                                              std::string &message) const {
  auto rows = rowsOfOpcode.find(opcode);
  if (rows == rowsOfOpcode.end()) {
    message = "unknown instruction " + std::string(opcode);
    return nullptr;
  }
  size_t numFitting = 0;
  for (uint32_t index : rows->second) {
    const InstructionRow &row = all[index];
    auto chosen = assignGroups(row, modifiers, numFitting);
    if (!chosen)
      continue;
    instruction.op = row.text.op;
    for (size_t i = 0; i < modifiers.size(); ++i)
      setModifier(instruction, (*chosen)[i]->kind, modifiers[i]);
    setDefaults(opcode, instruction);
    return &row;
  }
  if (numFitting == modifiers.size()) {
    message = std::string(opcode) + " lacks a modifier or a type";
    return nullptr;
  }
  std::string_view unfit = modifiers[numFitting];
  bool isKnown = std::ranges::any_of(rows->second, [&](uint32_t index) {
    return std::ranges::any_of(all[index].groups, [&](const ModifierGroup &group) {
      return std::ranges::find(group.words, unfit) != group.words.end();
    });
  });
  message = isKnown ? "modifier ." + std::string(unfit) + " does not fit here in "
                    : "unknown modifier ." + std::string(unfit) + " of ";
  message += opcode;
  if (isKnown)
    for (std::string_view modifier : modifiers)
      message += "." + std::string(modifier);
  return nullptr;
}
