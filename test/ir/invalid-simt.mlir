// What the verifiers of layouts and of the simt dialect refuse.
// RUN: tile-opt --split-input-file --verify-diagnostics %s

#line = #tile.layout<[64] register = [[1]] lane = [[2], [4], [8], [16], [32]] warp = []>
func.func @mixed(%x: tensor<64xf32, #line>) {
  // expected-error @below {{either all tiles have a layout or none}}
  %y = tile.reshape %x : tensor<64xf32, #line> -> tensor<8x8xf32>
  return
}

// -----

#line = #tile.layout<[64] register = [[1]] lane = [[2], [4], [8], [16], [32]] warp = []>
#wrong = #tile.layout<[1, 64] register = [[0, 32]] lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]] warp = []>
func.func @expand(%x: tensor<64xf32, #line>) {
  // expected-error @below {{result's layout must be the one that follows from the source's}}
  %y = tile.expand_dims %x axis 0 : tensor<64xf32, #line> -> tensor<1x64xf32, #wrong>
  return
}

// -----

#tall = #tile.layout<[32, 1] register = [] lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]] warp = []>
#wide = #tile.layout<[32, 32] register = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]] lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]] warp = []>
func.func @broadcast(%x: tensor<32x1xf32, #tall>) {
  // expected-error @below {{every thread must hold the source's elements that its result repeats}}
  %y = tile.broadcast %x : tensor<32x1xf32, #tall> -> tensor<32x32xf32, #wide>
  return
}

// -----

#line = #tile.layout<[64] register = [[1]] lane = [[2], [4], [8], [16], [32]] warp = []>
#other = #tile.layout<[64] register = [[32]] lane = [[1], [2], [4], [8], [16]] warp = []>
func.func @access(%p: tensor<64x!tile.ptr<f32>, #line>) {
  // expected-error @below {{value must have the pointee's type and the pointers' shape}}
  %x = tile.load %p : tensor<64x!tile.ptr<f32>, #line> -> tensor<64xf32, #other>
  return
}

// -----

#line = #tile.layout<[64] register = [[1]] lane = [[2], [4], [8], [16], [32]] warp = []>
func.func @convert(%x: tensor<64xf32, #line>) {
  // expected-error @below {{converts between tiles with layouts}}
  %y = simt.convert_layout %x : tensor<64xf32, #line> -> tensor<64xf32>
  return
}

// -----

