// The machine's clock and processor: in and out, and never merged, moved out of loops or left out while used.
// RUN: tile-opt %s | tile-opt | FileCheck %s
// RUN: tile-opt %s --cse --canonicalize --loop-invariant-code-motion | FileCheck %s

// CHECK-LABEL: func.func @kernel
func.func @kernel(%p: !tile.ptr<i64>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  // CHECK: %[[T:.*]] = tile.machine clock
  %t = tile.machine clock
  // CHECK: scf.for
  scf.for %i = %zero to %n step %one : i32 {
    // CHECK: %[[U:.*]] = tile.machine clock
    %u = tile.machine clock
    // CHECK: arith.subi %[[U]], %[[T]]
    %d = arith.subi %u, %t : i64
    tile.store %p, %d : !tile.ptr<i64>, i64
  }
  // CHECK: tile.machine processor
  %s = tile.machine processor
  tile.store %p, %s : !tile.ptr<i64>, i64
  return
}
