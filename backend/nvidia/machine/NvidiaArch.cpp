// The NVIDIA GPUs that Tilewright compiles for, as rows of facts.
#include "backend/nvidia/machine/NvidiaArch.h"
#include "ir/tile/Tile.h"
#include "mlir/IR/Builders.h"

using namespace tw;

/// Releases of ptxas as measured in assemble/README.md. From 13.4 on, no NOP stands behind nearly
/// every product of sm_120; from 13.1 on, loops of sm_90a are up to 1.14x as long.
static constexpr nvidia::ReleaseRange kOnly130 = {1300, 1300}, kFrom134 = {1304, ~0u};

static constexpr tile::Feature kAmpere[] = {tile::Feature::LoadMatrix},
                               kAda[] = {tile::Feature::LoadMatrix, tile::Feature::Float8Casts},
                               kHopper[] = {tile::Feature::LoadMatrix, tile::Feature::Float8Casts,
                                            tile::Feature::AtomicBF16, tile::Feature::StoreMatrix,
                                            tile::Feature::DependentLaunches};

/// Shared memory: CUDA C++ Programming Guide, table "Technical Specifications per Compute
/// Capability". PTX versions: PTX ISA, "Release Notes"; fp8 matrix instructions of sm_89 need 8.4.
static constexpr NvidiaArch kArchs[] = {
    {"sm_80", 80, "80", 163 * 1024, kAmpere},
    {"sm_86", 86, "80", 99 * 1024, kAmpere},
    {.name = "sm_89",
     .number = 89,
     .ptxVersion = "84",
     .sharedBytes = 99 * 1024,
     .features = kAda,
     .multipliesFloat8 = true},
    {.name = "sm_90a",
     .number = 90,
     .ptxVersion = "84",
     .sharedBytes = 227 * 1024,
     .features = kHopper,
     .multipliesByWarpgroup = true,
     .copiesBoxes = true,
     .bestAssemblers = kOnly130},
    {"sm_100a", 100, "86", 227 * 1024, kHopper},
    {.name = "sm_120",
     .number = 120,
     .ptxVersion = "87",
     .sharedBytes = 99 * 1024,
     .features = kHopper,
     .multipliesFloat8 = true,
     .specificName = "sm_120a",
     .bestAssemblers = kFrom134},
};

llvm::ArrayRef<NvidiaArch> tw::nvidiaArchTable() { return kArchs; }

const NvidiaArch *tw::findNvidiaArch(llvm::StringRef name) {
  for (const NvidiaArch &arch : kArchs)
    if (arch.name == name)
      return &arch;
  return nullptr;
}

std::vector<std::string> tw::nvidiaArchs() {
  std::vector<std::string> names;
  for (const NvidiaArch &arch : kArchs)
    names.push_back(arch.name.str());
  return names;
}

namespace {
/// Operands of mma.sync with 16 rows and 8 columns, by depth and bits of an element.
struct Fragments {
  unsigned k;
  llvm::StringLiteral a, b;
};
} // namespace

// PTX ISA, "Matrix Fragments for mma.m16n8k8" and so on: a lane holds 32 bits of neighbours along
// k, four lanes a row of 16 bytes, eight such rows a matrix.
static constexpr Fragments kWords8 = {8, "m3 k2 | k0 k1 m0 m1 m2", "k2 | k0 k1 n0 n1 n2"},
                           kHalves8 = {8, "k0 m3 | k1 k2 m0 m1 m2", "k0 | k1 k2 n0 n1 n2"},
                           kHalves16 = {16, "k0 m3 k3 | k1 k2 m0 m1 m2", "k0 k3 | k1 k2 n0 n1 n2"},
                           kBytes16 = {16, "k0 k1 m3 | k2 k3 m0 m1 m2", "k0 k1 | k2 k3 n0 n1 n2"},
                           kBytes32 = {32, "k0 k1 m3 k4 | k2 k3 m0 m1 m2",
                                       "k0 k1 k4 | k2 k3 n0 n1 n2"};

static tile::MmaAttr mmaRow(mlir::MLIRContext *context, const Fragments &fragments, mlir::Type a,
                            mlir::Type other, mlir::Type sum) {
  return tile::MmaAttr::get(context, 16, 8, fragments.k, a, other, sum, fragments.a, fragments.b,
                            "n0 m3 | n1 n2 m0 m1 m2", /*scales=*/"");
}

/// Types of operands that mix: bytes with a sign and without, and floats of 8 bits.
static std::array<mlir::Type, 2> signsOfBytes(mlir::MLIRContext *context) {
  return {mlir::IntegerType::get(context, 8),
          mlir::IntegerType::get(context, 8, mlir::IntegerType::Unsigned)};
}
static std::array<mlir::Type, 2> floatsOfBytes(mlir::MLIRContext *context) {
  return {mlir::Float8E4M3FNType::get(context), mlir::Float8E5M2Type::get(context)};
}

