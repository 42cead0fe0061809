// The operations of the `simt` dialect.
#ifndef IR_SIMT_SIMTOPS_TD
#define IR_SIMT_SIMTOPS_TD
include "ir/simt/SimtDialect.td"
include "ir/simt/SimtEnums.td"
include "ir/tile/TileDialect.td"
include "ir/tile/TileInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

class Simt_Op<string mnemonic, list<Trait> traits = []> : Op<Simt_Dialect, mnemonic, traits>;
def Simt_Axis : ConfinedAttr<I32Attr, [IntNonNegative, IntMaxValue<2>]>;
def Simt_Instruction : ConfinedAttr<Tile_MmaAttr, [AttrConstraint<
    CPred<"::llvm::cast<::tw::tile::MmaAttr>($_self).isOfWarp()">, "matrix instruction of a warp">]>;
// Elements along k whose products are summed apart from the accumulator: whole instructions.
def Simt_PartialDepth : ConfinedAttr<I64Attr, [IntPositive]>;
class Simt_PureOp<string mnemonic, list<Trait> traits = []> : Simt_Op<mnemonic, !listconcat([Pure], traits)>;

//===-- Stages laid-out and scheduled: whole tiles ------------------------------------------------===//

def Simt_ConvertLayoutOp : Simt_PureOp<"convert_layout", [Tile_InferRange]> {
  let summary = "the same tile in another layout";
  let arguments = (ins Tile_Tile:$source);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
  let extraClassDefinition = Tile_rangeOfSource;
}

def Simt_PartialReduceOp : Simt_PureOp<"partial_reduce", [SingleBlock, Tile_CombiningRegion]> {
  let summary = "fold tiles along `axis` within each warp: the result keeps `axis`, one element per piece";
  let description = [{
    As `tile.reduce`, but over registers and lanes only. Where warps hold 2^w different pieces of the axis,
    the result's extent along it is 2^w, and element i is the partial result of the i-th piece in order.
    The region ends in `simt.yield`.
  }];
  let arguments = (ins Variadic<Tile_Tile>:$sources, I32Attr:$axis, UnitAttr:$commutative);
  let results = (outs Variadic<Tile_Tile>:$results);
  let regions = (region SizedRegion<1>:$combine);
  let assemblyFormat = "`(` $sources `)` `axis` $axis (`commutative` $commutative^)? $combine attr-dict `:` functional-type($sources, $results)";
  let hasVerifier = 1;
}

