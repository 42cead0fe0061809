// One matrix instruction per fragment and step of k; operands arrive by reads of matrices.
// RUN: tile-opt --lower-simt --canonicalize %s | FileCheck %s
// RUN: sed 's/by groups/by counts/' %s | tile-opt --lower-simt --canonicalize | FileCheck %s --check-prefix=COUNTS

#a = #tile.layout<[32, 16] register = [[0, 1], [8, 0], [0, 8]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#b = #tile.layout<[16, 16] register = [[1, 0], [8, 0], [0, 8]] lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]] warp = [[0, 0]]>
#c = #tile.layout<[32, 16] register = [[0, 1], [8, 0], [0, 8]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#rows = #tile.layout<[32, 16] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0], [16, 0]]>
#columns = #tile.layout<[16, 16] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0]]>
#mma = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
#bytes = #tile.mma<16 x 8 x 32, i8 in "k0 k1 m3 k4 | k2 k3 m0 m1 m2", i8 in "k0 k1 k4 | k2 k3 n0 n1 n2" -> i32 in "n0 m3 | n1 n2 m0 m1 m2">
#words = #tile.mma<16 x 8 x 8, tf32 in "m3 k2 | k0 k1 m0 m1 m2", tf32 in "k2 | k0 k1 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
#machine = #tile.target<warp_size = 32, shared_bytes = 65536, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#mma], copies = [#tile.copy<each_lane of [4, 8, 16] by groups>], features = [load_matrix]>
#a32 = #tile.layout<[16, 8] register = [[8, 0], [0, 4]] lane = [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0]] warp = [[0, 0]]>
#b32 = #tile.layout<[8, 8] register = [[4, 0]] lane = [[1, 0], [2, 0], [0, 1], [0, 2], [0, 4]] warp = [[0, 0]]>
#c32 = #tile.layout<[16, 8] register = [[0, 1], [8, 0]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[0, 0]]>
#plain = #tile.layout<[16, 8] offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0], [8, 0]]>
#copy = #tile.layout<[32, 16] register = [[0, 1], [0, 2], [0, 4]] lane = [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]] warp = [[16, 0]]>
#a8 = #tile.layout<[32, 32] register = [[0, 1], [0, 2], [8, 0], [0, 16]] lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#b8 = #tile.layout<[32, 16] register = [[1, 0], [2, 0], [16, 0], [0, 1]] lane = [[4, 0], [8, 0], [0, 2], [0, 4], [0, 8]] warp = [[0, 0]]>
#c8 = #tile.layout<[32, 16] register = [[0, 2], [8, 0], [0, 1]] lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#rows8 = #tile.layout<[32, 16] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0]]>

module attributes {tile.target = #machine, simt.num_warps = 2 : i32} {
// CHECK-LABEL: llvm.func @product
// CHECK: simt.load_matrix %{{.*}} : !llvm.ptr<3> -> i32, i32, i32, i32
// Rows of B lie along n: words come out of two rows.
// CHECK: simt.load_matrix %{{.*}} transposed : !llvm.ptr<3> -> i32, i32, i32, i32
// CHECK-COUNT-2: simt.mma_fragment
// CHECK-NOT: simt.mma_fragment
func.func @product(%acc: f32) {
  %left = simt.alloc_shared "a" at 0 : <[32, 16], f16, #rows>
  %right = simt.alloc_shared "b" at 1024 : <[16, 16], f16, #columns>
  %a = simt.load_shared %left : <[32, 16], f16, #rows> -> tensor<32x16xf16, #a>
  %b = simt.load_shared %right : <[16, 16], f16, #columns> -> tensor<16x16xf16, #b>
  %c = tile.splat %acc : f32 -> tensor<32x16xf32, #c>
  %d = simt.mma %a, %b, %c by #mma warps [2, 1] ieee : tensor<32x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<32x16xf32, #c>
  %out = simt.alloc_shared "d" at 2048 : <[32, 16], f32, #rows>
  simt.store_shared %d, %out : tensor<32x16xf32, #c>, <[32, 16], f32, #rows>
  return
}

// Bytes of rows along n come in pairs of columns: words of K are made of two words' halves.
// CHECK-LABEL: llvm.func @bytes
// CHECK-COUNT-1: simt.load_matrix %{{.*}} transposed : !llvm.ptr<3> -> i32, i32, i32, i32
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 2, 4, 6] : vector<4xi8>, vector<4xi8>
// CHECK: simt.mma_fragment
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [1, 3, 5, 7] : vector<4xi8>, vector<4xi8>
// CHECK: simt.mma_fragment
// CHECK-NOT: simt.mma_fragment
func.func @bytes(%x: i8, %acc: i32) {
  %right = simt.alloc_shared "b" at 0 : <[32, 16], i8, #rows8>
  %a = tile.splat %x : i8 -> tensor<32x32xi8, #a8>
  %b = simt.load_shared %right : <[32, 16], i8, #rows8> -> tensor<32x16xi8, #b8>
  %c = tile.splat %acc : i32 -> tensor<32x16xi32, #c8>
  %d = simt.mma %a, %b, %c by #bytes warps [2, 1] interleaved [1, 2, 1] ieee : tensor<32x32xi8, #a8>, tensor<32x16xi8, #b8> -> tensor<32x16xi32, #c8>
  %out = simt.alloc_shared "d" at 2048 : <[32, 16], i32, #rows8>
  simt.store_shared %d, %out : tensor<32x16xi32, #c8>, <[32, 16], i32, #rows8>
  return
}

