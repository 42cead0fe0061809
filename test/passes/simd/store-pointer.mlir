// A pointer is stored as the 8 bytes that it has.
// RUN: tile-opt %s --lower-simd | FileCheck %s

// CHECK-LABEL: llvm.func @put
// CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 8 : i64} : !llvm.ptr, !llvm.ptr
func.func @put(%x: !tile.ptr<!tile.ptr<f32>> {tile.name = "x"}, %v: !tile.ptr<f32> {tile.name = "v"}) {
  tile.store %x, %v : !tile.ptr<!tile.ptr<f32>>, !tile.ptr<f32>
  return
}
