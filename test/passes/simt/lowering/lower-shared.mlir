// Tiles in shared memory: wide accesses, the owner's copies, gathers.
// RUN: tile-opt --lower-simt --split-input-file %s | FileCheck %s

#rows = #tile.layout<[32, 32] register = [[0, 1], [0, 2], [8, 0], [16, 0]] lane = [[0, 4], [0, 8], [0, 16], [1, 0], [2, 0]] warp = [[4, 0]]>
#copies = #tile.layout<[32] register = [] lane = [[1], [2], [4], [8], [16]] warp = [[0]]>
#buffer = #tile.layout<[32, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0]]>
#line = #tile.layout<[32] offset = [[1], [2], [4], [8], [16]]>
module attributes {simt.num_warps = 2 : i32} {
// CHECK-LABEL: llvm.func @wide
// CHECK: simt.shared_address 256
// CHECK-COUNT-4: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
// CHECK-NOT: llvm.store
// CHECK: simt.barrier
// CHECK-COUNT-4: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
// CHECK-NOT: llvm.load
// CHECK: llvm.return
func.func @wide(%x: f32) {
  %t = tile.splat %x : f32 -> tensor<32x32xf32, #rows>
  %s = simt.alloc_shared "tile" at 256 : !simt.shared<[32, 32], f32, #buffer>
  simt.store_shared %t, %s : tensor<32x32xf32, #rows>, !simt.shared<[32, 32], f32, #buffer>
  simt.barrier
  %y = simt.load_shared %s : !simt.shared<[32, 32], f32, #buffer> -> tensor<32x32xf32, #rows>
  return
}

// Both warps hold the tile; the first one writes it. A mask is bytes in memory.
// CHECK-LABEL: llvm.func @owner
// CHECK: %[[FIRST:.*]] = arith.cmpi eq
// CHECK: scf.if %[[FIRST]] {
// CHECK: llvm.store %{{.*}} {alignment = 1 : i64} : i8, !llvm.ptr<3>
// CHECK: }
// CHECK: %[[BYTE:.*]] = llvm.load %{{.*}} {alignment = 1 : i64} : !llvm.ptr<3> -> i8
// CHECK: arith.cmpi ne, %[[BYTE]]
func.func @owner(%x: i1) {
  %t = tile.splat %x : i1 -> tensor<32xi1, #copies>
  %s = simt.alloc_shared "mask" at 0 : !simt.shared<[32], i1, #line>
  simt.store_shared %t, %s : tensor<32xi1, #copies>, !simt.shared<[32], i1, #line>
  simt.barrier
  %y = simt.load_shared %s : !simt.shared<[32], i1, #line> -> tensor<32xi1, #copies>
  return
}

// An index is cut to the extent of the buffer: 31 is its mask, times 4 bytes.
// CHECK-LABEL: llvm.func @gather
// CHECK: %[[INDEX:.*]] = arith.andi %arg0, %c31{{[a-z0-9_]*}} : i32
// CHECK: arith.shli %[[INDEX]]
// CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<3> -> f32
func.func @gather(%k: i32) {
  %i = tile.splat %k : i32 -> tensor<32xi32, #copies>
  %s = simt.alloc_shared "source" at 0 : !simt.shared<[32], f32, #line>
  %y = simt.gather_shared %s[%i] axis 0 : !simt.shared<[32], f32, #line>, tensor<32xi32, #copies> -> tensor<32xf32, #copies>
  return
}
}
