// Atomics, prints and checks are the owner's.
// RUN: tile-opt --lower-simt %s | FileCheck %s

#copies = #tile.layout<[64] register = [[32]] lane = [[1], [2], [4], [8], [16]] warp = [[0]]>
#whole = #tile.layout<[64] register = [] lane = [[1], [2], [4], [8], [16]] warp = [[32]]>
module attributes {simt.num_warps = 2 : i32} {
// CHECK-LABEL: llvm.func @atomics
func.func @atomics(%lock: !tile.ptr<i32>, %one: i32) {
  %p = tile.splat %lock : !tile.ptr<i32> -> tensor<64x!tile.ptr<i32>, #copies>
  %q = tile.splat %lock : !tile.ptr<i32> -> tensor<64x!tile.ptr<i32>, #whole>
  %v = tile.splat %one : i32 -> tensor<64xi32, #copies>
  %w = tile.splat %one : i32 -> tensor<64xi32, #whole>
  // CHECK: %[[WARP:.*]] = arith.shrui
  // CHECK: %[[OWNER:.*]] = arith.cmpi eq, %[[WARP]]
  // CHECK-COUNT-2: simt.atomic max relaxed cta %arg0, %arg1 mask %[[OWNER]]
  %a = tile.atomic_rmw max, %p, %v {order = 0 : i32, scope = 0 : i32} : tensor<64x!tile.ptr<i32>, #copies>, tensor<64xi32, #copies> -> tensor<64xi32, #copies>
  // CHECK: simt.atomic add acq_rel gpu %arg0, %arg1 :
  %b = tile.atomic_rmw add, %q, %w : tensor<64x!tile.ptr<i32>, #whole>, tensor<64xi32, #whole> -> tensor<64xi32, #whole>
  // CHECK: %[[FIRST:.*]] = arith.cmpi eq
  // CHECK: simt.atomic xchg acq_rel gpu %arg0, %arg1 expecting %arg1 : i32 mask %[[FIRST]]
  %c = tile.atomic_cas %lock, %one, %one : !tile.ptr<i32>, i32
  return
}

// CHECK-LABEL: llvm.func @debug
func.func @debug(%s: f32, %m: i1) {
  %x = tile.splat %s : f32 -> tensor<64xf32, #whole>
  %c = tile.splat %m : i1 -> tensor<64xi1, #copies>
  // CHECK: simt.print "x(operand 0) ", %arg0 : f32 at %{{[0-9]+}} mask %{{.*}} {hex = false, is_signed = false, shape = array<i64: 64>}
  // CHECK: simt.print "x(operand 1) ", %arg0 : f32 at %{{.*}} mask %{{.*}} {hex = false, is_signed = true, shape = array<i64>}
  tile.print "x" {hex = false, is_signed = array<i32: 0, 1>} : %x, %s : tensor<64xf32, #whole>, f32
  // CHECK: simt.print "here" at
  tile.print "here" {hex = false, is_signed = array<i32>}
  // The first register that fails gives the index of the one report.
  // CHECK: %[[FALSE:.*]] = arith.xori %arg1
  // CHECK: %[[SECOND:.*]] = arith.andi %[[FALSE]], %arg1
  // CHECK: %[[FALSE:.*]] = arith.xori %arg1
  // CHECK: %[[FIRST:.*]] = arith.andi %[[FALSE]], %arg1
  // CHECK: %[[INDEX:.*]] = arith.select %[[FIRST]]
  // CHECK: %[[ANY:.*]] = arith.ori %[[SECOND]], %[[FIRST]]
  // CHECK: %[[FAILED:.*]] = arith.andi %[[ANY]]
  // CHECK: simt.assert %[[FAILED]], "bad" at %[[INDEX]] {shape = array<i64: 64>}
  // CHECK-NOT: simt.assert
  tile.assert %c, "bad" mask %c : tensor<64xi1, #copies> : tensor<64xi1, #copies>
  return
}

// The values that are shown are those of the register that is named.
// CHECK-LABEL: @shows
func.func @shows(%n: i32) {
  %i = tile.arange 0 to 64 : tensor<64xi32, #copies>
  %s = tile.splat %n : i32 -> tensor<64xi32, #copies>
  %c = arith.cmpi slt, %i, %s : tensor<64xi32, #copies>
  // CHECK: arith.select %[[FAILS:.*]], %{{.*}}, %{{.*}} : i32
  // CHECK: %[[FIRST:.*]] = arith.select %[[FAILS]], %{{.*}}, %{{.*}} : i32
  // CHECK: simt.assert %{{.*}}, "fits" at %{{.*}} of %[[FIRST]], %{{.*}} : i32, i32 {is_signed, joint = "-"
  tile.assert %c, "fits" of %i, %s : tensor<64xi32, #copies>, tensor<64xi32, #copies> {is_signed, joint = "-"} : tensor<64xi1, #copies>
  return
}
}
