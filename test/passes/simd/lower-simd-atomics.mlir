// RUN: tile-opt %s -lower-simd -cse | FileCheck %s

// A row is updated by vectors, in each block of memory under its lock; without locks one by one. Its lines are asked
// for before the first lock is taken, since taking one waits for all that is under way.
// CHECK-LABEL: llvm.func @row
// CHECK: llvm.icmp "ne"
// CHECK: scf.if
// CHECK:   scf.for
// CHECK:     "llvm.intr.prefetch"({{.*}}) <{cache = 1 : i32, hint = 3 : i32, rw = 1 : i32}>
// CHECK:   } {simd.most_iterations = 16 : i64}
// CHECK:   "llvm.intr.prefetch"
// CHECK:   llvm.store {{.*}} vector<16xf32>
// CHECK:   llvm.atomicrmw xchg {{.*}} acquire
// CHECK:   scf.for
// CHECK:     arith.addf {{.*}} : vector<16xf32>
// CHECK:   } {simd.most_iterations = 17 : i64}
// CHECK:   llvm.store {{.*}} atomic release
// CHECK:   } {simd.most_iterations = 2 : i64}
// CHECK: } else {
// CHECK:   llvm.atomicrmw fadd
func.func @row(%x: !tile.ptr<f32> {tile.disjoint}, %out: !tile.ptr<f32> {tile.disjoint}) {
  %r = tile.arange 0 to 256 : tensor<256xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %r : tensor<256x!tile.ptr<f32>>, tensor<256xi32>
  %v = tile.load %xp : tensor<256x!tile.ptr<f32>> -> tensor<256xf32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>>
  %op = tile.addptr %os, %r : tensor<256x!tile.ptr<f32>>, tensor<256xi32>
  %old = tile.atomic_rmw fadd, %op, %v : tensor<256x!tile.ptr<f32>>, tensor<256xf32> -> tensor<256xf32>
  return
}

// Another atomic may meet the row's memory, and takes no lock: neither does the row.
// CHECK-LABEL: llvm.func @met
// CHECK-NOT: xchg
// CHECK: llvm.return
func.func @met(%x: !tile.ptr<f32> {tile.disjoint}, %out: !tile.ptr<f32>, %n: !tile.ptr<f32>) {
  %r = tile.arange 0 to 256 : tensor<256xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %r : tensor<256x!tile.ptr<f32>>, tensor<256xi32>
  %v = tile.load %xp : tensor<256x!tile.ptr<f32>> -> tensor<256xf32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>>
  %op = tile.addptr %os, %r : tensor<256x!tile.ptr<f32>>, tensor<256xi32>
  %old = tile.atomic_rmw fadd, %op, %v : tensor<256x!tile.ptr<f32>>, tensor<256xf32> -> tensor<256xf32>
  %one = arith.constant 1.0 : f32
  %before = tile.atomic_rmw fadd, %n, %one : !tile.ptr<f32>, f32 -> f32
  return
}
