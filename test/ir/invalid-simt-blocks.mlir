// Loads of blocks whose elements or registers are others than the block's.
// RUN: tile-opt %s --split-input-file --verify-diagnostics

func.func @bits(%p: !tile.ptr<f32>, %n: i32) {
  // expected-error @below {{loads elements of the array's type, of as many bits as the block's}}
  %t = simt.load_blocks %p[%n, %n] of %n x %n pitch %n by <8 x 16, 16 bits of a in "m0 m1 m2 | n0 n1 n2 n3"> along 1 in <[8, 16] register = [[1, 0], [2, 0], [4, 0]] lane = [[0, 1], [0, 2], [0, 4], [0, 8]]> : !tile.ptr<f32> -> tensor<8x16xf32>
  return
}

// -----

func.func @types(%p: !tile.ptr<f16>, %n: i32) {
  // expected-error @below {{loads elements of the array's type}}
  %t = simt.load_blocks %p[%n, %n] of %n x %n pitch %n by <8 x 16, 16 bits of a in "m0 m1 m2 | n0 n1 n2 n3"> along 1 in <[8, 16] register = [[1, 0], [2, 0], [4, 0]] lane = [[0, 1], [0, 2], [0, 4], [0, 8]]> : !tile.ptr<f16> -> tensor<8x16xbf16>
  return
}

// -----

func.func @rows(%p: !tile.ptr<f16>, %n: i32) {
  // expected-error @below {{has a layout whose registers are blocks}}
  %t = simt.load_blocks %p[%n, %n] of %n x %n pitch %n by <8 x 16, 16 bits of a in "m0 m1 m2 | n0 n1 n2 n3"> along 0 in <[8, 16] register = [[1, 0], [2, 0], [4, 0]] lane = [[0, 1], [0, 2], [0, 4], [0, 8]]> : !tile.ptr<f16> -> tensor<8x16xf16>
  return
}

// -----

func.func @lanes(%p: !tile.ptr<f16>, %n: i32) {
  // expected-error @below {{has a layout whose registers are blocks}}
  %t = simt.load_blocks %p[%n, %n] of %n x %n pitch %n by <8 x 16, 16 bits of a in "m0 m1 m2 | n0 n1 n2 n3"> along 1 in <[8, 16] register = [[1, 0], [2, 0], [4, 0]] lane = [[0, 2], [0, 1], [0, 4], [0, 8]]> : !tile.ptr<f16> -> tensor<8x16xf16>
  return
}

// -----

func.func @registers(%p: !tile.ptr<f16>, %n: i32) {
  // expected-error @below {{has a layout whose registers are blocks}}
  %t = simt.load_blocks %p[%n, %n] of %n x %n pitch %n by <8 x 16, 16 bits of a in "m0 m1 m2 | n0 n1 n2 n3"> along 1 in <[8, 16] register = [[1, 0], [2, 0]] lane = [[0, 1], [0, 2], [0, 4], [0, 8]] warp = [[4, 0]]> : !tile.ptr<f16> -> tensor<8x16xf16>
  return
}

// -----

func.func @another(%p: !tile.ptr<f16>, %n: i32) {
  // expected-error @below {{has a layout whose registers are blocks}}
  %t = simt.load_blocks %p[%n, %n] of %n x %n pitch %n by <8 x 16, 16 bits of a in "m0 m1 m2 | n0 n1 n2 n3"> along 1 in <[8, 16] register = [[1, 0], [2, 0], [4, 0]] lane = [[0, 1], [0, 2], [0, 4], [0, 8]]> : !tile.ptr<f16> -> tensor<8x16xf16, #tile.layout<[8, 16] register = [[1, 0], [2, 0], [4, 0]] lane = [[0, 2], [0, 1], [0, 4], [0, 8]]>>
  return
}

// -----

func.func @words(%p: !llvm.ptr<1>, %n: i32) {
  // expected-error @below {{gives a lane's part of the block in words of 32 bits}}
  %w:3 = simt.load_block %p[%n, %n] of %n x %n pitch %n by <8 x 16, 16 bits of a in "m0 m1 m2 | n0 n1 n2 n3"> : !llvm.ptr<1> -> i32, i32, i32
  return
}