// What is read is widened for one product after the other: all at once would take too many registers.
// CHECK-LABEL: llvm.func @widened
// CHECK-COUNT-2: arith.extf
// CHECK-NOT: arith.extf
// CHECK: simt.mma_fragment
// CHECK-COUNT-2: arith.extf
// CHECK: simt.mma_fragment
// CHECK-NOT: arith.extf
func.func @widened(%x: f16, %acc: f32) {
  %right = simt.alloc_shared "b" at 0 : <[16, 16], f8E5M2, #columns>
  %a = tile.splat %x : f16 -> tensor<32x16xf16, #a>
  %narrow = simt.load_shared %right : <[16, 16], f8E5M2, #columns> -> tensor<16x16xf8E5M2, #b>
  %b = arith.extf %narrow : tensor<16x16xf8E5M2, #b> to tensor<16x16xf16, #b>
  %c = tile.splat %acc : f32 -> tensor<32x16xf32, #c>
  %d = simt.mma %a, %b, %c by #mma warps [2, 1] ieee : tensor<32x16xf16, #a>, tensor<16x16xf16, #b> -> tensor<32x16xf32, #c>
  %out = simt.alloc_shared "d" at 2048 : <[32, 16], f32, #rows>
  simt.store_shared %d, %out : tensor<32x16xf32, #c>, <[32, 16], f32, #rows>
  return
}

// Rounded to two tf32 parts: three products.
// CHECK-LABEL: llvm.func @split
// CHECK: simt.round_tf32
// CHECK-COUNT-3: simt.mma_fragment
// CHECK-NOT: simt.mma_fragment
func.func @split(%x: f32, %y: f32) {
  %a = tile.splat %x : f32 -> tensor<16x8xf32, #a32>
  %b = tile.splat %y : f32 -> tensor<8x8xf32, #b32>
  %c = tile.splat %x : f32 -> tensor<16x8xf32, #c32>
  %d = simt.mma %a, %b, %c by #words warps [1, 2] tf32x3 : tensor<16x8xf32, #a32>, tensor<8x8xf32, #b32> -> tensor<16x8xf32, #c32>
  %out = simt.alloc_shared "d" at 0 : <[16, 8], f32, #plain>
  simt.store_shared %d, %out : tensor<16x8xf32, #c32>, <[16, 8], f32, #plain>
  return
}

// CHECK-LABEL: llvm.func @copies
// CHECK: %[[SLOT:.*]] = arith.muli %{{.*}}, %c1024_i32
// CHECK: simt.global_to_shared %{{.*}}, %{{.*}}, 16 mask
// CHECK: simt.async_commit
// CHECK: simt.async_wait 1
// Where copies are counted, a group is as many as it has pieces.
// COUNTS-LABEL: llvm.func @copies
// COUNTS-COUNT-3: simt.global_to_shared
// COUNTS-NOT: simt.async
// COUNTS: simt.copies_wait 3
func.func @copies(%x: !tile.ptr<f16>, %exists: i1, %number: i32, %next: i32) {
  %ring = simt.alloc_shared "a" slots 3 at 0 : <[32, 16], f16, #rows>
  %slot = simt.slot %ring[%number] phase 1 : <[32, 16], f16, #rows>
  %other = simt.slot %ring[%next] phase 2 : <[32, 16], f16, #rows>
  %pointers = tile.splat %x : !tile.ptr<f16> -> tensor<32x16x!tile.ptr<f16>, #copy>
  %mask = tile.splat %exists : i1 -> tensor<32x16xi1, #copy>
  simt.async_copy %pointers, %slot mask %mask : tensor<32x16xi1, #copy> pieces 8 along 1 : tensor<32x16x!tile.ptr<f16>, #copy>, <[32, 16], f16, #rows>
  simt.async_copy %pointers, %other mask %mask : tensor<32x16xi1, #copy> pieces 4 along 1 : tensor<32x16x!tile.ptr<f16>, #copy>, <[32, 16], f16, #rows>
  simt.async_commit
  simt.async_wait 1
  simt.async_wait 0
  return
}
}
