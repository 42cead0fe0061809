// Draws operand values, runs instructions on warps and compares lanes.
#include "test/unit/warpsim/execute/ExecuteHarness.h"
#include "test/unit/DrawnSeed.h"
#include "test/unit/warpsim/execute/ExactFloat.h"

using namespace tw::warpsim;
using namespace tw::warpsim::test;

std::mt19937_64 &tw::warpsim::test::randomBits() {
  static std::mt19937_64 generator(tw::test::drawnSeed());
  return generator;
}

void tw::warpsim::test::PrintTo(const Row &row, std::ostream *stream) { *stream << row.name; }

std::string tw::warpsim::test::nameOfRow(const testing::TestParamInfo<Row> &info) {
  std::string name;
  for (char letter : info.param.name)
    name += std::isalnum(static_cast<unsigned char>(letter)) ? letter : '_';
  return name;
}

uint64_t tw::warpsim::test::maskOf(Type type) {
  unsigned bits = bytesOf(type) * 8;
  if (type == Type::Pred)
    return 1;
  return bits >= 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
}

const char *tw::warpsim::test::suffixOf(Type type) {
  static const char *const names[] = {
      "none",   "pred",    "b8",    "b16",   "b32", "b64",    "b128",   "u8",     "u16",
      "u32",    "u64",     "s8",    "s16",   "s32", "s64",    "f16",    "f16x2",  "bf16",
      "bf16x2", "tf32",    "f32",   "f32x2", "f64", "e4m3x2", "e5m2x2", "e2m1x2", "e2m3x2",
      "e3m2x2", "ue8m0x2", "u16x2", "s16x2", "s4",  "u4",     "e4m3",   "e5m2"};
  static_assert(std::size(names) == static_cast<size_t>(Type::E5M2) + 1);
  return names[static_cast<size_t>(type)];
}

bool tw::warpsim::test::isNanOf(Type type, uint64_t bits) {
  switch (type) {
  case Type::F16:
    return isNan(kF16, bits);
  case Type::BF16:
    return isNan(kBf16, bits);
  case Type::F32:
    return isNan(kF32, bits);
  case Type::F64:
    return isNan(kF64, bits);
  default:
    return false;
  }
}

static std::vector<uint64_t> floatEdges(Layout layout) {
  uint64_t sign = uint64_t(1) << (layout.exponentBits + layout.mantissaBits);
  uint64_t unit = uint64_t(1) << layout.mantissaBits, infinity = sign - unit;
  uint64_t one = infinity / 2 / unit * unit;
  std::vector<uint64_t> edges = {0,
                                 1,
                                 unit / 2,
                                 unit - 1,
                                 unit,
                                 unit + 1,
                                 one - 1,
                                 one,
                                 one + 1,
                                 one - unit,
                                 one + unit,
                                 one + unit / 2,
                                 infinity - 1,
                                 infinity - unit,
                                 infinity,
                                 infinity + 1,
                                 sign - 1,
                                 one + 15 * unit,
                                 one + 16 * unit,
                                 one + 31 % (unit << 1) * unit};
  for (size_t index = 0, count = edges.size(); index < count; ++index)
    edges.push_back(edges[index] | sign);
  return edges;
}

static std::vector<uint64_t> integerEdges(unsigned bits) {
  uint64_t mask = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  std::vector<uint64_t> edges;
  for (uint64_t value : {0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 70, 127, 128, 255, 256})
    edges.insert(edges.end(), {value & mask, (0 - value) & mask, ~(uint64_t(value)) & mask});
  uint64_t top = uint64_t(1) << (bits - 1);
  edges.insert(edges.end(), {top, top - 1, top + 1, top / 2, 0x5555555555555555 & mask,
                             0x8000ffff7fff0001 & mask, 0x00ff00ff00ff00ff & mask});
  return edges;
}

const std::vector<uint64_t> &tw::warpsim::test::edgesOf(Type type) {
  static const std::vector<uint64_t> f16 = floatEdges(kF16), bf16 = floatEdges(kBf16),
                                     f32 = floatEdges(kF32), f64 = floatEdges(kF64),
                                     i8 = integerEdges(8), i16 = integerEdges(16),
                                     i32 = integerEdges(32), i64 = integerEdges(64),
                                     predicates = {0, 1};
  switch (type) {
  case Type::Pred:
    return predicates;
  case Type::F16:
    return f16;
  case Type::BF16:
    return bf16;
  case Type::F32:
    return f32;
  case Type::F64:
    return f64;
  default:
    break;
  }
  unsigned bytes = bytesOf(type);
  return bytes == 1 ? i8 : bytes == 2 ? i16 : bytes == 4 ? i32 : i64;
}

