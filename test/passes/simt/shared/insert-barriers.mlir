// A barrier is exactly where accesses of different threads to the same bytes are not ordered yet.
// RUN: tile-opt --insert-barriers --split-input-file %s | FileCheck %s

#row = #tile.layout<[1024] register = [[1], [2], [512]] lane = [[4], [8], [16], [32], [64]] warp = [[128], [256]]>
#turned = #tile.layout<[1024] register = [[1], [2], [512]] lane = [[64], [8], [16], [32], [4]] warp = [[128], [256]]>
#other = #tile.layout<[1024] register = [[128], [256], [512]] lane = [[1], [2], [4], [8], [16]] warp = [[32], [64]]>
#flat = #tile.layout<[1024] offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256], [512]]>
!buffer = !simt.shared<[1024], f32, #flat>
module attributes {simt.num_warps = 4 : i32} {
// Read after write of other warps, once for two buffers.
// CHECK-LABEL: @one_for_two
func.func @one_for_two(%x: tensor<1024xf32, #row>) {
  %a = simt.alloc_shared "a" at 0 : !buffer
  %b = simt.alloc_shared "b" at 4096 : !buffer
  // CHECK: simt.store_shared
  // CHECK-NEXT: simt.store_shared
  // CHECK-NEXT: simt.barrier{{$}}
  // CHECK-NEXT: simt.load_shared
  // CHECK-NEXT: simt.load_shared
  // CHECK-NEXT: return
  simt.store_shared %x, %a : tensor<1024xf32, #row>, !buffer
  simt.store_shared %x, %b : tensor<1024xf32, #row>, !buffer
  %y = simt.load_shared %a : !buffer -> tensor<1024xf32, #other>
  %z = simt.load_shared %b : !buffer -> tensor<1024xf32, #other>
  return
}

// The same thread reads what it wrote; the same warp does.
// CHECK-LABEL: @near
func.func @near(%x: tensor<1024xf32, #row>) {
  %a = simt.alloc_shared "a" at 0 : !buffer
  // CHECK: simt.store_shared
  // CHECK-NEXT: simt.load_shared
  // CHECK-NEXT: simt.barrier warp
  // CHECK-NEXT: simt.load_shared
  // CHECK-NEXT: simt.load_shared
  // CHECK-NEXT: return
  simt.store_shared %x, %a : tensor<1024xf32, #row>, !buffer
  %y = simt.load_shared %a : !buffer -> tensor<1024xf32, #row>
  %z = simt.load_shared %a : !buffer -> tensor<1024xf32, #turned>
  %w = simt.load_shared %a : !buffer -> tensor<1024xf32, #turned>
  return
}

// Reads in a row have the strongest barrier that any of them needs, in front of all.
// CHECK-LABEL: @strongest_for_two
func.func @strongest_for_two(%x: tensor<1024xf32, #row>) {
  %a = simt.alloc_shared "a" at 0 : !buffer
  %b = simt.alloc_shared "b" at 4096 : !buffer
  // CHECK: simt.store_shared
  // CHECK-NEXT: simt.store_shared
  // CHECK-NEXT: simt.barrier{{$}}
  // CHECK-NEXT: simt.load_shared
  // CHECK-NEXT: simt.load_shared
  // CHECK-NEXT: return
  simt.store_shared %x, %a : tensor<1024xf32, #row>, !buffer
  simt.store_shared %x, %b : tensor<1024xf32, #row>, !buffer
  %y = simt.load_shared %a : !buffer -> tensor<1024xf32, #turned>
  %z = simt.load_shared %b : !buffer -> tensor<1024xf32, #other>
  return
}

// Memory that is used again: a write after a read of another buffer at the same place.
// CHECK-LABEL: @reuse
func.func @reuse(%x: tensor<1024xf32, #row>) {
  %a = simt.alloc_shared "a" at 0 : !buffer
  %b = simt.alloc_shared "b" at 2048 : !buffer
  %c = simt.alloc_shared "c" at 8192 : !buffer
  // CHECK: simt.store_shared
  // CHECK-NEXT: simt.barrier{{$}}
  // CHECK-NEXT: simt.load_shared
  // CHECK-NEXT: simt.store_shared
  // CHECK-NEXT: simt.barrier{{$}}
  // CHECK-NEXT: simt.store_shared
  // CHECK-NEXT: return
  simt.store_shared %x, %a : tensor<1024xf32, #row>, !buffer
  %y = simt.load_shared %a : !buffer -> tensor<1024xf32, #other>
  simt.store_shared %x, %c : tensor<1024xf32, #row>, !buffer
  simt.store_shared %x, %b : tensor<1024xf32, #row>, !buffer
  return
}

// Reads are not ordered; a barrier that is there already counts.
// CHECK-LABEL: @explicit
func.func @explicit(%x: tensor<1024xf32, #row>) {
  %a = simt.alloc_shared "a" at 0 : !buffer
  // CHECK: simt.store_shared
  // CHECK-NEXT: simt.barrier{{$}}
  // CHECK-NEXT: simt.load_shared
  // CHECK-NEXT: return
  simt.store_shared %x, %a : tensor<1024xf32, #row>, !buffer
  simt.barrier
  %y = simt.load_shared %a : !buffer -> tensor<1024xf32, #other>
  return
}
}

// -----

// One warp needs no barrier of the CTA.
#pair = #tile.layout<[64] register = [[1]] lane = [[2], [4], [8], [16], [32]] warp = []>
#far = #tile.layout<[64] register = [[32]] lane = [[1], [2], [4], [8], [16]] warp = []>
#flat = #tile.layout<[64] offset = [[1], [2], [4], [8], [16], [32]]>
!buffer = !simt.shared<[64], f32, #flat>
module attributes {simt.num_warps = 1 : i32} {
// CHECK-LABEL: @one_warp
func.func @one_warp(%x: tensor<64xf32, #pair>) {
  %a = simt.alloc_shared "a" at 0 : !buffer
  // CHECK: simt.store_shared
  // CHECK-NEXT: simt.barrier warp
  // CHECK-NEXT: simt.load_shared
  simt.store_shared %x, %a : tensor<64xf32, #pair>, !buffer
  %y = simt.load_shared %a : !buffer -> tensor<64xf32, #far>
  return
}
}
