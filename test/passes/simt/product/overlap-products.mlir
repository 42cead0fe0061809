// A product of what an iteration computes from another product starts in the next iteration, behind the product
// there. Its slots are released behind the wait that its result brings.
// RUN: tile-opt --overlap-products --await-products %s 2>/dev/null | FileCheck %s

#mma = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
#group = #tile.async_mma<mma = #mma, warps = 4, columns = 256, span_bytes = 128, across = true>
#wide = #tile.layout<[64, 16] register = [[0, 1], [8, 0], [0, 8]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0], [32, 0]]>
#sums = #tile.layout<[64, 8] register = [[0, 1], [8, 0]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0], [32, 0]]>
!q = !simt.shared<[64, 16], f16, #tile.layout<[64, 16] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0], [16, 0], [32, 0]]>>
!k = !simt.shared<[16, 16], f16, #tile.layout<[16, 16] offset = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 1], [0, 2], [8, 4], [0, 8]]>>
!v = !simt.shared<[16, 8], f16, #tile.layout<[16, 8] offset = [[1, 0], [2, 0], [4, 0], [8, 0], [0, 1], [0, 2], [8, 4]]>>
!phase = !simt.shared<[1], i64, #tile.layout<[1]>>
!wide = tensor<64x16xf32, #wide>
!sums = tensor<64x8xf32, #sums>