/// The type of the halves of a pair, None for other types.
static Type halfOf(Type type) {
  switch (type) {
  case Type::F16x2:
    return Type::F16;
  case Type::BF16x2:
    return Type::BF16;
  case Type::F32x2:
    return Type::F32;
  default:
    return Type::None;
  }
}

uint64_t tw::warpsim::test::drawValue(Type type, const std::vector<uint64_t> &extra) {
  if (Type half = halfOf(type); half != Type::None)
    return drawValue(half) | (drawValue(half) << 8 * bytesOf(half));
  auto &random = randomBits();
  const std::vector<uint64_t> &edges = edgesOf(type);
  uint64_t bits = random();
  switch (random() % 4) {
  case 0:
    return edges[random() % edges.size()];
  case 1:
    return extra.empty() ? bits & maskOf(type) : extra[random() % extra.size()] & maskOf(type);
  case 2: // near an edge: floats of like size, integers of few bits
    return (edges[random() % edges.size()] + (bits >> (random() % 40 + 20))) & maskOf(type);
  default:
    return bits & maskOf(type);
  }
}

Operand tw::warpsim::test::registerOperand(Type type, uint32_t number) {
  Operand operand;
  operand.kind = Operand::Kind::Register;
  RegisterFile file = bytesOf(type) == 8 ? RegisterFile::Double : RegisterFile::Word;
  operand.reg = {type == Type::Pred ? RegisterFile::Predicate : file, number};
  return operand;
}

Operand tw::warpsim::test::immediateOperand(uint64_t bits) {
  Operand operand;
  operand.kind = Operand::Kind::Immediate;
  operand.bits = bits;
  return operand;
}

Instruction tw::warpsim::test::makeInstruction(Op op, Type type, Type sourceType) {
  Instruction instruction;
  instruction.op = op;
  instruction.type = type;
  instruction.sourceType = sourceType;
  return instruction;
}

namespace {
/// One run of a row on 32 lanes.
struct Batch {
  Instruction instruction;
  std::vector<std::array<uint64_t, kWarpSize>> values;
  std::vector<LaneMask> set;
  LaneMask active = ~LaneMask(0);
};
} // namespace

static constexpr uint64_t kPoison = 0xdeadbeefcafef00d;

static Batch drawBatch(const Row &row, bool isEdges = false) {
  auto &random = randomBits();
  Batch batch;
  batch.instruction = row.instruction;
  if (random() % 2)
    batch.active = static_cast<LaneMask>(random());
  // The result is register 0; source k is register k + 1, or an immediate, or register 0 as well.
  unsigned choice = isEdges ? 3 : random() % 4;
  size_t special = random() % row.sources.size();
  bool isOverwriting = false;
  batch.instruction.results = {registerOperand(row.result, 0)};
  for (size_t index = 0; index < row.sources.size(); ++index) {
    Type type = row.sources[index];
    std::array<uint64_t, kWarpSize> lanes;
    for (uint64_t &value : lanes)
      value = drawValue(type, row.extra);
    Operand operand = registerOperand(type, static_cast<uint32_t>(index) + 1);
    LaneMask set = random() % 2 ? ~LaneMask(0) : static_cast<LaneMask>(random());
    if (index == special && choice == 0 && type != Type::Pred) {
      lanes.fill(lanes[0]);
      set = ~LaneMask(0);
      operand = immediateOperand(lanes[0]);
    } else if (index == special && choice == 1) {
      isOverwriting = operand.reg.file == batch.instruction.results[0].reg.file;
      operand.reg.number = isOverwriting ? 0 : operand.reg.number;
    }
    batch.instruction.sources.push_back(operand);
    batch.values.push_back(lanes);
    batch.set.push_back(set);
  }
  for (const Operand &operand : row.trailing)
    batch.instruction.sources.push_back(operand);
  return batch;
}

static void load(WarpRegisters &registers, const Batch &batch) {
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    writeLane(batch.instruction.results[0], registers, lane, kPoison, false);
    for (size_t index = 0; index < batch.values.size(); ++index)
      writeLane(batch.instruction.sources[index], registers, lane, batch.values[index][lane],
                (batch.set[index] >> lane) & 1);
  }
}

