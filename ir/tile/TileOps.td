// The operations of the `tile` dialect.
#ifndef IR_TILE_TILEOPS_TD
#define IR_TILE_TILEOPS_TD
include "ir/tile/TileDialect.td"
include "ir/tile/TileInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Tile_Op<string mnemonic, list<Trait> traits = []> : Op<Tile_Dialect, mnemonic, traits>;
class Tile_PureOp<string mnemonic, list<Trait> traits = []> : Tile_Op<mnemonic, !listconcat([Pure], traits)>;

//===-- The grid ---------------------------------------------------------------------------------===//

def Tile_ProgramIdOp : Tile_PureOp<"program_id", [Tile_InferRange]> {
  let summary = "index of this program along a grid axis (0, 1 or 2)";
  let arguments = (ins ConfinedAttr<I32Attr, [IntNonNegative, IntMaxValue<2>]>:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict";
}

def Tile_NumProgramsOp : Tile_PureOp<"num_programs", [Tile_InferRange]> {
  let summary = "number of programs along a grid axis (0, 1 or 2)";
  let arguments = (ins ConfinedAttr<I32Attr, [IntNonNegative, IntMaxValue<2>]>:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict";
}

def Tile_MachineOp : Tile_Op<"machine", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "nanoseconds of the machine's clock, or the number of the processor that runs this program";
  let description = "The clock never goes back within a program; its zero is the machine's. Processors count from 0.";
  let arguments = (ins Tile_MachineFact:$fact);
  let results = (outs I64:$result);
  let assemblyFormat = "$fact attr-dict";
}

def Tile_OrderLaunchesOp : Tile_Op<"order_launches", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "`await`: the launches before this one have ended, and what they wrote is seen; `permit`: those behind it may begin";
  let description = [{
    No access of memory moves across it. A launch that begins early is still ordered by its own `await`, which waits for
    the end of the launches before; so `permit` promises nothing about what this program has written.
  }];
  let arguments = (ins Tile_LaunchOrder:$order);
  let assemblyFormat = "$order attr-dict";
}

//===-- Making tiles and changing shapes ---------------------------------------------------------===//

def Tile_ArangeOp : Tile_PureOp<"arange", [Tile_InferRange]> {
  let summary = "the integers start, start + 1, ..., end - 1";
  let arguments = (ins I32Attr:$start, I32Attr:$end);
  let results = (outs Tile_TileOf<[I32]>:$result);
  let assemblyFormat = "$start `to` $end attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Tile_SplatOp : Tile_PureOp<"splat", [DeclareOpInterfaceMethods<Tile_ShapeOp>, Tile_InferRange]> {
  let summary = "a tile whose elements all equal one scalar";
  let arguments = (ins Tile_Scalar:$source);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDefinition = Tile_rangeOfSource;
}