#wide = #tile.layout<[256] register = [] lane = [[1], [2], [4], [8], [16]] warp = [[32], [64], [128]]>
#four = #tile.layout<[4] register = [] lane = [[0], [0], [0], [0], [0]] warp = [[1], [2], [0]]>
func.func @partial(%x: tensor<256xf32, #wide>) {
  // expected-error @below {{result must be 'tensor<8xf32}}
  %y = simt.partial_reduce (%x) axis 0 {
  ^bb0(%a: f32, %b: f32):
    simt.yield %a : f32
  } : (tensor<256xf32, #wide>) -> tensor<4xf32, #four>
  return
}

// -----

// expected-error @below {{a buffer's layout is of offsets only}}
func.func @buffer(%b: !simt.shared<[2], f32, #tile.layout<[2] register = [[1]]>>) {
  return
}

// -----

// expected-error @below {{a buffer holds numbers or pointers of tiles, not '!llvm.ptr'}}
func.func private @buffer_of_pointers() -> !simt.shared<[1], !llvm.ptr, #tile.layout<[1] offset = []>>

// -----

// expected-error @below {{a buffer holds every element once}}
func.func @holes(%b: !simt.shared<[4], f32, #tile.layout<[4] offset = [[1]]>>) {
  return
}

// -----

// expected-error @below {{padding is of 16 bytes or a multiple, behind a power of two of them}}
func.func @padding(%b: !simt.shared<[4], f32, #tile.layout<[4] offset = [[1], [2]]> pad 16 every 48>) {
  return
}

// -----

#turned = #tile.layout<[8, 8] offset = [[1, 0], [2, 0], [4, 0], [0, 1], [0, 2], [0, 4]]>
func.func @columns(%x: !tile.ptr<f32>, %n: i32, %pitch: i64, %b: !simt.shared<[8, 8], f32, #turned>) {
  // expected-error @below {{copies to a buffer in which rows follow each other}}
  simt.array_copy %x[%n, %n] of %n x %n pitch %pitch to %b along 1 : !tile.ptr<f32> -> <[8, 8], f32, #turned>
  return
}

// -----

#flat = #tile.layout<[8, 2] offset = [[0, 1], [1, 0], [2, 0], [4, 0]]>
func.func @narrow(%x: !tile.ptr<f32>, %n: i32, %pitch: i64, %b: !simt.shared<[8, 2], f32, #flat>) {
  // expected-error @below {{copies rows of 16 bytes or more}}
  simt.array_copy %x[%n, %n] of %n x %n pitch %pitch to %b along 1 : !tile.ptr<f32> -> <[8, 2], f32, #flat>
  return
}

// -----

#flat = #tile.layout<[8, 8] offset = [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]>
func.func @other_type(%x: !tile.ptr<f16>, %n: i32, %pitch: i64, %b: !simt.shared<[8, 8], f32, #flat>) {
  // expected-error @below {{copies numbers of the buffer's type from a pointer to them}}
  simt.array_copy %x[%n, %n] of %n x %n pitch %pitch to %b along 1 : !tile.ptr<f16> -> <[8, 8], f32, #flat>
  return
}

// -----

#line = #tile.layout<[64] register = [[1]] lane = [[2], [4], [8], [16], [32]] warp = []>
#flat = #tile.layout<[64] offset = [[1], [2], [4], [8], [16], [32]]>
func.func @store(%x: tensor<64xf16, #line>, %b: !simt.shared<[64], f32, #flat>) {
  // expected-error @below {{value and buffer must have one element type}}
  simt.store_shared %x, %b : tensor<64xf16, #line>, !simt.shared<[64], f32, #flat>
  return
}

// -----

#flat = #tile.layout<[64] offset = [[1], [2], [4], [8], [16], [32]]>
func.func @scalar(%s: f32, %b: !simt.shared<[64], f32, #flat>) {
  // expected-error @below {{a scalar needs a buffer of one element}}
  simt.store_shared %s, %b : f32, !simt.shared<[64], f32, #flat>
  return
}

// -----

#flat = #tile.layout<[64] offset = [[1], [2], [4], [8], [16], [32]]>
func.func @offset() {
  // expected-error @below {{offset must be a multiple of 16 bytes}}
  %b = simt.alloc_shared "b" at 8 : !simt.shared<[64], f32, #flat>
  return
}

// -----

func.func @wide(%p: !llvm.ptr<1>) {
  // expected-error @below {{a vector must have 2, 4, 8 or 16 elements of at most 16 bytes}}
  %x = simt.global_load %p : !llvm.ptr<1> -> vector<8xf32>
  return
}

// -----

func.func @bit(%x: i1, %lane: i32) {
  // expected-error @below {{moves values of 8, 16, 32 or 64 bits and pointers}}
  %y = simt.shuffle xor %x, %lane : i1
  return
}

// -----

#f16 = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
func.func @interleaved(%a: tensor<16x16xf16>, %b: tensor<16x8xf16>, %c: tensor<16x8xf32>) {
  // expected-error @below {{interleaves each dimension of the product and the inner one}}
  %d = simt.mma %a, %b, %c by #f16 warps [1, 1] interleaved [2, 1] ieee : tensor<16x16xf16>, tensor<16x8xf16> -> tensor<16x8xf32>
  return
}

// -----

#f16 = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
func.func @interleaved_by_three(%a: tensor<16x16xf16>, %b: tensor<16x8xf16>, %c: tensor<16x8xf32>) {
  // expected-error @below {{interleaves by powers of two}}
  %d = simt.mma %a, %b, %c by #f16 warps [1, 1] interleaved [3, 1, 1] ieee : tensor<16x16xf16>, tensor<16x8xf16> -> tensor<16x8xf32>
  return
}

// -----

#f16 = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
func.func @mma_warps(%a: tensor<16x16xf16>, %b: tensor<16x8xf16>, %c: tensor<16x8xf32>) {
  // expected-error @+1 {{has a power of two up to 64 of warps per dimension}}
  %d = simt.mma %a, %b, %c by #f16 warps [0, 1] ieee : tensor<16x16xf16>, tensor<16x8xf16> -> tensor<16x8xf32>
  return
}

// -----

#f16 = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
func.func @mma_outer(%a: tensor<32x16xf16>, %b: tensor<16x8xf16>, %c: tensor<16x8xf32>) {
  // expected-error @+1 {{outer extents of operands must be the result's}}
  %d = simt.mma %a, %b, %c by #f16 warps [1, 1] ieee : tensor<32x16xf16>, tensor<16x8xf16> -> tensor<16x8xf32>
  return
}

// -----

#f16 = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
func.func @mma_rank(%a: tensor<16xf16>, %b: tensor<16x8xf16>, %c: tensor<16x8xf32>) {
  // expected-error @+1 {{operands and result must have one rank}}
  %d = simt.mma %a, %b, %c by #f16 warps [1, 1] ieee : tensor<16xf16>, tensor<16x8xf16> -> tensor<16x8xf32>
  return
}

// -----

#acc = #tile.layout<[16, 16] register = [[0, 1], [0, 2], [8, 0]] lane = [[0, 4], [0, 8], [1, 0], [2, 0], [4, 0]]>
#a = #tile.layout<[16, 16] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 0], [8, 0]]>
func.func @mixed_product(%c: tensor<16x16xi32, #acc>) {
  %s = simt.alloc_shared "a" : !simt.shared<[16, 16], bf16, #a>
  // expected-error @+1 {{operands must be all floating-point or all integer}}
  %d = simt.dot_shared %s, %s, %c ieee : !simt.shared<[16, 16], bf16, #a>, !simt.shared<[16, 16], bf16, #a> -> tensor<16x16xi32, #acc>
  return
}

// -----

module attributes {simt.tensor_maps = [#simt.tensor_map<0 of f16 extents [<2147483648>, <1 of [1]>] strides [<1 of [2]>] box [32, 8] span 64>]} {
func.func @boxes(%p: !tile.ptr<f16>, %m: i32, %s: i32, %b: !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>>, %flat: !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 0], [4, 0]]>>, %on: !simt.shared<[1], i64, #tile.layout<[1] offset = []>>, %e: i1) {
  // expected-error @below {{has a coordinate for each dimension of each box}}
  simt.box_copy maps [0] at [%m] to %b on %on if %e : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>> on !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  return
}
}