def Simt_YieldOp : Simt_PureOp<"yield", [Terminator, ReturnLike, ParentOneOf<["PartialReduceOp", "LoaderOp"]>]> {
  let summary = "the combined values of a partial_reduce, or what a loader leaves to later ones";
  let arguments = (ins Variadic<Tile_Scalar>:$values);
  let builders = [OpBuilder<(ins)>];
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Simt_AllocSharedOp : Simt_Op<"alloc_shared", [MemoryEffects<[MemAlloc]>]> {
  let summary = "a buffer in shared memory; `offset` (bytes from the start) is set by allocate-shared";
  let description = [{
    `name` says what the buffer is for, in reports: "reduce of line 12". With `slots` it is memory for several
    such tiles, one after the other, that `simt.slot` selects.
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<I64Attr>:$offset, OptionalAttr<I64Attr>:$slots);
  let results = (outs Simt_SharedType:$result);
  let assemblyFormat = "$name (`slots` $slots^)? (`at` $offset^)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Simt_SlotOp : Simt_PureOp<"slot", [AllTypesMatch<["buffer", "result"]>]> {
  let summary = "the memory of one tile of a buffer with `slots`, by its number";
  let description = [{
    `phase` says how far ahead in the ring of slots `number` is of the one with which the innermost loop's
    iteration began: in one iteration, slots of different phase (modulo the number of slots) are different memory.
  }];
  let arguments = (ins Simt_SharedType:$buffer, I32:$number, OptionalAttr<I64Attr>:$phase);
  let results = (outs Simt_SharedType:$result);
  let assemblyFormat = "$buffer `[` $number `]` (`phase` $phase^)? attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Simt_StoreSharedOp : Simt_Op<"store_shared", [MemoryEffects<[MemWrite]>]> {
  let summary = "write a tile (or a scalar, to a buffer of extent 1) into a buffer";
  let description = "Of replicated elements, one copy is written: the owner's.";
  let arguments = (ins Tile_Value:$value, Simt_SharedType:$buffer);
  let assemblyFormat = "$value `,` $buffer attr-dict `:` type($value) `,` type($buffer)";
  let hasVerifier = 1;
}

def Simt_LoadSharedOp : Simt_Op<"load_shared", [MemoryEffects<[MemRead]>]> {
  let summary = "read a tile (or a scalar, from a buffer of extent 1) out of a buffer";
  let arguments = (ins Simt_SharedType:$buffer);
  let results = (outs Tile_Value:$result);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer) `->` type($result)";
  let hasVerifier = 1;
}

def Simt_GatherSharedOp : Simt_Op<"gather_shared", [MemoryEffects<[MemRead]>]> {
  let summary = "result[.., i, ..] = buffer[.., indices[.., i, ..], ..] along `axis`";
  let arguments = (ins Simt_SharedType:$buffer, RankedTensorOf<[AnySignlessInteger]>:$indices, I32Attr:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$buffer `[` $indices `]` `axis` $axis attr-dict `:` type($buffer) `,` type($indices) `->` type($result)";
  let hasVerifier = 1;
}

def Simt_DotSharedOp : Simt_Op<"dot_shared", [MemoryEffects<[MemRead]>, AllTypesMatch<["acc", "result"]>]> {
  let summary = "acc + a * b with both operands in shared memory, by multiply-adds of scalars";
  let arguments = (ins Simt_SharedType:$a, Simt_SharedType:$b, Tile_Tile:$acc, Tile_InputPrecision:$precision);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$a `,` $b `,` $acc $precision attr-dict `:` type($a) `,` type($b) `->` type($result)";
  let hasVerifier = 1;
}

def Simt_AsyncCopyOp : Simt_Op<"async_copy", [MemoryEffects<[MemRead, MemWrite]>, Tile_MemoryAccess]> {
  let summary = "start to copy a tile from global into shared memory; elements where the mask is false become 0";
  let description = [{
    Each thread copies the elements that the pointers' layout gives it, in pieces of `vector` neighbours along
    `dim`, which the target can copy (`copies` of #tile.target): they are consecutive and aligned in both memories and
    share a mask. They are there for the thread after an `async_wait`, for the others after a barrier then.
  }];
  let arguments = (ins Tile_PtrLike:$ptr, Simt_SharedType:$buffer, Optional<Tile_BoolLike>:$mask, I32Attr:$vector, I32Attr:$dim,
    DefaultValuedAttr<Tile_CacheModifier, "::tw::tile::CacheModifier::None">:$cache,
    DefaultValuedAttr<Tile_EvictionPolicy, "::tw::tile::EvictionPolicy::Normal">:$evict);
  let assemblyFormat = "$ptr `,` $buffer (`mask` $mask^ `:` type($mask))? `pieces` $vector `along` $dim attr-dict `:` type($ptr) `,` type($buffer)";
  let hasVerifier = 1;
}

def Simt_ArrayCopyOp : Simt_Op<"array_copy", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the warps start to copy a box of a strided array from global into shared memory, where `exists`; what lies outside of the array is 0";
  let description = [{
    `base` is the first element of the array: `height` rows of `width` elements, `pitch` elements apart. The box begins at
    element `x` of row `y`, both from 0 on, and fills the buffer, whose rows run along `dim` and follow each other. Each
    warp starts the copy of as many rows, by one instruction. It is there for the warp after an `async_wait` for its
    group, for the others after a barrier then. Where it does not exist, nothing is written.
  }];
  let arguments = (ins Tile_PtrLike:$base, I32:$width, I32:$height, I64:$pitch, I32:$x, I32:$y, Simt_SharedType:$buffer,
    I32Attr:$dim, Optional<I1>:$exists);
  let assemblyFormat = "$base `[` $x `,` $y `]` `of` $width `x` $height `pitch` $pitch `to` $buffer `along` $dim (`if` $exists^)? attr-dict `:` type($base) `->` type($buffer)";
  let hasVerifier = 1;
}

def Simt_AsyncCommitOp : Simt_Op<"async_commit", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the copies that this thread has started since the last commit become a group";
  let assemblyFormat = "attr-dict";
}

def Simt_AsyncWaitOp : Simt_Op<"async_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until at most `pending` of the groups that this thread committed last are incomplete";
  let arguments = (ins I32Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
}

def Simt_PhaseInitOp : Simt_Op<"phase_init", [MemoryEffects<[MemWrite]>]> {
  let summary = "one thread makes `slots` phase barriers, each of which `count` threads arrive at; a barrier has to follow";
  let description = [{
    A phase barrier counts what arrives in its phase. Its phases have parity 0 and 1 in turns; one that has ended can be
    told by its parity until the next one ends. From the stage lowered on, operands are addresses.
  }];
  let arguments = (ins AnyType:$barrier, I64Attr:$slots, DefaultValuedAttr<I64Attr, "1">:$count);
  let assemblyFormat = "$barrier `slots` $slots (`count` $count^)? attr-dict `:` type($barrier)";
}

def Simt_PhaseDropOp : Simt_Op<"phase_drop", [MemoryEffects<[MemWrite]>]> {
  let summary = "one thread makes memory of `slots` phase barriers that nobody waits at any more";
  let arguments = (ins AnyType:$barrier, I64Attr:$slots);
  let assemblyFormat = "$barrier `slots` $slots attr-dict `:` type($barrier)";
}

def Simt_PhaseAwaitOp : Simt_Op<"phase_await", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until the phase of this parity has ended: what it counts is there for the thread";
  let description = "`cluster`: what other programs of the cluster did before they arrived is there, too.";
  let arguments = (ins AnyType:$barrier, I32:$parity, UnitAttr:$cluster);
  let assemblyFormat = "$barrier `,` $parity (`cluster` $cluster^)? attr-dict `:` type($barrier)";
}

