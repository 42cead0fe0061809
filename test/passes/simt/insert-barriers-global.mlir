// Accesses of global memory by different threads happen in the program's order where they may meet.
// RUN: tile-opt --insert-barriers %s | FileCheck %s

#row = #simt.layout<[256] register = [[1]] lane = [[2], [4], [8], [16], [32]] warp = [[64], [128]]>
#other = #simt.layout<[256] register = [[128]] lane = [[1], [2], [4], [8], [16]] warp = [[32], [64]]>
module attributes {simt.num_warps = 4 : i32} {
// CHECK-LABEL: @read_back
func.func @read_back(%p: !tile.ptr<f32> {tile.disjoint}, %x: tensor<256xf32, #row>) {
  // CHECK: tile.store
  // CHECK-NEXT: simt.barrier{{$}}
  // CHECK-NEXT: tile.load
  %a = tile.splat %p : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>, #row>
  %b = tile.splat %p : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>, #other>
  tile.store %a, %x : tensor<256x!tile.ptr<f32>, #row>, tensor<256xf32, #row>
  %y = tile.load %b : tensor<256x!tile.ptr<f32>, #other> -> tensor<256xf32, #other>
  return
}

// Each thread reads its own elements; another argument's memory is another's.
// CHECK-LABEL: @in_place
// CHECK-NOT: simt.barrier
// CHECK: return
func.func @in_place(%p: !tile.ptr<f32> {tile.disjoint}, %q: !tile.ptr<f32> {tile.disjoint}) {
  %a = tile.splat %p : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>, #row>
  %b = tile.splat %q : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>, #other>
  %x = tile.load %a : tensor<256x!tile.ptr<f32>, #row> -> tensor<256xf32, #row>
  tile.store %a, %x : tensor<256x!tile.ptr<f32>, #row>, tensor<256xf32, #row>
  %y = tile.load %b : tensor<256x!tile.ptr<f32>, #other> -> tensor<256xf32, #other>
  tile.store %b, %y : tensor<256x!tile.ptr<f32>, #other>, tensor<256xf32, #other>
  return
}
}
