// Where the slots of a loop do not fit in shared memory, but one fewer do, the loop has one fewer.
// RUN: tile-opt --pipeline-loops="num-stages=3 one-fewer-where-full=true" --split-input-file --verify-diagnostics %s | FileCheck %s

#copy = #tile.layout<[32, 16] register = [[0, 1], [0, 2], [0, 4]] lane = [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]] warp = [[16, 0]]>
#a = #tile.layout<[32, 16] register = [[0, 1], [8, 0], [0, 8]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#b = #tile.layout<[16, 8] register = [[1, 0], [8, 0]] lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]] warp = [[0, 0]]>
#c = #tile.layout<[32, 8] register = [[0, 1], [8, 0]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#mma = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
#short = #tile.target<warp_size = 32, shared_bytes = 2560, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#mma], copies = [#tile.copy<each_lane of [4, 8, 16] by groups>], features = [load_matrix]>
!row = tensor<16xi32, #tile.layout<[16] register = [[1], [2], [4]] lane = [[8], [0], [0], [0], [0]] warp = [[0]]>>
!rows = tensor<1x16xi32, #tile.layout<[1, 16] register = [[0, 1], [0, 2], [0, 4]] lane = [[0, 8], [0, 0], [0, 0], [0, 0], [0, 0]] warp = [[0, 0]]>>

module attributes {tile.target = #short, simt.num_warps = 2 : i32} {
// A slot has 1024 bytes.
// CHECK-LABEL: @two_slots
// CHECK: simt.alloc_shared "load of line {{[0-9]+}}" slots 2
func.func @two_slots(%b: tensor<16x8xf16, #b>, %acc: tensor<32x8xf32, #c>, %lower: i32, %upper: i32, %x: !tile.ptr<f16> {tile.divisibility = 16 : i64}) -> tensor<32x8xf32, #c> {
  %one = arith.constant 1 : i32
  %columns = tile.arange 0 to 16 : !row
  %row = tile.expand_dims %columns axis 0 : !row -> !rows
  %offsets = tile.broadcast %row : !rows -> tensor<32x16xi32, #copy>
  %start = tile.splat %x : !tile.ptr<f16> -> tensor<32x16x!tile.ptr<f16>, #copy>
  %pointers = tile.addptr %start, %offsets : tensor<32x16x!tile.ptr<f16>, #copy>, tensor<32x16xi32, #copy>
  // expected-remark @below {{no room for num_stages=3: the loop is compiled as for 2}}
  // expected-remark @below {{pipelined: the copies of 1 load run 1 iteration ahead}}
  %r = scf.for %i = %lower to %upper step %one iter_args(%sum = %acc) -> (tensor<32x8xf32, #c>) : i32 {
    %t = tile.load %pointers : tensor<32x16x!tile.ptr<f16>, #copy> -> tensor<32x16xf16, #copy>
    %a = simt.convert_layout %t : tensor<32x16xf16, #copy> -> tensor<32x16xf16, #a>
    %p = simt.mma %a, %b, %sum by #mma warps [2, 1] ieee : tensor<32x16xf16, #a>, tensor<16x8xf16, #b> -> tensor<32x8xf32, #c>
    scf.yield %p : tensor<32x8xf32, #c>
  }
  return %r : tensor<32x8xf32, #c>
}
}

// -----

#copy = #tile.layout<[32, 16] register = [[0, 1], [0, 2], [0, 4]] lane = [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]] warp = [[16, 0]]>
#a = #tile.layout<[32, 16] register = [[0, 1], [8, 0], [0, 8]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#b = #tile.layout<[16, 8] register = [[1, 0], [8, 0]] lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]] warp = [[0, 0]]>
#c = #tile.layout<[32, 8] register = [[0, 1], [8, 0]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#mma = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
#shorter = #tile.target<warp_size = 32, shared_bytes = 1536, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#mma], copies = [#tile.copy<each_lane of [4, 8, 16] by groups>], features = [load_matrix]>
!row = tensor<16xi32, #tile.layout<[16] register = [[1], [2], [4]] lane = [[8], [0], [0], [0], [0]] warp = [[0]]>>
!rows = tensor<1x16xi32, #tile.layout<[1, 16] register = [[0, 1], [0, 2], [0, 4]] lane = [[0, 8], [0, 0], [0, 0], [0, 0], [0, 0]] warp = [[0, 0]]>>