def Simt_BoxCopyOp : Simt_Op<"box_copy", [MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "one thread starts to copy boxes of arrays from global into shared memory, where `exists`, as a phase of a barrier";
  let description = [{
    Buffer i gets the box of the kernel's tensor map `maps[i]` that begins at its coordinates; `coordinates` are those of
    the first box, the innermost dimension first, then those of the next one. What lies outside of an array is 0. The
    buffers are slabs (`ir/layout/OperandSlabs`), and a box is one of them, or some of its rows. In a map whose third
    dimension is over slabs, as far apart as a row of one is long, a box is several of them.

    `multicast` has axes of the cluster for each buffer, as bits: programs side by side along them copy an equal part of the
    slabs each, or of the rows where these are too few, to the same buffers of all of these programs; the bytes arrive at
    the barriers there. All of these programs execute this operation equally often.
  }];
  let arguments = (ins DenseI32ArrayAttr:$maps, Variadic<I32>:$coordinates, Variadic<Simt_SharedType>:$buffers,
    Simt_SharedType:$barrier, Optional<I1>:$exists, OptionalAttr<DenseI32ArrayAttr>:$multicast);
  let assemblyFormat = "`maps` $maps `at` `[` $coordinates `]` `to` $buffers `on` $barrier (`if` $exists^)? (`multicast` $multicast^)? attr-dict `:` type($buffers) `on` type($barrier)";
  let extraClassDeclaration = [{
    /// Returns the axes of the cluster along which programs each copy a part of a buffer's box, for all; 0 for none.
    unsigned multicastAxes(size_t buffer) { return getMulticast() ? (*getMulticast())[buffer] : 0; }
  }];
  let hasVerifier = 1;
}

def Simt_BoxStoreOp : Simt_Op<"box_store", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "one thread copies a buffer to a box of an array in global memory, and waits until the buffer has been read";
  let description = [{
    The box of the kernel's tensor map `map` begins at `coordinates`, the innermost dimension first; what lies outside of
    the array is left out. The buffer is as in `box_copy`, and threads that wrote it have fenced it. `kind`: elements in
    memory are combined with those of the buffer, one at a time. `ordered`: earlier stores of boxes, which may be of the
    same elements, are complete before this one begins.
  }];
  let arguments = (ins I32Attr:$map, Variadic<I32>:$coordinates, Simt_SharedType:$buffer,
    OptionalAttr<Tile_AtomicKind>:$kind, UnitAttr:$ordered);
  let extraClassDeclaration = [{
    TensorMapAttr getTensorMap();
  }];
  let assemblyFormat = "`map` $map `at` `[` $coordinates `]` `from` $buffer (`combining` $kind^)? (`ordered` $ordered^)? attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Simt_LoaderOp : Simt_Op<"loader", [SingleBlockImplicitTerminator<"YieldOp">, RecursiveMemoryEffects]> {
  let summary = "the loader executes the region beside what follows";
  let description = [{
    The loader is a warp behind those of the program (`simt.loader_warps` of the module). It computes again what the
    region takes from around and what decides whether it is reached: scalars without effects (`passes/analysis/LoaderNeeds`).
    It executes one region after the other, and waits for the program at `simt.barrier loader` only. The results are
    for later regions: the program does not know them.
  }];
  let results = (outs Variadic<I32>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body (`->` type($results)^)? attr-dict";
  let hasVerifier = 1;
}

def Simt_ReleaseOp : Simt_Op<"release", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "each warp lets the loader overwrite buffers, which the next phase of `barrier` says to be full again";
  let description = [{
    The loader waits for all warps at the phase barrier `free`. For what follows, the copies start here. `cluster` lists
    sets of the cluster's axes, as bits: each warp arrives at the barriers of the programs side by side along each of
    these sets, whose loaders copy to these buffers.
  }];
  let arguments = (ins Variadic<Simt_SharedType>:$buffers, Simt_SharedType:$barrier, Simt_SharedType:$free,
    OptionalAttr<DenseI32ArrayAttr>:$cluster);
  let assemblyFormat = "$buffers `on` $barrier `by` $free (`cluster` $cluster^)? attr-dict `:` type($buffers) `on` type($barrier) `by` type($free)";
  let hasVerifier = 1;
}

