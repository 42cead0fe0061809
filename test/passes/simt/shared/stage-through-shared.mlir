// Data that moves between warps goes through named buffers; the rest stays where it is.
// RUN: tile-opt --stage-through-shared --split-input-file %s | FileCheck %s

#blocked = #tile.layout<[256] register = [[1]] lane = [[2], [4], [8], [16], [32]] warp = [[64], [128]]>
#strided = #tile.layout<[256] register = [[128]] lane = [[1], [2], [4], [8], [16]] warp = [[32], [64]]>
module attributes {simt.num_warps = 4 : i32} {
// CHECK-LABEL: @conversion
func.func @conversion(%x: tensor<256xf32, #blocked>) -> tensor<256xf32, #strided> {
  // CHECK: %[[BUFFER:.*]] = simt.alloc_shared "conversion at line [[#@LINE+3]]"
  // CHECK: simt.store_shared %{{.*}}, %[[BUFFER]]
  // CHECK: simt.load_shared %[[BUFFER]]
  %y = simt.convert_layout %x : tensor<256xf32, #blocked> -> tensor<256xf32, #strided>
  return %y : tensor<256xf32, #strided>
}
}

// -----

#near = #tile.layout<[256] register = [[1]] lane = [[2], [4], [8], [16], [32]] warp = [[64], [128]]>
#swapped = #tile.layout<[256] register = [[1]] lane = [[4], [2], [8], [16], [32]] warp = [[64], [128]]>
module attributes {simt.num_warps = 4 : i32} {
// CHECK-LABEL: @conversion_within_warps
func.func @conversion_within_warps(%x: tensor<256xf32, #near>) -> tensor<256xf32, #swapped> {
  // CHECK-NOT: alloc_shared
  // CHECK: simt.convert_layout
  %y = simt.convert_layout %x : tensor<256xf32, #near> -> tensor<256xf32, #swapped>
  return %y : tensor<256xf32, #swapped>
}
}

// -----

// A transposition of 64 registers per thread: 64 * 64 shuffles, or 16 + 16 accesses of 16 bytes.
#rows = #tile.layout<[64, 32] register = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]] lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]] warp = []>
#columns = #tile.layout<[64, 32] register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [32, 0]] lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]] warp = []>
module attributes {simt.num_warps = 1 : i32} {
// CHECK-LABEL: @many_shuffles
func.func @many_shuffles(%x: tensor<64x32xf32, #rows>) -> tensor<64x32xf32, #columns> {
  // CHECK: simt.alloc_shared
  // CHECK-NOT: simt.convert_layout
  %y = simt.convert_layout %x : tensor<64x32xf32, #rows> -> tensor<64x32xf32, #columns>
  return %y : tensor<64x32xf32, #columns>
}
}

// -----


// Operands of a product: in the order in which the threads' multiply-adds read them.
#a = #tile.layout<[32, 16] register = [[0, 1], [0, 2]] lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]] warp = [[8, 0], [16, 0]]>
#b = #tile.layout<[16, 32] register = [[0, 1], [0, 2]] lane = [[0, 4], [0, 8], [0, 16], [1, 0], [2, 0]] warp = [[4, 0], [8, 0]]>
#acc = #tile.layout<[32, 32] register = [[0, 1], [0, 2], [1, 0]] lane = [[0, 4], [0, 8], [0, 16], [2, 0], [4, 0]] warp = [[8, 0], [16, 0]]>
module attributes {simt.num_warps = 4 : i32} {
// CHECK-LABEL: @dot
func.func @dot(%a: tensor<32x16xf32, #a>, %b: tensor<16x32xf32, #b>, %c: tensor<32x32xf32, #acc>) -> tensor<32x32xf32, #acc> {
  // CHECK: %[[A:.*]] = simt.alloc_shared "operand A of dot at line
  // CHECK: simt.store_shared %{{.*}}, %[[A]]
  // CHECK: %[[B:.*]] = simt.alloc_shared "operand B of dot at line
  // CHECK: simt.store_shared %{{.*}}, %[[B]]
  // CHECK: simt.dot_shared %[[A]], %[[B]], %{{.*}} ieee
  %d = tile.dot %a, %b, %c : tensor<32x16xf32, #a>, tensor<16x32xf32, #b> -> tensor<32x32xf32, #acc>
  return %d : tensor<32x32xf32, #acc>
}
}

// -----