module attributes {tile.target = #shorter, simt.num_warps = 2 : i32} {
// Two do not fit either: allocate-shared will say what does.
// CHECK-LABEL: @none_fit
// CHECK: simt.alloc_shared "load of line {{[0-9]+}}" slots 3
func.func @none_fit(%b: tensor<16x8xf16, #b>, %acc: tensor<32x8xf32, #c>, %lower: i32, %upper: i32, %x: !tile.ptr<f16> {tile.divisibility = 16 : i64}) -> tensor<32x8xf32, #c> {
  %one = arith.constant 1 : i32
  %columns = tile.arange 0 to 16 : !row
  %row = tile.expand_dims %columns axis 0 : !row -> !rows
  %offsets = tile.broadcast %row : !rows -> tensor<32x16xi32, #copy>
  %start = tile.splat %x : !tile.ptr<f16> -> tensor<32x16x!tile.ptr<f16>, #copy>
  %pointers = tile.addptr %start, %offsets : tensor<32x16x!tile.ptr<f16>, #copy>, tensor<32x16xi32, #copy>
  // expected-remark @below {{pipelined: the copies of 1 load run 2 iterations ahead}}
  %r = scf.for %i = %lower to %upper step %one iter_args(%sum = %acc) -> (tensor<32x8xf32, #c>) : i32 {
    %t = tile.load %pointers : tensor<32x16x!tile.ptr<f16>, #copy> -> tensor<32x16xf16, #copy>
    %a = simt.convert_layout %t : tensor<32x16xf16, #copy> -> tensor<32x16xf16, #a>
    %p = simt.mma %a, %b, %sum by #mma warps [2, 1] ieee : tensor<32x16xf16, #a>, tensor<16x8xf16, #b> -> tensor<32x8xf32, #c>
    scf.yield %p : tensor<32x8xf32, #c>
  }
  return %r : tensor<32x8xf32, #c>
}
}

// -----

#copy = #tile.layout<[32, 16] register = [[0, 1], [0, 2], [0, 4]] lane = [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]] warp = [[16, 0]]>
#a = #tile.layout<[32, 16] register = [[0, 1], [8, 0], [0, 8]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#b = #tile.layout<[16, 8] register = [[1, 0], [8, 0]] lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]] warp = [[0, 0]]>
#c = #tile.layout<[32, 8] register = [[0, 1], [8, 0]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#mma = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
#one = #tile.target<warp_size = 32, shared_bytes = 1536, registers = 64, spare_registers = 4, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#mma], features = [load_matrix]>
!row = tensor<16xi32, #tile.layout<[16] register = [[1], [2], [4]] lane = [[8], [0], [0], [0], [0]] warp = [[0]]>>
!rows = tensor<1x16xi32, #tile.layout<[1, 16] register = [[0, 1], [0, 2], [0, 4]] lane = [[0, 8], [0, 0], [0, 0], [0, 0], [0, 0]] warp = [[0, 0]]>>

module attributes {tile.target = #one, simt.num_warps = 2 : i32} {
// One slot fits: tiles wait in registers until the one before them was read. The last iteration,
// which loads nothing, comes behind the loop.
// CHECK-LABEL: @one_slot
// CHECK: simt.alloc_shared "load of line {{[0-9]+}}" slots 1
// CHECK: scf.for
// CHECK: %[[AHEAD:.*]] = tile.load
// CHECK: simt.load_shared
// CHECK: simt.mma
// CHECK: simt.store_shared %[[AHEAD]]
// CHECK: scf.yield
// CHECK: scf.if
// CHECK-NOT: simt.store_shared
// CHECK: return
func.func @one_slot(%b: tensor<16x8xf16, #b>, %acc: tensor<32x8xf32, #c>, %lower: i32, %upper: i32, %x: !tile.ptr<f16> {tile.divisibility = 16 : i64}) -> tensor<32x8xf32, #c> {
  %one = arith.constant 1 : i32
  %columns = tile.arange 0 to 16 : !row
  %row = tile.expand_dims %columns axis 0 : !row -> !rows
  %offsets = tile.broadcast %row : !rows -> tensor<32x16xi32, #copy>
  %start = tile.splat %x : !tile.ptr<f16> -> tensor<32x16x!tile.ptr<f16>, #copy>
  %pointers = tile.addptr %start, %offsets : tensor<32x16x!tile.ptr<f16>, #copy>, tensor<32x16xi32, #copy>
  // expected-remark @below {{no room for num_stages=2: the loop writes tiles to the slot of those before}}
  // expected-remark @below {{pipelined: the copies of 1 load run 1 iteration ahead}}
  %r = scf.for %i = %lower to %upper step %one iter_args(%sum = %acc) -> (tensor<32x8xf32, #c>) : i32 {
    %t = tile.load %pointers : tensor<32x16x!tile.ptr<f16>, #copy> -> tensor<32x16xf16, #copy>
    %a = simt.convert_layout %t : tensor<32x16xf16, #copy> -> tensor<32x16xf16, #a>
    %p = simt.mma %a, %b, %sum by #mma warps [2, 1] ieee : tensor<32x16xf16, #a>, tensor<16x8xf16, #b> -> tensor<32x8xf32, #c>
    scf.yield %p : tensor<32x8xf32, #c>
  } {tile.num_stages = 2 : i32}
  return %r : tensor<32x8xf32, #c>
}
}

