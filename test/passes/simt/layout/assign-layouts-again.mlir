// RUN: tile-opt %s -split-input-file -assign-layouts="num-warps=4 remarks=true" -verify-diagnostics | FileCheck %s

// What is computed from a load works in the load's layout; indices are made in it. Nothing is converted.
#plain = #tile.layout<[1024] register = [[128], [256], [512]] lane = [[1], [2], [4], [8], [16]] warp = [[32], [64]]>
#wide = #tile.layout<[1024] register = [[1], [2], [512]] lane = [[4], [8], [16], [32], [64]] warp = [[128], [256]]>
// CHECK-LABEL: func.func @elementwise
// CHECK-NOT: simt.convert_layout
// CHECK: math.exp %{{.*}} : tensor<1024xf32, #tile.layout<[1024] register = {{\[}}[1], [2], [512]]
// CHECK-NOT: simt.convert_layout
// CHECK: return
module attributes {simt.num_warps = 4 : i32, tile.target = #tile.target<warp_size = 32, shared_bytes = 101376, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4>} {
func.func @elementwise(%p: !tile.ptr<f32>) {
  %r = tile.arange 0 to 1024 : tensor<1024xi32, #plain>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>, #plain>
  %q = tile.addptr %ps, %r : tensor<1024x!tile.ptr<f32>, #plain>, tensor<1024xi32, #plain>
  %qw = simt.convert_layout %q : tensor<1024x!tile.ptr<f32>, #plain> -> tensor<1024x!tile.ptr<f32>, #wide>
  %vw = tile.load %qw : tensor<1024x!tile.ptr<f32>, #wide> -> tensor<1024xf32, #wide>
  %v = simt.convert_layout %vw : tensor<1024xf32, #wide> -> tensor<1024xf32, #plain>
  %e = math.exp %v : tensor<1024xf32, #plain>
  %ew = simt.convert_layout %e : tensor<1024xf32, #plain> -> tensor<1024xf32, #wide>
  tile.store %qw, %ew : tensor<1024x!tile.ptr<f32>, #wide>, tensor<1024xf32, #wide>
  return
}
}

// -----

// A transposing copy converts once, where the elements are smallest: before they are widened.
#rows = #tile.layout<[64, 64] register = [[0, 1], [0, 2], [0, 4], [16, 0], [32, 0]] lane = [[0, 8], [0, 16], [0, 32], [1, 0], [2, 0]] warp = [[4, 0], [8, 0]]>
#columns = #tile.layout<[64, 64] register = [[1, 0], [2, 0], [4, 0], [0, 16], [0, 32]] lane = [[8, 0], [16, 0], [32, 0], [0, 1], [0, 2]] warp = [[0, 4], [0, 8]]>
// CHECK-LABEL: func.func @transpose
// CHECK: %[[V:.*]] = tile.load
// CHECK: %[[C:.*]] = simt.convert_layout %[[V]] : tensor<64x64xf16,
// CHECK: arith.extf %[[C]]
// CHECK-NOT: simt.convert_layout
// CHECK: return
module attributes {simt.num_warps = 4 : i32} {
func.func @transpose(%p: tensor<64x64x!tile.ptr<f16>, #rows>, %o: tensor<64x64x!tile.ptr<f32>, #columns>) {
  // expected-remark @below {{conversion through shared memory of 8192 bytes}}
  %v = tile.load %p : tensor<64x64x!tile.ptr<f16>, #rows> -> tensor<64x64xf16, #rows>
  %w = arith.extf %v : tensor<64x64xf16, #rows> to tensor<64x64xf32, #rows>
  %c = simt.convert_layout %w : tensor<64x64xf32, #rows> -> tensor<64x64xf32, #columns>
  tile.store %o, %c : tensor<64x64x!tile.ptr<f32>, #columns>, tensor<64x64xf32, #columns>
  return
}
}

// -----

// A loop carries the accumulator as the product makes it; only what is stored at the end is converted,
// after it is narrowed.
#plain = #tile.layout<[64, 64] register = [[4, 0], [8, 0], [16, 0], [32, 0], [0, 32]] lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]] warp = [[1, 0], [2, 0]]>
#acc = #tile.layout<[64, 64] register = [[0, 1], [0, 2], [1, 0], [2, 0], [0, 32]] lane = [[0, 4], [0, 8], [0, 16], [4, 0], [8, 0]] warp = [[16, 0], [32, 0]]>
// CHECK-LABEL: func.func @accumulator
// CHECK-NOT: simt.convert_layout
// CHECK: %[[SUM:.*]] = scf.for {{.*}} -> (tensor<64x64xf32, #tile.layout<[64, 64] register = {{\[}}[0, 1], [0, 2], [1, 0], [2, 0], [0, 32]]
// CHECK-NOT: simt.convert_layout
// CHECK: %[[N:.*]] = arith.truncf %[[SUM]]
// CHECK: %[[C:.*]] = simt.convert_layout %[[N]] : tensor<64x64xf16,
// CHECK: tile.store %{{.*}}, %[[C]]
module attributes {simt.num_warps = 4 : i32} {
func.func @accumulator(%a: tensor<64x64xf16, #plain>, %o: tensor<64x64x!tile.ptr<f16>, #plain>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #plain>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%carried = %zero) -> (tensor<64x64xf32, #plain>) : i32 {
    %acc = simt.convert_layout %carried : tensor<64x64xf32, #plain> -> tensor<64x64xf32, #acc>
    %d = tile.dot %a, %a, %acc : tensor<64x64xf16, #plain>, tensor<64x64xf16, #plain> -> tensor<64x64xf32, #acc>
    %next = simt.convert_layout %d : tensor<64x64xf32, #acc> -> tensor<64x64xf32, #plain>
    scf.yield %next : tensor<64x64xf32, #plain>
  }
  // expected-remark @below {{conversion through shared memory of 8192 bytes}}
  %h = arith.truncf %sum : tensor<64x64xf32, #plain> to tensor<64x64xf16, #plain>
  tile.store %o, %h : tensor<64x64x!tile.ptr<f16>, #plain>, tensor<64x64xf16, #plain>
  return
}
}

