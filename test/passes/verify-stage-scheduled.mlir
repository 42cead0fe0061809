// Stage scheduled: data between warps moves through buffers with offsets.
// RUN: tile-opt --verify-stage=stage=scheduled --verify-diagnostics %s

#line = #tile.layout<[64] register = [] lane = [[1], [2], [4], [8], [16]] warp = [[32]]>
#other = #tile.layout<[64] register = [] lane = [[1], [2], [4], [8], [32]] warp = [[16]]>
#near = #tile.layout<[64] register = [] lane = [[2], [1], [4], [8], [16]] warp = [[32]]>
#flat = #tile.layout<[64] offset = [[1], [2], [4], [8], [16], [32]]>
module attributes {simt.num_warps = 2 : i32} {
func.func @stage(%x: tensor<64xf32, #line>, %i: tensor<64xi32, #line>) {
  %near = simt.convert_layout %x : tensor<64xf32, #line> -> tensor<64xf32, #near>
  // expected-error @below {{'simt.convert_layout' moves data between warps, which shared memory does in this stage}}
  %far = simt.convert_layout %x : tensor<64xf32, #line> -> tensor<64xf32, #other>
  %placed = simt.alloc_shared "a" at 0 : !simt.shared<[64], f32, #flat>
  // expected-error @below {{'simt.alloc_shared' has no offset in shared memory}}
  %unplaced = simt.alloc_shared "b" : !simt.shared<[64], f32, #flat>
  // expected-error @below {{'tile.reduce' folds elements of several warps}}
  %sum = tile.reduce (%x) axis 0 commutative {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tile.yield %c : f32
  } : (tensor<64xf32, #line>) -> f32
  // expected-error @below {{'tile.gather' is an earlier stage's}}
  %g = tile.gather %x[%i] axis 0 : tensor<64xf32, #line>, tensor<64xi32, #line> -> tensor<64xf32, #line>
  return
}
}
