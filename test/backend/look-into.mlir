// RUN: rm -rf %t && mkdir -p %t/mine
// RUN: tile-compile %s --target nvidia:sm_80 --emit ptx --dump-to %t/dumps -o %t/own.ptx
// RUN: ls %t/dumps/put | FileCheck %s --check-prefix=DUMPS
// RUN: FileCheck %s --check-prefix=INPUT --input-file %t/dumps/put/00-input.mlir

// Numbered dumps: a pass without an effect has no file.

// DUMPS: 00-input.mlir
// DUMPS-NOT: combine-ops
// DUMPS: describe-target.mlir
// DUMPS: lower-simt.mlir
// DUMPS: llvm.ll
// DUMPS-NEXT: code.ptx
// INPUT: tile.store

// A later stage or pass as the input.

// RUN: tile-compile %s --target nvidia:sm_80 --emit lowered -o %t/lowered.mlir
// RUN: tile-compile %t/lowered.mlir --target nvidia:sm_80 --from-stage lowered --emit ptx \
// RUN:   | FileCheck %s --check-prefix=PTX
// RUN: tile-compile %t/dumps/put/00-input.mlir --target nvidia:sm_80 --from-pass 1 --emit ptx \
// RUN:   | FileCheck %s --check-prefix=PTX
// RUN: not tile-compile %t/lowered.mlir --from-stage lowered 2>&1 | FileCheck %s --check-prefix=NEEDS
// PTX: .entry put(
// NEEDS: --from-stage and --from-pass need --emit

// A stage from a file.

// RUN: cp %t/lowered.mlir %t/mine/put.lowered
// RUN: echo "// mine" > %t/mine/put.ptx
// RUN: tile-compile %s --target nvidia:sm_80 --emit ptx --override %t/mine 2>&1 \
// RUN:   | FileCheck %s --check-prefix=MINE
// MINE: warning[TW0502]: the stage lowered of `put`
// MINE: warning[TW0502]: the stage ptx of `put`
// MINE: // mine

// Remarks, where they are asked for.

// RUN: tile-compile %s --target nvidia:sm_80 --emit laid-out --remarks 2>&1 >%t/x | FileCheck %s --check-prefix=REMARK
// RUN: tile-compile %s --target nvidia:sm_80 --emit laid-out 2>&1 >%t/x | count 0
// REMARK: remark[TW0350]: accesses of 4 bytes instead of 16
func.func @put(%x: !tile.ptr<f32> {tile.name = "x"}) {
  %i = tile.arange 0 to 512 : tensor<512xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<512x!tile.ptr<f32>>
  %at = tile.addptr %xs, %i : tensor<512x!tile.ptr<f32>>, tensor<512xi32>
  %v = arith.constant dense<1.0> : tensor<512xf32>
  tile.store %at, %v : tensor<512x!tile.ptr<f32>>, tensor<512xf32>
  return
}
