// Pointers in memory are accessed as the 8 bytes that they have.
// RUN: tile-opt %s --lower-simd | FileCheck %s

// CHECK-LABEL: llvm.func @put
// CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 8 : i64} : !llvm.ptr, !llvm.ptr
func.func @put(%x: !tile.ptr<!tile.ptr<f32>> {tile.name = "x"}, %v: !tile.ptr<f32> {tile.name = "v"}) {
  tile.store %x, %v : !tile.ptr<!tile.ptr<f32>>, !tile.ptr<f32>
  return
}

// CHECK-LABEL: llvm.func @move
// CHECK: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr -> vector<{{[0-9]+}}x!llvm.ptr>
func.func @move(%x: !tile.ptr<!tile.ptr<i8>>, %y: !tile.ptr<!tile.ptr<i8>>) {
  %r = tile.arange 0 to 128 : tensor<128xi32>
  %xs = tile.splat %x : !tile.ptr<!tile.ptr<i8>> -> tensor<128x!tile.ptr<!tile.ptr<i8>>>
  %xp = tile.addptr %xs, %r : tensor<128x!tile.ptr<!tile.ptr<i8>>>, tensor<128xi32>
  %v = tile.load %xp : tensor<128x!tile.ptr<!tile.ptr<i8>>> -> tensor<128x!tile.ptr<i8>>
  %ys = tile.splat %y : !tile.ptr<!tile.ptr<i8>> -> tensor<128x!tile.ptr<!tile.ptr<i8>>>
  %yp = tile.addptr %ys, %r : tensor<128x!tile.ptr<!tile.ptr<i8>>>, tensor<128xi32>
  tile.store %yp, %v : tensor<128x!tile.ptr<!tile.ptr<i8>>>, tensor<128x!tile.ptr<i8>>
  return
}
