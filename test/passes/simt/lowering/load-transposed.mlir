// Operands of 16 bits are read by columns of four rows, those of 8 bits by columns of eight, where the machine can, the
// elements' layout allows it, and rows lie in the buffer; others as they are.
// RUN: tile-opt --lower-simt --canonicalize --split-input-file %s | FileCheck %s

#b = #tile.layout<[16, 64] register = [[1, 0], [2, 0], [4, 0], [0, 32]] lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [8, 0]]>
#rows = #tile.layout<[16, 64] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 32], [2, 16], [4, 0], [8, 0]]>
#columns = #tile.layout<[16, 64] offset = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]]>
#machine = #tile.target<warp_size = 64, shared_bytes = 65536, registers = 512, spare_registers = 64, max_warps = 16, vector_bits = 128, line_bytes = 128, sector_bytes = 64, banks = 32, bank_bytes = 4, features = [load_transposed]>

module attributes {tile.target = #machine, simt.num_warps = 1 : i32} {
// 16 registers of 16 bits: four reads of two words.
// CHECK-LABEL: llvm.func @rows
// CHECK-COUNT-4: simt.load_transposed %{{.*}} of 16 : !llvm.ptr<3> -> i32, i32
// CHECK-NOT: simt.load_transposed
func.func @rows(%p: !tile.ptr<f16>) {
  %buffer = simt.alloc_shared "b" at 0 : <[16, 64], f16, #rows>
  %b = simt.load_shared %buffer : <[16, 64], f16, #rows> -> tensor<16x64xf16, #b>
  %at = tile.splat %p : !tile.ptr<f16> -> tensor<16x64x!tile.ptr<f16>, #b>
  tile.store %at, %b : tensor<16x64x!tile.ptr<f16>, #b>, tensor<16x64xf16, #b>
  return
}

// CHECK-LABEL: llvm.func @bytes
// CHECK-COUNT-2: simt.load_transposed %{{.*}} of 8 : !llvm.ptr<3> -> i32, i32
// CHECK-NOT: simt.load_transposed
func.func @bytes(%p: !tile.ptr<i8>) {
  %buffer = simt.alloc_shared "b" at 0 : <[16, 64], i8, #rows>
  %b = simt.load_shared %buffer : <[16, 64], i8, #rows> -> tensor<16x64xi8, #b>
  %at = tile.splat %p : !tile.ptr<i8> -> tensor<16x64x!tile.ptr<i8>, #b>
  tile.store %at, %b : tensor<16x64x!tile.ptr<i8>, #b>, tensor<16x64xi8, #b>
  return
}

// Neighbours along K, and words: as they lie.
// CHECK-LABEL: llvm.func @columns
// CHECK-NOT: simt.load_transposed
// CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> vector<8xf16>
func.func @columns(%p: !tile.ptr<f16>) {
  %buffer = simt.alloc_shared "b" at 0 : <[16, 64], f16, #columns>
  %b = simt.load_shared %buffer : <[16, 64], f16, #columns> -> tensor<16x64xf16, #b>
  %at = tile.splat %p : !tile.ptr<f16> -> tensor<16x64x!tile.ptr<f16>, #b>
  tile.store %at, %b : tensor<16x64x!tile.ptr<f16>, #b>, tensor<16x64xf16, #b>
  return
}

// CHECK-LABEL: llvm.func @words
// CHECK-NOT: simt.load_transposed
func.func @words(%p: !tile.ptr<f32>) {
  %buffer = simt.alloc_shared "b" at 0 : <[16, 64], f32, #rows>
  %b = simt.load_shared %buffer : <[16, 64], f32, #rows> -> tensor<16x64xf32, #b>
  %at = tile.splat %p : !tile.ptr<f32> -> tensor<16x64x!tile.ptr<f32>, #b>
  tile.store %at, %b : tensor<16x64x!tile.ptr<f32>, #b>, tensor<16x64xf32, #b>
  return
}
}

// -----

// Rows of bytes whose parts are addressed by lanes four apart.
#b = #tile.layout<[16, 64] register = [[1, 0], [2, 0], [4, 0], [0, 32], [0, 16]] lane = [[0, 1], [0, 2], [0, 4], [0, 8], [8, 0]]>
#rows = #tile.layout<[16, 64] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 32], [2, 16], [4, 0], [8, 0]]>
#columns = #tile.layout<[16, 64] offset = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]]>
#machine = #tile.target<warp_size = 32, shared_bytes = 65536, registers = 512, spare_registers = 64, max_warps = 16, vector_bits = 128, line_bytes = 128, sector_bytes = 64, banks = 32, bank_bytes = 4, features = [load_transposed_8x8]>


module attributes {tile.target = #machine, simt.num_warps = 1 : i32} {
// CHECK-LABEL: llvm.func @split
// CHECK-COUNT-4: simt.load_transposed %{{.*}} of 8 split : !llvm.ptr<3> -> i32, i32
// CHECK-NOT: simt.load_transposed
func.func @split(%p: !tile.ptr<i8>) {
  %buffer = simt.alloc_shared "b" at 0 : <[16, 64], i8, #rows>
  %b = simt.load_shared %buffer : <[16, 64], i8, #rows> -> tensor<16x64xi8, #b>
  %at = tile.splat %p : !tile.ptr<i8> -> tensor<16x64x!tile.ptr<i8>, #b>
  tile.store %at, %b : tensor<16x64x!tile.ptr<i8>, #b>, tensor<16x64xi8, #b>
  return
}
}