def Simt_MmaOp : Simt_PureOp<"mma", [AllTypesMatch<["acc", "result"]>]> {
  let summary = "acc + a * b by matrix instructions";
  let description = [{
    `warps` of the CTA lie side by side along each dimension of the product. Where it is `interleaved`, lanes
    hold that many neighbours along each dimension, and last along the inner one. From the stage laid-out
    on, the tiles have the layouts of `mmaLayout`. The operands' element type is the instruction's; f32 stands
    for tf32, of which `precision` says whether operands are rounded (tf32) or split into two (tf32x3). Unsigned bytes
    are i8. `scaled` are products with scales, as of `tile.dot`. With `async`, instructions of several warps are to compute it, which stage-through-shared gives their operands;
    `partial_depth` is as of `mma_async`.
  }];
  let arguments = (ins Tile_Tile:$a, Tile_Tile:$b, Tile_Tile:$acc, Variadic<Tile_TileOf<[I8]>>:$scales,
    Simt_Instruction:$instruction, DenseI64ArrayAttr:$warps,
    Tile_InputPrecision:$precision, OptionalAttr<DenseI64ArrayAttr>:$interleave, OptionalAttr<Tile_AsyncMmaAttr>:$async,
    OptionalAttr<Simt_PartialDepth>:$partial_depth);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$a `,` $b `,` $acc (`scaled` `(` $scales^ `:` type($scales) `)`)? `by` qualified($instruction) `warps` $warps (`interleaved` $interleave^)? $precision (`async` $async^)? (`partial_depth` $partial_depth^)? attr-dict `:` type($a) `,` type($b) `->` type($result)";
  let hasVerifier = 1;
}

def Simt_LoadBlocksOp : Simt_Op<"load_blocks", [MemoryEffects<[MemRead]>]> {
  let summary = "a box of a strided array, which warps load in blocks; what lies outside of the array is 0";
  let description = [{
    `base` is the first element of the array: `height` rows of `width` elements, `pitch` elements apart. The box begins at
    element `x` of row `y`; its rows run along dimension `dim` of the tile. `layout` is that of the tile, which repeats that
    of the `block` (`#tile.block`).
  }];
  let arguments = (ins Tile_PtrLike:$base, I32:$width, I32:$height, I32:$pitch, I32:$x, I32:$y,
    Tile_BlockAttr:$block, I32Attr:$dim, Tile_LayoutAttr:$layout);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$base `[` $x `,` $y `]` `of` $width `x` $height `pitch` $pitch `by` $block `along` $dim `in` $layout attr-dict `:` type($base) `->` type($result)";
  let hasVerifier = 1;
}

def Simt_MmaAsyncOp : Simt_Op<"mma_async", [MemoryEffects<[MemRead, MemWrite]>, AllTypesMatch<["acc", "result"]>]> {
  let summary = "start acc + a * b by matrix instructions of several warps, which read b from shared memory";
  let description = [{
    The products start in order, each as a group of its own. Until an `mma_wait` for its group nobody may touch the
    result, an `a` in registers, or the buffers, but as the `acc` of another product. A buffer may hold its operand
    transposed; its layout is one of `ir/layout/OperandSlabs`.

    With `partial_depth`, sums of so many elements along k begin at 0 and are added to `acc` by other instructions, each
    when its products are done. Such an operation waits for its products, and for all that were started before it.
  }];
  let arguments = (ins AnyTypeOf<[Tile_Tile, Simt_SharedType]>:$a, Simt_SharedType:$b, Tile_Tile:$acc, Tile_AsyncMmaAttr:$instruction,
    UnitAttr:$transposed_a, UnitAttr:$transposed_b, OptionalAttr<Simt_PartialDepth>:$partial_depth);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$a (`transposed_a` $transposed_a^)? `,` $b (`transposed_b` $transposed_b^)? `,` $acc `by` $instruction (`partial_depth` $partial_depth^)? attr-dict `:` type($a) `,` type($b) `->` type($result)";
  let hasVerifier = 1;
}

def Simt_MmaWaitOp : Simt_Op<"mma_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until at most `pending` of the products that were started last are in flight; the accumulators of those that are not";
  let arguments = (ins I32Attr:$pending, Variadic<Tile_Tile>:$accs);
  let results = (outs Variadic<Tile_Tile>:$results);
  let assemblyFormat = "$pending `(` $accs `)` attr-dict `:` functional-type($accs, $results)";
  let hasVerifier = 1;
}

def Simt_FenceAsyncOp : Simt_Op<"fence_async", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "what this thread wrote to shared memory is there for instructions that run by themselves, after the next barrier";
  let description = "`global`: so are its accesses of global memory.";
  let arguments = (ins UnitAttr:$global);
  let assemblyFormat = "(`global` $global^)? attr-dict";
}

def Simt_BarrierOp : Simt_Op<"barrier", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "all threads of the program, or those of each `warp`, wait for one another; orders their shared memory accesses";
  let description = [{
    `loader`: all threads of the CTA, with those of its loader. `cluster`: all threads of all programs of the cluster,
    with those of their loaders.
  }];
  let arguments = (ins UnitAttr:$warp, UnitAttr:$loader, UnitAttr:$cluster);
  let assemblyFormat = "(`warp` $warp^)? (`loader` $loader^)? (`cluster` $cluster^)? attr-dict";
}