/// Shapes of mma.sync (PTX ISA, "Matrix multiply-accumulate operation using mma instruction").
static llvm::SmallVector<tile::MmaAttr> mmaInstructions(mlir::Builder &b, const NvidiaArch &arch) {
  mlir::MLIRContext *context = b.getContext();
  mlir::Type f16 = b.getF16Type(), bf16 = b.getBF16Type(), f32 = b.getF32Type(),
             f64 = b.getF64Type(), i8 = b.getI8Type(), i32 = b.getI32Type(),
             tf32 = mlir::FloatTF32Type::get(context);
  llvm::SmallVector<tile::MmaAttr> rows;
  auto add = [&](const Fragments &fragments, mlir::Type a, mlir::Type other, mlir::Type sum) {
    rows.push_back(mmaRow(context, fragments, a, other, sum));
  };
  for (const Fragments &fragments : {kHalves16, kHalves8}) {
    add(fragments, f16, f16, f32);
    add(fragments, f16, f16, f16);
    add(fragments, bf16, bf16, f32);
  }
  add(kWords8, tf32, tf32, f32);
  add(kBytes16, i8, i8, i32);
  add(kBytes32, i8, i8, i32);
  rows.push_back(tile::MmaAttr::get(context, 8, 8, 4, f64, f64, f64, "| k0 k1 m0 m1 m2",
                                    "| k0 k1 n0 n1 n2", "n0 | n1 n2 m0 m1 m2",
                                    /*scales=*/""));
  // Unsigned bytes, for products that warpgroups do not take.
  if (arch.multipliesByWarpgroup)
    for (mlir::Type a : signsOfBytes(context))
      for (mlir::Type other : signsOfBytes(context))
        for (const Fragments &fragments : {kBytes16, kBytes32})
          if (a != i8 || other != i8)
            add(fragments, a, other, i32);
  if (!arch.multipliesFloat8)
    return rows;
  for (mlir::Type a : floatsOfBytes(context))
    for (mlir::Type other : floatsOfBytes(context))
      add(kBytes32, a, other, f32);
  return rows;
}

/// Shapes of wgmma.mma_async (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions"): each of
/// four warps holds its rows as mma.sync of as many columns does. Those of 8-bit floats add to f32
/// in about 14 bits (arXiv:2412.19437, 3.3.2). With few registers for a thread, use fewer columns:
/// an instruction has all of its sums there.
static llvm::SmallVector<tile::AsyncMmaAttr> asyncMmaInstructions(mlir::Builder &b,
                                                                  unsigned registers) {
  constexpr unsigned kBesideSums = 32;    // ptxas 13.0 asks for 26 to 30
  constexpr unsigned kPreciseDepth = 128; // as CUTLASS and DeepGEMM have it
  unsigned columns = 256;
  while (columns >= 8 && columns / 2 + kBesideSums > registers)
    columns /= 2;
  if (columns < 8)
    return {};
  mlir::MLIRContext *context = b.getContext();
  mlir::Type f16 = b.getF16Type(), bf16 = b.getBF16Type(), f32 = b.getF32Type(),
             tf32 = mlir::FloatTF32Type::get(context);
  llvm::SmallVector<tile::AsyncMmaAttr> rows;
  auto add = [&](const Fragments &fragments, mlir::Type a, mlir::Type other, mlir::Type sum) {
    bool losesBits = a.getIntOrFloatBitWidth() == 8 && sum.isF32();
    rows.push_back(tile::AsyncMmaAttr::get(context, mmaRow(context, fragments, a, other, sum),
                                           /*warps=*/4, columns, /*span_bytes=*/128,
                                           /*across=*/a.isF16() || a.isBF16(),
                                           /*precise_depth=*/losesBits ? kPreciseDepth : 0));
  };
  add(kHalves16, f16, f16, f32);
  add(kHalves16, f16, f16, f16);
  add(kHalves16, bf16, bf16, f32);
  add(kWords8, tf32, tf32, f32);
  for (mlir::Type a : signsOfBytes(context))
    for (mlir::Type other : signsOfBytes(context))
      add(kBytes32, a, other, b.getI32Type());
  for (mlir::Type a : floatsOfBytes(context))
    for (mlir::Type other : floatsOfBytes(context))
      for (mlir::Type sum : {f32, f16})
        add(kBytes32, a, other, sum);
  return rows;
}

tile::TargetAttr tw::describeNvidia(mlir::MLIRContext &context, const NvidiaArch &arch,
                                    NvidiaChoices choices) {
  mlir::Builder builder(&context);
  llvm::SmallVector<tile::Feature> features(arch.features);
  if (choices.roundsSeparately)
    features.push_back(tile::Feature::SeparateRounding);
  if (choices.launchesEarly && llvm::is_contained(features, tile::Feature::DependentLaunches))
    features.push_back(tile::Feature::EarlyLaunch);
  llvm::SmallVector<tile::AsyncMmaAttr> asyncMma;
  if (arch.multipliesByWarpgroup)
    asyncMma = asyncMmaInstructions(builder, choices.registers);
  llvm::SmallVector<tile::CopyAttr> copies = {
      tile::CopyAttr::get(&context, tile::CopyKind::EachLane, {4, 8, 16}, tile::WaitKind::Groups)};
  if (arch.copiesBoxes && choices.copiesBoxes)
    copies.push_back(tile::CopyAttr::get(&context, tile::CopyKind::Boxes, {16, 32, 64, 128},
                                         tile::WaitKind::Barriers));
  return tile::TargetAttr::get(&context, /*warp_size=*/32, arch.sharedBytes, /*registers=*/255,
                               /*spare_registers=*/52, /*max_warps=*/32, /*vector_bits=*/128,
                               /*line_bytes=*/128, /*sector_bytes=*/32, /*banks=*/32,
                               /*bank_bytes=*/4, /*phases=*/{}, mmaInstructions(builder, arch),
                               asyncMma, copies, /*blocks=*/{}, features);
}