// -----

module attributes {simt.tensor_maps = [#simt.tensor_map<0 of f16 extents [<2147483648>, <1 of [1]>] strides [<1 of [2]>] box [32, 8] span 64>]} {
func.func @boxes(%p: !tile.ptr<f16>, %m: i32, %s: i32, %b: !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>>, %flat: !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 0], [4, 0]]>>, %on: !simt.shared<[1], i64, #tile.layout<[1] offset = []>>, %e: i1) {
  // expected-error @below {{names a tensor map that the module does not have}}
  simt.box_copy maps [1] at [%m, %s] to %b on %on if %e : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>> on !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  return
}
}

// -----

module attributes {simt.tensor_maps = [#simt.tensor_map<0 of f16 extents [<2147483648>, <1 of [1]>] strides [<1 of [2]>] box [32, 8] span 64>]} {
func.func @boxes(%p: !tile.ptr<f16>, %m: i32, %s: i32, %b: !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>>, %flat: !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 0], [4, 0]]>>, %on: !simt.shared<[1], i64, #tile.layout<[1] offset = []>>, %e: i1) {
  // expected-error @below {{names a map for each buffer}}
  simt.box_copy maps [0, 0] at [%m, %s] to %b on %on if %e : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>> on !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  return
}
}

// -----

module attributes {simt.tensor_maps = [#simt.tensor_map<0 of f16 extents [<2147483648>, <1 of [1]>] strides [<1 of [2]>] box [32, 8] span 64>]} {
func.func @boxes(%p: !tile.ptr<f16>, %m: i32, %s: i32, %b: !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>>, %flat: !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 0], [4, 0]]>>, %on: !simt.shared<[1], i64, #tile.layout<[1] offset = []>>, %e: i1) {
  // expected-error @below {{copies boxes of the map that are rows of the buffer's slabs}}
  simt.box_copy maps [0] at [%m, %s] to %flat on %on if %e : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 0], [4, 0]]>> on !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  return
}
}