// -----

#copy = #tile.layout<[32, 16] register = [[0, 1], [0, 2], [0, 4]] lane = [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]] warp = [[16, 0]]>
#a = #tile.layout<[32, 16] register = [[0, 1], [8, 0], [0, 8]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#b = #tile.layout<[16, 8] register = [[1, 0], [8, 0]] lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]] warp = [[0, 0]]>
#c = #tile.layout<[32, 8] register = [[0, 1], [8, 0]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#mma = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
#few = #tile.target<warp_size = 32, shared_bytes = 1536, registers = 12, spare_registers = 4, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#mma], features = [load_matrix]>
!row = tensor<16xi32, #tile.layout<[16] register = [[1], [2], [4]] lane = [[8], [0], [0], [0], [0]] warp = [[0]]>>
!rows = tensor<1x16xi32, #tile.layout<[1, 16] register = [[0, 1], [0, 2], [0, 4]] lane = [[0, 8], [0, 0], [0, 0], [0, 0], [0, 0]] warp = [[0, 0]]>>

module attributes {tile.target = #few, simt.num_warps = 2 : i32} {
// Registers have no room for tiles that wait, whether shared memory has it or not.
// CHECK-LABEL: @too_few_registers
// CHECK-NOT: simt.alloc_shared
// CHECK: return
func.func @too_few_registers(%b: tensor<16x8xf16, #b>, %acc: tensor<32x8xf32, #c>, %lower: i32, %upper: i32, %x: !tile.ptr<f16> {tile.divisibility = 16 : i64}) -> tensor<32x8xf32, #c> {
  %one = arith.constant 1 : i32
  %columns = tile.arange 0 to 16 : !row
  %row = tile.expand_dims %columns axis 0 : !row -> !rows
  %offsets = tile.broadcast %row : !rows -> tensor<32x16xi32, #copy>
  %start = tile.splat %x : !tile.ptr<f16> -> tensor<32x16x!tile.ptr<f16>, #copy>
  %pointers = tile.addptr %start, %offsets : tensor<32x16x!tile.ptr<f16>, #copy>, tensor<32x16xi32, #copy>
  // expected-remark @below {{registers have no room for tiles of the next iteration: the loop is compiled as for 1}}
  %r = scf.for %i = %lower to %upper step %one iter_args(%sum = %acc) -> (tensor<32x8xf32, #c>) : i32 {
    %t = tile.load %pointers : tensor<32x16x!tile.ptr<f16>, #copy> -> tensor<32x16xf16, #copy>
    %a = simt.convert_layout %t : tensor<32x16xf16, #copy> -> tensor<32x16xf16, #a>
    %p = simt.mma %a, %b, %sum by #mma warps [2, 1] ieee : tensor<32x16xf16, #a>, tensor<16x8xf16, #b> -> tensor<32x8xf32, #c>
    scf.yield %p : tensor<32x8xf32, #c>
  } {tile.num_stages = 2 : i32}
  return %r : tensor<32x8xf32, #c>
}
}

// -----

#copy = #tile.layout<[32, 16] register = [[0, 1], [0, 2], [0, 4]] lane = [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]] warp = [[16, 0]]>
#a = #tile.layout<[32, 16] register = [[0, 1], [8, 0], [0, 8]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#b = #tile.layout<[16, 8] register = [[1, 0], [8, 0]] lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]] warp = [[0, 0]]>
#c = #tile.layout<[32, 8] register = [[0, 1], [8, 0]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#mma = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
#few_registers = #tile.target<warp_size = 32, shared_bytes = 65536, registers = 12, spare_registers = 4, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#mma], features = [load_matrix]>
!row = tensor<16xi32, #tile.layout<[16] register = [[1], [2], [4]] lane = [[8], [0], [0], [0], [0]] warp = [[0]]>>
!rows = tensor<1x16xi32, #tile.layout<[1, 16] register = [[0, 1], [0, 2], [0, 4]] lane = [[0, 8], [0, 0], [0, 0], [0, 0], [0, 0]] warp = [[0, 0]]>>