// -----

// Two loads of one index tile in two layouts: the indices are computed twice, which costs less.
#a = #tile.layout<[256] register = [[1]] lane = [[2], [4], [8], [16], [32]] warp = [[64], [128]]>
#b = #tile.layout<[256] register = [[128]] lane = [[1], [2], [4], [8], [16]] warp = [[32], [64]]>
// CHECK-LABEL: func.func @recompute
// CHECK-COUNT-2: tile.arange 0 to 256
// CHECK-NOT: simt.convert_layout
// CHECK: return
module attributes {simt.num_warps = 4 : i32} {
func.func @recompute(%p: !tile.ptr<f32>, %o: !tile.ptr<f32>) {
  %one = arith.constant dense<1.0> : tensor<256xf32, #a>
  %r = tile.arange 0 to 256 : tensor<256xi32, #a>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>, #a>
  %q = tile.addptr %ps, %r : tensor<256x!tile.ptr<f32>, #a>, tensor<256xi32, #a>
  tile.store %q, %one : tensor<256x!tile.ptr<f32>, #a>, tensor<256xf32, #a>
  %qb = simt.convert_layout %q : tensor<256x!tile.ptr<f32>, #a> -> tensor<256x!tile.ptr<f32>, #b>
  %two = arith.constant dense<2.0> : tensor<256xf32, #b>
  // expected-remark @below {{conversion removed by recomputing 3 operations}}
  tile.store %qb, %two : tensor<256x!tile.ptr<f32>, #b>, tensor<256xf32, #b>
  return
}
}

// -----

// A few results of a reduction are stored by the threads that have them.
#rows = #tile.layout<[8, 32] register = [[4, 0]] lane = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]] warp = [[1, 0], [2, 0]]>
#store = #tile.layout<[8] lane = [[1], [2], [4], [0], [0]] warp = [[0], [0]]>
// CHECK-LABEL: func.func @few_results
// CHECK-NOT: simt.convert_layout
// CHECK: tile.store {{.*}} tensor<8xf32, #tile.layout<[8] register = {{\[}}[4]] lane = {{\[}}[0], [0], [0], [0], [0]] warp = {{\[}}[1], [2]]>>
module attributes {simt.num_warps = 4 : i32} {
func.func @few_results(%x: tensor<8x32xf32, #rows>, %p: !tile.ptr<f32>) {
  %sum = tile.reduce(%x) axis 1 commutative {
  ^bb0(%a: f32, %b: f32):
    %add = arith.addf %a, %b : f32
    tile.yield %add : f32
  } : (tensor<8x32xf32, #rows>) -> tensor<8xf32, #tile.layout<[8] register = [[4]] lane = [[0], [0], [0], [0], [0]] warp = [[1], [2]]>>
  %s = simt.convert_layout %sum : tensor<8xf32, #tile.layout<[8] register = [[4]] lane = [[0], [0], [0], [0], [0]] warp = [[1], [2]]>> -> tensor<8xf32, #store>
  %r = tile.arange 0 to 8 : tensor<8xi32, #store>
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<8x!tile.ptr<f32>, #store>
  %q = tile.addptr %ps, %r : tensor<8x!tile.ptr<f32>, #store>, tensor<8xi32, #store>
  tile.store %q, %s : tensor<8x!tile.ptr<f32>, #store>, tensor<8xf32, #store>
  return
}
}

// -----

// Both branches yield the layout of what is loaded; the constant is made in it.
#plain = #tile.layout<[128] lane = [[1], [2], [4], [8], [16]] warp = [[32], [64]]>
#wide = #tile.layout<[128] register = [[1], [2]] lane = [[4], [8], [16], [32], [64]] warp = [[0], [0]]>
// CHECK-LABEL: func.func @branch
// CHECK-NOT: simt.convert_layout
// CHECK: scf.if {{.*}} -> (tensor<128xf32, #tile.layout<[128] register = {{\[}}[1], [2]]
// CHECK-NOT: simt.convert_layout
// CHECK: tile.store
module attributes {simt.num_warps = 4 : i32} {
func.func @branch(%p: tensor<128x!tile.ptr<f32>, #wide>, %c: i1) {
  %y = scf.if %c -> (tensor<128xf32, #plain>) {
    %zero = arith.constant dense<0.0> : tensor<128xf32, #plain>
    scf.yield %zero : tensor<128xf32, #plain>
  } else {
    %v = tile.load %p : tensor<128x!tile.ptr<f32>, #wide> -> tensor<128xf32, #wide>
    %vp = simt.convert_layout %v : tensor<128xf32, #wide> -> tensor<128xf32, #plain>
    scf.yield %vp : tensor<128xf32, #plain>
  }
  %w = simt.convert_layout %y : tensor<128xf32, #plain> -> tensor<128xf32, #wide>
  tile.store %p, %w : tensor<128x!tile.ptr<f32>, #wide>, tensor<128xf32, #wide>
  return
}
}
