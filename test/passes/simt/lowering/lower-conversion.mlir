// Conversions inside a warp: by names alone, by selects in a lane, by shuffles.
// RUN: tile-opt --lower-simt --split-input-file %s | FileCheck %s

#two = #tile.layout<[128] register = [[1], [2]] lane = [[4], [8], [16], [32], [64]]>
#renamed = #tile.layout<[128] register = [[2], [1]] lane = [[4], [8], [16], [32], [64]]>
#swapped = #tile.layout<[128] register = [[4], [2]] lane = [[1], [8], [16], [32], [64]]>
#moved = #tile.layout<[128] register = [[1], [2]] lane = [[8], [4], [16], [32], [64]]>
#mixed = #tile.layout<[128] register = [[1], [2]] lane = [[5], [8], [16], [32], [64]]>
module attributes {simt.num_warps = 1 : i32} {
// CHECK-LABEL: llvm.func @rename
// CHECK-NOT: simt.shuffle
// CHECK-NOT: arith.select
// CHECK: llvm.return
func.func @rename(%x: i32) {
  %t = tile.arange 0 to 128 : tensor<128xi32, #two>
  %y = simt.convert_layout %t : tensor<128xi32, #two> -> tensor<128xi32, #renamed>
  return
}

// Half of the registers stay in their lane; each lane selects what to send and what it received.
// CHECK-LABEL: llvm.func @swap_one_bit
// CHECK-COUNT-2: simt.shuffle xor
// CHECK-NOT: simt.shuffle
// CHECK: llvm.return
func.func @swap_one_bit(%x: i32) {
  %t = tile.arange 0 to 128 : tensor<128xi32, #two>
  %y = simt.convert_layout %t : tensor<128xi32, #two> -> tensor<128xi32, #swapped>
  return
}

// Two registers of 16 bits that go to the same lane travel in one shuffle.
// CHECK-LABEL: llvm.func @narrow
// CHECK-COUNT-1: simt.shuffle xor %{{[0-9]+}}, %{{[a-z0-9_]+}} : i32
// CHECK-NOT: simt.shuffle
// CHECK: llvm.return
func.func @narrow(%x: i32) {
  %t = tile.arange 0 to 128 : tensor<128xi32, #two>
  %n = arith.trunci %t : tensor<128xi32, #two> to tensor<128xi16, #two>
  %y = simt.convert_layout %n : tensor<128xi16, #two> -> tensor<128xi16, #swapped>
  return
}

// Lanes trade places: every register moves, and no lane selects.
// CHECK-LABEL: llvm.func @move_lanes
// CHECK-NOT: arith.select
// CHECK-COUNT-4: simt.shuffle index
// CHECK-NOT: simt.shuffle
// CHECK-NOT: arith.select
// CHECK: llvm.return
func.func @move_lanes(%x: i32) {
  %t = tile.arange 0 to 128 : tensor<128xi32, #two>
  %y = simt.convert_layout %t : tensor<128xi32, #two> -> tensor<128xi32, #moved>
  return
}

// Elements stay in their lanes; odd lanes have them in other registers.
// CHECK-LABEL: llvm.func @inside_lane
// CHECK-NOT: simt.shuffle
// CHECK-COUNT-4: arith.select
// CHECK-NOT: simt.shuffle
// CHECK: llvm.return
func.func @inside_lane(%x: i32) {
  %t = tile.arange 0 to 128 : tensor<128xi32, #two>
  %y = simt.convert_layout %t : tensor<128xi32, #two> -> tensor<128xi32, #mixed>
  return
}
}