module attributes {simt.num_warps = 4 : i32, tile.target = #tile.target<warp_size = 32, shared_bytes = 232448, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#mma], async_mma = [<mma = #mma, warps = 4, columns = 256, span_bytes = 128, across = true>]>} {
// The first iteration starts no product of one before it; the last product follows behind the loop.
// CHECK-LABEL: @attention
// CHECK:       %[[EXISTS:.*]] = arith.cmpi slt, %[[FROM:.*]], %[[TO:.*]] : i32
// CHECK:       scf.if %[[EXISTS]]
// CHECK:       scf.for %[[I:.*]] = %[[FROM]] to %[[TO]] step %{{.*}} iter_args(%[[SUM:.*]] = %{{.*}}, %{{.*}} = %{{.*}}, %[[BEFORE:.*]] = %{{.*}}, %[[P:.*]] = %{{.*}})
// CHECK:         %[[SCORES:.*]] = simt.mma_async
// CHECK-NEXT:    %[[LATER:.*]] = arith.cmpi ne, %[[I]], %[[FROM]]
// CHECK-NEXT:    %[[BOTH:.*]]:2 = scf.if %[[LATER]]
// CHECK-NEXT:      %[[V:.*]] = simt.slot %{{.*}}[%[[BEFORE]]] phase 2
// CHECK-NEXT:      %[[ACC:.*]] = simt.mma_async %[[P]], %[[V]], %[[SUM]]
// CHECK-NEXT:      %[[READY:.*]] = simt.mma_wait 1(%[[SCORES]])
// CHECK-NEXT:      scf.yield %[[ACC]], %[[READY]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      %[[ALONE:.*]] = simt.mma_wait 0(%[[SCORES]])
// CHECK-NEXT:      scf.yield %[[SUM]], %[[ALONE]]
// CHECK-NEXT:    }
// CHECK:         math.exp2 %[[BOTH]]#1
// CHECK:         simt.phase_await
// CHECK-NEXT:    %[[DONE:.*]] = simt.mma_wait 0(%[[BOTH]]#0)
// CHECK-NEXT:    simt.release
// CHECK-NEXT:    %[[SCALED:.*]] = arith.addf %[[DONE]], %[[DONE]]
// CHECK-NEXT:    %[[NEW:.*]] = arith.truncf
// CHECK:         scf.yield %[[SCALED]], %{{.*}}, %{{.*}}, %[[NEW]]
// CHECK:       %[[LAST:.*]] = simt.mma_async
// CHECK-NEXT:  %[[RESULT:.*]] = simt.mma_wait 0(%[[LAST]])
// CHECK-NEXT:  scf.yield %[[RESULT]]
// CHECK:       } else {
func.func @attention(%zero: !sums, %none: !wide, %from: i32, %to: i32, %step: i32) -> !sums {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %q = simt.alloc_shared "q" at 0 : !q
  %k = simt.alloc_shared "k" slots 3 at 4096 : !k
  %v = simt.alloc_shared "v" slots 3 at 8192 : !v
  %full = simt.alloc_shared "full" slots 3 at 16384 : !phase
  %free = simt.alloc_shared "free" slots 3 at 16448 : !phase
  %sum:3 = scf.for %i = %from to %to step %step iter_args(%acc = %zero, %slot = %c0, %before = %c2) -> (!sums, i32, i32) : i32 {
    %ki = simt.slot %k[%slot] phase 0 : !k
    %scores = simt.mma_async %q, %ki, %none by #group : !q, !k -> !wide
    %vb = simt.slot %v[%before] phase 2 : !v
    %fullb = simt.slot %full[%before] phase 2 : !phase
    %freeb = simt.slot %free[%before] phase 2 : !phase
    simt.release %vb on %fullb by %freeb : !v on !phase by !phase
    %p = math.exp2 %scores : !wide
    %narrow = arith.truncf %p : !wide to tensor<64x16xf16, #wide>
    %twice = arith.addf %acc, %acc : !sums
    %fulli = simt.slot %full[%slot] phase 0 : !phase
    simt.phase_await %fulli, %c0 : !phase
    %vi = simt.slot %v[%slot] phase 0 : !v
    %next = simt.mma_async %narrow, %vi, %twice by #group : tensor<64x16xf16, #wide>, !v -> !sums
    %more = arith.addi %slot, %c1 : i32
    %wraps = arith.cmpi eq, %more, %c3 : i32
    %following = arith.select %wraps, %c0, %more : i32
    scf.yield %next, %following, %slot : !sums, i32, i32
  }
  return %sum#0 : !sums
}

// A product of a product alone, and one whose sum is needed in the iteration, stay as they are.
// CHECK-LABEL: @stays
// CHECK-NOT:   scf.if
// CHECK:       return
func.func @stays(%zero: !sums, %none: !wide, %from: i32, %to: i32, %step: i32, %p: !tile.ptr<f32>) -> (!sums, !sums) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %q = simt.alloc_shared "q" at 0 : !q
  %k = simt.alloc_shared "k" slots 2 at 4096 : !k
  %v = simt.alloc_shared "v" slots 2 at 8192 : !v
  %full = simt.alloc_shared "full" slots 2 at 16384 : !phase
  %free = simt.alloc_shared "free" slots 2 at 16448 : !phase
  %sum:3 = scf.for %i = %from to %to step %step iter_args(%acc = %zero, %slot = %c0, %before = %c1) -> (!sums, i32, i32) : i32 {
    %ki = simt.slot %k[%slot] phase 0 : !k
    %scores = simt.mma_async %q, %ki, %none by #group : !q, !k -> !wide
    %vb = simt.slot %v[%before] phase 1 : !v
    %fullb = simt.slot %full[%before] phase 1 : !phase
    %freeb = simt.slot %free[%before] phase 1 : !phase
    simt.release %vb on %fullb by %freeb : !v on !phase by !phase
    %narrow = arith.truncf %scores : !wide to tensor<64x16xf16, #wide>
    %fulli = simt.slot %full[%slot] phase 0 : !phase
    simt.phase_await %fulli, %c0 : !phase
    %vi = simt.slot %v[%slot] phase 0 : !v
    %next = simt.mma_async %narrow, %vi, %acc by #group : tensor<64x16xf16, #wide>, !v -> !sums
    scf.yield %next, %before, %slot : !sums, i32, i32
  }
  %other:4 = scf.for %i = %from to %to step %step iter_args(%acc = %sum#0, %slot = %c0, %before = %c1, %seen = %zero) -> (!sums, i32, i32, !sums) : i32 {
    %ki = simt.slot %k[%slot] phase 0 : !k
    %scores = simt.mma_async %q, %ki, %none by #group : !q, !k -> !wide
    %vb = simt.slot %v[%before] phase 1 : !v
    %fullb = simt.slot %full[%before] phase 1 : !phase
    %freeb = simt.slot %free[%before] phase 1 : !phase
    simt.release %vb on %fullb by %freeb : !v on !phase by !phase
    %p2 = math.exp2 %scores : !wide
    %narrow = arith.truncf %p2 : !wide to tensor<64x16xf16, #wide>
    %fulli = simt.slot %full[%slot] phase 0 : !phase
    simt.phase_await %fulli, %c0 : !phase
    %vi = simt.slot %v[%slot] phase 0 : !v
    %next = simt.mma_async %narrow, %vi, %acc by #group : tensor<64x16xf16, #wide>, !v -> !sums
    %sees = arith.addf %seen, %acc : !sums
    scf.yield %next, %before, %slot, %sees : !sums, i32, i32, !sums
  }
  return %other#0, %other#3 : !sums, !sums
}
}
