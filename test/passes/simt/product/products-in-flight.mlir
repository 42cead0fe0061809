// The stage scheduled waits for every product before what needs it, or overwrites what it reads, and fences what
// threads wrote.
// RUN: tile-opt --await-products --verify-stage=stage=scheduled %s -o /dev/null
// RUN: not tile-opt --verify-stage=stage=scheduled %s -o /dev/null 2>&1 | FileCheck %s
// RUN: not tile-opt --lower-simt %s -o /dev/null 2>&1 | FileCheck %s --check-prefix=INPUT

#mma = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
#group = #tile.async_mma<mma = #mma, warps = 4, columns = 256, span_bytes = 128, across = true>
#sums = #tile.layout<[64, 8] register = [[0, 1], [8, 0]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0], [32, 0]]>
#left = #tile.layout<[64, 16] register = [[0, 1], [8, 0], [0, 8]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0], [32, 0]]>
!a = !simt.shared<[64, 16], f16, #tile.layout<[64, 16] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0], [16, 0], [32, 0]]>>
!b = !simt.shared<[16, 8], f16, #tile.layout<[16, 8] offset = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 1], [0, 2], [8, 4]]>>

module attributes {simt.num_warps = 4 : i32} {
// INPUT: error: [TW0318] 'arith.negf' is reached while a product is in flight that it needs
// CHECK: error: stage scheduled: 'arith.negf' is reached while a product is in flight that it needs
func.func @used() {
  %zero = arith.constant dense<0.0> : tensor<64x8xf32, #sums>
  %a = simt.alloc_shared "a" at 0 : !a
  %b = simt.alloc_shared "b" at 2048 : !b
  %sum = simt.mma_async %a, %b, %zero by #group : !a, !b -> tensor<64x8xf32, #sums>
  %negated = arith.negf %sum : tensor<64x8xf32, #sums>
  return
}

// CHECK: error: stage scheduled: 'simt.barrier' is reached while a product is in flight that it needs, or whose operands may be overwritten behind it
func.func @overwritten() {
  %zero = arith.constant dense<0.0> : tensor<64x8xf32, #sums>
  %x = arith.constant dense<1.0> : tensor<64x16xf16, #left>
  %a = simt.alloc_shared "a" at 0 : !a
  %b = simt.alloc_shared "b" at 2048 : !b
  %sum = simt.mma_async %a, %b, %zero by #group : !a, !b -> tensor<64x8xf32, #sums>
  simt.barrier
  simt.store_shared %x, %a : tensor<64x16xf16, #left>, !a
  return
}

// CHECK: error: stage scheduled: 'simt.barrier' is reached without a fence behind the writing of what is read without the threads
func.func @unfenced() {
  %zero = arith.constant dense<0.0> : tensor<64x8xf32, #sums>
  %x = arith.constant dense<1.0> : tensor<64x16xf16, #left>
  %a = simt.alloc_shared "a" at 0 : !a
  %b = simt.alloc_shared "b" at 2048 : !b
  simt.store_shared %x, %a : tensor<64x16xf16, #left>, !a
  simt.barrier
  %sum = simt.mma_async %a, %b, %zero by #group : !a, !b -> tensor<64x8xf32, #sums>
  %done = simt.mma_wait 0(%sum) : (tensor<64x8xf32, #sums>) -> tensor<64x8xf32, #sums>
  return
}

// Nor without any barrier.
// CHECK: error: stage scheduled: 'simt.store_shared' is reached while a product is in flight that it needs, or whose operands
func.func @no_barrier() {
  %zero = arith.constant dense<0.0> : tensor<64x8xf32, #sums>
  %x = arith.constant dense<1.0> : tensor<64x16xf16, #left>
  %a = simt.alloc_shared "a" at 0 : !a
  %b = simt.alloc_shared "b" at 2048 : !b
  %sum = simt.mma_async %a, %b, %zero by #group : !a, !b -> tensor<64x8xf32, #sums>
  simt.store_shared %x, %a : tensor<64x16xf16, #left>, !a
  %done = simt.mma_wait 0(%sum) : (tensor<64x8xf32, #sums>) -> tensor<64x8xf32, #sums>
  return
}

// CHECK: error: stage scheduled: 'simt.mma_async' is reached without a fence behind the writing of what is read without the threads
func.func @written_before() {
  %zero = arith.constant dense<0.0> : tensor<64x8xf32, #sums>
  %x = arith.constant dense<1.0> : tensor<64x16xf16, #left>
  %a = simt.alloc_shared "a" at 0 : !a
  %b = simt.alloc_shared "b" at 2048 : !b
  simt.store_shared %x, %a : tensor<64x16xf16, #left>, !a
  %sum = simt.mma_async %a, %b, %zero by #group : !a, !b -> tensor<64x8xf32, #sums>
  %done = simt.mma_wait 0(%sum) : (tensor<64x8xf32, #sums>) -> tensor<64x8xf32, #sums>
  return
}
}
