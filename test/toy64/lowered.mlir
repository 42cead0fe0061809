// A maker of GPUs is one folder and its name in a list: the target `toy64` of this folder goes
// through the same tools as the others.
// RUN: tile-compile %s --target toy64 --num-warps 2 --emit lowered | FileCheck %s
// RUN: not tile-compile %s --target toy64 --num-warps 32 --emit lowered 2>&1 | FileCheck %s --check-prefix=WARPS
// RUN: not tile-compile %s --target toy64 --emit ptx 2>&1 | FileCheck %s --check-prefix=STAGE
// RUN: tile-compile %s --target toy64 --run --arg 'f32[1024]=iota' --arg 'f32[1024]=zeros' --show 4 | FileCheck %s --check-prefix=RESULT

// 1024 elements are 8 for each of 128 lanes: two of 4 bytes in an access of 8 bytes.
// CHECK: warp_size = 64
// CHECK: llvm.func @copy
// CHECK-COUNT-4: simt.global_load {{.*}} -> vector<2xf32>
// CHECK-NOT: simt.global_load
// WARPS: error[TW0313]: a program cannot have 32 warps on toy64
// STAGE: error[TW0401]: there is no stage `ptx` on target toy64
// STAGE-NEXT: hint: stages: tile, tile-passes, laid-out, scheduled, lowered
// RESULT: arg 1 f32[1024] sum 523776.0
// RESULT-NEXT: 0 1 2 3
func.func @copy(%x: !tile.ptr<f32> {tile.name = "x", tile.divisibility = 16 : i64},
                %y: !tile.ptr<f32> {tile.name = "y", tile.divisibility = 16 : i64}) {
  %r = tile.arange 0 to 1024 : tensor<1024xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %p = tile.addptr %xs, %r : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  %v = tile.load %p : tensor<1024x!tile.ptr<f32>> -> tensor<1024xf32>
  %ys = tile.splat %y : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %q = tile.addptr %ys, %r : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  tile.store %q, %v : tensor<1024x!tile.ptr<f32>>, tensor<1024xf32>
  return
}