def Tile_ExpandDimsOp : Tile_PureOp<"expand_dims", [DeclareOpInterfaceMethods<Tile_ShapeOp>, Tile_InferRange]> {
  let summary = "insert a dimension of extent 1 before dimension `axis`";
  let arguments = (ins Tile_Tile:$source, I32Attr:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$source `axis` $axis attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
  let extraClassDefinition = Tile_rangeOfSource;
}

def Tile_BroadcastOp : Tile_PureOp<"broadcast", [DeclareOpInterfaceMethods<Tile_ShapeOp>, Tile_InferRange]> {
  let summary = "repeat a tile along its dimensions of extent 1; the rank stays";
  let arguments = (ins Tile_Tile:$source);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
  let extraClassDefinition = Tile_rangeOfSource;
}

def Tile_ReshapeOp : Tile_PureOp<"reshape", [DeclareOpInterfaceMethods<Tile_ShapeOp>, Tile_InferRange]> {
  let summary = "the same elements in row-major order under another shape";
  let arguments = (ins Tile_Tile:$source, UnitAttr:$allow_reorder);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$source (`reorder` $allow_reorder^)? attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
  let extraClassDefinition = Tile_rangeOfSource;
}

def Tile_TransOp : Tile_PureOp<"trans", [DeclareOpInterfaceMethods<Tile_ShapeOp>, Tile_InferRange]> {
  let summary = "permute dimensions: dimension i of the result is dimension order[i] of the source";
  let arguments = (ins Tile_Tile:$source, DenseI32ArrayAttr:$order);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$source $order attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
  let extraClassDefinition = Tile_rangeOfSource;
}

def Tile_JoinOp : Tile_PureOp<"join", [AllTypesMatch<["lhs", "rhs"]>, Tile_InferRange]> {
  let summary = "two tiles side by side along a new last dimension of extent 2";
  let arguments = (ins Tile_Tile:$lhs, Tile_Tile:$rhs);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
  let hasVerifier = 1;
}

def Tile_SplitOp : Tile_PureOp<"split", [AllTypesMatch<["lhs", "rhs"]>, Tile_InferRange]> {
  let summary = "the two tiles that `join` would put together: the halves of a last dimension of extent 2";
  let arguments = (ins Tile_Tile:$source);
  let results = (outs Tile_Tile:$lhs, Tile_Tile:$rhs);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($lhs)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDefinition = Tile_rangeOfSource;
}

def Tile_GatherOp : Tile_PureOp<"gather", [Tile_InferRange]> {
  let summary = "result[.., i, ..] = source[.., indices[.., i, ..], ..] along `axis`";
  let arguments = (ins Tile_Tile:$source, Tile_TileOf<[AnySignlessInteger]>:$indices, I32Attr:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$source `[` $indices `]` `axis` $axis attr-dict `:` type($source) `,` type($indices) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDefinition = Tile_rangeOfSource;
}

def Tile_HistogramOp : Tile_PureOp<"histogram"> {
  let summary = "result[b] = how many elements of the source equal b";
  let arguments = (ins Tile_TileOf<[I32, I64]>:$source);
  let results = (outs Tile_TileOf<[I32]>:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

//===-- Pointers and memory ----------------------------------------------------------------------===//

def Tile_AddPtrOp : Tile_PureOp<"addptr", [AllTypesMatch<["ptr", "result"]>]> {
  let summary = "advance pointers by a number of elements";
  let arguments = (ins Tile_PtrLike:$ptr, Tile_IntLike:$offset);
  let results = (outs Tile_PtrLike:$result);
  let assemblyFormat = "$ptr `,` $offset attr-dict `:` type($ptr) `,` type($offset)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_PtrCastOp : Tile_PureOp<"ptr_cast"> {
  let summary = "the same addresses, pointing to elements of another type";
  let arguments = (ins Tile_PtrLike:$source);
  let results = (outs Tile_PtrLike:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_PtrToIntOp : Tile_PureOp<"ptr_to_int"> {
  let summary = "addresses as 64-bit integers";
  let arguments = (ins Tile_PtrLike:$source);
  let results = (outs Tile_IntLike:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_IntToPtrOp : Tile_PureOp<"int_to_ptr"> {
  let summary = "64-bit integers as addresses";
  let arguments = (ins Tile_IntLike:$source);
  let results = (outs Tile_PtrLike:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Tile_LoadOp : Tile_Op<"load",
    [AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>, Tile_MemoryAccess]> {
  let summary = "read the elements at the addresses; where the mask is false, yield `other` (or 0)";
  let arguments = (ins Tile_PtrLike:$ptr, Optional<Tile_BoolLike>:$mask, Optional<Tile_Value>:$other,
    DefaultValuedAttr<Tile_CacheModifier, "CacheModifier::None">:$cache,
    DefaultValuedAttr<Tile_EvictionPolicy, "EvictionPolicy::Normal">:$evict, UnitAttr:$is_volatile);
  let results = (outs Tile_Value:$result);
  let assemblyFormat = [{
    $ptr (`mask` $mask^ `:` type($mask))? (`other` $other^ `:` type($other))? attr-dict
    `:` type($ptr) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
  let hasFolder = 1;
}

def Tile_StoreOp : Tile_Op<"store", [MemoryEffects<[MemWrite]>, Tile_MemoryAccess]> {
  let summary = "write the elements to the addresses where the mask is true";
  let arguments = (ins Tile_PtrLike:$ptr, Tile_Value:$value, Optional<Tile_BoolLike>:$mask,
    DefaultValuedAttr<Tile_CacheModifier, "CacheModifier::None">:$cache,
    DefaultValuedAttr<Tile_EvictionPolicy, "EvictionPolicy::Normal">:$evict);
  let assemblyFormat = "$ptr `,` $value (`mask` $mask^ `:` type($mask))? attr-dict `:` type($ptr) `,` type($value)";
  let hasCanonicalizeMethod = 1;
}

def Tile_AtomicRmwOp : Tile_Op<"atomic_rmw",
    [MemoryEffects<[MemRead, MemWrite]>, DeclareOpInterfaceMethods<Tile_MemoryAccess, ["writesMemory"]>]> {
  let summary = "atomically combine each element in memory with a value; yields the old elements";
  let description = "Where the mask is false, nothing is accessed and the result is 0.";
  let arguments = (ins Tile_AtomicKind:$kind, Tile_PtrLike:$ptr, Tile_Value:$value, Optional<Tile_BoolLike>:$mask,
    DefaultValuedAttr<Tile_MemoryOrder, "MemoryOrder::AcqRel">:$order,
    DefaultValuedAttr<Tile_MemoryScope, "MemoryScope::GPU">:$scope);
  let results = (outs Tile_Value:$result);
  let assemblyFormat = "$kind `,` $ptr `,` $value (`mask` $mask^ `:` type($mask))? attr-dict `:` type($ptr) `,` type($value) `->` type($result)";
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}

def Tile_AtomicCasOp : Tile_Op<"atomic_cas",
    [MemoryEffects<[MemRead, MemWrite]>, AllTypesMatch<["compare", "value", "result"]>, Tile_MemoryAccess]> {
  let summary = "atomically replace each element that equals `compare` by `value`; yields the old elements";
  let description = "Where the mask is false, nothing is accessed and the result is 0.";
  let arguments = (ins Tile_PtrLike:$ptr, Tile_Value:$compare, Tile_Value:$value, Optional<Tile_BoolLike>:$mask,
    DefaultValuedAttr<Tile_MemoryOrder, "MemoryOrder::AcqRel">:$order,
    DefaultValuedAttr<Tile_MemoryScope, "MemoryScope::GPU">:$scope);
  let results = (outs Tile_Value:$result);
  let assemblyFormat = "$ptr `,` $compare `,` $value (`mask` $mask^ `:` type($mask))? attr-dict `:` type($ptr) `,` type($value)";
}

//===-- Boxes of strided arrays ------------------------------------------------------------------===//

class Tile_BoxOp<string mnemonic, list<Trait> traits> : Tile_Op<mnemonic, !listconcat([AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<Tile_MemoryAccess, ["getPointers"]>], traits)> {
  let description = [{
    An array of `shape` begins at `base`; its `strides` are counted in elements. Element (i0, i1, ...) of the box is the array's
    element (offsets[0] + i0, offsets[1] + i1, ...); an offset that is a 1-D tile lists the indices of its dimension
    instead. Nothing is accessed where an index of a dimension in `checked` is below 0 or not below the shape. The other
    dimensions are promised to lie inside. Integers are signed; sums and products have 64 bits, so that none wraps.
    The pass expand-descriptors makes pointers and masks of these operations.
  }];
  dag box = (ins Tile_PtrType:$base, Variadic<AnyTypeOf<[I32, I64]>>:$shape, Variadic<AnyTypeOf<[I32, I64]>>:$strides,
    Variadic<AnyTypeOf<[I32, I64, Tile_TileOf<[I32, I64]>]>>:$offsets, DenseI32ArrayAttr:$checked);
  string boxFormat = "$base `shape` `[` $shape `]` `strides` `[` $strides `]` `at` `[` $offsets `]` `checked` $checked attr-dict `:` functional-type(operands, results)";
}

def Tile_DescriptorLoadOp : Tile_BoxOp<"descriptor_load", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "read a box of a strided array; what lies outside of the array is 0, or NaN";
  let arguments = !con(box, (ins UnitAttr:$nan_outside,
    DefaultValuedAttr<Tile_CacheModifier, "CacheModifier::None">:$cache,
    DefaultValuedAttr<Tile_EvictionPolicy, "EvictionPolicy::Normal">:$evict, UnitAttr:$is_volatile));
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = boxFormat;
  let hasVerifier = 1;
}

def Tile_DescriptorStoreOp : Tile_BoxOp<"descriptor_store", [MemoryEffects<[MemWrite]>]> {
  let summary = "write a tile to a box of a strided array; what lies outside of the array is dropped";
  let arguments = !con(box, (ins Tile_Tile:$value, DefaultValuedAttr<Tile_CacheModifier, "CacheModifier::None">:$cache,
    DefaultValuedAttr<Tile_EvictionPolicy, "EvictionPolicy::Normal">:$evict));
  let assemblyFormat = "$value `to` " # boxFormat;
}

def Tile_DescriptorAtomicOp : Tile_BoxOp<"descriptor_atomic",
    [MemoryEffects<[MemRead, MemWrite]>, DeclareOpInterfaceMethods<Tile_MemoryAccess, ["getAtomicOrder"]>]> {
  let summary = "atomically combine each element of a box with a value; what lies outside of the array is dropped";
  let arguments = !con(box, (ins Tile_AtomicKind:$kind, Tile_Tile:$value));
  let assemblyFormat = "$kind `,` $value `to` " # boxFormat;
  let hasVerifier = 1;
}

//===-- Reductions, scans, matrix products -------------------------------------------------------===//

def Tile_ReduceOp : Tile_PureOp<"reduce", [SingleBlock, Tile_CombiningRegion]> {
  let summary = "fold tiles along `axis` with the region's combining function";
  let description = [{
    The region takes 2n scalars (n of the left, n of the right partial result), where n is the number
    of sources, and yields n. The combination must be associative; neighbours are combined in order, unless
    `commutative` allows any order. The grouping is the target's choice but fixed for a shape. Results lack dimension `axis`; a rank-1 source yields scalars.
  }];
  let arguments = (ins Variadic<Tile_Tile>:$sources, I32Attr:$axis, UnitAttr:$commutative);
  let results = (outs Variadic<Tile_Value>:$results);
  let regions = (region SizedRegion<1>:$combine);
  let assemblyFormat = "`(` $sources `)` `axis` $axis (`commutative` $commutative^)? $combine attr-dict `:` functional-type($sources, $results)";
  let hasVerifier = 1;
}

def Tile_ScanOp : Tile_PureOp<"scan", [SingleBlock, Tile_CombiningRegion]> {
  let summary = "inclusive prefix combination along `axis`, from the end when `reverse`";
  let arguments = (ins Variadic<Tile_Tile>:$sources, I32Attr:$axis, UnitAttr:$reverse);
  let results = (outs Variadic<Tile_Tile>:$results);
  let regions = (region SizedRegion<1>:$combine);
  let assemblyFormat = "`(` $sources `)` `axis` $axis (`reverse` $reverse^)? $combine attr-dict `:` functional-type($sources, $results)";
  let hasVerifier = 1;
}

def Tile_YieldOp : Tile_PureOp<"yield", [Terminator, ReturnLike, ParentOneOf<["ReduceOp", "ScanOp"]>]> {
  let summary = "the combined values of a reduce or scan";
  let arguments = (ins Variadic<Tile_Scalar>:$values);
  let assemblyFormat = "$values attr-dict `:` type($values)";
}

def Tile_DotOp : Tile_PureOp<"dot", [AllTypesMatch<["acc", "result"]>]> {
  let summary = "acc + a * b for a [M, K], b [K, N], acc [M, N], or batched with one leading dimension";
  let description = [{
    Where the machine's sums of 8-bit floats lose bits, those of at most `max_imprecise` elements along k may: by default,
    of as many as the machine's description says.

    A `scaled` product has elements of 8-bit floats, or bytes of two of f4E2M1FN along k, the first in the lower half; and
    a scale s of each 32 elements along k of a row of a, [M, K / 32], and of a column of b, [N, K / 32]: i8 without sign,
    which multiply by 2 ** (s - 127), but 255 by NaN. Only machines have them that have an instruction for it.
  }];
  let arguments = (ins Tile_TileOf<[AnyFloat, AnySignlessInteger]>:$a, Tile_TileOf<[AnyFloat, AnySignlessInteger]>:$b,
    Tile_TileOf<[AnyFloat, AnySignlessInteger]>:$acc, Variadic<Tile_TileOf<[I8]>>:$scales,
    DefaultValuedAttr<Tile_InputPrecision, "InputPrecision::IEEE">:$precision,
    OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$max_imprecise);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$a `,` $b `,` $acc (`scaled` `(` $scales^ `:` type($scales) `)`)? attr-dict `:` type($a) `,` type($b) `->` type($result)";
  let hasVerifier = 1;
}

//===-- Assembly of the user's -------------------------------------------------------------------===//

def Tile_InlineAsmOp : Tile_Op<"inline_asm", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "assembly text that is run for each group of `pack` elements";
  let description = [{
    All sources and results are scalars, or tiles of one shape. `$0`, `$1`, ... in the text are registers: those
    of the results first, then those of the sources, each with its constraint ("=r,r"). Elements below 32 bits
    share registers of at most 32 bits, the first one lowest; which elements make a group is the target's choice.
    Text that is `pure` is a function of its sources; other text stays in its place and may access memory.
  }];
  let arguments = (ins StrAttr:$text, StrAttr:$constraints, I32Attr:$pack, UnitAttr:$is_pure, Variadic<Tile_Value>:$sources);
  let results = (outs Variadic<Tile_Value>:$results);
  let assemblyFormat = "(`pure` $is_pure^)? $text $constraints `pack` $pack `(` $sources `)` attr-dict `:` functional-type($sources, $results)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// How many elements of a type share a register, and how many registers a group takes.
    unsigned getElementsPerRegister(::mlir::Type type);
    unsigned getNumRegisters(::mlir::Type type);
  }];
}

def Tile_ExternCallOp : Tile_Op<"extern_call", [Elementwise, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "a function of the user's bitcode, called for each element";
  let description = [{
    `symbol` is defined by one of the module's libraries (`tile.bitcode`). Sources and result are integers, floats of at
    least 16 bits, or tiles or vectors of them of one shape. A function that is `pure` depends on its sources alone, so
    that elements known to be equal may share a call; another one may be called several times for an element that
    several threads hold.
  }];
  let arguments = (ins StrAttr:$symbol, UnitAttr:$is_pure, Variadic<AnyType>:$sources);
  let results = (outs AnyType:$result);
  let assemblyFormat = "(`pure` $is_pure^)? $symbol `(` $sources `)` attr-dict `:` functional-type($sources, $result)";
  let hasVerifier = 1;
}

//===-- Facts and debugging ----------------------------------------------------------------------===//

def Tile_HintOp : Tile_PureOp<"hint", [AllTypesMatch<["source", "result"]>, Tile_InferRange]> {
  let summary = "promise facts about a tile's values: divisibility, contiguity, constancy per dimension";
  let arguments = (ins Tile_Value:$source, OptionalAttr<DenseI64ArrayAttr>:$divisibility,
    OptionalAttr<DenseI64ArrayAttr>:$contiguity, OptionalAttr<DenseI64ArrayAttr>:$constancy);
  let results = (outs Tile_Value:$result);
  let assemblyFormat = "$source attr-dict `:` type($source)";
  let hasVerifier = 1;
  let extraClassDefinition = Tile_rangeOfSource;
}

def Tile_AssumeOp : Tile_Op<"assume", [MemoryEffects<[MemWrite]>]> {
  let summary = "promise that a condition holds";
  let arguments = (ins I1:$condition);
  let assemblyFormat = "$condition attr-dict";
}

def Tile_BarrierOp : Tile_Op<"barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "order all memory accesses of this program before and after it";
  let assemblyFormat = "attr-dict";
}

def Tile_PrintOp : Tile_Op<"print", [MemoryEffects<[MemWrite]>]> {
  let summary = "print a prefix and values with their program and tile index";
  let description = "Of one tile, only the elements whose indices are below `extents`, where these are given.";
  let arguments = (ins StrAttr:$prefix, BoolAttr:$hex, DenseI32ArrayAttr:$is_signed, Variadic<Tile_Value>:$values,
    OptionalAttr<DenseI64ArrayAttr>:$extents);
  let assemblyFormat = "$prefix attr-dict (`:` $values^ `:` type($values))?";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the text before an element of a value: the prefix, and which of several values it
    /// is.
    std::string prefixOf(unsigned operand);
    /// Hexadecimal digits that its elements are printed in; 0 where they are printed as numbers.
    unsigned hexDigitsOf(unsigned operand);
    /// The shape of a value, as far as it is printed.
    ::llvm::ArrayRef<int64_t> printedExtents(unsigned operand);
  }];
}

def Tile_AssertOp : Tile_Op<"assert", [AttrSizedOperandSegments, MemoryEffects<[MemWrite]>]> {
  let summary = "report a failure when any element of the condition is false where the mask is true";
  let description = "With two values, integers of the condition's shape, the report shows those of the element with `joint` between.";
  let arguments = (ins Tile_BoolLike:$condition, Optional<Tile_BoolLike>:$mask, StrAttr:$message,
    Variadic<Tile_Value>:$values, OptionalAttr<StrAttr>:$joint, UnitAttr:$is_signed);
  let assemblyFormat = "$condition `,` $message (`mask` $mask^ `:` type($mask))? (`of` $values^ `:` type($values))? attr-dict `:` type($condition)";
  let builders = [OpBuilder<(ins "::mlir::Value":$condition, "::mlir::Value":$mask, "::llvm::StringRef":$message), [{
    build($_builder, $_state, condition, mask, message, ::mlir::ValueRange(), ::mlir::StringAttr(), /*is_signed=*/false);
  }]>];
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
}
#endif