def Simt_TurnOp : Simt_Op<"turn", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "groups of so many `warps` take turns: one after the other does what stands between `take` and `pass`";
  let description = [{
    `begin` gives the turn to the first group, `take` waits for it, `pass` gives it to the next group, or from the last one
    to the first, and `end` takes it away. All groups take it equally often. It orders no accesses to memory. From the
    stage lowered on, `group` is the number of the thread's group.
  }];
  let arguments = (ins Simt_TurnStep:$step, I32Attr:$warps, Optional<I32>:$group);
  let assemblyFormat = "$step `warps` $warps (`of` $group^)? attr-dict";
}

//===-- Stage lowered: one thread ------------------------------------------------------------------===//

def Simt_ThreadIdOp : Simt_PureOp<"thread_id"> {
  let summary = "number of this thread in its CTA: lane + warp size * warp";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}
def Simt_ProgramIdOp : Simt_PureOp<"program_id"> {
  let summary = "index of this program along a grid axis";
  let arguments = (ins Simt_Axis:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict";
}
def Simt_MachineOp : Simt_Op<"machine", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "nanoseconds of the machine's clock, or the number of the processor that runs this thread";
  let arguments = (ins Tile_MachineFact:$fact);
  let results = (outs I64:$result);
  let assemblyFormat = "$fact attr-dict";
}
def Simt_OrderLaunchesOp : Simt_Op<"order_launches", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "tile.order_launches, of this thread";
  let arguments = (ins Tile_LaunchOrder:$order);
  let assemblyFormat = "$order attr-dict";
}
def Simt_ClusterRankOp : Simt_PureOp<"cluster_rank"> {
  let summary = "index of this program in its cluster";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}
def Simt_NumProgramsOp : Simt_PureOp<"num_programs"> {
  let summary = "number of programs along a grid axis";
  let arguments = (ins Simt_Axis:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict";
}

def Simt_ShuffleOp : Simt_Op<"shuffle", [AllTypesMatch<["value", "result"]>]> {
  let summary = "the value of another lane of the warp; all lanes take part";
  let description = "Values of 8, 16, 32 and 64 bits and pointers. `lane` is the xor mask, the index or the distance.";
  let arguments = (ins Simt_ShuffleMode:$mode, AnyType:$value, I32:$lane);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$mode $value `,` $lane attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Simt_SharedAddressOp : Simt_PureOp<"shared_address"> {
  let summary = "the address (!llvm.ptr<3>) `offset` bytes into the CTA's shared memory";
  let arguments = (ins I64Attr:$offset);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$offset attr-dict `:` type($result)";
}

def Simt_GlobalLoadOp : Simt_Op<"global_load",
    [AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "this thread reads consecutive elements from global memory, all or none by the mask";
  let description = [{
    `result` is a scalar or a vector of 2, 4, 8 or 16 elements of 8 to 64 bits, at most 16 bytes, naturally
    aligned. Where the mask is false it is `other` (of the result's type), or anything without one.
  }];
  let arguments = (ins AnyType:$ptr, Optional<I1>:$mask, Optional<AnyType>:$other,
    DefaultValuedAttr<Tile_CacheModifier, "::tw::tile::CacheModifier::None">:$cache,
    DefaultValuedAttr<Tile_EvictionPolicy, "::tw::tile::EvictionPolicy::Normal">:$evict, UnitAttr:$is_volatile);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$ptr (`mask` $mask^)? (`other` $other^ `:` type($other))? attr-dict `:` type($ptr) `->` type($result)";
  let hasVerifier = 1;
}

def Simt_GlobalStoreOp : Simt_Op<"global_store", [MemoryEffects<[MemWrite]>]> {
  let summary = "this thread writes consecutive elements to global memory, all or none by the mask";
  let arguments = (ins AnyType:$ptr, AnyType:$value, Optional<I1>:$mask,
    DefaultValuedAttr<Tile_CacheModifier, "::tw::tile::CacheModifier::None">:$cache,
    DefaultValuedAttr<Tile_EvictionPolicy, "::tw::tile::EvictionPolicy::Normal">:$evict);
  let assemblyFormat = "$ptr `,` $value (`mask` $mask^)? attr-dict `:` type($ptr) `,` type($value)";
  let hasVerifier = 1;
}

def Simt_GlobalToSharedOp : Simt_Op<"global_to_shared", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "this thread starts to copy `bytes` from global to shared memory, or zeros where the mask is false";
  let arguments = (ins AnyType:$ptr, AnyType:$shared, Optional<I1>:$mask, I32Attr:$bytes,
    DefaultValuedAttr<Tile_CacheModifier, "::tw::tile::CacheModifier::None">:$cache,
    DefaultValuedAttr<Tile_EvictionPolicy, "::tw::tile::EvictionPolicy::Normal">:$evict);
  let assemblyFormat = "$ptr `,` $shared `,` $bytes (`mask` $mask^)? attr-dict `:` type($ptr) `,` type($shared)";
}

def Simt_ShareRegistersOp : Simt_Op<"share_registers", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "warps of the loader give registers away, and those of the program, which need so many, take them";
  let arguments = (ins OptionalAttr<I32Attr>:$needed);
  let assemblyFormat = "(`needed` $needed^)? attr-dict";
}

def Simt_ElectOp : Simt_Op<"elect", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "true in one lane of the warp; all lanes take part";
  let results = (outs I1:$result);
  let assemblyFormat = "attr-dict";
}

