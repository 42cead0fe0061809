// ldmatrix, stmatrix and movmatrix: 8x8 matrices of 16-bit elements between memory and fragments.
#include "backend/warpsim/core/access/Addresses.h"
#include "backend/warpsim/core/matrix/MatrixOperations.h"
#include "backend/warpsim/exec/LaneOperands.h"
#include <cstring>

using namespace tw::warpsim;

constexpr unsigned kRowsOfMatrix = 8, kRowBytes = 16, kPieceBytes = 4, kPiecesOfRow = 4;

/// Row i of matrix m is where lane 8 * m + i says.
static LaneMask addressLanes(const Instruction &instruction) {
  unsigned count = kRowsOfMatrix * instruction.vectorWidth;
  return count == kWarpSize ? ~LaneMask(0) : (1u << count) - 1;
}

/// The lanes that hold a piece of 4 bytes of a row: two elements of one lane, or transposed of two.
static LaneMask holdersOf(const Instruction &instruction, unsigned row, unsigned piece) {
  if (!instruction.isTransposed)
    return 1u << (4 * row + piece);
  return (1u << (8 * piece + row / 2)) | (1u << (8 * piece + 4 + row / 2));
}

/// Part of a row as a request of its own.
static Request pieceOf(const Request &request, unsigned rowLane, unsigned offset, unsigned bytes,
                       LaneMask holders) {
  Request piece;
  piece.space = request.space;
  piece.lanes = holders;
  piece.bytes = bytes;
  piece.isUniform = true;
  piece.region = request.region;
  for (LaneMask rest = holders; rest; rest &= rest - 1) {
    unsigned lane = unsigned(__builtin_ctz(rest));
    piece.at[lane] = request.at[rowLane] + offset;
    piece.host[lane] = request.host[rowLane] + offset;
  }
  return piece;
}

static void checkPiece(const MemoryStep &step, const Request &piece) {
  std::optional<PageLock> held;
  if (checkRow(step, piece, Strength::Weak, held))
    return;
  held.reset();
  for (LaneMask rest = piece.lanes; rest; rest &= rest - 1)
    checkLane(step, piece, Strength::Weak, unsigned(__builtin_ctz(rest)), nullptr);
}

static void countRows(const MemoryStep &step, const Request &request) {
  Statistics &statistics = step.cta.statistics;
  uint64_t wavefronts = statistics.sharedWavefronts, groups = statistics.idealSharedWavefronts;
  countRequest(step, request);
  statistics.matrixWavefronts += statistics.sharedWavefronts - wavefronts;
  statistics.matrixRowGroups += statistics.idealSharedWavefronts - groups;
}

namespace {
/// The registers of an ldmatrix or stmatrix: element e (0 or 1) of lane l in matrix m.
struct MatrixRegisters {
  uint16_t element[4][2 * kWarpSize];
  LaneMask missing[4][2] = {}; // lanes whose lower or upper element has no value
  /// Number of the element at (row, column).
  static unsigned numberOf(unsigned row, unsigned column, bool isTransposed) {
    return isTransposed ? 8 * column + row : 8 * row + column;
  }
};
} // namespace

/// Adds the elements of a row that have no value; what nobody wrote is reported.
static void addMissing(const MemoryStep &step, const Request &request, unsigned rowLane,
                       LaneMask (&missing)[2]) {
  const TrackedBytes &shared = step.cta.shared;
  uint64_t at = request.at[rowLane];
  if (!step.cta.launch.launch.options.checksInitialized || shared.isDefined(at, kRowBytes))
    return;
  if (!shared.isWritten(at, kRowBytes))
    reportAccess(step, Kind::UninitShared, request, rowLane, "has bytes that nothing has written");
  for (unsigned column = 0; column < 8; ++column) {
    unsigned number = MatrixRegisters::numberOf(rowLane % 8, column, step.instruction.isTransposed);
    if (!shared.isDefined(at + 2 * column, 2))
      missing[number % 2] |= 1u << number / 2;
  }
}

static void loadRow(const MemoryStep &step, const Request &request, unsigned rowLane,
                    MatrixRegisters &loaded) {
  unsigned matrix = rowLane / kRowsOfMatrix, row = rowLane % kRowsOfMatrix;
  bool isTransposed = step.instruction.isTransposed;
  if (step.cta.launch.launch.options.checksRaces)
    for (unsigned piece = 0; piece < kPiecesOfRow; ++piece)
      checkPiece(step, pieceOf(request, rowLane, piece * kPieceBytes, kPieceBytes,
                               holdersOf(step.instruction, row, piece)));
  uint16_t elements[8];
  memcpy(elements, request.host[rowLane], kRowBytes);
  for (unsigned column = 0; column < 8; ++column)
    loaded.element[matrix][MatrixRegisters::numberOf(row, column, isTransposed)] = elements[column];
  addMissing(step, request, rowLane, loaded.missing[matrix]);
}

/// A fault for lanes whose rows are not in shared memory (through a generic address).
static bool isShared(const MemoryStep &step, const Request &request) {
  if (request.space == Space::Shared)
    return true;
  reportAccess(step, Kind::OutOfBoundsShared, request, unsigned(__builtin_ctz(request.lanes)),
               "is not in shared memory, where a matrix has to be");
  return false;
}

