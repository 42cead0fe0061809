// A decoded instruction: of PTX, or of LLVM IR for GPUs whose waves exchange values by lane.
#ifndef BACKEND_WARPSIM_INSTRUCTION_H
#define BACKEND_WARPSIM_INSTRUCTION_H
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tw::warpsim {

struct Instruction;
struct WarpRegisters;
/// Executes one instruction for the lanes of `active`; the others keep their values.
using Handler = void (*)(const Instruction &, WarpRegisters &, uint32_t active);

/// Instruction types of PTX. `None` where an instruction has no second type.
enum class Type : uint8_t {
  None,
  Pred,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  F16x2,
  BF16,
  BF16x2,
  TF32,
  F32,
  F32x2, // in a 64-bit register
  F64,
  E4M3x2,
  E5M2x2,
  E2M1x2, // two in a byte
  E2M3x2, // a byte each, without its upper two bits
  E3M2x2,
  UE8M0x2, // scales: a power of two in each byte
  U16x2,
  S16x2,
  // Elements of matrices; registers hold several.
  S4,
  U4,
  E4M3,
  E5M2
};
unsigned bytesOf(Type type);

enum class Space : uint8_t { Generic, Global, Shared, Local, Const, Param };

/// One operation; what PTX writes as modifiers is in the fields of Instruction. Operations that
/// only read and write registers come first: exec/ computes those, core/ the others.
enum class Op : uint16_t {
  Mov, // also vector packs and unpacks: `mov.b64 {a, b}, c`
  Add,
  Sub,
  Mul,
  MulHi,
  MulWide,
  Mul24,
  Mad,
  MadHi,
  MadWide,
  Mad24,
  Sad,
  Div,
  Rem,
  Abs,
  Neg,
  Min,
  Max,
  Addc,
  Subc,
  Madc,
  MadcHi, // with Instruction::writesCarry for .cc, readsCarry for addc/subc/madc
  And,
  Or,
  Xor,
  Not,
  Cnot,
  Lop3,
  Shl,
  Shr,
  ShfL,
  ShfR,
  Bfe,
  Bfi,
  Bfind,
  Brev,
  Clz,
  Popc,
  Fns,
  Prmt,
  Bmsk,
  Szext,
  Dp4a,
  Dp2a,
  Set,
  Setp,
  Selp,
  Slct,
  Cvt,
  CvtPack,
  Fma,
  Rcp,
  Sqrt,
  Rsqrt,
  Ex2,
  Lg2,
  Sin,
  Cos,
  Tanh,
  Copysign,
  Testp,
  Cvta,
  Isspacep,
  Nop,
  Function,    // what Instruction::function does
  FirstOfCore, // a mark, not an operation
  Ld = FirstOfCore,
  St,
  Atom,
  Red,
  Prefetch,
  TensorPrefetch,
  TensorMapPrefetch,
  Membar,
  Bra,
  BrxIdx,
  Call,
  Ret,
  Exit,
  Trap,
  Brkpt,
  BarSync,
  BarArrive,
  BarRed,
  BarWarpSync,
  Shfl,
  Vote,
  Match,
  Activemask,
  Redux,
  Elect,
  MovSpecial, // a special register: Instruction::special
  Nanosleep,
  AwaitLaunches, // griddepcontrol.wait
  PermitLaunches,
  Discard,
  CreatePolicy,
  Ldmatrix,
  Stmatrix,
  Movmatrix,
  Mma,
  AsyncCopy, // cp.async
  AsyncCommit,
  AsyncWaitGroup,
  AsyncWaitAll,
  TensorToShared, // tensor_load_to_lds: the sources are the words of a descriptor
  TensorWait,
  WarpgroupFence, // wgmma.fence
  WarpgroupMma,   // wgmma.mma_async
  WarpgroupCommit,
  WarpgroupWait,
  ProxyFence, // fence.proxy.async
  MbarrierInitFence,
  MaxRegistersUp, // setmaxnreg
  MaxRegistersDown,
  // Barriers in shared memory that count arrivals and bytes.
  MbarrierInit,
  MbarrierInval,
  MbarrierArrive,
  MbarrierArriveExpect,
  MbarrierArriveNoComplete,
  MbarrierDrop,
  MbarrierDropExpect,
  MbarrierDropNoComplete,
  MbarrierExpect,
  MbarrierComplete,
  MbarrierTest,
  MbarrierTestParity,
  MbarrierTry,
  MbarrierTryParity,
  MbarrierPending,
  AsyncArrive, // cp.async.mbarrier.arrive
  AsyncArriveNoInc,
  // Copies of many bytes by one thread.
  BulkLoad,  // global -> shared
  BulkStore, // shared -> global
  BulkReduce,
  TensorLoad,
  TensorStore,
  TensorReduce,
  TensorMulticast, // a load to several CTAs of a cluster
  BulkCommit,
  BulkWait,
  BulkWaitRead,
  ClusterArrive, // barrier.cluster
  ClusterWait,
  Mapa,
  // Of waves of 32 or 64 lanes, in which lanes exchange values (amdgcn/).
  Wave,       // by Instruction::wave
  WaveLane,   // mbcnt and the lane's number: sources, then Instruction::isHigh
  WaveSignal, // the first half of a barrier in two parts
};

/// The operations that the lanes of a wave execute together.
enum class WaveOp : uint8_t {
  Fence,
  Barrier, // the instruction alone, of all lanes: orders nothing
  Dpp,
  Bpermute,
  Permute,
  Swizzle,
  Permlane16,
  Permlanex16,
  Permlane16Swap,
  Permlane32Swap,
  Permlane64,
  ReadFirstLane,
  ReadLane,
  WriteLane,
  Ballot,
  Matrix,
  TransposeRows, // what reads that transpose do to what their lanes have read
  CheckBlock     // that an array is one that blocks are loaded from
};

enum class Compare : uint8_t {
  None,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  Lo,
  Ls,
  Hi,
  Hs,
  Equ,
  Neu,
  Ltu,
  Leu,
  Gtu,
  Geu,
  Num,
  Nan
};
enum class Bool : uint8_t { None, And, Or, Xor, Popc };
enum class Rounding : uint8_t { None, Rn, Rz, Rm, Rp, Rna, Rni, Rzi, Rmi, Rpi, Rs };
enum class AtomOp : uint8_t { None, And, Or, Xor, Cas, Exch, Add, Inc, Dec, Min, Max };
enum class Order : uint8_t { Weak, Relaxed, Acquire, Release, AcqRel, SeqCst, Volatile };
enum class Scope : uint8_t { None, Cta, Cluster, Gpu, Sys };
enum class ShflMode : uint8_t { Up, Down, Bfly, Idx };
enum class VoteMode : uint8_t { All, Any, Uni, Ballot, MatchAny, MatchAll };
enum class TestpKind : uint8_t { Finite, Infinite, Number, NotANumber, Normal, Subnormal };
/// The shape of a matrix instruction: rows and columns of what ldmatrix moves, m x n x k of mma.
enum class MatrixShape : uint8_t {
  None,
  M8n8,
  M8n8k4,
  M8n8k16,
  M8n8k32,
  M16n8k4,
  M16n8k8,
  M16n8k16,
  M16n8k32,
  M16n8k64
};
enum class PrmtMode : uint8_t { Index, F4e, B4e, Rc8, Ecl, Ecr, Rc16 };
enum class Special : uint8_t {
  TidX,
  TidY,
  TidZ,
  NtidX,
  NtidY,
  NtidZ,
  CtaidX,
  CtaidY,
  CtaidZ,
  NctaidX,
  NctaidY,
  NctaidZ,
  Laneid,
  Warpid,
  Nwarpid,
  Smid,
  Nsmid,
  Gridid,
  LanemaskEq,
  LanemaskLt,
  LanemaskLe,
  LanemaskGt,
  LanemaskGe,
  Clock,
  Clock64,
  Globaltimer,
  GlobaltimerLo,
  DynamicSmemSize,
  TotalSmemSize,
  ClusterCtaidX,
  ClusterCtaidY,
  ClusterCtaidZ,
  ClusterNctaidX,
  ClusterNctaidY,
  ClusterNctaidZ,
  ClusterCtarank,
  ClusterNctarank,
  IsExplicitCluster
};

/// Virtual registers, numbered in three files: predicates (one bit a lane), 32-bit registers (all
/// of .b8 to .b32; narrow values zero-extended) and 64-bit registers. A .b128 register is two
/// 64-bit ones.
enum class RegisterFile : uint8_t { Predicate, Word, Double };
struct Register {
  RegisterFile file = RegisterFile::Word;
  uint32_t number = 0;
};

struct Operand {
  enum class Kind : uint8_t { None, Register, Immediate, Sink } kind = Kind::None; // Sink: `_`
  bool isNegated = false; // of a predicate source: `!%p`
  Register reg;
  int32_t variable = -1; // the `.shared` variable whose address this is: into Program::variables
  uint64_t bits = 0;     // Immediate: the value's bits at the width of the instruction's type
};

/// `[base + offset]`. Without a base register the address is `offset` alone; a name of a variable
/// has been replaced by its offset in its space, a name of a parameter by its offset; the base's
/// `variable` still says which.
struct Address {
  Operand base;
  int64_t offset = 0;
};

struct Instruction {
  Op op = Op::Nop;
  Type type = Type::None; // of the operation; of the result for cvt, set and mul.wide's operands
  Type sourceType = Type::None; // cvt, set, slct, dp4a: of the operands
  Operand guard;                // Kind::None: always; Register: a predicate, perhaps negated

  // Registers written, in order (ld.v4 has four, `setp p|q` two, `shfl d|p` two), and read.
  std::vector<Operand> results, sources;
  Address address;       // ld, st, atom, red, prefetch; what cp.async writes
  Address sourceAddress; // of a copy: in global memory, or of the tensor map
  Address barrier;       // of a bulk copy: the mbarrier that counts its bytes
  Space space = Space::Generic;
  uint8_t vectorWidth = 1; // ld, st: elements; bytes each = bytesOf(type)

  Compare compare = Compare::None;
  Bool combine =
      Bool::None; // setp.and: the last source is the predicate to combine with; also bar.red
  Rounding rounding = Rounding::None;
  bool isFtz = false, isSaturating = false, isSatFinite = false, isApproximate = false,
       isFull = false, isNanMode = false, isXorsignAbs = false, isRelu = false, isWrapping = false,
       isShiftAmount = false, writesCarry = false, readsCarry = false, isUniform = false,
       isAligned = false, toSpace = false; // cvta.to
  bool isHigh = false;                     // dp2a.hi
  AtomOp atomOp = AtomOp::None;            // also the operation of redux
  Order order = Order::Weak;
  Scope scope = Scope::None;
  ShflMode shfl = ShflMode::Idx;
  VoteMode vote = VoteMode::All;
  TestpKind testp = TestpKind::Finite;
  PrmtMode prmt = PrmtMode::Index;
  Special special = Special::TidX;
  bool isReadOnlyCache = false; // ld.global.nc
  // Matrix instructions. The sources of mma are the registers of A, of B and of the accumulator;
  // `type` is the accumulator's, `sourceType` A's and `secondType` B's.
  MatrixShape shape = MatrixShape::None;
  Type secondType = Type::None;
  bool isTransposed = false;
  // wgmma.mma_async multiplies 64 x `depth` by `depth` x `columns`. `results` are the accumulator's
  // registers. `sources` are A, one register that holds a descriptor or four of elements; the
  // descriptor of B; the predicate scale-d; the literals as they are written; the accumulator.
  uint16_t columns = 0;
  uint8_t depth = 0;
  std::string modifiers; // cache and eviction hints as written, checked, without effect

  // Control flow: instruction numbers. `reconverge` is the first instruction of the branch's
  // immediate post-dominator, or -1 where there is none (the paths meet only at the end).
  int32_t target = -1, reconverge = -1;
  std::vector<int32_t> targets; // brx.idx
  int32_t callee = -1; // Call: index into Program::functions; else `calleeName` is a host function
  std::string calleeName;

  Handler function = nullptr; // Op::Function
  WaveOp wave = WaveOp::Fence;
  bool coversShared = true, coversGlobal = true; // of a fence: the memories that it orders
  int32_t form = -1;                             // of a matrix instruction: into the table of forms
  uint8_t alignment = 0; // of the address, in bytes; 0: as many as are accessed

  int32_t line = 0;      // of the text, from 1
  int32_t location = -1; // into Program::locations, -1 unknown
};

/// Returns true if A of a wgmma.mma_async is in registers, not in shared memory.
inline bool hasMatrixInRegisters(const Instruction &instruction) {
  return instruction.sources[0].reg.file == RegisterFile::Word;
}

} // namespace tw::warpsim
#endif