def Simt_TensorMapOp : Simt_PureOp<"tensor_map"> {
  let summary = "the address of the kernel's tensor map of this number";
  let arguments = (ins I32Attr:$number);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$number attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Simt_PhaseExpectOp : Simt_Op<"phase_expect", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "this thread arrives at a phase barrier, whose phase ends when `bytes` have arrived, too";
  let arguments = (ins AnyType:$barrier, I64Attr:$bytes);
  let assemblyFormat = "$barrier `,` $bytes attr-dict `:` type($barrier)";
}

def Simt_PhaseArriveOp : Simt_Op<"phase_arrive", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "this thread arrives at a phase barrier, or at the one in its place of another `program` of the cluster";
  let arguments = (ins AnyType:$barrier, Optional<I32>:$program);
  let assemblyFormat = "$barrier (`of` $program^)? attr-dict `:` type($barrier)";
}

def Simt_CopyBoxOp : Simt_Op<"copy_box", [MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "this thread starts to copy the box at `coordinates` to shared memory; its bytes arrive at a phase barrier";
  let description = "`programs`: a bit for each program of the cluster that gets the box, in the same place as here.";
  let arguments = (ins AnyType:$map, Variadic<I32>:$coordinates, AnyType:$shared, AnyType:$barrier, Optional<I32>:$programs);
  let assemblyFormat = "$map `[` $coordinates `]` `,` $shared `on` $barrier (`to` $programs^)? attr-dict `:` type($map) `,` type($shared) `on` type($barrier)";
}

def Simt_StoreBoxOp : Simt_Op<"store_box", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "this thread starts to copy from shared memory to the box at `coordinates`, or to combine its elements by `kind`";
  let arguments = (ins AnyType:$map, Variadic<I32>:$coordinates, AnyType:$shared, OptionalAttr<Tile_AtomicKind>:$kind);
  let assemblyFormat = "$map `[` $coordinates `]` `,` $shared (`combining` $kind^)? attr-dict `:` type($map) `,` type($shared)";
}

def Simt_StoresWaitOp : Simt_Op<"stores_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until the boxes that this thread stores are complete; with `read`, until they have been read";
  let arguments = (ins UnitAttr:$read);
  let assemblyFormat = "(`read` $read^)? attr-dict";
}

def Simt_CopyArrayOp : Simt_Op<"copy_array", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "this warp starts to copy rows of a strided array to shared memory, where `exists`, by one instruction";
  let description = [{
    The box is `rows` rows of `columns` elements of `bytes`, `pitch` elements apart, from the address `ptr` on. The array
    ends after `height` rows and `width` columns from there; what lies outside is 0. In shared memory, rows follow each other, with
    `pad` bytes behind every `interval` bytes. All lanes have the same operands.
  }];
  let arguments = (ins AnyType:$ptr, AnyType:$shared, I32:$width, I32:$height, I64:$pitch, Optional<I1>:$exists,
    I32Attr:$columns, I32Attr:$rows, I32Attr:$bytes, I32Attr:$pad, I32Attr:$interval);
  let assemblyFormat = "$ptr `,` $shared `of` $width `x` $height `pitch` $pitch (`if` $exists^)? `box` $columns `x` $rows `of` $bytes `pad` $pad `every` $interval attr-dict `:` type($ptr) `,` type($shared)";
}

def Simt_CopiesWaitOp : Simt_Op<"copies_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until at most `left` of the copies that this warp started last are incomplete; they complete in order";
  let description = "`of_arrays`: of those by `copy_array`, which count apart from the others.";
  let arguments = (ins I32Attr:$left, UnitAttr:$of_arrays);
  let assemblyFormat = "$left (`of_arrays` $of_arrays^)? attr-dict";
}