module attributes {tile.target = #few_registers, simt.num_warps = 2 : i32} {
// CHECK-LABEL: @registers_only
// CHECK-NOT: simt.alloc_shared
// CHECK: return
func.func @registers_only(%b: tensor<16x8xf16, #b>, %acc: tensor<32x8xf32, #c>, %lower: i32, %upper: i32, %x: !tile.ptr<f16> {tile.divisibility = 16 : i64}) -> tensor<32x8xf32, #c> {
  %one = arith.constant 1 : i32
  %columns = tile.arange 0 to 16 : !row
  %row = tile.expand_dims %columns axis 0 : !row -> !rows
  %offsets = tile.broadcast %row : !rows -> tensor<32x16xi32, #copy>
  %start = tile.splat %x : !tile.ptr<f16> -> tensor<32x16x!tile.ptr<f16>, #copy>
  %pointers = tile.addptr %start, %offsets : tensor<32x16x!tile.ptr<f16>, #copy>, tensor<32x16xi32, #copy>
  // expected-remark @below {{registers have no room for tiles of the next iteration: the loop is compiled as for 1}}
  %r = scf.for %i = %lower to %upper step %one iter_args(%sum = %acc) -> (tensor<32x8xf32, #c>) : i32 {
    %t = tile.load %pointers : tensor<32x16x!tile.ptr<f16>, #copy> -> tensor<32x16xf16, #copy>
    %a = simt.convert_layout %t : tensor<32x16xf16, #copy> -> tensor<32x16xf16, #a>
    %p = simt.mma %a, %b, %sum by #mma warps [2, 1] ieee : tensor<32x16xf16, #a>, tensor<16x8xf16, #b> -> tensor<32x8xf32, #c>
    scf.yield %p : tensor<32x8xf32, #c>
  } {tile.num_stages = 2 : i32}
  return %r : tensor<32x8xf32, #c>
}
}

// -----

#copy = #tile.layout<[32, 16] register = [[0, 1], [0, 2], [0, 4]] lane = [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]] warp = [[16, 0]]>
#a = #tile.layout<[32, 16] register = [[0, 1], [8, 0], [0, 8]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#b = #tile.layout<[16, 8] register = [[1, 0], [8, 0]] lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]] warp = [[0, 0]]>
#c = #tile.layout<[32, 8] register = [[0, 1], [8, 0]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#mma = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
#roomy = #tile.target<warp_size = 32, shared_bytes = 4096, registers = 64, spare_registers = 4, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#mma], features = [load_matrix]>
!row = tensor<16xi32, #tile.layout<[16] register = [[1], [2], [4]] lane = [[8], [0], [0], [0], [0]] warp = [[0]]>>
!rows = tensor<1x16xi32, #tile.layout<[1, 16] register = [[0, 1], [0, 2], [0, 4]] lane = [[0, 8], [0, 0], [0, 0], [0, 0], [0, 0]] warp = [[0, 0]]>>

