// The `tile` dialect and its types: what one program of a kernel computes, on whole tiles.
#ifndef IR_TILE_TILEDIALECT_TD
#define IR_TILE_TILEDIALECT_TD
include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/TensorEncoding.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::tw::tile";
  let summary = "operations on tiles: array values of static shape inside one program of a grid";
  let description = [{
    A tile is a `tensor` of static shape, to which the passes for SIMT machines give a layout; a scalar
    is a plain value. Elementwise operations are upstream `arith` and `math` operations on tiles,
    control flow is `scf`; this dialect adds what they lack: the grid, pointers, memory, shape
    changes, reductions and matrix products. Integers are signless; operations carry the sign.
    Arithmetic differs from upstream in what is never undefined: see ir/tile/Meaning.md.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let hasConstantMaterializer = 1;
}

def Tile_PtrType : TypeDef<Tile_Dialect, "Ptr"> {
  let mnemonic = "ptr";
  let summary = "address of elements of one type in global memory";
  let parameters = (ins "::mlir::Type":$pointee);
  let assemblyFormat = "`<` $pointee `>`";
  let genVerifyDecl = 1;
  let builders = [TypeBuilderWithInferredContext<(ins "::mlir::Type":$pointee), [{
    return $_get(pointee.getContext(), pointee);
  }]>];
}

def Tile_LayoutAttr : AttrDef<Tile_Dialect, "Layout", [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let mnemonic = "layout";
  let summary = "a LinearLayout: element at each register, lane, warp and CTA, or at each buffer offset";
  let description = [{
    `#tile.layout<[8, 4] register = [[0, 1], [0, 2]] lane = [[1, 0], [2, 0], [4, 0]] warp = []>`: the
    extents, then for each place the coordinates that each bit of the place's number adds (by xor).
  }];
  let parameters = (ins AttrParameter<"::tw::LinearLayout", "the map", "const ::tw::LinearLayout &">:$value);
  let hasCustomAssemblyFormat = 1;
}

// One kind of matrix instruction: D = A * B + C of m x n x k elements by one warp, or by one core.
def Tile_MmaAttr : AttrDef<Tile_Dialect, "Mma", [OpAsmAttrInterface]> {
  let mnemonic = "mma";
  let summary = "a matrix instruction: extents, element types, and which lane holds which elements";
  let description = [{
    Fragments say where a warp holds the operands and the accumulator: for each bit of a register's number and, after
    `|`, of a lane's number, lowest first, the bit of an element's row m, column n or depth k that it stands for. `-` is
    a bit that stands for none: copies. "k0 m3 | k1 k2 m0 m1 m2": lane 1 holds what lies two steps along k.
    Registers hold one element each here; narrow ones are packed into words of 32 bits, the lowest first. Floats of 4
    bits come as bytes (i8) of two neighbours along k, the first in the lower half: bits of k count bytes of them.
    Instructions of a core (see `product`) have one lane: before `|` stand the bits of an element's number in a vector
    register or, row after row, in a matrix register.

    An instruction with `scales` can multiply every 32 elements along k of a row of A, and of a column of B, by a power of
    two of their own. Their fragment is that of A's; bits of k count groups of 32, and n stands for m in that of B's.
  }];
  let parameters = (ins "unsigned":$m, "unsigned":$n, "unsigned":$k, "::mlir::Type":$a, "::mlir::Type":$b, "::mlir::Type":$accumulator,
    StringRefParameter<>:$fragment_a, StringRefParameter<>:$fragment_b, StringRefParameter<>:$fragment_accumulator,
    StringRefParameter<"", "\"\"">:$fragment_scales);
  let assemblyFormat = [{
    `<` $m `x` $n `x` $k `,` $a `in` $fragment_a `,` $b `in` $fragment_b `->` $accumulator `in` $fragment_accumulator
    (`scales` `in` $fragment_scales^)? `>`
  }];
  let extraClassDeclaration = [{
    /// Returns true for an instruction of a warp, as passes for SIMT machines take them: of eight columns or more, and
    /// 16 bytes or more along k.
    bool isOfWarp() const;
  }];
  let genVerifyDecl = 1;
  let genMnemonicAlias = 1;
}

// D = A * B + C by warps together, beside what they do meanwhile.
def Tile_AsyncMmaAttr : AttrDef<Tile_Dialect, "AsyncMma"> {
  let mnemonic = "async_mma";
  let summary = "a matrix instruction of several warps that runs by itself and reads operands from shared memory";
  let description = [{
    `warps` take part: a whole number of them follow each other from a multiple of it, and each computes its own rows of
    the product. `mma` says how a warp holds them: its accumulator, and A where that is in registers, in the fragments of
    as many such instructions as there are columns, up to `columns`. B, and A where it is there, lie in shared memory in
    slabs (`ir/layout/OperandSlabs`) of rows of up to `span_bytes`; `across` if these rows may also run along m or n, not
    only along k. Where its sums lose bits that the accumulator's type holds, a program adds up those of at most
    `precise_depth` elements along k unless it allows more; 0 says that they lose none.
  }];
  let parameters = (ins "::tw::tile::MmaAttr":$mma, "unsigned":$warps, "unsigned":$columns, "unsigned":$span_bytes, "bool":$across,
    DefaultValuedParameter<"unsigned", "0">:$precise_depth);
  let assemblyFormat = "`<` struct($mma, $warps, $columns, $span_bytes, $across, $precise_depth) `>`";
  let genVerifyDecl = 1;
}

def Tile_CopyKind : I32EnumAttr<"CopyKind", "where a copy that runs by itself puts what the lanes of a warp copy", [
    I32EnumAttrCase<"EachLane", 0, "each_lane">, I32EnumAttrCase<"LaneAfterLane", 1, "lane_after_lane">,
    I32EnumAttrCase<"Boxes", 2, "boxes">
    ]> { let cppNamespace = "::tw::tile"; let genSpecializedAttr = 0; }
def Tile_WaitKind : I32EnumAttr<"WaitKind", "what a thread waits for until its copies are there", [
    I32EnumAttrCase<"Groups", 0, "groups">, I32EnumAttrCase<"Counts", 1, "counts">, I32EnumAttrCase<"Barriers", 2, "barriers">
    ]> { let cppNamespace = "::tw::tile"; let genSpecializedAttr = 0; }
def Tile_CopyAttr : AttrDef<Tile_Dialect, "Copy"> {
  let mnemonic = "copy";
  let summary = "a way to copy from global to shared memory beside the program";
  let description = [{
    A lane copies one of the sizes `bytes`. It says where they go (`each_lane`), or they go where those of the lane
    before it end (`lane_after_lane`). Or one thread copies a box of an array (`boxes`) into slabs whose rows span one of
    the sizes (`ir/layout/OperandSlabs`); where one waits by counts, each warp copies rows of the box, of elements of one of
    the sizes, which follow each other (simt.array_copy). One waits until all but the groups committed last are complete (`groups`); until
    all but the copies started last are, which complete in order (`counts`); or at a barrier in shared memory that
    counts what has arrived (`barriers`).
  }];
  let parameters = (ins EnumParameter<Tile_CopyKind>:$kind, ArrayRefParameter<"unsigned">:$bytes, EnumParameter<Tile_WaitKind>:$wait);
  let assemblyFormat = "`<` $kind `of` `[` $bytes `]` `by` $wait `>`";
  let genVerifyDecl = 1;
}

def Tile_BlockUse : I32EnumAttr<"BlockUse", "the operand of matrix instructions that a block is a part of", [
    I32EnumAttrCase<"A", 0, "a">, I32EnumAttrCase<"B", 1, "b">
    ]> { let cppNamespace = "::tw::tile"; let genSpecializedAttr = 0; }
def Tile_BlockAttr : AttrDef<Tile_Dialect, "Block"> {
  let mnemonic = "block";
  let summary = "a block of a strided array that a warp loads into its registers by one instruction";
  let description = [{
    `m` rows of `n` neighbours in memory, elements of `bits`, which become (a part of) operand `use` of matrix
    instructions. The fragment says where a warp holds them, in the words of MmaAttr. What lies outside of the array is 0.
  }];
  let parameters = (ins "unsigned":$m, "unsigned":$n, "unsigned":$bits, EnumParameter<Tile_BlockUse>:$use, StringRefParameter<>:$fragment);
  let assemblyFormat = "`<` $m `x` $n `,` $bits `bits` `of` $use `in` $fragment `>`";
  let genVerifyDecl = 1;
}

def Tile_Feature : I32EnumAttr<"Feature", "what a machine can do beyond what all can, or is asked to", [
    I32EnumAttrCase<"LoadMatrix", 0, "load_matrix">, I32EnumAttrCase<"Float8Casts", 1, "float8_casts">,
    I32EnumAttrCase<"AtomicBF16", 2, "atomic_bf16">, I32EnumAttrCase<"SeparateRounding", 3, "separate_rounding">,
    I32EnumAttrCase<"LoadTransposed", 4, "load_transposed">, I32EnumAttrCase<"FMA", 5, "fma">,
    I32EnumAttrCase<"ScaleByPower", 6, "scale_by_power">, I32EnumAttrCase<"StoreMatrix", 7, "store_matrix">,
    I32EnumAttrCase<"DependentLaunches", 8, "dependent_launches">, I32EnumAttrCase<"EarlyLaunch", 9, "early_launch">,
    I32EnumAttrCase<"LoadTransposed8x8", 10, "load_transposed_8x8">
    ]> { let cppNamespace = "::tw::tile"; let genSpecializedAttr = 0; }

def Tile_TargetAttr : AttrDef<Tile_Dialect, "Target"> {
  let mnemonic = "target";
  let summary = "the facts of a GPU that passes may use; never who made it";
  let description = [{
    `warp_size` lanes; `shared_bytes` that one CTA may have; `registers` of 32 bits that one thread may have;
    `spare_registers` of those for what is not tiles' data: addresses, masks, operands on their way; `max_warps` of a
    CTA; `vector_bits` of the widest memory access of a lane; `line_bytes` that global memory keeps together, of which
    it delivers `sector_bytes` at least; shared memory of `banks` that give `bank_bytes` each at a time, to lanes one
    after the other where `phases` do not say otherwise; `mma` instructions, and those of several warps, `async_mma`; `copies` that run by
    themselves (without any, data goes through registers); `blocks` of arrays that a warp loads into its registers, the
    preferred ones first; `features`: `load_matrix` (simt.load_matrix), `store_matrix`
    (simt.store_matrix), `load_transposed` (simt.load_transposed), `float8_casts` (converts pairs of 8-bit floats from
    and to f16, and from f32), `atomic_bf16` (adds), `separate_rounding` (a choice of the launch: sums and products of
    floats keep a rounding each, none becomes an FMA), `dependent_launches` (a launch may begin before those that it
    depends on have ended, and waits for them), `early_launch` (a choice of the launch: it does so).
  }];
  let parameters = (ins "unsigned":$warp_size, "unsigned":$shared_bytes, "unsigned":$registers, "unsigned":$spare_registers,
    "unsigned":$max_warps, "unsigned":$vector_bits, "unsigned":$line_bytes, "unsigned":$sector_bytes, "unsigned":$banks,
    "unsigned":$bank_bytes, OptionalArrayRefParameter<"::tw::SharedPhase">:$phases,
    OptionalArrayRefParameter<"::tw::tile::MmaAttr">:$mma, OptionalArrayRefParameter<"::tw::tile::AsyncMmaAttr">:$async_mma,
    OptionalArrayRefParameter<"::tw::tile::CopyAttr">:$copies, OptionalArrayRefParameter<"::tw::tile::BlockAttr">:$blocks,
    OptionalArrayRefParameter<"::tw::tile::Feature">:$features);
  let assemblyFormat = [{
    `<` struct($warp_size, $shared_bytes, $registers, $spare_registers, $max_warps, $vector_bits, $line_bytes, $sector_bytes,
      $banks, $bank_bytes, custom<Listed>($phases), custom<Listed>($mma), custom<Listed>($async_mma), custom<Listed>($copies),
      custom<Listed>($blocks), custom<Listed>($features)) `>`
  }];
  let genVerifyDecl = 1;
}

def Tile_Signs : I32EnumAttr<"Signs", "the signs of an instruction's operands A and B, of integers", [
    I32EnumAttrCase<"SS", 0, "ss">, I32EnumAttrCase<"SU", 1, "su">, I32EnumAttrCase<"US", 2, "us">,
    I32EnumAttrCase<"UU", 3, "uu">]> { let cppNamespace = "::tw::tile"; let genSpecializedAttr = 0; }
def Tile_Sums : I32EnumAttr<"Sums", "what an instruction adds its products to", [
    I32EnumAttrCase<"Accumulator", 0, "accumulator">, I32EnumAttrCase<"Zero", 1, "zero">
    ]> { let cppNamespace = "::tw::tile"; let genSpecializedAttr = 0; }

// One kind of instruction of a CPU's core that multiplies and adds.
def Tile_ProductAttr : AttrDef<Tile_Dialect, "Product"> {
  let mnemonic = "product";
  let summary = "an instruction of a core that multiplies and adds, and how fast";
  let description = [{
    `mma` says what it computes. With one row it takes vector registers: 1 x 16 x 2 with A in "k0 - - - - |" and B in
    "k0 n0 n1 n2 n3 |" adds the products of two neighbours along k to each of 16 lanes. With more rows it takes matrix
    registers. `per_cycle` products of elements are done in a cycle by a core that has its operands in registers;
    `intrinsic` is LLVM's: acc = f(acc, a, b), or f(a, b) where the sums begin at `zero`, or of the numbers of matrix
    registers. The row without one multiplies and adds, in one instruction where the machine has the feature `fma`;
    elements that no other row takes are widened for it. `signs` are those of integer operands.
  }];
  let parameters = (ins "::tw::tile::MmaAttr":$mma, "unsigned":$per_cycle, StringRefParameter<"", "\"\"">:$intrinsic,
    DefaultValuedParameter<"::tw::tile::Signs", "::tw::tile::Signs::SS">:$signs,
    DefaultValuedParameter<"::tw::tile::Sums", "::tw::tile::Sums::Accumulator">:$sums);
  let assemblyFormat = "`<` struct($mma, $per_cycle, $intrinsic, $signs, $sums) `>`";
  let extraClassDeclaration = [{
    /// Returns true if operands are in matrix registers.
    bool ofMatrices() const { return getMma().getM() > 1; }
    /// Returns how many neighbours along k lie side by side in a lane of B.
    unsigned getGroup() const;
  }];
  let genVerifyDecl = 1;
}

def Tile_MatrixRegistersAttr : AttrDef<Tile_Dialect, "MatrixRegisters"> {
  let mnemonic = "matrix_registers";
  let summary = "registers of a core that hold matrices, and what acts on them";
  let description = [{
    `count` registers of up to `rows` rows of `row_bytes`. `zero` (a register's number), `load` and `store` (number,
    address, bytes from a row to the next) and `release` (all) are intrinsics of LLVM. `configure` is a function that the
    target's passes before LLVM replace: its arguments are the rows and the bytes of a row of each register.
  }];
  let parameters = (ins "unsigned":$count, "unsigned":$rows, "unsigned":$row_bytes, StringRefParameter<>:$configure,
    StringRefParameter<>:$release, StringRefParameter<>:$zero, StringRefParameter<>:$load, StringRefParameter<>:$store);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Tile_SimdAttr : AttrDef<Tile_Dialect, "Simd"> {
  let mnemonic = "simd";
  let summary = "the facts of a CPU's core that passes may use; never who made it";
  let description = [{
    `registers` for vectors of `vector_bytes`; lines of `line_bytes` in caches, of which the nearest one holds
    `cache_bytes`; `products`; `matrix_registers`, if there are any; `matrix_refusal` says why those that the processor
    has must not be used; `features`: `fma`, `scale_by_power` (one instruction multiplies floats by powers of two).
  }];
  let parameters = (ins "unsigned":$vector_bytes, "unsigned":$registers, "unsigned":$line_bytes, "unsigned":$cache_bytes,
    OptionalArrayRefParameter<"::tw::tile::ProductAttr">:$products,
    OptionalParameter<"::tw::tile::MatrixRegistersAttr">:$matrix_registers,
    StringRefParameter<"", "\"\"">:$matrix_refusal, OptionalArrayRefParameter<"::tw::tile::Feature">:$features);
  let assemblyFormat = [{
    `<` struct($vector_bytes, $registers, $line_bytes, $cache_bytes, custom<Listed>($products), $matrix_registers,
      $matrix_refusal, custom<Listed>($features)) `>`
  }];
  let genVerifyDecl = 1;
}

// The address and every value that lives in memory or registers: integers, floats, pointers.
def Tile_Scalar : AnyTypeOf<[AnySignlessInteger, AnyFloat, Tile_PtrType], "scalar">;
class Tile_TileOf<list<Type> elements> : RankedTensorOf<elements, [HasStaticShapePred,
    CPred<"!::llvm::is_contained(::llvm::cast<::mlir::ShapedType>($_self).getShape(), 0)">],
    "tile of static extents above 0">;
def Tile_Tile : Tile_TileOf<[Tile_Scalar]>;
def Tile_Value : AnyTypeOf<[Tile_Scalar, Tile_Tile], "scalar or tile">;
def Tile_PtrLike : AnyTypeOf<[Tile_PtrType, Tile_TileOf<[Tile_PtrType]>], "pointer or tile of pointers">;
def Tile_IntLike : AnyTypeOf<[AnySignlessInteger, Tile_TileOf<[AnySignlessInteger]>], "integer or tile of integers">;
def Tile_BoolLike : AnyTypeOf<[I1, Tile_TileOf<[I1]>], "i1 or tile of i1">;

def Tile_CacheModifier : I32EnumAttr<"CacheModifier", "which cache levels an access uses", [
    I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"CA", 1, "ca">, I32EnumAttrCase<"CG", 2, "cg">,
    I32EnumAttrCase<"CS", 3, "cs">, I32EnumAttrCase<"CV", 4, "cv">, I32EnumAttrCase<"WB", 5, "wb">,
    I32EnumAttrCase<"WT", 6, "wt">]> { let cppNamespace = "::tw::tile"; }
def Tile_EvictionPolicy : I32EnumAttr<"EvictionPolicy", "how soon a cache line may go", [
    I32EnumAttrCase<"Normal", 0, "normal">, I32EnumAttrCase<"EvictFirst", 1, "evict_first">,
    I32EnumAttrCase<"EvictLast", 2, "evict_last">]> { let cppNamespace = "::tw::tile"; }
def Tile_AtomicKind : I32EnumAttr<"AtomicKind", "what an atomic does with the old and the new value", [
    I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"FAdd", 1, "fadd">, I32EnumAttrCase<"Max", 2, "max">,
    I32EnumAttrCase<"Min", 3, "min">, I32EnumAttrCase<"UMax", 4, "umax">, I32EnumAttrCase<"UMin", 5, "umin">,
    I32EnumAttrCase<"FMax", 6, "fmax">, I32EnumAttrCase<"FMin", 7, "fmin">, I32EnumAttrCase<"And", 8, "and">,
    I32EnumAttrCase<"Or", 9, "or">, I32EnumAttrCase<"Xor", 10, "xor">, I32EnumAttrCase<"Xchg", 11, "xchg">,
    I32EnumAttrCase<"Load", 12, "load">
    ]> { let cppNamespace = "::tw::tile"; }
def Tile_MachineFact : I32EnumAttr<"MachineFact", "what is asked of the machine that runs a program", [
    I32EnumAttrCase<"Clock", 0, "clock">, I32EnumAttrCase<"Processor", 1, "processor">
    ]> { let cppNamespace = "::tw::tile"; }
def Tile_LaunchOrder : I32EnumAttr<"LaunchOrder", "how launches that follow each other are ordered from here on", [
    I32EnumAttrCase<"Await", 0, "await">, I32EnumAttrCase<"Permit", 1, "permit">
    ]> { let cppNamespace = "::tw::tile"; }
def Tile_MemoryOrder : I32EnumAttr<"MemoryOrder", "ordering of an atomic", [
    I32EnumAttrCase<"Relaxed", 0, "relaxed">, I32EnumAttrCase<"Acquire", 1, "acquire">,
    I32EnumAttrCase<"Release", 2, "release">, I32EnumAttrCase<"AcqRel", 3, "acq_rel">
    ]> { let cppNamespace = "::tw::tile"; }
def Tile_MemoryScope : I32EnumAttr<"MemoryScope", "who observes the ordering", [
    I32EnumAttrCase<"CTA", 0, "cta">, I32EnumAttrCase<"GPU", 1, "gpu">, I32EnumAttrCase<"System", 2, "sys">
    ]> { let cppNamespace = "::tw::tile"; }
def Tile_InputPrecision : I32EnumAttr<"InputPrecision", "how f32 operands of a dot may be rounded", [
    I32EnumAttrCase<"TF32", 0, "tf32">, I32EnumAttrCase<"TF32x3", 1, "tf32x3">,
    I32EnumAttrCase<"IEEE", 2, "ieee">, I32EnumAttrCase<"BF16x3", 3, "bf16x3">,
    I32EnumAttrCase<"BF16x6", 4, "bf16x6">]> { let cppNamespace = "::tw::tile"; }
#endif