def Simt_LoadMatrixOp : Simt_Op<"load_matrix", [MemoryEffects<[MemRead]>]> {
  let summary = "the warp reads 1, 2 or 4 matrices of 8 rows of 16 bytes from shared memory";
  let description = [{
    Lane 8 i + r gives the address of row r of matrix i. Result i of lane l is the 32-bit word l % 4 of row l / 4 of
    matrix i; `transposed`, the 16-bit elements 2 (l % 4) and 2 (l % 4) + 1 of column l / 4 (`ldmatrix`).
  }];
  let arguments = (ins AnyType:$address, UnitAttr:$transposed);
  let results = (outs Variadic<I32>:$results);
  let assemblyFormat = "$address (`transposed` $transposed^)? attr-dict `:` type($address) `->` type($results)";
}

def Simt_StoreMatrixOp : Simt_Op<"store_matrix", [MemoryEffects<[MemWrite]>]> {
  let summary = "the warp writes 1, 2 or 4 matrices of 8 rows of 16 bytes to shared memory";
  let description = "Addresses and words as those of `load_matrix` (`stmatrix`).";
  let arguments = (ins AnyType:$address, Variadic<I32>:$words, UnitAttr:$transposed);
  let assemblyFormat = "$address `,` $words (`transposed` $transposed^)? attr-dict `:` type($address) `,` type($words)";
}

def Simt_LoadTransposedOp : Simt_Op<"load_transposed", [MemoryEffects<[MemRead]>]> {
  let summary = "16 lanes of a warp after the other read rows of 16 elements of `bits` bits, and each gets a column";
  let description = [{
    There are 4 rows of 16 bits or 8 of 8 bits, in parts of 8 bytes. Each lane gives the address of a part: of 16 bits,
    lane 4 r + p of part p of row r; of 8 bits, lane 2 r + p, or with `split` lane 8 (r / 4) + 4 p + r % 4. Lane l gets
    element l of every row, the first row's lowest. With four results, 8 lanes after the other read 8 rows of 8
    elements of 16 bits: lane l of the 8 gives the address of row l, and gets element l of every row.
  }];
  let arguments = (ins AnyType:$address, I32Attr:$bits, UnitAttr:$split);
  let results = (outs Variadic<I32>:$results);
  let assemblyFormat = "$address `of` $bits (`split` $split^)? attr-dict `:` type($address) `->` type($results)";
}

def Simt_LoadBlockOp : Simt_Op<"load_block", [MemoryEffects<[MemRead]>]> {
  let summary = "the warp loads a block of an array: this lane's registers, 0 for what lies outside of the array";
  let description = [{
    The array begins at `base`: `height` rows of `width` elements, `pitch` elements apart. The block begins at element `x` of
    row `y`; all are the same in all lanes. Registers in the order of its fragment, packed into words of 32 bits.
  }];
  let arguments = (ins AnyType:$base, I32:$width, I32:$height, I32:$pitch, I32:$x, I32:$y, Tile_BlockAttr:$block);
  let results = (outs Variadic<I32>:$results);
  let assemblyFormat = "$base `[` $x `,` $y `]` `of` $width `x` $height `pitch` $pitch `by` $block attr-dict `:` type($base) `->` type($results)";
  let hasVerifier = 1;
}

def Simt_MmaFragmentOp : Simt_PureOp<"mma_fragment", [AttrSizedOperandSegments]> {
  let summary = "one matrix instruction of the warp: this lane's registers of acc + a * b";
  let description = [{
    Registers in the order of `mmaFragment`; elements below 32 bits are packed into i32, the lowest first. Scales, if there
    are any, are those of A and of B: each is one of the bytes of a word, `scale_bytes`, the lowest first.
  }];
  let arguments = (ins Variadic<AnyType>:$a, Variadic<AnyType>:$b, Variadic<AnyType>:$acc, Variadic<I32>:$scales,
    Simt_Instruction:$instruction, DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0}">:$scale_bytes);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "qualified($instruction) `(` $a `)` `,` `(` $b `)` `,` `(` $acc `)` (`scaled` `(` $scales^ `)` $scale_bytes)? attr-dict `:` functional-type(operands, $results)";
}

def Simt_GroupMmaOp : Simt_Op<"group_mma", [MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments]> {
  let summary = "start the matrix instructions of a product by several warps, as one group: this lane's registers of acc + a * b";
  let description = [{
    The product has blocks of rows, one below the other, and blocks of `columns`; each is a sum over steps of k. `b` is
    the address of an operand in `b_slabs`, and `b_offsets` those of the blocks' steps in it, in bytes before anything
    is swizzled: of the first block, step by step, then of the second. So is `a`, the address of the warps' first rows;
    or it is words in the order of `mmaFragment`, for each block and step. Accumulators are those of the first block of
    rows, block of columns after block of columns, in the order of `mmaFragment`, packed. Without `acc` they begin as 0;
    `zeroed`, they do so too, in the registers of `acc`, whose values nobody needs any longer.
  }];
  let arguments = (ins Variadic<AnyType>:$a, AnyType:$b, Variadic<AnyType>:$acc, Tile_AsyncMmaAttr:$instruction, I64Attr:$columns, I64Attr:$steps,
    OptionalAttr<Simt_SlabsAttr>:$a_slabs, Simt_SlabsAttr:$b_slabs, DenseI64ArrayAttr:$a_offsets, DenseI64ArrayAttr:$b_offsets, UnitAttr:$zeroed);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "$instruction `columns` $columns `steps` $steps `(` $a `)` (`in` $a_slabs^)? $a_offsets `,` $b `in` $b_slabs $b_offsets `,` (`zeroed` $zeroed^)? `(` $acc `)` attr-dict `:` functional-type(operands, $results)";
  let hasVerifier = 1;
}

