// Products from shared memory by multiply-adds.
// RUN: tile-opt --lower-simt %s | FileCheck %s

#acc = #tile.layout<[16, 16] register = [[0, 1], [0, 2], [8, 0]] lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]]>
#a = #tile.layout<[16, 64] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0]]>
#b = #tile.layout<[64, 16] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]]>
module attributes {simt.num_warps = 1 : i32} {
// Eight steps of k at once: of each of 2 rows of A one access of 16 bytes, of B one of 4 columns per
// step; 2 x 4 multiply-adds per step.
// CHECK-LABEL: llvm.func @halves
// CHECK: %[[STEP:.*]] = arith.constant 8 : i32
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %[[STEP]] iter_args
// CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<8xf16>
// CHECK-COUNT-8: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<4xf16>
// CHECK-NOT: llvm.load
// CHECK-COUNT-48: arith.extf %{{.*}} : f16 to f32
// CHECK-COUNT-64: math.fma %{{.*}} : f32
// CHECK-NOT: math.fma
// CHECK: scf.yield
func.func @halves(%x: f32) {
  %c = tile.splat %x : f32 -> tensor<16x16xf32, #acc>
  %s = simt.alloc_shared "a" at 0 : !simt.shared<[16, 64], f16, #a>
  %t = simt.alloc_shared "b" at 2048 : !simt.shared<[64, 16], f16, #b>
  %d = simt.dot_shared %s, %t, %c ieee : !simt.shared<[16, 64], f16, #a>, !simt.shared<[64, 16], f16, #b> -> tensor<16x16xf32, #acc>
  return
}

// CHECK-LABEL: llvm.func @bytes
// CHECK: arith.extsi %{{.*}} : i8 to i32
// CHECK: %[[PRODUCT:.*]] = arith.muli
// CHECK: arith.addi %{{.*}}, %[[PRODUCT]] : i32
func.func @bytes(%x: i32) {
  %c = tile.splat %x : i32 -> tensor<16x16xi32, #acc>
  %s = simt.alloc_shared "a" at 0 : !simt.shared<[16, 64], i8, #a>
  %t = simt.alloc_shared "b" at 1024 : !simt.shared<[64, 16], i8, #b>
  %d = simt.dot_shared %s, %t, %c ieee : !simt.shared<[16, 64], i8, #a>, !simt.shared<[64, 16], i8, #b> -> tensor<16x16xi32, #acc>
  return
}
}
