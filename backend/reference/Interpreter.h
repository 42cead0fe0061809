// The meaning of Tile IR, one operation at a time: what a program of a kernel does, step by step.
#ifndef BACKEND_REFERENCE_INTERPRETER_H
#define BACKEND_REFERENCE_INTERPRETER_H
#include "backend/reference/Values.h"
#include "mlir/IR/Operation.h"
#include "runtime/Interrupts.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include <array>
#include <span>
#include <string>
#include <vector>

namespace tw::reference {

struct Program;
struct ElementwiseCall;
class Overlay;
class Turns;

/// Runs one operation: reads operand values, writes result values. On failure the program's error
/// is set.
using StructuredMeaning = llvm::LogicalResult (*)(Program &, mlir::Operation &);
/// Computes one element of an elementwise operation from the operands' elements.
using ElementwiseMeaning = uint64_t (*)(const ElementwiseCall &);

/// The meaning of an operation; exactly one of the two is set, neither for an unknown operation.
struct Meaning {
  StructuredMeaning structured = nullptr;
  ElementwiseMeaning elementwise = nullptr;
};

/// All operations that have a meaning, by name. Terminators have one too: their region's owner
/// reads their operands.
class MeaningTable {
public:
  MeaningTable();
  Meaning find(mlir::OperationName name) const { return meanings.lookup(name.getStringRef()); }
  const llvm::StringMap<Meaning> &all() const { return meanings; }

private:
  llvm::StringMap<Meaning> meanings;
};

/// Asks now and then whether the launch is to stop.
class InterruptPoll {
public:
  /// Before each operation: those take from a tenth of a microsecond to seconds.
  bool isDue() { return --untilLook == 0 && look(); }

private:
  bool look();

  InterruptClock clock;
  int untilLook = 1;
  std::chrono::steady_clock::time_point lastLook = {};
};

/// Counts the iterations of loops since a program last did anything that another iteration could
/// differ by: wrote memory, printed, asked for the time, or read what the same operation did not
/// read there before. Programs that wait for each other in vain count together.
struct LoopLimit {
  uint64_t most, idle = 0;

  explicit LoopLimit(uint64_t most) : most(most) {}
  void noteEffect() { idle = 0; }
  /// `digest` is of the addresses and of what is there.
  void noteRead(mlir::Operation *op, uint64_t program, uint64_t digest);

private:
  llvm::DenseMap<std::pair<mlir::Operation *, uint64_t>, uint64_t> lastRead;
};

/// The state that all programs of a launch share.
struct Launch {
  LaunchGrid grid;
  std::span<const LaunchArgument> arguments; // and the memory that is reached by addresses
  std::vector<std::string> argumentNames;
  std::string name;    // of the kernel
  InterruptPoll *poll; // asked where there are no turns
  LoopLimit *loops;
  bool isMemoryKnown;         // behind every pointer
  Turns *turns = nullptr;     // of a cooperative grid
  Overlay *overlay = nullptr; // takes what programs write; null: memory does
  /// Before each operation of a program; true where the launch is to stop.
  bool isStopped(const Program &program) const;
};

/// The place of a program in its grid, x fastest.
uint64_t numberOf(std::array<int32_t, 3> id, const LaunchGrid &grid);

/// One running program.
struct Program {
  const MeaningTable &meanings;
  const Launch &launch;
  std::array<int32_t, 3> id;
  int callDepth;
  uint64_t number; // in the grid, x fastest
  llvm::DenseMap<mlir::Value, TileValue> values;
  RuntimeError error; // set when a step failed

  Program(const MeaningTable &meanings, const Launch &launch, std::array<int32_t, 3> id,
          int callDepth = 0)
      : meanings(meanings), launch(launch), id(id), callDepth(callDepth),
        number(numberOf(id, launch.grid)) {}
  const TileValue &valueOf(mlir::Value value) const { return values.find(value)->second; }
  void set(mlir::Value value, TileValue result) { values[value] = std::move(result); }
  /// The value of a scalar integer or index, sign extended.
  int64_t integerOf(mlir::Value value) const;
  bool isTrue(mlir::Value condition) const { return valueOf(condition)[0].bits != 0; }
};

/// Runs a block's operations in order, its terminator included.
llvm::LogicalResult runBlock(Program &program, mlir::Block &block);
/// Gives `targets` the values of `sources`, all at once.
void assignValues(Program &program, mlir::ValueRange targets, mlir::ValueRange sources);

/// Sets the program's error: message, program, tile index when `position` >= 0, and source lines.
llvm::LogicalResult failAt(Program &program, mlir::Operation &op, Code code,
                           const std::string &message, int64_t position = -1,
                           llvm::ArrayRef<int64_t> shape = {});

/// The first operation, or type of a value, that the interpreter gives no meaning to; else empty.
std::string findUnknown(const MeaningTable &meanings, mlir::Operation *root);

} // namespace tw::reference
#endif
