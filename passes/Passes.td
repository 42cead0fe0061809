// The passes: what each does, its options and an example.
#ifndef PASSES_PASSES_TD
#define PASSES_PASSES_TD
include "mlir/Pass/PassBase.td"

def RaisePointers : Pass<"raise-pointers", "::mlir::ModuleOp"> {
  let summary = "tiles that a loop advances by a uniform step become a base and a carried scalar";
  let description = [{
    Before: `%q = scf.for ... iter_args(%p = %base) { ...; %n = tile.addptr %p, splat(%step); yield %n }`.
    After: the loop carries the scalar `%sum` (i64, from 0 by `%step`), and `%p` is
    `tile.addptr %base, splat(%sum)`, whose contiguity is the base's.
  }];
  let dependentDialects = ["::tw::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def LowerSimd : Pass<"lower-simd", "::mlir::ModuleOp"> {
  let summary = "tiles become loops over vectors in an llvm.func of the kernel ABI";
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect",
    "::mlir::scf::SCFDialect", "::mlir::math::MathDialect", "::mlir::arith::ArithDialect"];
  let options = [
    Option<"vectorBytes", "vector-bytes", "unsigned", "64", "bytes of a vector register">,
    Option<"numRegisters", "num-registers", "unsigned", "32", "vector registers">,
    Option<"bf16DotIntrinsic", "bf16-dot", "std::string", "\"\"", "intrinsic for products of bf16 pairs">];
}

def ExpandMath : Pass<"expand-math", "::mlir::ModuleOp"> {
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
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect",
    "::mlir::math::MathDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
  let options = [
    Option<"vectorBytes", "vector-bytes", "unsigned", "64", "bytes of a vector register">,
    Option<"hasVectorLibrary", "vector-library", "bool", "true",
           "functions of glibc's libmvec may be called; else scalar ones of libm, lane by lane">];
}

def LowerToLlvm : Pass<"lower-to-llvm", "::mlir::ModuleOp"> {
  let summary = "loops, scalars and vectors become the LLVM dialect";
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect"];
}

def CombineOps : Pass<"combine-ops", "::mlir::ModuleOp"> {
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
    choices between masks become and/or, hints of one value are merged.
  }];
  let dependentDialects = ["::tw::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def VerifyStage : Pass<"verify-stage", "::mlir::ModuleOp"> {
  let summary = "fails where the module breaks an invariant of a stage of compilation";
  let description = [{
    `tile`: tile, scf, arith, math and func operations on tiles without layout.
    `lowered`: no tiles; gpu, vector, memref, scf, cf, arith, math, func and llvm operations.
  }];
  let options = [Option<"stage", "stage", "std::string", "\"tile\"", "tile or lowered">];
}
#endif
