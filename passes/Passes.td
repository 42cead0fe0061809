// The passes: what each does, its options and an example.
#ifndef PASSES_PASSES_TD
#define PASSES_PASSES_TD
include "llvm/TableGen/SearchableTable.td"
include "mlir/Pass/PassBase.td"

// What a pass takes, by the names of inputs in StageChecks.cpp: a text of the user's is looked at
// before. A pass that does not say it takes any module.
class Takes<string name> {
  string input = name;
}

def PassInputs : GenericTable {
  let FilterClass = "Takes";
  let CppTypeName = "PassInput";
  let Fields = ["argument", "input"];
}

// A pass without which kernels compute the same, so that a search for a wrong pass may leave it out.
class Optional {
  bit isOptional = 1;
}

def OptionalPasses : GenericTable {
  let FilterClass = "Optional";
  let CppTypeName = "OptionalPass";
  let Fields = ["argument"];
}

def ExpandDescriptors : Pass<"expand-descriptors", "::mlir::ModuleOp">, Takes<"tile"> {
  let summary = "accesses to boxes of strided arrays become accesses through pointers and masks";
  let description = [{
    ```mlir
    %x = tile.descriptor_load %p shape [%M, %K] strides [%s, %one] at [%i, %k] checked [0] : ...
    // becomes
    %corner = tile.addptr %p, %i * %s + %k      // scalar, of 64 bits
    %rows = tile.arange 0 to 64
    %mask = (%i + %rows >= 0) & (%i + %rows < %M)  // as a column
    %x = tile.load (%corner + %rows * %s + arange) mask %mask
    ```
    What changes from one box to the next stays scalar: the tile of offsets inside a box leaves the loop.
  }];
  let dependentDialects = ["::tw::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def ExpandHistograms : Pass<"expand-histograms", "::mlir::ModuleOp">, Takes<"tile"> {
  let summary = "histograms become counts of bits in words, one for each 32 elements and each bin";
  let description = [{
    Before: `%h = tile.histogram %x : tensor<1024xi32> -> tensor<16xi32>`.
    After: `%b0` to `%b3`, tensor<32xi32>, have bit e of word w set where element [w, e] of `%x` has that bit. Their
    AND, complemented as a bin's number says, has a 1 for each element in the bin: `math.ctpop`, summed over words.
    A loop over groups of bins keeps it in registers. For machines whose threads share no place to count in.
  }];
  let options = [Option<"numWarps", "num-warps", "unsigned", "4", "warps of a program">];
  let dependentDialects = ["::tw::tile::TileDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect"];
}

def RaisePointers : Pass<"raise-pointers", "::mlir::ModuleOp">, Takes<"tile">, Optional {
  let summary = "tiles that a loop advances by a uniform step become a base and a carried scalar";
  let description = [{
    Before: `%q = scf.for ... iter_args(%p = %base) { ...; %n = tile.addptr %p, splat(%step); yield %n }`.
    After: the loop carries the scalar `%sum` (i64, from 0 by `%step`), and `%p` is
    `tile.addptr %base, splat(%sum)`, whose contiguity is the base's.
  }];
  let dependentDialects = ["::tw::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def MergeProducts : Pass<"merge-products", "::mlir::ModuleOp">, Takes<"tile">, Optional {
  let summary = "loops that add up products of a few columns each take more columns at a time";
  let description = [{
    ```mlir
    %c = scf.for %k = %c0 to %c72 step %c8 iter_args(%sum = %zero) {
      // a [64, 8] and b [8, 64], loaded at the columns and rows k + [0, 8)
      %next = tile.dot %a, %b, %sum
      scf.yield %next
    }
    // becomes
    // a [64, 72] and b [72, 64], loaded at [0, 72)
    %c = tile.dot %a, %b, %zero
    ```
    Loops whose number of iterations is known, and whose bodies read memory and do nothing else. The sums are added up in the same order.
  }];
  let dependentDialects = ["::tw::tile::TileDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def SplitLoopsByMask : Pass<"split-loops-by-mask", "::mlir::ModuleOp">, Takes<"tile">, Optional {
  let summary = "iterations in which masks are all true run in a loop of their own, without them";
  let description = [{
    ```mlir
    scf.for %k = %c0 to %K step %c32 {
      // a load with the mask k + [0, 32) < K
    }
    // becomes
    scf.for %k = %c0 to %whole step %c32 {
      // a load without a mask
    }
    scf.for %k = %whole to %K step %c32 {
      // a load with the mask
    } {tile.short}
    ```
    Masks that are true from some iteration on (the start of a window) get a loop before. The bounds are exact: they hold only where no
    sum of the kernel wraps around, else the loop without masks runs no iteration. Innermost loops only:
    those with products for SIMT machines, the others for SIMD machines.

    In the same loop, the maximum of a softmax is taken of the scores before they are multiplied by a scale:
    max(s * scale) = max(s) * scale, to the bit, for scales that are positive normal numbers. For others, the loop
    runs no iteration.
  }];
  let options = [Option<"products", "products", "bool", "false",
                        "splits the loops with products, else those without">];
  let dependentDialects = ["::tw::tile::TileDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def RefuseAssembly : Pass<"refuse-assembly", "::mlir::ModuleOp">, Takes<"tile"> {
  let summary = "kernels with assembly text end in an error: for targets that have no such assembly";
  let options = [Option<"linksBitcode", "links-bitcode", "bool", "false", "pure functions of bitcode can be called">];
}

def OrderLaunches : Pass<"order-launches", "::mlir::ModuleOp">, Takes<"tile"> {
  let summary = "kernels that may begin before the launches that they depend on have ended wait for those first";
  let description = [{
    For a target with `early_launch`:
    ```mlir
    func.func @f(%x: !tile.ptr<f32>) {
      tile.store %x, ...
    // becomes
    func.func @f(%x: !tile.ptr<f32>) {
      tile.order_launches await
      tile.store %x, ...
    ```
    A kernel stays as it is where its own outermost block waits, and nothing in front of that writes. Targets without
    `dependent_launches` lose all `tile.order_launches`: their launches follow each other.
  }];
  let dependentDialects = ["::tw::tile::TileDialect"];
}

def AttachTarget : Pass<"attach-target", "::mlir::ModuleOp"> {
  let summary = "the module gets the description of the machine that it is compiled for";
  let description = [{
    With `target={#tile.simd<vector_bytes = 16, registers = 16, line_bytes = 64, cache_bytes = 32768>}`:
    ```mlir
    module {}
    // becomes
    module attributes {tile.target = #tile.simd<...>} {}
    ```
  }];
  let options = [Option<"target", "target", "std::string", "\"\"", "`#tile.target` of a GPU or `#tile.simd` of a CPU">];
  let dependentDialects = ["::tw::tile::TileDialect"];
}

def LowerSimd : Pass<"lower-simd", "::mlir::ModuleOp">, Takes<"tile-passes"> {
  let summary = "tiles become loops over vectors in an llvm.func of the kernel ABI";
  let dependentDialects = ["::tw::tile::TileDialect", "::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect",
    "::mlir::scf::SCFDialect", "::mlir::math::MathDialect", "::mlir::arith::ArithDialect"];
}

def PollLoops : Pass<"poll-loops", "::mlir::ModuleOp"> {
  let summary = "a launch can be stopped in loops that may take long: now and then they call tw_poll";
  let description = [{
    A short innermost loop runs in pieces, so that its iterations stay as they were; one that contains
    such loops, or takes long for each iteration, or has a condition, counts down in each iteration.
    ```mlir
    scf.for %i = %0 to %n step %c1 : i32 { ... }
    // becomes
    scf.while (%first = %0) : (i32) -> i32 {
      // %end is %first + 65536 / (operations of an iteration), or %n where that is less
      scf.for %i = %first to %end step %c1 : i32 { ... }
      scf.condition(%more) %end : i32
    } do {
    ^bb0(%first: i32):
      llvm.call @tw_poll(%program) : (!llvm.ptr) -> ()
      scf.yield %first : i32
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def ShareNests : Pass<"share-nests", "::mlir::ModuleOp">, Optional {
  let summary = "loop nests that do the same become one function";
  let description = [{
    Nests without results, which work on memory, are compared up to the values from outside that they use;
    these become the function's parameters. Nests of little work stay where they are. What is known of buffers on
    the stack holds for the parameters, too: their alignment, and that no other argument leads to them.
    ```mlir
    scf.for %i = %c0 to %c64 step %c1 : i64 { ... %a ... }
    scf.for %i = %c0 to %c64 step %c1 : i64 { ... %b ... }
    // becomes
    llvm.call @kernel.nest0(%a) : (!llvm.ptr) -> ()
    llvm.call @kernel.nest0(%b) : (!llvm.ptr) -> ()
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def ExpandMath : Pass<"expand-math", "::mlir::ModuleOp">, Takes<"lowered"> {
  let summary = "math functions of f32 vectors and scalars become polynomials; rare ones become calls of a vector math library";
  let description = [{
    Runs while control flow is still scf: large arguments of sin and cos branch. Also gives arith the
    meaning it has on tiles: shifts by too much, division by 0, float to integer out of range, and
    conversions to 16-bit floats never trap, are never poison and need no library.
    ```mlir
    %y = math.tan %x : vector<16xf32>
    // becomes
    %y = llvm.call @_ZGVeN16v_tanf(%x) : (vector<16xf32>) -> vector<16xf32>
    ```
  }];
  let dependentDialects = ["::tw::tile::TileDialect", "::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect",
    "::mlir::math::MathDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
  let options = [
    Option<"hasVectorLibrary", "vector-library", "bool", "true",
           "functions of glibc's libmvec may be called; else scalar ones of libm, lane by lane">];
}

def CleanLowered : Pass<"clean-lowered", "::mlir::ModuleOp">, Takes<"lowered">, Optional {
  let summary = "lowered code is canonicalized, in one sweep of folds and one of patterns";
  let description = [{
    ```mlir
    %v = vector.broadcast %c1 : i32 to vector<16xi32>
    %y = arith.addi %v, %x : vector<16xi32>
    // becomes
    %v = arith.constant dense<1> : vector<16xi32>
    %y = arith.addi %x, %v : vector<16xi32>
    ```
  }];
}

def LowerToLlvm : Pass<"lower-to-llvm", "::mlir::ModuleOp">, Takes<"lowered"> {
  let summary = "loops, scalars and vectors become the LLVM dialect";
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect"];
}

def CarryBf16AsBits : Pass<"carry-bf16-as-bits", "::mlir::ModuleOp">, Takes<"llvm-dialect"> {
  let summary = "bf16 are held, moved and chosen as integers of 16 bits";
  let description = [{
    ```mlir
    %r = llvm.select %c, %a, %b : i1, bf16
    // becomes
    %r = llvm.select %c, %a, %b : i1, i16
    ```
    Operations that count with them get them back by `llvm.bitcast`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def SpreadHints : Pass<"spread-hints", "::mlir::ModuleOp">, Takes<"tile">, Optional {
  let summary = "what is promised of a value holds for every later use of it";
  let description = [{
    ```mlir
    %h = tile.hint %p {divisibility = array<i64: 16>} : tensor<64x!tile.ptr<f16>>
    %x = tile.load %p : tensor<64xf16>
    // becomes
    %h = tile.hint %p {divisibility = array<i64: 16>} : tensor<64x!tile.ptr<f16>>
    %x = tile.load %h : tensor<64xf16>
    ```
  }];
}

def MergeComparisons : Pass<"merge-comparisons", "::mlir::ModuleOp">, Takes<"tile">, Optional {
  let summary = "two bounds of one number become one";
  let description = [{
    ```mlir
    %inside = arith.cmpi slt, %columns, %n : tensor<128x64xi32>
    %seen = arith.cmpi sle, %columns, %rows : tensor<128x64xi32>
    %mask = arith.andi %inside, %seen : tensor<128x64xi1>
    // becomes, where %n is a scalar's splat and %rows are enlarged from tensor<128xi32>
    %limit = arith.minsi %n, (%rows of tensor<128xi32>, at most 2^31 - 2) + 1 : tensor<128xi32>
    %mask = arith.cmpi slt, %columns, (%limit, enlarged) : tensor<128x64xi32>
    ```
    It runs behind `split-loops-by-mask`, which takes masks out of loops one by one. Bounds merge where the smaller one
    is found on fewer elements than the mask has.
  }];
}

def CombineOps : Pass<"combine-ops", "::mlir::ModuleOp">, Takes<"tile">, Optional {
  let summary = "work moves from tiles to the smaller tiles and scalars that they are made of";
  let description = [{
    ```mlir
    %m = tile.splat %M : i32 -> tensor<64x1xi32>
    %r = tile.expand_dims %rows axis 1 : tensor<64xi32> -> tensor<64x1xi32>
    %mask = arith.cmpi slt, %r, %m : tensor<64x1xi32>
    // becomes
    %m = tile.splat %M : i32 -> tensor<64xi32>
    %c = arith.cmpi slt, %rows, %m : tensor<64xi32>
    %mask = tile.expand_dims %c axis 1 : tensor<64xi1> -> tensor<64x1xi1>
    ```
    Also: uniform parts of pointer sums become scalar, division by a power of two becomes multiplication,
    choices between masks become and/or, hints of one value are merged, a product begins with the sum that it is added to.
  }];
  let dependentDialects = ["::tw::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def VerifyStage : Pass<"verify-stage", "::mlir::ModuleOp"> {
  let summary = "fails where the module breaks an invariant of a stage of compilation";
  let description = [{
    `tile`: tile, scf, arith, math and func operations on tiles without layout.
    `padded`: the same, and all extents are powers of two.
    `laid-out`: every tile has one layout, which fits the target's warps; data moves by `simt.convert_layout`.
    `scheduled`: data moves between warps through `simt.alloc_shared` buffers with offsets only.
    `lowered`: no tiles; gpu, vector, memref, scf, cf, arith, math, func and llvm operations, and those of
    one thread of simt.
  }];
  let options = [Option<"stage", "stage", "std::string", "\"tile\"", "tile, padded, laid-out, scheduled or lowered">];
}

//===-- SIMT machines ------------------------------------------------------------------------------===//

def PadExtents : Pass<"pad-extents", "::mlir::ModuleOp">, Takes<"tile"> {
  let summary = "tiles whose extents are not powers of two become parts of tiles whose extents are";
  let description = [{
    ```mlir
    %x = tile.load %p : tensor<48x!tile.ptr<f32>> -> tensor<48xf32>
    %s = tile.reduce(%x) axis 0 {...addf...}
    // becomes
    %real = arith.cmpi slt, (tile.arange 0 to 64), dense<48> : tensor<64xi32>
    %x = tile.load %p mask %real : tensor<64x!tile.ptr<f32>> -> tensor<64xf32>
    %y = arith.select %real, %x, dense<-0.0> : tensor<64xi1>, tensor<64xf32>
    %s = tile.reduce(%y) axis 0 {...addf...}
    ```
    Nothing sees what the padding holds: there are rules for accesses, prints and assertions (masked), reductions and scans (the
    neutral element, or a truth value beside each element), products (0 along K), reshapes and gathers. Nothing is
    done to tiles of powers of two. Remark TW0331 for each shape that is padded.
  }];
  let dependentDialects = ["::tw::tile::TileDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def SelectMma : Pass<"select-mma", "::mlir::ModuleOp">, Takes<"padded"> {
  let summary = "products become matrix instructions where the target has one for their types and extents";
  let description = [{
    ```mlir
    %c = tile.dot %a, %b, %acc : tensor<64x32xf16>, tensor<32x64xf16> -> tensor<64x64xf32>
    // becomes, on 4 warps of a target with this instruction
    %c = simt.mma %a, %b, %acc by <16 x 8 x 16, f16, f16 -> f32> warps [2, 2] ieee : ...
    ```
    Bytes that were extended because they have no sign are given to instructions that take them. Where sums of an
    instruction lose bits, `partial_depth` says how many elements along k one may have.
  }];
  let options = [Option<"numWarps", "num-warps", "unsigned", "4", "warps of a program">];
  let dependentDialects = ["::tw::simt::SimtDialect", "::mlir::arith::ArithDialect"];
}

def LoadBlocks : Pass<"load-blocks", "::mlir::ModuleOp">, Takes<"chosen-products">, Optional {
  let summary = "operands of matrix instructions are loaded as these take them, where the machine loads blocks of arrays";
  let description = [{
    ```mlir
    %a = tile.load %pointers mask %mask : tensor<64x32xf16>  // a box of an array: rows of K elements, one after the other
    %c = simt.mma %a, %b, %acc by ...
    // becomes
    %a = simt.load_blocks %array[%k, %m] of %K x %M pitch %stride by <32 x 16, 16 bits of a in "..."> along 1 in #layout
    %c = simt.mma %a, %b, %acc by ...
    ```
    The tile is a box of an array, as for copies of boxes (`passes/simt/Boxes`). Where no mask compares an index with an
    extent, the array begins at the tile, and has its extent. The module lists the arrays (`simt.tensor_maps`), which
    a launch checks. Loops of iterations that masks were split off for become one again. Remark TW0368 says why an operand
    is not loaded so.
  }];
  let dependentDialects = ["::tw::simt::SimtDialect", "::mlir::arith::ArithDialect"];
}

def AssignLayouts : Pass<"assign-layouts", "::mlir::ModuleOp">, Takes<"chosen-products"> {
  let summary = "every tile gets a layout over registers, lanes and warps";
  let description = [{
    ```mlir
    %i = tile.arange 0 to 1024 : tensor<1024xi32>
    // becomes, on 4 warps of 32 lanes
    %i = tile.arange 0 to 1024 : tensor<1024xi32,
      #tile.layout<[1024] register = [[128], [256], [512]] lane = [[1], [2], [4], [8], [16]] warp = [[32], [64]]>>
    ```
    Operands and results of matrix instructions get the layouts that these define, everything else the layout of
    its shape; `simt.convert_layout` stands where the two meet. The module gets `simt.num_warps`.

    Behind `coalesce-accesses`, whose layouts are kept, the pass decides the others anew: conversions disappear where
    values can be computed in the wanted layout, or move to where they cost less.
    ```mlir
    %i = tile.arange 0 to 1024 : tensor<1024xi32, #plain>
    %j = simt.convert_layout %i : tensor<1024xi32, #plain> -> tensor<1024xi32, #wide>
    // becomes
    %j = tile.arange 0 to 1024 : tensor<1024xi32, #wide>
    ```
    A conversion between a load and an `arith.extf` moves to the side with the smaller elements. What is cheap is
    computed in two layouts (remark TW0352); conversions that stay are remark TW0351.
  }];
  let options = [Option<"numWarps", "num-warps", "unsigned", "4", "warps of a program">,
                 Option<"emitsRemarks", "remarks", "bool", "false", "tells of conversions that stay and of what is computed twice">];
  let dependentDialects = ["::tw::simt::SimtDialect"];
}

def CoalesceAccesses : Pass<"coalesce-accesses", "::mlir::ModuleOp">, Takes<"laid-out">, Optional {
  let summary = "loads, stores and atomics get the layout in which a warp's accesses are widest";
  let description = [{
    ```mlir
    %v = tile.load %p : tensor<1024x!tile.ptr<f32>, #plain> -> tensor<1024xf32, #plain>
    // becomes, where %p is consecutive and divisible by 16: four elements are neighbours in one lane
    %q = simt.convert_layout %p : ... -> tensor<1024x!tile.ptr<f32>, #wide>
    %w = tile.load %q : tensor<1024x!tile.ptr<f32>, #wide> -> tensor<1024xf32, #wide>
    %v = simt.convert_layout %w : tensor<1024xf32, #wide> -> tensor<1024xf32, #plain>
    // #wide = register = [[1], [2], [512]] lane = [[4], [8], [16], [32], [64]] warp = [[128], [256]]
    ```
    Accesses of one shape share a layout. Remark TW0350 where 16 bytes a lane were impossible, and why.
  }];
  let dependentDialects = ["::tw::simt::SimtDialect"];
}

def DrawLayouts : Pass<"draw-layouts", "::mlir::ModuleOp"> {
  let summary = "remarks that draw each layout of the tiles and buffers, for people";
}

def ChooseRegisters : Pass<"choose-registers", "::mlir::ModuleOp">, Takes<"laid-out">, Optional {
  let summary = "kernels whose products take more registers than a thread has get the larger file, where there is one";
  let description = [{
    The module attribute `tile.larger_target` describes the same machine with more registers for each thread and fewer
    threads. It takes the place of `tile.target` if a loop with products takes more than `tile.target` has, as the
    loop is when its data goes through shared memory and nothing is copied ahead, and if it has the program's warps.
    Remark TW0374 has the numbers.
  }];
  let dependentDialects = ["::tw::simt::SimtDialect"];
}

def PipelineLoops : Pass<"pipeline-loops", "::mlir::ModuleOp">, Takes<"laid-out">, Optional {
  let summary = "loops over matrix products copy the operands of later iterations into shared memory beside the arithmetic";
  let description = [{
    ```mlir
    scf.for %i = %first to %last step %step {
      %a = tile.load %pointers
      simt.mma %a, ...
    // becomes, after the copies of the first num-stages - 1 iterations were started
    scf.for %i = %first to %last step %step iter_args(%slot = %c0, %before = ...) {
      simt.async_wait 1          // with num-stages=3: the copies of the next iteration may still run
      simt.barrier
      simt.async_copy %ahead, %written pieces 8 along 1
      simt.async_commit
      %a = simt.load_shared %read
      simt.mma %a, ...
    ```
    A loop's attribute `tile.num_stages` takes the place of the option. One that is `tile.short` is pipelined only
    where a loader copies boxes for it. A loader goes on in one ring of slots from loop to loop, and into the next
    iteration of the loops around, if the slots fit beside what these put into shared memory.

    `one-fewer-where-full` tries, on a copy of a module with large tiles, what the slots take beside the buffers that
    `stage-through-shared` adds. Triton has num_stages - 1 slots on these machines (its 3.9 for 128 x 128 x 64 halves
    and 4 stages: 98304 bytes), so what fits there fits here. One slot is written when it has been read, if tiles go
    through registers and can wait there.
  }];
  let options = [
    Option<"numStages", "num-stages", "unsigned", "3", "iterations of a loop that are in work at once">,
    Option<"oneFewerWhereFull", "one-fewer-where-full", "bool", "false",
           "loops have one slot fewer where the target's shared memory has no room for all">];
  let dependentDialects = ["::tw::simt::SimtDialect", "::mlir::arith::ArithDialect"];
}

def StageThroughShared : Pass<"stage-through-shared", "::mlir::ModuleOp">, Takes<"laid-out"> {
  let summary = "data that moves between warps goes through explicit buffers in shared memory";
  let description = [{
    ```mlir
    %y = simt.convert_layout %x : tensor<256xf32, #a> -> tensor<256xf32, #b>
    // becomes, where warps exchange elements or shuffles would cost more
    %buffer = simt.alloc_shared "conversion at line 12" : !simt.shared<[256], f32, #free_of_conflicts>
    simt.store_shared %x, %buffer
    %y = simt.load_shared %buffer
    ```
    Reductions across warps become a `simt.partial_reduce` in each warp, an exchange of its small results and a
    reduction of those; scans get a layout without warps along the axis; the sources of gathers and the
    operands of products lie in buffers; a thread's atomic reaches the others that hold its result. Tiles larger than
    what pipelined loops occupy anyway (and than 32 KiB) go in parts, through the same bytes.
  }];
  let dependentDialects = ["::tw::simt::SimtDialect", "::tw::tile::TileDialect"];
}

def ReloadOperands : Pass<"reload-operands", "::mlir::ModuleOp">, Takes<"laid-out">, Optional {
  let summary = "where registers are short, operands that a loop does not change are read in each iteration";
  let description = [{
    ```mlir
    %a = simt.load_shared %buffer
    scf.for ... {
      %r = simt.mma %a, %b, %acc
    // becomes, where the loop's values would not fit in the registers but the buffer in shared memory
    scf.for ... {
      %a = simt.load_shared %buffer
      %r = simt.mma %a, %b, %acc
    ```
    The largest operands go first, until the rest is expected to fit: remark TW0359.
  }];
  let dependentDialects = ["::tw::simt::SimtDialect"];
}

def OverlapProducts : Pass<"overlap-products", "::mlir::ModuleOp">, Takes<"laid-out">, Optional {
  let summary = "a product of what an iteration computes from its other products runs beside the next iteration";
  let description = [{
    ```mlir
    scf.for ... iter_args(%sum = %zero) {
      %scores = simt.mma_async %q, %k, %none ...
      %p = ... of %scores
      %scaled = ... of %sum
      %next = simt.mma_async %p, %v, %scaled ...
      scf.yield %next
    }
    // becomes, if there is an iteration
    %last, %pn = scf.for %i = %from ... iter_args(%before = %zero, %p = ...) {
      %scores = simt.mma_async %q, %k, %none ...
      %sum, %done = scf.if %i != %from {     // waits for the scores behind what it starts
        %next = simt.mma_async %p, %v_before, %before ...
        scf.yield %next, %scores
      } else {
        scf.yield %before, %scores
      }
      %q = ... of %done                      // while the product above runs
      %scaled = ... of %sum
      scf.yield %scaled, %q
    }
    %result = simt.mma_async %pn, %v_last, %last ...
    ```
    The right operand is a slot of a ring that a loader fills, which is released when the product is done, an iteration
    later than it was; registers hold the left operand of one iteration beside the results of the next. A masked
    iteration at an array's end that goes on behind such a loop becomes one of the loop, which masks in a branch: the
    assembler takes the longer the more products are written out. The order in which sums are added to is that of the
    kernel.
  }];
}

def DivideBuffers : Pass<"divide-buffers", "::mlir::ModuleOp">, Takes<"laid-out">, Optional {
  let summary = "what does not fit in shared memory as a whole goes through it in rounds";
  let description = [{
    ```mlir
    %buffer = simt.alloc_shared "conversion at line 12" : !simt.shared<[64, 128], i64, #layout>
    simt.store_shared %x, %buffer
    %y = simt.load_shared %buffer
    // becomes, where the kernel's buffers need more than the target has, or behind a loop more than
    // the loop's, so that a processor holds few warps
    %low, %high = tile.split %pairs         // of %x, by registers
    %first = simt.alloc_shared "conversion at line 12" : !simt.shared<[1, 32, 128], i64, #half>
    simt.store_shared %low, %first
    %y0 = simt.load_shared %first
    %second = simt.alloc_shared "conversion at line 12" : !simt.shared<[1, 32, 128], i64, #half>
    simt.store_shared %high, %second
    %y1 = simt.load_shared %second
    %joined = tile.join %y0, %y1
    ```
    Halves that registers of both layouts tell apart cost no instruction. Where different threads want them, each reads
    both and keeps one. Kernels that fit, and those that would not fit in rounds either, stay as they are.
  }];
  let dependentDialects = ["::tw::simt::SimtDialect", "::tw::tile::TileDialect"];
}

def AllocateShared : Pass<"allocate-shared", "::mlir::ModuleOp">, Takes<"laid-out"> {
  let summary = "shared buffers get offsets; those that do not live at the same time share memory";
  let description = [{
    `simt.alloc_shared "conversion at line 12"` becomes `simt.alloc_shared "conversion at line 12" at 1024`; the
    module gets `simt.shared_bytes` and `simt.shared_buffers`. Buffers of up to 512 bytes keep memory of their own,
    up to 4 KiB together: to reuse it would take a barrier. Over the target's limit: error TW0311.
  }];
  let dependentDialects = ["::tw::simt::SimtDialect"];
}

def InsertBarriers : Pass<"insert-barriers", "::mlir::ModuleOp">, Takes<"laid-out"> {
  let summary = "the fewest barriers that order all accesses of shared memory, and those of global memory that may meet";
  let description = [{
    ```mlir
    simt.store_shared %x, %buffer
    simt.barrier          // inserted; `simt.barrier warp` where each warp reads what it wrote itself
    %y = simt.load_shared %buffer
    ```
    A barrier stands right before the access that needs it, in front of a loop that would only need it once,
    and in front of a branch where it then also serves what follows. An iteration of a loop is ordered with the
    next one: a loop that stores and loads one buffer gets a second barrier, before the store.
    ```mlir
    scf.for ... {
      simt.barrier        // the iteration before has read
      simt.store_shared %x, %buffer
      simt.barrier
      %y = simt.load_shared %buffer
    ```
    Slots of one buffer whose `phase` differs are different memory within an iteration. Accesses of global memory that
    different threads make and that may meet happen in the program's order, those of atomics too: but for updates of one
    kind whose results nobody uses. Atomics of one scalar that release or acquire are ordered with the other threads'
    accesses of global memory.
  }];
  let dependentDialects = ["::tw::simt::SimtDialect"];
}

def AwaitProducts : Pass<"await-products", "::mlir::ModuleOp">, Takes<"laid-out"> {
  let summary = "products that run by themselves are waited for, and what they read is fenced";
  let description = [{
    ```mlir
    simt.async_wait 0
    simt.fence_async                         // inserted: the copies are there for products, too
    %done = simt.mma_wait 0(%acc) ...        // inserted: the product before has read its slot
    simt.barrier
    %sum = simt.mma_async %a, %b, %done ...
    ```
    Each accumulator of `simt.mma_async` is waited for in front of the first use that is not the accumulator of another
    one, and in front of the first barrier of the CTA, behind which others may overwrite what the product reads. Loops
    carry accumulators in flight. A barrier behind which products may read what threads wrote gets a fence.
  }];
}

def LowerSimt : Pass<"lower-simt", "::mlir::ModuleOp">, Takes<"scheduled"> {
  let summary = "tiles become the registers of one thread, in an llvm.func with the attribute simt.kernel";
  let description = "Fails where an access, or the kernel's end, may come before a copy into its shared memory is done.";
  let dependentDialects = ["::tw::simt::SimtDialect", "::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect",
    "::mlir::scf::SCFDialect", "::mlir::math::MathDialect", "::mlir::arith::ArithDialect"];
}

def ExpandSimtMath : Pass<"expand-simt-math", "::mlir::ModuleOp">, Takes<"lowered"> {
  let summary = "math functions of one thread become short formulas over the machine's approximations";
  let dependentDialects = ["::tw::simt::SimtDialect", "::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect",
    "::mlir::math::MathDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}
#endif