#index = #tile.layout<[128] register = [] lane = [[1], [2], [4], [8], [16]] warp = [[32], [64]]>
module attributes {simt.num_warps = 4 : i32} {
// CHECK-LABEL: @gather
func.func @gather(%x: tensor<128xf32, #index>, %i: tensor<128xi32, #index>) -> tensor<128xf32, #index> {
  // CHECK: %[[BUFFER:.*]] = simt.alloc_shared "source of gather at line
  // CHECK: simt.gather_shared %[[BUFFER]][%{{.*}}] axis 0
  %y = tile.gather %x[%i] axis 0 : tensor<128xf32, #index>, tensor<128xi32, #index> -> tensor<128xf32, #index>
  return %y : tensor<128xf32, #index>
}

// A tile that is in shared memory is gathered from there.
// CHECK-LABEL: @gather_again
func.func @gather_again(%x: tensor<128xf32, #index>, %i: tensor<128xi32, #index>, %c: i1) -> tensor<128xf32, #index> {
  // CHECK: %[[BUFFER:.*]] = simt.alloc_shared
  // CHECK-COUNT-2: simt.gather_shared %[[BUFFER]]
  %y = tile.gather %x[%i] axis 0 : tensor<128xf32, #index>, tensor<128xi32, #index> -> tensor<128xf32, #index>
  %z = scf.if %c -> tensor<128xf32, #index> {
    %w = tile.gather %x[%i] axis 0 : tensor<128xf32, #index>, tensor<128xi32, #index> -> tensor<128xf32, #index>
    scf.yield %w : tensor<128xf32, #index>
  } else {
    scf.yield %y : tensor<128xf32, #index>
  }
  return %z : tensor<128xf32, #index>
}

// CHECK-LABEL: @barrier
func.func @barrier() {
  // CHECK: simt.barrier
  // CHECK-NOT: tile.barrier
  tile.barrier
  return
}
}

// -----

#fragments = #tile.layout<[128, 128] register = [[0, 1], [8, 0], [0, 16], [0, 32], [0, 64], [32, 0], [64, 0]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[0, 8], [16, 0]]>
#lines = #tile.layout<[128, 128] register = [[0, 1], [0, 2], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]] lane = [[0, 4], [0, 8], [0, 16], [0, 32], [0, 64]] warp = [[1, 0], [2, 0]]>
#columns_in_registers = #tile.layout<[128, 128] register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64]] lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]] warp = [[32, 0], [64, 0]]>
#rows_in_registers = #tile.layout<[128, 128] register = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]] lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]] warp = [[0, 32], [0, 64]]>
module attributes {simt.num_warps = 4 : i32} {
// A tile of 64 KiB goes in halves of its rows, which are registers before and after: through the
// same 32 KiB, where no loop's slots leave more room.
// CHECK-LABEL: @parts
// CHECK: %[[TOP:.*]], %[[BOTTOM:.*]] = tile.split
// CHECK: %[[FIRST:.*]] = simt.alloc_shared "conversion at line {{[0-9]+}}" : <[1, 64, 128], f32
// CHECK: simt.store_shared %[[TOP]], %[[FIRST]]
// CHECK: simt.load_shared %[[FIRST]]
// CHECK: %[[SECOND:.*]] = simt.alloc_shared "conversion at line {{[0-9]+}}" : <[1, 64, 128], f32
// CHECK: simt.store_shared %[[BOTTOM]], %[[SECOND]]
// CHECK: simt.load_shared %[[SECOND]]
// CHECK: tile.join
// CHECK-NOT: alloc_shared
// CHECK: return
func.func @parts(%x: tensor<128x128xf32, #fragments>) -> tensor<128x128xf32, #lines> {
  %y = simt.convert_layout %x : tensor<128x128xf32, #fragments> -> tensor<128x128xf32, #lines>
  return %y : tensor<128x128xf32, #lines>
}

// Rows that lanes tell apart stay together: the tile goes whole.
// CHECK-LABEL: @whole
// CHECK: simt.alloc_shared "conversion at line {{[0-9]+}}" : <[128, 128], f32
// CHECK-NOT: alloc_shared
func.func @whole(%x: tensor<128x128xf32, #columns_in_registers>) -> tensor<128x128xf32, #rows_in_registers> {
  %y = simt.convert_layout %x : tensor<128x128xf32, #columns_in_registers> -> tensor<128x128xf32, #rows_in_registers>
  return %y : tensor<128x128xf32, #rows_in_registers>
}
}