static bool isClose(const Row &row, uint64_t got, uint64_t expected) {
  if (isNanOf(row.result, expected))
    return isNanOf(row.result, got);
  if (got == expected)
    return true;
  uint64_t distance = got > expected ? got - expected : expected - got;
  return distance <= row.maxUlp && !isNanOf(row.result, got);
}

static std::string describe(const Row &row, const uint64_t *sources, size_t count) {
  char text[64];
  std::string result = row.name;
  for (size_t index = 0; index < count; ++index) {
    std::snprintf(text, sizeof(text), " %#llx", static_cast<unsigned long long>(sources[index]));
    result += text;
  }
  return result;
}

/// Whether a source of an `and` or `or` that has a value decides a byte of the result, or a
/// predicate, whatever the other one is.
static bool isDecidedBy(const Instruction &instruction, uint64_t value) {
  if (instruction.op != Op::And && instruction.op != Op::Or)
    return false;
  bool isPredicate = instruction.type == Type::Pred;
  uint64_t all = isPredicate ? 1 : 0xff, deciding = instruction.op == Op::And ? 0 : all;
  for (unsigned part = 0; part < (isPredicate ? 1 : bytesOf(instruction.type)); ++part)
    if ((value >> (8 * part) & all) == deciding)
      return true;
  return false;
}

static void compare(const Row &row, const Batch &batch, const WarpRegisters &before,
                    const WarpRegisters &after) {
  const Operand &result = batch.instruction.results[0];
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    uint64_t got = readLane(result, after, lane);
    bool isSet = (setLanes(result, after) >> lane) & 1;
    if (!((batch.active >> lane) & 1)) {
      ASSERT_EQ(got, readLane(result, before, lane)) << row.name << " wrote an inactive lane";
      ASSERT_EQ(isSet, (setLanes(result, before) >> lane) & 1) << row.name;
      continue;
    }
    uint64_t sources[8];
    bool isExpectedSet = true, isDecided = false;
    for (size_t index = 0; index < batch.values.size(); ++index) {
      sources[index] = batch.values[index][lane];
      bool isSourceSet = (batch.set[index] >> lane) & 1;
      isExpectedSet &= isSourceSet;
      isDecided |= isSourceSet && isDecidedBy(batch.instruction, sources[index]);
    }
    isExpectedSet |= isDecided;
    uint64_t expected = row.expected(sources);
    ASSERT_TRUE(isClose(row, got, expected))
        << describe(row, sources, batch.values.size()) << std::hex << "\n  gives    0x" << got
        << "\n  expected 0x" << expected;
    if (!row.isSetChosen)
      ASSERT_EQ(isSet, isExpectedSet) << row.name << ": definedness";
  }
}

/// Replaces the lanes of the first two sources by pairs of edge values, 32 of them from number
/// `first`.
static void useEdges(const Row &row, Batch &batch, const std::vector<uint64_t> (&edges)[2],
                     size_t first) {
  for (size_t source = 0; source < std::min<size_t>(2, row.sources.size()); ++source) {
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
      size_t number = first + lane, index = source == 0 ? number / edges[1].size() : number;
      batch.values[source][lane] = edges[source][index % edges[source].size()];
    }
  }
}

static void runBatch(const Row &row, const Batch &batch) {
  WarpRegisters registers({8, 8, 8});
  load(registers, batch);
  WarpRegisters before = registers;
  Handler handler = findHandler(batch.instruction);
  ASSERT_NE(handler, nullptr) << row.name << " is not supported";
  handler(batch.instruction, registers, batch.active);
  compare(row, batch, before, registers);
}

static std::vector<uint64_t> edgesOfSource(const Row &row, size_t source) {
  if (source >= row.sources.size())
    return {0};
  std::vector<uint64_t> edges = edgesOf(row.sources[source]);
  for (uint64_t value : row.extra)
    edges.push_back(value & maskOf(row.sources[source]));
  return edges;
}

void tw::warpsim::test::checkRow(const Row &row) {
  constexpr unsigned numDrawn = 100; // batches of 32 lanes
  for (unsigned index = 0; index < numDrawn && !testing::Test::HasFatalFailure(); ++index)
    runBatch(row, drawBatch(row));
  const std::vector<uint64_t> edges[2] = {edgesOfSource(row, 0), edgesOfSource(row, 1)};
  size_t numPairs = edges[0].size() * edges[1].size();
  for (size_t first = 0; first < numPairs && !testing::Test::HasFatalFailure();
       first += kWarpSize) {
    Batch batch = drawBatch(row, true);
    useEdges(row, batch, edges, first);
    batch.active = ~LaneMask(0);
    runBatch(row, batch);
  }
}