def Simt_GroupWaitOp : Simt_Op<"group_wait", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "wait until at most `pending` groups of products are in flight: this lane's registers of those that are not";
  let arguments = (ins I32Attr:$pending, Variadic<AnyType>:$accs);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "$pending `(` $accs `)` attr-dict `:` functional-type($accs, $results)";
  let hasVerifier = 1;
}

def Simt_AtomicOp : Simt_Op<"atomic", [MemoryEffects<[MemRead, MemWrite]>, AttrSizedOperandSegments, AllTypesMatch<["value", "result"]>]> {
  let summary = "this thread updates one element in global memory where the mask is true and gives what it was; else 0";
  let description = "With `expected`, only an element of these bits is updated: `xchg` is then a compare-and-swap.";
  let arguments = (ins Tile_AtomicKind:$kind, AnyType:$ptr, AnyType:$value, Optional<AnyType>:$expected, Optional<I1>:$mask,
    Tile_MemoryOrder:$order, Tile_MemoryScope:$scope);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$kind $order $scope $ptr `,` $value (`expecting` $expected^ `:` type($expected))? (`mask` $mask^)? attr-dict `:` type($ptr) `,` type($value)";
}

def Simt_ApproxOp : Simt_PureOp<"approx", [AllTypesMatch<["source", "result"]>]> {
  let summary = "a function of float32 by one instruction, with that instruction's error";
  let description = [{
    Largest errors, of all machines described: exp2 2^-22.5 relative, log2 2^-22.6 absolute, reciprocal and
    sqrt 1 ulp, rsqrt 2^-22.9 relative, sin and cos 2^-20.5 absolute in [-pi, pi], tanh 2^-11 relative.
    exp2_flushed and reciprocal_flushed replace subnormal operands and results by 0, which machines do faster.
  }];
  let arguments = (ins Simt_ApproxKind:$kind, F32:$source);
  let results = (outs F32:$result);
  let assemblyFormat = "$kind $source attr-dict";
}

def Simt_RoundTf32Op : Simt_PureOp<"round_tf32", [AllTypesMatch<["source", "result"]>]> {
  let summary = "the nearest float32 with 10 bits of mantissa; of two, the one farther from 0";
  let arguments = (ins F32:$source);
  let results = (outs F32:$result);
  let assemblyFormat = "$source attr-dict";
}

def Simt_DivideOp : Simt_PureOp<"divide", [AllTypesMatch<["lhs", "rhs", "result"]>]> {
  let summary = "quotient of float32 with an error of at most 2 ulp over the full range";
  let arguments = (ins F32:$lhs, F32:$rhs);
  let results = (outs F32:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict";
}

def Simt_InlineAsmOp : Simt_Op<"inline_asm", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "assembly text of the user's, run by this thread; one source or result for each register";
  let description = "As `tile.inline_asm`. Values are integers of at most 64 bits, f32, f64 and pointers.";
  let arguments = (ins StrAttr:$text, StrAttr:$constraints, UnitAttr:$is_pure, Variadic<AnyType>:$sources);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = "(`pure` $is_pure^)? $text $constraints `(` $sources `)` attr-dict `:` functional-type($sources, $results)";
}

def Simt_PrintOp : Simt_Op<"print", [MemoryEffects<[MemWrite]>]> {
  let summary = "this thread prints one element where the mask is true, with its program and row-major index in the tile";
  let arguments = (ins StrAttr:$prefix, BoolAttr:$hex, BoolAttr:$is_signed, DenseI64ArrayAttr:$shape, Optional<AnyType>:$value, I32:$index, I1:$mask);
  let assemblyFormat = "$prefix (`,` $value^ `:` type($value))? `at` $index `mask` $mask attr-dict";
}

def Simt_AssertOp : Simt_Op<"assert", [MemoryEffects<[MemWrite]>]> {
  let summary = "this thread reports a failure where `failed` is true, with the row-major index in the tile";
  let description = "With two values, integers, the report shows them with `joint` between.";
  let arguments = (ins I1:$failed, StrAttr:$message, DenseI64ArrayAttr:$shape, I32:$index,
    Variadic<AnyType>:$values, OptionalAttr<StrAttr>:$joint, UnitAttr:$is_signed);
  let assemblyFormat = "$failed `,` $message `at` $index (`of` $values^ `:` type($values))? attr-dict";
}
#endif