void tw::warpsim::executeLdmatrix(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                                  LaneMask active) {
  checkWholeWarp(cta, warp, pc, active);
  MemoryStep step = {cta, warp, instruction, pc, false, kRowBytes};
  LaneMask rows = active & addressLanes(instruction), performed = 0;
  MatrixRegisters loaded = {};
  if (rows)
    forEachMemory(step, rows, [&](Request &request) {
      if (!isShared(step, request))
        return;
      request.expand();
      request.isUniform = false; // each of the rows is read
      countRows(step, request);
      performed |= request.lanes;
      for (LaneMask rest = request.lanes; rest; rest &= rest - 1)
        loadRow(step, request, unsigned(__builtin_ctz(rest)), loaded);
    });
  for (unsigned matrix = 0; matrix < instruction.vectorWidth; ++matrix) {
    LaneValues<uint32_t> values;
    memcpy(values.lanes, loaded.element[matrix], sizeof(values.lanes));
    // Rows that could not be read leave everything of their matrix without a value.
    bool isWhole = (performed >> matrix * kRowsOfMatrix & 0xff) == 0xff;
    const auto &[low, high] = loaded.missing[matrix];
    if (instruction.results[matrix].kind != Operand::Kind::Register)
      continue;
    writeLanes(instruction.results[matrix], warp.registers(), active, values,
               isWhole ? ~LaneMask(0) : 0);
    if (isWhole && (low | high))
      markBytes(instruction.results[matrix], warp.registers(), active, {low, low, high, high}, 4);
  }
}

static void storeRow(const MemoryStep &step, const Request &request, unsigned rowLane,
                     const MatrixRegisters &stored) {
  unsigned matrix = rowLane / kRowsOfMatrix, row = rowLane % kRowsOfMatrix;
  bool isTransposed = step.instruction.isTransposed;
  // A lane writes pairs of elements, transposed single ones.
  unsigned bytes = isTransposed ? 2 : kPieceBytes;
  for (unsigned offset = 0; offset < kRowBytes; offset += bytes) {
    unsigned number = MatrixRegisters::numberOf(row, offset / 2, isTransposed);
    unsigned lane = number / 2;
    Request piece = pieceOf(request, rowLane, offset, bytes, 1u << lane);
    uint8_t value[kPieceBytes];
    memcpy(value, &stored.element[matrix][number], bytes);
    checkLane(step, piece, Strength::Weak, lane, value); // stores it too
    for (unsigned i = 0; i < bytes / 2; ++i) {
      bool isMissing = stored.missing[matrix][(number + i) % 2] >> lane & 1;
      step.cta.shared.markWritten(piece.at[lane] + 2 * i, 2, !isMissing);
    }
  }
}

void tw::warpsim::executeStmatrix(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                                  LaneMask active) {
  checkWholeWarp(cta, warp, pc, active);
  MemoryStep step = {cta, warp, instruction, pc, true, kRowBytes};
  MatrixRegisters stored = {};
  for (unsigned matrix = 0; matrix < instruction.vectorWidth; ++matrix) {
    LaneValues<uint32_t> buffer;
    const Operand &source = instruction.sources[matrix];
    memcpy(stored.element[matrix], readLanes<uint32_t>(source, warp.registers(), buffer),
           sizeof(stored.element[matrix]));
    MissingBytes missing = missingBytes(source, warp.registers());
    for (unsigned byte = 0; byte < 4; ++byte)
      stored.missing[matrix][byte / 2] |= missing[byte];
  }
  LaneMask rows = active & addressLanes(instruction);
  if (!rows)
    return;
  forEachMemory(step, rows, [&](Request &request) {
    if (!isShared(step, request))
      return;
    request.expand();
    request.isUniform = false;
    countRows(step, request);
    for (LaneMask rest = request.lanes; rest; rest &= rest - 1)
      storeRow(step, request, unsigned(__builtin_ctz(rest)), stored);
  });
}

void tw::warpsim::executeMovmatrix(Cta &cta, Warp &warp, const Instruction &instruction, int32_t pc,
                                   LaneMask active) {
  checkWholeWarp(cta, warp, pc, active);
  LaneValues<uint32_t> buffer, values;
  const Operand &source = instruction.sources[0];
  uint16_t from[2 * kWarpSize], to[2 * kWarpSize];
  memcpy(from, readLanes<uint32_t>(source, warp.registers(), buffer), sizeof(from));
  MissingBytes given = missingBytes(source, warp.registers()), missing = {};
  for (unsigned row = 0; row < 8; ++row)
    for (unsigned column = 0; column < 8; ++column) {
      unsigned here = 8 * row + column, there = 8 * column + row;
      to[here] = from[there];
      for (unsigned byte = 0; byte < 2; ++byte)
        missing[here % 2 * 2 + byte] |= (given[there % 2 * 2 + byte] >> there / 2 & 1) << here / 2;
    }
  memcpy(values.lanes, to, sizeof(to));
  writeLanes(instruction.results[0], warp.registers(), active, values, ~LaneMask(0));
  markBytes(instruction.results[0], warp.registers(), active, missing, 4);
}
