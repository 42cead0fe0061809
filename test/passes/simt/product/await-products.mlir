// Products of several warps are waited for where their results are needed and before barriers behind which
// their operands are overwritten; operands that threads wrote are fenced.
// RUN: tile-opt --await-products --split-input-file %s | FileCheck %s

#mma = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
#group = #tile.async_mma<mma = #mma, warps = 4, columns = 256, span_bytes = 128, across = true>
#sums = #tile.layout<[64, 8] register = [[0, 1], [8, 0]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0], [32, 0]]>
#left = #tile.layout<[64, 16] register = [[0, 1], [8, 0], [0, 8]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0], [32, 0]]>
!a = !simt.shared<[64, 16], f16, #tile.layout<[64, 16] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0], [16, 0], [32, 0]]>>
!b = !simt.shared<[16, 8], f16, #tile.layout<[16, 8] offset = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 1], [0, 2], [8, 4]]>>
!sums = tensor<64x8xf32, #sums>
!left = tensor<64x16xf16, #left>

module attributes {simt.num_warps = 4 : i32} {
// What threads stored is fenced before the barrier; the result is waited for where it is first needed, and no
// barrier that nothing is written behind waits.
// CHECK-LABEL: @used
func.func @used(%x: !left, %zero: !sums) {
  %a = simt.alloc_shared "a" at 0 : !a
  %b = simt.alloc_shared "b" at 2048 : !b
  // CHECK: simt.store_shared
  // CHECK-NEXT: simt.fence_async
  // CHECK-NEXT: simt.barrier
  simt.store_shared %x, %a : !left, !a
  simt.barrier
  // CHECK-NEXT: %[[SUM:.*]] = simt.mma_async
  %sum = simt.mma_async %a, %b, %zero by #group : !a, !b -> !sums
  // CHECK-NEXT: simt.barrier
  simt.barrier
  // CHECK-NEXT: %[[DONE:.*]] = simt.mma_wait 0(%[[SUM]])
  // CHECK-NEXT: arith.negf %[[DONE]]
  %negated = arith.negf %sum : !sums
  return
}

// A product that adds to another needs no wait. What is stored behind the barrier, the second one read: both
// are waited for. At the end nothing is in flight.
// CHECK-LABEL: @chained
func.func @chained(%x: !left, %zero: !sums) {
  %a = simt.alloc_shared "a" at 0 : !a
  %b = simt.alloc_shared "b" at 2048 : !b
  %other = simt.alloc_shared "other" at 4096 : !a
  // CHECK: simt.mma_async
  // CHECK-NEXT: %[[SUM:.*]] = simt.mma_async
  %first = simt.mma_async %other, %b, %zero by #group : !a, !b -> !sums
  %second = simt.mma_async %a, %b, %first by #group : !a, !b -> !sums
  // CHECK-NEXT: %[[DONE:.*]] = simt.mma_wait 0(%[[SUM]])
  // CHECK-NEXT: simt.barrier
  simt.barrier
  simt.store_shared %x, %a : !left, !a
  // CHECK: simt.barrier
  simt.barrier
  // CHECK: simt.mma_async %{{.*}}, %{{.*}}, %[[DONE]]
  %third = simt.mma_async %a, %b, %second by #group : !a, !b -> !sums
  // CHECK-NEXT: simt.mma_wait 0
  // CHECK-NEXT: return
  return
}

// A product with sums apart from the accumulator begins when all others are over, and leaves nothing in flight.
// CHECK-LABEL: @apart
func.func @apart(%x: !left, %zero: !sums) -> !sums {
  %a = simt.alloc_shared "a" at 0 : !a
  %b = simt.alloc_shared "b" at 2048 : !b
  %other = simt.alloc_shared "other" at 4096 : !a
  // CHECK: %[[FIRST:.*]] = simt.mma_async
  %first = simt.mma_async %other, %b, %zero by #group : !a, !b -> !sums
  // CHECK-NEXT: %[[DONE:.*]] = simt.mma_wait 0(%[[FIRST]])
  // CHECK-NEXT: %[[SUM:.*]] = simt.mma_async {{.*}}, %[[DONE]] by
  %second = simt.mma_async %a, %b, %first by #group partial_depth 16 : !a, !b -> !sums
  // CHECK-NEXT: simt.barrier
  simt.barrier
  simt.store_shared %x, %a : !left, !a
  // CHECK: return %[[SUM]]
  return %second : !sums
}

// Of two products, the first has read what is overwritten: the second stays in flight.
// CHECK-LABEL: @older
func.func @older(%x: !left, %zero: !sums) -> !sums {
  %a = simt.alloc_shared "a" at 0 : !a
  %b = simt.alloc_shared "b" at 2048 : !b
  %other = simt.alloc_shared "other" at 4096 : !a
  %first = simt.mma_async %a, %b, %zero by #group : !a, !b -> !sums
  // CHECK: %[[SUM:.*]] = simt.mma_async
  // CHECK: %[[SUM:.*]] = simt.mma_async
  %second = simt.mma_async %other, %b, %first by #group : !a, !b -> !sums
  // CHECK-NEXT: simt.mma_wait 1()
  // CHECK-NEXT: simt.barrier
  simt.barrier
  simt.store_shared %x, %a : !left, !a
  // CHECK: %[[DONE:.*]] = simt.mma_wait 0(%[[SUM]])
  // CHECK-NEXT: return %[[DONE]]
  return %second : !sums
}

// A loop carries its sums in flight. A slot is written again an iteration after it was read: then one product
// is newer.
// CHECK-LABEL: @carried
func.func @carried(%p: tensor<64x16x!tile.ptr<f16>, #left>, %zero: !sums, %n: i32) -> !sums {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ring = simt.alloc_shared "ring" slots 3 at 0 : !a
  %b = simt.alloc_shared "b" at 6144 : !b
  // CHECK: scf.for
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!sums) : i32 {
    // CHECK: simt.async_wait 1
    // CHECK-NEXT: simt.fence_async
    // CHECK-NEXT: simt.barrier
    simt.async_wait 1
    simt.barrier
    %slot = simt.slot %ring[%i] phase 0 : !a
    // CHECK: simt.mma_async
    %next = simt.mma_async %slot, %b, %acc by #group : !a, !b -> !sums
    // CHECK-NEXT: simt.mma_wait 1()
    // CHECK-NEXT: simt.barrier
    simt.barrier
    %ahead = simt.slot %ring[%i] phase 2 : !a
    simt.async_copy %p, %ahead pieces 8 along 1 : tensor<64x16x!tile.ptr<f16>, #left>, !a
    simt.async_commit
    scf.yield %next : !sums
  }
  // CHECK: %[[DONE:.*]] = simt.mma_wait 0(
  // CHECK-NEXT: return %[[DONE]]
  return %sum : !sums
}

