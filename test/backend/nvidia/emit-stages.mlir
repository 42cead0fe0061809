// RUN: tile-compile %s --target nvidia:sm_80 --emit laid-out | FileCheck %s --check-prefix=LAID-OUT
// RUN: tile-compile %s --target nvidia:sm_80 --emit scheduled | FileCheck %s --check-prefix=SCHEDULED
// RUN: tile-compile %s --target nvidia:sm_80 --emit lowered | FileCheck %s --check-prefix=LOWERED
// RUN: tile-compile %s --target nvidia:sm_80 --emit llvm | FileCheck %s --check-prefix=LLVM
// RUN: tile-compile %s --target nvidia:sm_90a --num-warps 2 --emit ptx | FileCheck %s --check-prefix=PTX
// RUN: not tile-compile %s --target nvidia:sm_80 --emit asm 2>&1 | FileCheck %s --check-prefix=ASM
// RUN: not tile-compile %s --target nvidia:sm_81 --emit ptx 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not tile-compile %s --target nvidia:sm_80 --num-warps 64 --emit ptx 2>&1 | FileCheck %s --check-prefix=WARPS

// Each stage of one kernel on an NVIDIA GPU can be seen; what does not exist is named.

// LAID-OUT: tile.target = #tile.target<warp_size = 32
// LAID-OUT: tile.load {{.*}}#tile.layout
// SCHEDULED: tile.load {{.*}}#tile.layout
// LOWERED: llvm.func @copy
// LOWERED: simt.global_load
// LLVM: define ptx_kernel void @copy
// PTX: .version 8.4
// PTX: .target sm_90a
// PTX: .entry copy(
// PTX: .reqntid 64
// PTX: ld.global.v4.b32
// PTX: st.global.v4.b32
// PTX: .file	1 "{{[^/]*}}", 1, 0
// ASM: error[TW0401]: there is no stage `asm` on target nvidia:sm_80
// ASM: hint: stages: tile, {{.*}} ptx, cubin, resources
// UNKNOWN: there is no device `nvidia:sm_81`
// UNKNOWN: did you mean nvidia:sm_80?
// WARPS: error[TW0313]: a program cannot have 64 warps on sm_80
func.func @copy(%x: !tile.ptr<f32> {tile.name = "x", tile.divisibility = 16 : i64}) {
  %r = tile.arange 0 to 1024 : tensor<1024xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %p = tile.addptr %xs, %r : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  %v = tile.load %p : tensor<1024x!tile.ptr<f32>> -> tensor<1024xf32>
  %w = arith.addf %v, %v : tensor<1024xf32>
  tile.store %p, %w : tensor<1024x!tile.ptr<f32>>, tensor<1024xf32>
  return
}
