// Made-up arguments for running a kernel from the command line: arrays filled by rule, and scalars.
#include "backend/tools/SyntheticArguments.h"
#include "ir/tile/Tables.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"
#include "llvm/ADT/STLExtras.h"
#include <cstring>
#include <random>

using namespace tw;

/// The row of a type of Tile IR; null for a name that is none.
static const tile::ElementTypeRow *findRow(llvm::StringRef type) {
  const auto *row = llvm::find_if(
      tile::elementTypes(), [&](const tile::ElementTypeRow &row) { return type == row.IrType; });
  return row == tile::elementTypes().end() ? nullptr : row;
}

static unsigned bitWidth(llvm::StringRef type) {
  const tile::ElementTypeRow *row = findRow(type);
  return row ? row->Bits : 0;
}

static bool isFloat(llvm::StringRef type) { return type.contains('f'); }

/// Returns the format of a type of floats; null of integers.
static const llvm::fltSemantics *formatOf(llvm::StringRef type) {
  if (!isFloat(type))
    return nullptr;
  static mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto element = llvm::cast<mlir::FloatType>(tile::irTypeOf(*findRow(type), &context));
  return &element.getFloatSemantics();
}

static uint64_t encodeNumber(const llvm::fltSemantics *format, double value) {
  if (!format)
    return uint64_t(int64_t(value));
  llvm::APFloat number(value);
  bool isInexact;
  number.convert(*format, llvm::APFloat::rmNearestTiesToEven, &isInexact);
  return number.bitcastToAPInt().getZExtValue();
}

static double decodeNumber(llvm::StringRef type, uint64_t bits) {
  unsigned width = bitWidth(type);
  const llvm::fltSemantics *format = formatOf(type);
  if (!format)
    return double(llvm::APInt(64, bits).trunc(width).getSExtValue());
  llvm::APFloat number(*format, llvm::APInt(64, bits).trunc(width));
  bool isInexact;
  number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &isInexact);
  return number.convertToDouble();
}

static unsigned storedBytes(llvm::StringRef type) { return (bitWidth(type) + 7) / 8; }

/// Fills an array by rule; false when the rule is neither a name nor a number.
static bool fill(SyntheticArgument &argument, llvm::StringRef rule, uint64_t seed) {
  double constant = 0;
  bool isNumber = !rule.getAsDouble(constant);
  if (!isNumber && rule != "random" && rule != "iota" && rule != "zeros")
    return false;
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  unsigned bytes = storedBytes(argument.type);
  const llvm::fltSemantics *format = formatOf(argument.type);
  for (uint64_t i = 0; i < argument.numElements; ++i) {
    uint64_t bits = encodeNumber(format, rule == "iota" ? double(i) : constant);
    if (rule == "random")
      bits = format ? encodeNumber(format, uniform(generator)) : generator();
    if (argument.type == "i1")
      bits &= 1;
    memcpy(argument.data + i * bytes, &bits, bytes);
  }
  return true;
}

static void allocate(SyntheticArgument &argument) {
  uint64_t bytes = argument.numElements * storedBytes(argument.type);
  argument.storage = std::make_unique<char[]>(bytes + 64);
  argument.data = argument.storage.get();
  argument.data += (64 - reinterpret_cast<uintptr_t>(argument.data) % 64) % 64;
}

bool tw::parseArgument(llvm::StringRef text, uint64_t seed, SyntheticArgument &argument,
                       std::string &error) {
  auto [declaration, value] = text.split('=');
  argument.isReadOnly = declaration.consume_front("const ");
  auto [type, extent] = declaration.split('[');
  argument.type = type.str();
  argument.isArray = !extent.empty();
  error = ("argument `" + text + "` is not like f32[1024]=random or i32=5").str();
  if (!bitWidth(type))
    return false;
  if (argument.isArray) {
    if (!extent.consume_back("]") || extent.getAsInteger(10, argument.numElements))
      return false;
    allocate(argument);
    return fill(argument, value, seed);
  }
  double number;
  int64_t integer;
  if (!isFloat(type) && !value.getAsInteger(0, integer))
    argument.scalarBits = uint64_t(integer);
  else if (isFloat(type) && !value.getAsDouble(number))
    argument.scalarBits = encodeNumber(formatOf(type), number);
  else
    return false;
  return true;
}

LaunchArgument SyntheticArgument::launchArgument() const {
  if (!isArray)
    return {scalarBits};
  uint64_t address = reinterpret_cast<uint64_t>(data);
  return {address, address, numElements * storedBytes(type), isReadOnly};
}

double SyntheticArgument::element(uint64_t index) const {
  uint64_t bits = 0;
  memcpy(&bits, data + index * storedBytes(type), storedBytes(type));
  return decodeNumber(type, bits);
}