// A left operand in registers, which the next iteration writes again, is not read across iterations.
// CHECK-LABEL: @registers
func.func @registers(%x: !left, %zero: !sums, %n: i32) -> !sums {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %b = simt.alloc_shared "b" at 0 : !b
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (!sums) : i32 {
    %negated = arith.negf %x : !left
    // CHECK: %[[SUM:.*]] = simt.mma_async
    %next = simt.mma_async %negated, %b, %acc by #group : !left, !b -> !sums
    // CHECK-NEXT: %[[DONE:.*]] = simt.mma_wait 0(%[[SUM]])
    // CHECK-NEXT: scf.yield %[[DONE]]
    scf.yield %next : !sums
  }
  // CHECK: }
  // CHECK-NEXT: return
  return %sum : !sums
}

// A product that is added an iteration later: the wait for it covers the new one as well.
// CHECK-LABEL: @lagging
func.func @lagging(%zero: !sums, %n: i32) -> !sums {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = simt.alloc_shared "a" at 0 : !a
  %b = simt.alloc_shared "b" at 2048 : !b
  %sums:2 = scf.for %i = %c0 to %n step %c1 iter_args(%last = %zero, %out = %zero) -> (!sums, !sums) : i32 {
    // CHECK: %[[NEXT:.*]] = simt.mma_async
    %next = simt.mma_async %a, %b, %zero by #group : !a, !b -> !sums
    // CHECK-NEXT: %[[DONE:.*]] = simt.mma_wait 0(
    // CHECK-NEXT: arith.addf
    %added = arith.addf %out, %last : !sums
    scf.yield %next, %added : !sums, !sums
  }
  return %sums#1 : !sums
}

// Two accumulators take turns.
// CHECK-LABEL: @turns
func.func @turns(%p: tensor<64x16x!tile.ptr<f16>, #left>, %zero: !sums, %n: i32) -> !sums {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ring = simt.alloc_shared "ring" slots 3 at 0 : !a
  %b = simt.alloc_shared "b" at 6144 : !b
  %sums:2 = scf.for %i = %c0 to %n step %c1 iter_args(%even = %zero, %odd = %zero) -> (!sums, !sums) : i32 {
    simt.async_wait 1
    simt.barrier
    %slot = simt.slot %ring[%i] phase 0 : !a
    // CHECK: simt.mma_async
    %next = simt.mma_async %slot, %b, %even by #group : !a, !b -> !sums
    // CHECK: simt.mma_wait
    // CHECK: simt.barrier
    simt.barrier
    %ahead = simt.slot %ring[%i] phase 2 : !a
    simt.async_copy %p, %ahead pieces 8 along 1 : tensor<64x16x!tile.ptr<f16>, #left>, !a
    simt.async_commit
    scf.yield %odd, %next : !sums, !sums
  }
  return %sums#0 : !sums
}

// A slot of the outer loop is written in the inner one, whose last product has read the same.
// CHECK-LABEL: @outer_ring
func.func @outer_ring(%x: !left, %zero: !sums, %n: i32) -> !sums {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ring = simt.alloc_shared "ring" slots 2 at 0 : !a
  %b = simt.alloc_shared "b" at 6144 : !b
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%outer = %zero) -> (!sums) : i32 {
    %slot = simt.slot %ring[%i] phase 0 : !a
    %inner = scf.for %j = %c0 to %n step %c1 iter_args(%acc = %outer) -> (!sums) : i32 {
      // CHECK: simt.mma_wait 0(
      // CHECK-NEXT: simt.barrier
      // CHECK-NEXT: simt.store_shared
      simt.barrier
      simt.store_shared %x, %slot : !left, !a
      simt.barrier
      %next = simt.mma_async %slot, %b, %acc by #group : !a, !b -> !sums
      scf.yield %next : !sums
    }
    scf.yield %inner : !sums
  }
  return %sum : !sums
}
}
