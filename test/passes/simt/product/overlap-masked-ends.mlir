// A masked iteration at an array's end, behind a loop whose last product runs beside the next iteration, uses its
// code: a loop around both begins with the masked code, for all iterations without masks together and for that one.
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
!numbers = tensor<64x16xi32, #wide>
!bits = tensor<64x16xi1, #wide>
!sums = tensor<64x8xf32, #sums>

module attributes {simt.num_warps = 4 : i32, tile.target = #tile.target<warp_size = 32, shared_bytes = 232448, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#mma], async_mma = [<mma = #mma, warps = 4, columns = 256, span_bytes = 128, across = true>]>} {
// CHECK-LABEL: @ragged
// CHECK:       %[[LAST:.*]] = arith.subi %[[MID:.*]], %[[STEP:.*]] : i32
// CHECK:       %[[EXISTS:.*]] = arith.cmpi slt, %[[FROM:.*]], %[[MID]] : i32
// CHECK:       %[[BEGIN:.*]] = arith.select %[[EXISTS]], %[[LAST]], %[[MID]]
// CHECK:       scf.for %[[END:.*]] = %[[BEGIN]] to %[[TO:.*]] step %[[STEP]] iter_args(%[[ACC:.*]] = %{{.*}}, %[[FIRST_SLOT:.*]] = %{{.*}}, %{{.*}} = %{{.*}})
// CHECK:         %[[IS_MAIN:.*]] = arith.cmpi slt, %[[END]], %[[MID]]
// CHECK:         %[[START:.*]] = arith.select %[[IS_MAIN]], %[[FROM]], %[[END]]
// CHECK:         %[[NEXT:.*]] = arith.addi %[[START]], %[[STEP]]
// CHECK:         %[[STOP:.*]] = arith.select %[[IS_MAIN]], %[[MID]], %[[NEXT]]
// CHECK:         %[[SECOND:.*]] = arith.addi %[[START]], %[[STEP]]
// CHECK:         scf.for %[[AT:.*]] = %[[START]] to %[[SECOND]]
// CHECK:           simt.mma_async
// CHECK:           tile.splat %[[AT]]
// CHECK:           arith.select
// CHECK-NOT:       simt.mma_async
// CHECK:         } {simt.once, tile.whole_steps}
// CHECK:         scf.for %{{.*}} = %[[SECOND]] to %[[STOP]] step %[[STEP]]
// CHECK-NOT:       arith.select %{{.*}} : tensor
// CHECK:           simt.mma_wait 1
// CHECK-NOT:       arith.select %{{.*}} : tensor
// CHECK:         } {tile.whole_steps}
// CHECK:         simt.mma_async
// CHECK-NEXT:    %[[DONE:.*]] = simt.mma_wait 0
// CHECK-NEXT:    scf.yield %[[DONE]]
// CHECK-NOT:   simt.mma_async
// CHECK:       return
//
// A loop that begins elsewhere stays as it is.
// CHECK-LABEL: @elsewhere
// CHECK:       scf.if
// CHECK:       scf.for
// CHECK:       scf.for
// CHECK:       } else {
// CHECK:       scf.for
// CHECK:         simt.mma_async
// CHECK:       } {tile.of_end, tile.short}
func.func @ragged(%zero: !sums, %none: !wide, %ends: !numbers, %from: i32, %mid: i32, %to: i32, %step: i32) -> !sums {
  %c0 = arith.constant 0 : i32
  %c2 = arith.constant 2 : i32
  %q = simt.alloc_shared "q" at 0 : !q
  %k = simt.alloc_shared "k" slots 3 at 4096 : !k
  %v = simt.alloc_shared "v" slots 3 at 8192 : !v
  %full = simt.alloc_shared "full" slots 3 at 16384 : !phase
  %free = simt.alloc_shared "free" slots 3 at 16448 : !phase
  %main:3 = scf.for %i = %from to %mid step %step iter_args(%acc = %zero, %slot = %c0, %before = %c2) -> (!sums, i32, i32) : i32 {
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
    scf.yield %next, %before, %slot : !sums, i32, i32
  } {tile.whole_steps}
  %rest:3 = scf.for %i = %mid to %to step %step iter_args(%acc = %main#0, %slot = %main#1, %before = %main#2) -> (!sums, i32, i32) : i32 {
    %ki = simt.slot %k[%slot] phase 0 : !k
    %scores = simt.mma_async %q, %ki, %none by #group : !q, !k -> !wide
    %vb = simt.slot %v[%before] phase 2 : !v
    %fullb = simt.slot %full[%before] phase 2 : !phase
    %freeb = simt.slot %free[%before] phase 2 : !phase
    simt.release %vb on %fullb by %freeb : !v on !phase by !phase
    %at = tile.splat %i : i32 -> !numbers
    %isin = arith.cmpi slt, %at, %ends : !numbers
    %seen = arith.select %isin, %scores, %none : !bits, !wide
    %p = math.exp2 %seen : !wide
    %narrow = arith.truncf %p : !wide to tensor<64x16xf16, #wide>
    %twice = arith.addf %acc, %acc : !sums
    %fulli = simt.slot %full[%slot] phase 0 : !phase
    simt.phase_await %fulli, %c0 : !phase
    %vi = simt.slot %v[%slot] phase 0 : !v
    %next = simt.mma_async %narrow, %vi, %twice by #group : tensor<64x16xf16, #wide>, !v -> !sums
    scf.yield %next, %before, %slot : !sums, i32, i32
  } {tile.of_end, tile.short}
  return %rest#0 : !sums
}

func.func @elsewhere(%zero: !sums, %none: !wide, %ends: !numbers, %from: i32, %mid: i32, %to: i32, %step: i32) -> !sums {
  %c0 = arith.constant 0 : i32
  %c2 = arith.constant 2 : i32
  %q = simt.alloc_shared "q" at 0 : !q
  %k = simt.alloc_shared "k" slots 3 at 4096 : !k
  %v = simt.alloc_shared "v" slots 3 at 8192 : !v
  %full = simt.alloc_shared "full" slots 3 at 16384 : !phase
  %free = simt.alloc_shared "free" slots 3 at 16448 : !phase
  %main:3 = scf.for %i = %from to %mid step %step iter_args(%acc = %zero, %slot = %c0, %before = %c2) -> (!sums, i32, i32) : i32 {
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
    scf.yield %next, %before, %slot : !sums, i32, i32
  } {tile.whole_steps}
  %rest:3 = scf.for %i = %c0 to %to step %step iter_args(%acc = %main#0, %slot = %main#1, %before = %main#2) -> (!sums, i32, i32) : i32 {
    %ki = simt.slot %k[%slot] phase 0 : !k
    %scores = simt.mma_async %q, %ki, %none by #group : !q, !k -> !wide
    %vb = simt.slot %v[%before] phase 2 : !v
    %fullb = simt.slot %full[%before] phase 2 : !phase
    %freeb = simt.slot %free[%before] phase 2 : !phase
    simt.release %vb on %fullb by %freeb : !v on !phase by !phase
    %at = tile.splat %i : i32 -> !numbers
    %isin = arith.cmpi slt, %at, %ends : !numbers
    %seen = arith.select %isin, %scores, %none : !bits, !wide
    %p = math.exp2 %seen : !wide
    %narrow = arith.truncf %p : !wide to tensor<64x16xf16, #wide>
    %twice = arith.addf %acc, %acc : !sums
    %fulli = simt.slot %full[%slot] phase 0 : !phase
    simt.phase_await %fulli, %c0 : !phase
    %vi = simt.slot %v[%slot] phase 0 : !v
    %next = simt.mma_async %narrow, %vi, %twice by #group : tensor<64x16xf16, #wide>, !v -> !sums
    scf.yield %next, %before, %slot : !sums, i32, i32
  } {tile.of_end, tile.short}
  return %rest#0 : !sums
}
}
