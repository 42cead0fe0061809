// Buffers that hold data at the same time have different offsets; others share memory.
// RUN: tile-opt --allocate-shared --split-input-file %s | FileCheck %s
// RUN: tile-opt --allocate-shared --split-input-file --verify-diagnostics %s -o /dev/null

#row = #tile.layout<[1024] register = [[1], [2], [512]] lane = [[4], [8], [16], [32], [64]] warp = [[128], [256]]>
#buffer = #tile.layout<[1024] offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256], [512]]>
// CHECK: simt.shared_buffers = [
// CHECK-SAME: ["first", 0, 4096], ["second", 4096, 4096], ["third", 0, 4096]]
// CHECK-SAME: simt.shared_bytes = 8192 : i64
module attributes {simt.num_warps = 4 : i32} {
// CHECK-LABEL: @reuse
// expected-remark @below {{shared memory: 8192 bytes in 3 buffers; at least 8192 are needed}}
func.func @reuse(%x: tensor<1024xf32, #row>) {
  %a = simt.alloc_shared "first" : !simt.shared<[1024], f32, #buffer>
  %b = simt.alloc_shared "second" : !simt.shared<[1024], f32, #buffer>
  %c = simt.alloc_shared "third" : !simt.shared<[1024], f32, #buffer>
  simt.store_shared %x, %a : tensor<1024xf32, #row>, !simt.shared<[1024], f32, #buffer>
  simt.store_shared %x, %b : tensor<1024xf32, #row>, !simt.shared<[1024], f32, #buffer>
  %y = simt.load_shared %a : !simt.shared<[1024], f32, #buffer> -> tensor<1024xf32, #row>
  simt.store_shared %y, %c : tensor<1024xf32, #row>, !simt.shared<[1024], f32, #buffer>
  %z = simt.load_shared %b : !simt.shared<[1024], f32, #buffer> -> tensor<1024xf32, #row>
  %w = simt.load_shared %c : !simt.shared<[1024], f32, #buffer> -> tensor<1024xf32, #row>
  return
}
}

// -----

// What a loop reads in its next iteration lives as long as the loop.
#row = #tile.layout<[1024] register = [[1], [2], [512]] lane = [[4], [8], [16], [32], [64]] warp = [[128], [256]]>
#buffer = #tile.layout<[1024] offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256], [512]]>
// CHECK: ["carried", 0, 4096], ["within", 4096, 4096], ["after", 0, 4096]]
module attributes {simt.num_warps = 4 : i32} {
// CHECK-LABEL: @loop
// expected-remark @below {{shared memory: 8192 bytes}}
func.func @loop(%x: tensor<1024xf32, #row>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %carried = simt.alloc_shared "carried" : !simt.shared<[1024], f32, #buffer>
  simt.store_shared %x, %carried : tensor<1024xf32, #row>, !simt.shared<[1024], f32, #buffer>
  scf.for %i = %zero to %n step %one : i32 {
    %y = simt.load_shared %carried : !simt.shared<[1024], f32, #buffer> -> tensor<1024xf32, #row>
    %within = simt.alloc_shared "within" : !simt.shared<[1024], f32, #buffer>
    simt.store_shared %y, %within : tensor<1024xf32, #row>, !simt.shared<[1024], f32, #buffer>
    %z = simt.load_shared %within : !simt.shared<[1024], f32, #buffer> -> tensor<1024xf32, #row>
  }
  %after = simt.alloc_shared "after" : !simt.shared<[1024], f32, #buffer>
  simt.store_shared %x, %after : tensor<1024xf32, #row>, !simt.shared<[1024], f32, #buffer>
  %w = simt.load_shared %after : !simt.shared<[1024], f32, #buffer> -> tensor<1024xf32, #row>
  return
}
}

// -----

// Small buffers do not share: that would cost a barrier. Unused ones vanish; offsets are multiples of 16.
#four = #tile.layout<[4] register = [[1], [2]] lane = [[0], [0], [0], [0], [0]] warp = [[0], [0]]>
#buffer = #tile.layout<[4] offset = [[1], [2]]>
// CHECK: ["a", 0, 16], ["b", 16, 16]]
// CHECK-SAME: simt.shared_bytes = 32
module attributes {simt.num_warps = 4 : i32} {
// expected-remark @below {{at least 16 are needed}}
func.func @small(%x: tensor<4xi1, #four>) {
  %unused = simt.alloc_shared "unused" : !simt.shared<[4], i1, #buffer>
  %a = simt.alloc_shared "a" : !simt.shared<[4], i1, #buffer>
  simt.store_shared %x, %a : tensor<4xi1, #four>, !simt.shared<[4], i1, #buffer>
  %y = simt.load_shared %a : !simt.shared<[4], i1, #buffer> -> tensor<4xi1, #four>
  %b = simt.alloc_shared "b" : !simt.shared<[4], i1, #buffer>
  simt.store_shared %y, %b : tensor<4xi1, #four>, !simt.shared<[4], i1, #buffer>
  %z = simt.load_shared %b : !simt.shared<[4], i1, #buffer> -> tensor<4xi1, #four>
  return
}
}

// -----

// A branch's buffers may lie where the other branch's do.
#row = #tile.layout<[1024] register = [[1], [2], [512]] lane = [[4], [8], [16], [32], [64]] warp = [[128], [256]]>
#buffer = #tile.layout<[1024] offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256], [512]]>
// CHECK: ["then", 0, 4096], ["else", 0, 4096]]
module attributes {simt.num_warps = 4 : i32} {
// expected-remark @below {{shared memory: 4096 bytes in 2 buffers}}
func.func @branches(%x: tensor<1024xf32, #row>, %c: i1) {
  scf.if %c {
    %a = simt.alloc_shared "then" : !simt.shared<[1024], f32, #buffer>
    simt.store_shared %x, %a : tensor<1024xf32, #row>, !simt.shared<[1024], f32, #buffer>
    %y = simt.load_shared %a : !simt.shared<[1024], f32, #buffer> -> tensor<1024xf32, #row>
  } else {
    %a = simt.alloc_shared "else" : !simt.shared<[1024], f32, #buffer>
    simt.store_shared %x, %a : tensor<1024xf32, #row>, !simt.shared<[1024], f32, #buffer>
    %y = simt.load_shared %a : !simt.shared<[1024], f32, #buffer> -> tensor<1024xf32, #row>
  }
  return
}
}
