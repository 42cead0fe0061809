// Conversions that undo one another vanish; tiles that cost nothing are made in the wanted layout.
// RUN: tile-opt --canonicalize %s | FileCheck %s

#line = #tile.layout<[64] register = [[1]] lane = [[2], [4], [8], [16], [32]] warp = []>
#other = #tile.layout<[64] register = [[32]] lane = [[1], [2], [4], [8], [16]] warp = []>

// CHECK-LABEL: @back
// CHECK-NEXT: return %arg0
func.func @back(%x: tensor<64xf32, #line>) -> tensor<64xf32, #line> {
  %y = simt.convert_layout %x : tensor<64xf32, #line> -> tensor<64xf32, #other>
  %z = simt.convert_layout %y : tensor<64xf32, #other> -> tensor<64xf32, #line>
  return %z : tensor<64xf32, #line>
}

// CHECK-LABEL: @free
// CHECK-NOT: convert_layout
func.func @free(%s: f32) -> (tensor<64xf32, #other>, tensor<64xi32, #other>, tensor<64xf32, #other>) {
  // CHECK-DAG: tile.splat %{{.*}} lane = {{\[\[1\], \[2\], \[4\], \[8\], \[16\]\]}}
  // CHECK-DAG: tile.arange 0 to 64 : {{.*}} lane = {{\[\[1\], \[2\], \[4\], \[8\], \[16\]\]}}
  // CHECK-DAG: arith.constant dense<1.0{{.*}}> : {{.*}} lane = {{\[\[1\], \[2\], \[4\], \[8\], \[16\]\]}}
  %a = tile.splat %s : f32 -> tensor<64xf32, #line>
  %b = tile.arange 0 to 64 : tensor<64xi32, #line>
  %c = arith.constant dense<1.0> : tensor<64xf32, #line>
  %d = simt.convert_layout %a : tensor<64xf32, #line> -> tensor<64xf32, #other>
  %e = simt.convert_layout %b : tensor<64xi32, #line> -> tensor<64xi32, #other>
  %f = simt.convert_layout %c : tensor<64xf32, #line> -> tensor<64xf32, #other>
  return %d, %e, %f : tensor<64xf32, #other>, tensor<64xi32, #other>, tensor<64xf32, #other>
}

#pairs = #tile.layout<[64, 2] register = [[0, 1], [1, 0]] lane = [[2, 0], [4, 0], [8, 0], [16, 0], [32, 0]] warp = []>
// A split of a join in another layout is not the join's operands.
// CHECK-LABEL: @split_of_join
// CHECK: tile.split
func.func @split_of_join(%x: tensor<64xf32, #line>) -> tensor<64xf32, #other> {
  %z = tile.join %x, %x : tensor<64xf32, #line> -> tensor<64x2xf32, #pairs>
  %l, %r = tile.split %z : tensor<64x2xf32, #pairs> -> tensor<64xf32, #other>
  return %l : tensor<64xf32, #other>
}

// CHECK-LABEL: @polling
func.func @polling(%flag: !llvm.ptr<1>) {
  %zero = arith.constant 0 : i32
  // CHECK: scf.while
  // CHECK: simt.global_load %{{.*}} {is_volatile}
  // CHECK-NOT: simt.global_load
  scf.while : () -> () {
    %value = simt.global_load %flag {is_volatile} : !llvm.ptr<1> -> i32
    %again = arith.cmpi eq, %value, %zero : i32
    scf.condition(%again)
  } do {
    scf.yield
  }
  %useless = simt.global_load %flag : !llvm.ptr<1> -> i32
  // CHECK: return
  return
}