module attributes {tile.target = #roomy, tile.processor = {simds = 4 : i32, registers = 512 : i32, granule = 8 : i32, warps = 8 : i32, shared_bytes = 4096 : i32}, simt.num_warps = 2 : i32} {
// Two slots fit, and two programs with them; with one slot four do.
// CHECK-LABEL: @one_slot_holds_more
// CHECK: simt.alloc_shared "load of line {{[0-9]+}}" slots 1
// CHECK: scf.for
// CHECK: %[[AHEAD:.*]] = tile.load
// CHECK: simt.load_shared
// CHECK: simt.mma
// CHECK: simt.store_shared %[[AHEAD]]
// CHECK: scf.yield
// CHECK: scf.if
// CHECK-NOT: simt.store_shared
// CHECK: return
func.func @one_slot_holds_more(%b: tensor<16x8xf16, #b>, %acc: tensor<32x8xf32, #c>, %lower: i32, %upper: i32, %x: !tile.ptr<f16> {tile.divisibility = 16 : i64}) -> tensor<32x8xf32, #c> {
  %one = arith.constant 1 : i32
  %columns = tile.arange 0 to 16 : !row
  %row = tile.expand_dims %columns axis 0 : !row -> !rows
  %offsets = tile.broadcast %row : !rows -> tensor<32x16xi32, #copy>
  %start = tile.splat %x : !tile.ptr<f16> -> tensor<32x16x!tile.ptr<f16>, #copy>
  %pointers = tile.addptr %start, %offsets : tensor<32x16x!tile.ptr<f16>, #copy>, tensor<32x16xi32, #copy>
  // expected-remark @below {{a processor holds more programs if they take less shared memory: the loop writes tiles to the slot of those before}}
  // expected-remark @below {{pipelined: the copies of 1 load run 1 iteration ahead}}
  %r = scf.for %i = %lower to %upper step %one iter_args(%sum = %acc) -> (tensor<32x8xf32, #c>) : i32 {
    %t = tile.load %pointers : tensor<32x16x!tile.ptr<f16>, #copy> -> tensor<32x16xf16, #copy>
    %a = simt.convert_layout %t : tensor<32x16xf16, #copy> -> tensor<32x16xf16, #a>
    %p = simt.mma %a, %b, %sum by #mma warps [2, 1] ieee : tensor<32x16xf16, #a>, tensor<16x8xf16, #b> -> tensor<32x8xf32, #c>
    scf.yield %p : tensor<32x8xf32, #c>
  } {tile.num_stages = 2 : i32}
  return %r : tensor<32x8xf32, #c>
}
}

// -----

#copy = #tile.layout<[32, 16] register = [[0, 1], [0, 2], [0, 4]] lane = [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]] warp = [[16, 0]]>
#a = #tile.layout<[32, 16] register = [[0, 1], [8, 0], [0, 8]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#b = #tile.layout<[16, 8] register = [[1, 0], [8, 0]] lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]] warp = [[0, 0]]>
#c = #tile.layout<[32, 8] register = [[0, 1], [8, 0]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#mma = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
#roomy = #tile.target<warp_size = 32, shared_bytes = 4096, registers = 64, spare_registers = 4, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#mma], features = [load_matrix]>
!row = tensor<16xi32, #tile.layout<[16] register = [[1], [2], [4]] lane = [[8], [0], [0], [0], [0]] warp = [[0]]>>
!rows = tensor<1x16xi32, #tile.layout<[1, 16] register = [[0, 1], [0, 2], [0, 4]] lane = [[0, 8], [0, 0], [0, 0], [0, 0], [0, 0]] warp = [[0, 0]]>>

module attributes {tile.target = #roomy, tile.processor = {simds = 4 : i32, registers = 64 : i32, granule = 64 : i32, warps = 8 : i32, shared_bytes = 4096 : i32}, simt.num_warps = 2 : i32} {
// A SIMD has registers for one warp: two programs whatever memory they take.
// CHECK-LABEL: @registers_are_full
// CHECK: simt.alloc_shared "load of line {{[0-9]+}}" slots 2
func.func @registers_are_full(%b: tensor<16x8xf16, #b>, %acc: tensor<32x8xf32, #c>, %lower: i32, %upper: i32, %x: !tile.ptr<f16> {tile.divisibility = 16 : i64}) -> tensor<32x8xf32, #c> {
  %one = arith.constant 1 : i32
  %columns = tile.arange 0 to 16 : !row
  %row = tile.expand_dims %columns axis 0 : !row -> !rows
  %offsets = tile.broadcast %row : !rows -> tensor<32x16xi32, #copy>
  %start = tile.splat %x : !tile.ptr<f16> -> tensor<32x16x!tile.ptr<f16>, #copy>
  %pointers = tile.addptr %start, %offsets : tensor<32x16x!tile.ptr<f16>, #copy>, tensor<32x16xi32, #copy>
  // expected-remark @below {{pipelined: the copies of 1 load run 1 iteration ahead}}
  %r = scf.for %i = %lower to %upper step %one iter_args(%sum = %acc) -> (tensor<32x8xf32, #c>) : i32 {
    %t = tile.load %pointers : tensor<32x16x!tile.ptr<f16>, #copy> -> tensor<32x16xf16, #copy>
    %a = simt.convert_layout %t : tensor<32x16xf16, #copy> -> tensor<32x16xf16, #a>
    %p = simt.mma %a, %b, %sum by #mma warps [2, 1] ieee : tensor<32x16xf16, #a>, tensor<16x8xf16, #b> -> tensor<32x8xf32, #c>
    scf.yield %p : tensor<32x8xf32, #c>
  } {tile.num_stages = 2 : i32}
  return %r : tensor<32x8xf32, #c>
}
}
