// Facts of a kernel's arguments: a pointer is `noalias` only where no value travels through the memory
// from one thread to another, for LLVM reads the code of one thread; `tile.forward` where no access is
// below it.
// RUN: tile-opt --lower-simt %s | FileCheck %s

#row = #tile.layout<[128] lane = [[1], [2], [4], [8], [16]] warp = [[32], [64]]>
module attributes {simt.num_warps = 4 : i32, tile.target = #tile.target<warp_size = 32, shared_bytes = 65536, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4>} {
// CHECK-LABEL: @read_or_written
// CHECK-SAME: {llvm.align = 16 : i64, llvm.noalias, tile.disjoint, tile.forward}, %{{.*}}: !llvm.ptr<1> {llvm.noalias, tile.disjoint, tile.forward}, %{{.*}}: !llvm.ptr<1> {tile.forward})
func.func @read_or_written(%x: !tile.ptr<f32> {tile.disjoint, tile.divisibility = 16 : i64},
    %y: !tile.ptr<f32> {tile.disjoint}, %overlapping: !tile.ptr<f32>) {
  %a = tile.splat %x : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>, #row>
  %b = tile.splat %y : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>, #row>
  %value = tile.load %a : tensor<128x!tile.ptr<f32>, #row> -> tensor<128xf32, #row>
  tile.store %b, %value : tensor<128x!tile.ptr<f32>, #row>, tensor<128xf32, #row>
  return
}

// CHECK-LABEL: @read_and_written
// CHECK-SAME: %{{.*}}: !llvm.ptr<1> {tile.disjoint, tile.forward}, %{{.*}}: !llvm.ptr<1> {tile.disjoint, tile.forward}, %{{.*}}: !llvm.ptr<1> {llvm.noalias, tile.disjoint, tile.forward})
func.func @read_and_written(%x: !tile.ptr<f32> {tile.disjoint}, %count: !tile.ptr<i32> {tile.disjoint},
    %unused: !tile.ptr<f32> {tile.disjoint}) {
  %a = tile.splat %x : !tile.ptr<f32> -> tensor<128x!tile.ptr<f32>, #row>
  %value = tile.load %a : tensor<128x!tile.ptr<f32>, #row> -> tensor<128xf32, #row>
  simt.barrier
  tile.store %a, %value : tensor<128x!tile.ptr<f32>, #row>, tensor<128xf32, #row>
  %one = arith.constant 1 : i32
  %old = tile.atomic_rmw add, %count, %one : !tile.ptr<i32>, i32 -> i32
  return
}
// CHECK-LABEL: @below
// CHECK-SAME: %{{.*}}: !llvm.ptr<1>, %{{.*}}: !llvm.ptr<1> {tile.forward}, %{{.*}}: i32, %{{.*}}: i32 {tile.non_negative})
func.func @below(%x: !tile.ptr<f32>, %y: !tile.ptr<f32>, %any: i32, %count: i32 {tile.non_negative}) {
  %a = tile.addptr %x, %any : !tile.ptr<f32>, i32
  %value = tile.load %a : !tile.ptr<f32> -> f32
  %b = tile.addptr %y, %count : !tile.ptr<f32>, i32
  tile.store %b, %value : !tile.ptr<f32>, f32
  return
}
}