// -----

// expected-error @below {{a tensor map has an extent for each dimension}}
#map = #simt.tensor_map<0 of f16 extents [<8>] strides [<1>] box [32, 8] span 64>
module attributes {simt.tensor_maps = [#map]} {}

// -----

// expected-error @below {{boxes have extents of 1 to 256}}
#map = #simt.tensor_map<0 of f16 extents [<8>, <8>] strides [<1>] box [32, 512] span 64>
module attributes {simt.tensor_maps = [#map]} {}

// -----

// expected-error @below {{a tensor map has 2 to 5 dimensions}}
#map = #simt.tensor_map<0 of f16 extents [<8>] strides [<1>] box [32] span 64>
module attributes {simt.tensor_maps = [#map]} {}

// -----

// expected-error @below {{rows of a box are the span}}
#map = #simt.tensor_map<0 of f16 extents [<8>, <8>] strides [<1>] box [32, 8] span 0>
module attributes {simt.tensor_maps = [#map]} {}

// -----

// expected-error @below {{rows of a box are the span}}
#map = #simt.tensor_map<0 of f16 extents [<8>, <8>] strides [<1>] box [32, 8] span 1>
module attributes {simt.tensor_maps = [#map]} {}

// -----

// expected-error @below {{rows of a box are the span}}
#map = #simt.tensor_map<0 of f16 extents [<8>, <8>] strides [<1>] box [64, 8] span 64>
module attributes {simt.tensor_maps = [#map]} {}

// -----

// expected-error @below {{elements of a tensor map have whole bytes}}
#map = #simt.tensor_map<0 of i1 extents [<8>, <8>] strides [<1>] box [32, 8] span 64>
module attributes {simt.tensor_maps = [#map]} {}

// -----

func.func @loader() {
  // expected-error @below {{has no warp: the module has no simt.loader_warps}}
  simt.loader {}
  return
}

// -----

module attributes {simt.loader_warps = 1 : i32} {
func.func @loader() {
  // expected-note @below {{this one}}
  simt.loader {
    // expected-error @below {{is in another loader}}
    simt.loader {}
  }
  return
}
}

// -----

module attributes {simt.loader_warps = 1 : i32} {
func.func @loader(%p: !tile.ptr<f32>, %x: f32) {
  simt.loader {
    // expected-error @below {{has no place in a loader, which copies boxes}}
    tile.store %p, %x : !tile.ptr<f32>, f32
  }
  return
}
}

// -----

module attributes {simt.loader_warps = 1 : i32} {
func.func @loader(%m: i32) {
  // expected-error @below {{yields other types than those of its results}}
  %place:2 = simt.loader {
    simt.yield %m : i32
  } -> i32, i32
  return
}
}

// -----

module attributes {simt.loader_warps = 1 : i32} {
// expected-error @below {{is not in a kernel}}
simt.loader {}
}

// -----

module attributes {simt.tensor_maps = [#simt.tensor_map<0 of f16 extents [<2147483648>, <1 of [1]>] strides [<1 of [2]>] box [32, 8] span 64>]} {
func.func @store(%p: !tile.ptr<f16>, %m: i32, %s: i32, %b: !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>>) {
  // expected-error @below {{has a coordinate for each dimension of each box}}
  simt.box_store map 0 at [%m] from %b : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>>
  return
}
}

// -----

module attributes {simt.tensor_maps = [#simt.tensor_map<0 of f16 extents [<2147483648>, <1 of [1]>] strides [<1 of [2]>] box [32, 8] span 64>]} {
func.func @store(%p: !tile.ptr<f16>, %m: i32, %s: i32, %b: !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>>) {
  // expected-error @below {{names a tensor map that the module does not have}}
  simt.box_store map 1 at [%m, %m] from %b : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>>
  return
}
}

// -----

module attributes {simt.tensor_maps = [#simt.tensor_map<0 of f16 extents [<2147483648>, <1 of [1]>] strides [<1 of [2]>] box [32, 8] span 64>]} {
func.func @store(%p: !tile.ptr<f16>, %m: i32, %s: i32, %b: !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 0], [4, 0]]>>) {
  // expected-error @below {{copies boxes of the map that are rows of the buffer's slabs}}
  simt.box_store map 0 at [%m, %m] from %b : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 0], [4, 0]]>>
  return
}
}

// -----

#f16 = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
func.func @partial_of_one_warp(%a: tensor<16x16xf16>, %b: tensor<16x8xf16>, %c: tensor<16x8xf32>) {
  // expected-error @below {{partial sums are those of whole instructions of several warps, in f32}}
  %d = simt.mma %a, %b, %c by #f16 warps [1, 1] ieee partial_depth 16 : tensor<16x16xf16>, tensor<16x8xf16> -> tensor<16x8xf32>
  return
}

// -----

#f16 = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
#group = #tile.async_mma<mma = #f16, warps = 4, columns = 256, span_bytes = 128, across = true>
func.func @part_of_an_instruction(%a: tensor<64x16xf16>, %b: tensor<16x8xf16>, %c: tensor<64x8xf32>) {
  // expected-error @below {{partial sums are those of whole instructions of several warps, in f32}}
  %d = simt.mma %a, %b, %c by #f16 warps [4, 1] ieee async #group partial_depth 8 : tensor<64x16xf16>, tensor<16x8xf16> -> tensor<64x8xf32>
  return
}

// -----

#f16 = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f16 in "n0 m3 | n1 n2 m0 m1 m2">
// expected-error @below {{sums of f32 that lose bits are those of whole instructions}}
#group = #tile.async_mma<mma = #f16, warps = 4, columns = 256, span_bytes = 128, across = true, precise_depth = 16>
func.func @halves_lose_none() attributes {test.group = #group} {
  return
}

// -----

module attributes {simt.cluster = array<i64: 2, 1, 1>, simt.tensor_maps = [#simt.tensor_map<0 of f16 extents [<2147483648>, <1 of [1]>] strides [<1 of [2]>] box [32, 8] span 64>]} {
func.func @parts(%m: i32, %s: i32, %b: !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>>, %on: !simt.shared<[1], i64, #tile.layout<[1] offset = []>>) {
  // expected-error@+1 {{has boxes that programs of a cluster cannot copy in equal parts}}
  simt.box_copy maps [0] at [%m, %s] to %b on %on multicast [1] : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>> on !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  return
}
}

// -----

module attributes {simt.cluster = array<i64: 2, 1, 1>, simt.tensor_maps = [#simt.tensor_map<0 of f16 extents [<2147483648>, <1 of [1]>] strides [<1 of [2]>] box [32, 8] span 64>]} {
func.func @axes(%m: i32, %s: i32, %b: !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>>, %on: !simt.shared<[1], i64, #tile.layout<[1] offset = []>>) {
  // expected-error@+1 {{names axes of the cluster that grids do not have}}
  simt.box_copy maps [0] at [%m, %s] to %b on %on multicast [8] : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>> on !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  return
}
}
