// A text that is not a kernel is refused with a code, and never called a fault of the compiler.
// RUN: split-file %s %t
// RUN: not tile-compile %t/none.mlir 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not tile-compile %t/tiles.mlir --target nvidia:sm_80 --emit ptx 2>&1 | FileCheck %s --check-prefix=TILES
// RUN: not tile-compile %t/lowered.mlir --target nvidia:sm_80 --emit ptx 2>&1 | FileCheck %s --check-prefix=LOWERED
// RUN: not tile-compile %t/select.mlir --target nvidia:sm_80 --from-stage lowered --emit ptx 2>&1 | FileCheck %s --check-prefix=LATER
// RUN: not tile-compile %t/select.mlir --target nvidia:sm_80 --from-stage lowered --emit ptx --unchecked --dump-to %t/dumps 2>&1 \
// RUN:   | FileCheck %s --check-prefix=OWN

// RUN: not tile-compile %t/narrow.mlir --target nvidia:sm_80 --emit ptx 2>&1 | FileCheck %s --check-prefix=NARROW
// RUN: not tile-compile %t/map.mlir --target cpu 2>&1 | FileCheck %s --check-prefix=MAP

// RUN: not tile-compile %t/unverified.mlir 2>&1 | FileCheck %s --check-prefix=VERIFIER
// RUN: not tile-compile %t/unparsed.mlir 2>&1 | FileCheck %s --check-prefix=PARSER
// RUN: not tile-compile - < %t/unparsed.mlir 2>&1 | FileCheck %s --check-prefix=STDIN
// RUN: not tile-compile %t/missing.mlir 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not tile-opt %t/unverified.mlir 2>&1 | FileCheck %s --check-prefix=OPT-VERIFIER
// RUN: not tile-opt %t/unparsed.mlir 2>&1 | FileCheck %s --check-prefix=OPT-PARSER

// VERIFIER: error[TW0247]: 'tile.atomic_cas' op value must have the pointee's type and the pointers' shape
// VERIFIER-NEXT: unverified.mlir:2:8
// VERIFIER-NEXT: 2 | %a = tile.atomic_cas
// PARSER: error[TW0247]: custom op 'tile.nothing' is unknown
// PARSER-NEXT: unparsed.mlir:2:3
// STDIN: error[TW0247]: custom op 'tile.nothing' is unknown
// MISSING: error: {{.*}}missing.mlir: No such file or directory
// OPT-VERIFIER: unverified.mlir:2:8: error: [TW0247] 'tile.atomic_cas' op value must have the pointee's type
// OPT-VERIFIER-NOT: error:
// OPT-PARSER: unparsed.mlir:2:3: error: [TW0247] custom op 'tile.nothing' is unknown
// OPT-PARSER-NOT: error:

// NONE: error[TW0318]: the module must have one public function, its kernel
// TILES: error[TW0318]: a kernel's parameters are pointers and numbers of a machine, not 'tensor<8xf32>'
// MAP: error[TW0247]: the module has a tensor map that no launch can fill in
// NARROW: error[TW0318]: a kernel's parameters are pointers and numbers of a machine, not 'f8E5M2'
// LOWERED: error[TW0318]: the stage tile has no operation 'llvm.func'
// LATER: error[TW0319]: the text is not what a later stage takes
// LATER-NOT: TW0901
// OWN: error[TW0901]
// OWN: --unchecked

//--- unverified.mlir
func.func @kernel(%p: !tile.ptr<i32>, %x: i64) {
  %a = tile.atomic_cas %p, %x, %x : !tile.ptr<i32>, i64
  return
}
//--- unparsed.mlir
func.func @kernel(%p: !tile.ptr<i32>) {
  tile.nothing %p
  return
}
//--- none.mlir
func.func private @kernel(%x: f32) {
  return
}
//--- tiles.mlir
func.func @kernel(%x: tensor<8xf32>) {
  return
}
//--- narrow.mlir
func.func @kernel(%x: f8E5M2) {
  return
}
//--- map.mlir
module attributes {simt.tensor_maps = [#simt.tensor_map<0 of f16 extents[<32>, <8>] strides[<32>] box[32, 8] span 64>]} {
  func.func @no_arguments() {
    return
  }
}
//--- lowered.mlir
llvm.func @kernel(%x: f32) {
  llvm.return
}
//--- select.mlir
llvm.func @kernel(%x: f128, %p: !llvm.ptr) {
  %y = math.exp %x : f128
  llvm.store %y, %p : f128, !llvm.ptr
  llvm.return
}
