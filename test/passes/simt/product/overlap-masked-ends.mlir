// A masked iteration at an array's end, behind a loop whose last product runs beside the next iteration, is one of
// the loop: masks are applied in a branch.
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
// CHECK:       scf.for %[[I:.*]] = %[[FROM:.*]] to %[[TO:.*]] step %{{.*}} iter_args
// CHECK:         simt.mma_async
// CHECK:         %[[BOTH:.*]]:2 = scf.if
// CHECK:           simt.mma_async
// CHECK:         %[[MAIN:.*]] = arith.cmpi slt, %[[I]], %{{.*}} : i32
// CHECK-NEXT:    %[[SEEN:.*]] = scf.if %[[MAIN]]
// CHECK-NEXT:      scf.yield %[[BOTH]]#1
// CHECK-NEXT:    } else {
// CHECK-NEXT:      %[[AT:.*]] = tile.splat %[[I]]
// CHECK-NEXT:      %[[ISIN:.*]] = arith.cmpi slt, %[[AT]]
// CHECK-NEXT:      %[[MASKED:.*]] = arith.select %[[ISIN]], %[[BOTH]]#1
// CHECK-NEXT:      scf.yield %[[MASKED]]
// CHECK-NEXT:    }
// CHECK-NEXT:    math.exp2 %[[SEEN]]
// CHECK:       simt.mma_async
// CHECK-NEXT:  simt.mma_wait 0
// CHECK-NOT:   simt.mma_async
// CHECK:       return
//
// A loop that begins elsewhere stays as it is.
// CHECK-LABEL: @elsewhere
// CHECK:       scf.if
// CHECK:       scf.for
// CHECK:       } else {
// CHECK:       scf.for
// CHECK:         simt.mma_async
// CHECK:       } {tile.of_end, tile.short}
//
// So does one with other effects.
// CHECK-LABEL: @effects
// CHECK:       scf.if
// CHECK:       scf.for
// CHECK:       } else {
// CHECK:       scf.for
// CHECK:       } {tile.of_end, tile.short}
//
// A sum of a product of numbers is one operation where nothing is masked.
// CHECK-LABEL: @scaled
// CHECK:         scf.if
// CHECK:         scf.if
// CHECK:           %[[MINUS:.*]] = arith.negf %[[PEAK:[a-z0-9]+]]
// CHECK-NEXT:      math.fma %{{.*}}, %[[PEAK]], %[[MINUS]]
// CHECK:         } else {
// CHECK:           arith.mulf
// CHECK:           arith.select
// CHECK-NEXT:      arith.subf
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

func.func @effects(%zero: !sums, %none: !wide, %ends: !numbers, %from: i32, %mid: i32, %to: i32, %step: i32) -> !sums {
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
    simt.barrier
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

func.func @scaled(%zero: !sums, %none: !wide, %ends: !numbers, %peak: !wide, %from: i32, %mid: i32, %to: i32, %step: i32) -> !sums {
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
    %times = arith.mulf %scores, %peak : !wide
    %less = arith.subf %times, %peak : !wide
    %p = math.exp2 %less : !wide
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
    %times = arith.mulf %scores, %peak : !wide
    %seen = arith.select %isin, %times, %none : !bits, !wide
    %less = arith.subf %seen, %peak : !wide
    %p = math.exp2 %less : !wide
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
