// CPUs ask the host for the time; programs run on any processor, so that none has a number but 0.
// RUN: tile-opt %s -lower-simd | FileCheck %s

// CHECK: llvm.func @tw_device_clock() -> i64
// CHECK-NOT: llvm.func @tw_device_clock
// CHECK-LABEL: llvm.func @kernel
func.func @kernel(%p: !tile.ptr<i64>) {
  // CHECK: %[[T:.*]] = llvm.call @tw_device_clock()
  %t = tile.machine clock
  // CHECK: %[[U:.*]] = llvm.call @tw_device_clock()
  %u = tile.machine clock
  // CHECK: arith.subi %[[U]], %[[T]]
  %d = arith.subi %u, %t : i64
  tile.store %p, %d : !tile.ptr<i64>, i64
  %s = tile.machine processor
  // CHECK: llvm.store %c0_i64
  tile.store %p, %s : !tile.ptr<i64>, i64
  return
}
