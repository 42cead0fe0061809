// DEFINE: %{machine} = #tile.simd<vector_bytes = 64, registers = 32, line_bytes = 64, cache_bytes = 32768, products = [ \
// DEFINE:   <mma = <1 x 16 x 1, f32 in "- - - - |", f32 in "n0 n1 n2 n3 |" -> f32 in "n0 n1 n2 n3 |">, per_cycle = 32>, \
// DEFINE:   <mma = <1 x 16 x 2, bf16 in "k0 - - - - |", bf16 in "k0 n0 n1 n2 n3 |" -> f32 in "n0 n1 n2 n3 |">, per_cycle = 64, intrinsic = "llvm.x86.avx512bf16.dpbf16ps.512">, \
// DEFINE:   <mma = <1 x 16 x 4, i8 in "k0 k1 - - - - |", i8 in "k0 k1 n0 n1 n2 n3 |" -> i32 in "n0 n1 n2 n3 |">, per_cycle = 128, intrinsic = "llvm.x86.avx512.vpdpbusd.512", signs = us> \
// DEFINE: ], features = [fma]>
// RUN: tile-opt %s -split-input-file -attach-target='target={%{machine}}' -lower-simd -cse | FileCheck %s

// A loop-carried accumulator is updated in place by a register-tiled loop over k. The first step
// begins with zeros in registers, and the last one stores its sums from there.
// CHECK-LABEL: llvm.func @accumulate
// CHECK: scf.for %[[I:.+]] = %c0_i32 to %[[UPPER:.+]] step %c1_i32
// CHECK:   %[[FIRST:.+]] = arith.cmpi eq, %[[I]], %c0_i32
// CHECK:   %[[LAST:.+]] = arith.cmpi ule
// CHECK:   scf.if %[[FIRST]] -> (vector<16xf32>
// CHECK:   %[[SUMS:.+]]:16 = scf.for {{.*}} -> (vector<16xf32>
// CHECK-COUNT-16: math.fma {{.*}} : vector<16xf32>
// CHECK:   scf.if %[[LAST]] {
// CHECK:     llvm.store %[[SUMS]]#0, %{{.*}} {alignment = 4 : i64} : vector<16xf32>
// CHECK:   } else {
// CHECK:     llvm.store %[[SUMS]]#0, %{{.*}} {alignment = 4 : i64} : vector<16xf32>
// A loop without a step stores zeros.
// CHECK: %[[EMPTY:.+]] = arith.cmpi sle, %[[UPPER]], %c0_i32
// CHECK: scf.if %[[EMPTY]]
func.func @accumulate(%x: !tile.ptr<f32> {tile.disjoint}, %out: !tile.ptr<f32> {tile.disjoint}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = tile.arange 0 to 4096 : tensor<4096xi32>
  %o = tile.reshape %r : tensor<4096xi32> -> tensor<64x64xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %o : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %res = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
    %a = tile.load %xp : tensor<64x64x!tile.ptr<f32>> -> tensor<64x64xf32>
    %d = tile.dot %a, %a, %acc : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %op = tile.addptr %os, %o : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  tile.store %op, %res : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xf32>
  return
}

// -----

// bf16 operands go through the pairwise dot instruction where the machine has one.
// CHECK-LABEL: llvm.func @pairs
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
func.func @pairs(%x: !tile.ptr<bf16> {tile.disjoint}, %out: !tile.ptr<f32> {tile.disjoint}) {
  %r = tile.arange 0 to 4096 : tensor<4096xi32>
  %o = tile.reshape %r : tensor<4096xi32> -> tensor<64x64xi32>
  %xs = tile.splat %x : !tile.ptr<bf16> -> tensor<64x64x!tile.ptr<bf16>>
  %xp = tile.addptr %xs, %o : tensor<64x64x!tile.ptr<bf16>>, tensor<64x64xi32>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.load %xp : tensor<64x64x!tile.ptr<bf16>> -> tensor<64x64xbf16>
  %d = tile.dot %a, %a, %zero : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %op = tile.addptr %os, %o : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  tile.store %op, %d : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xf32>
  return
}

// -----

// Bytes go through the instruction for an unsigned and a signed operand: sums over A's rows take
// back what shifting B to unsigned adds, as it is packed. A is read where it lies.
// CHECK-LABEL: llvm.func @bytes
// CHECK-NOT: arith.xori
// CHECK: scf.for
// CHECK: %[[SUM:.+]] = llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
// CHECK: %[[ROW:.+]] = vector.reduction <add>, %[[SUM]] : vector<16xi32> into i32
// CHECK: arith.muli %[[ROW]], %{{.*}} : i32
// CHECK: arith.xori {{.*}} : vector<128xi8>
// CHECK-NOT: arith.xori
// CHECK: arith.addi {{.*}} : vector<16xi32>
// CHECK: %[[B:.+]] = llvm.load {{.*}} -> vector<64xi8>
// CHECK: %[[A:.+]] = vector.bitcast {{.*}} to vector<64xi8>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"(%{{.*}}, %[[B]], %[[A]])
func.func @bytes(%x: !tile.ptr<i8> {tile.disjoint}, %out: !tile.ptr<i32> {tile.disjoint}) {
  %r = tile.arange 0 to 4096 : tensor<4096xi32>
  %o = tile.reshape %r : tensor<4096xi32> -> tensor<64x64xi32>
  %xs = tile.splat %x : !tile.ptr<i8> -> tensor<64x64x!tile.ptr<i8>>
  %xp = tile.addptr %xs, %o : tensor<64x64x!tile.ptr<i8>>, tensor<64x64xi32>
  %zero = arith.constant dense<0> : tensor<64x64xi32>
  %a = tile.load %xp : tensor<64x64x!tile.ptr<i8>> -> tensor<64x64xi8>
  %d = tile.dot %a, %a, %zero : tensor<64x64xi8>, tensor<64x64xi8> -> tensor<64x64xi32>
  %os = tile.splat %out : !tile.ptr<i32> -> tensor<64x64x!tile.ptr<i32>>
  %op = tile.addptr %os, %o : tensor<64x64x!tile.ptr<i32>>, tensor<64x64xi32>
  tile.store %op, %d : tensor<64x64x!tile.ptr<i32>>, tensor<64x64xi32>
  return
}

// -----

// Rows of A that lie in memory at equal distances are read there; B, read once by so few rows, is
// not packed either: nothing but the result is stored.
// CHECK-LABEL: llvm.func @in_place
// CHECK: arith.subi
// CHECK-NOT: llvm.store
// CHECK: math.fma
// CHECK: llvm.store
// CHECK: llvm.store
// CHECK-NOT: math.fma
// CHECK: llvm.return
func.func @in_place(%x: !tile.ptr<f32> {tile.disjoint}, %y: !tile.ptr<f32> {tile.disjoint}, %out: !tile.ptr<f32> {tile.disjoint}, %stride: i32) {
  %rows = tile.arange 0 to 2 : tensor<2xi32>
  %ks = tile.arange 0 to 64 : tensor<64xi32>
  %ss = tile.splat %stride : i32 -> tensor<2xi32>
  %ro = arith.muli %rows, %ss : tensor<2xi32>
  %re = tile.expand_dims %ro axis 1 : tensor<2xi32> -> tensor<2x1xi32>
  %rb = tile.broadcast %re : tensor<2x1xi32> -> tensor<2x64xi32>
  %ke = tile.expand_dims %ks axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %kb = tile.broadcast %ke : tensor<1x64xi32> -> tensor<2x64xi32>
  %o = arith.addi %rb, %kb : tensor<2x64xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<2x64x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %o : tensor<2x64x!tile.ptr<f32>>, tensor<2x64xi32>
  %a = tile.load %xp : tensor<2x64x!tile.ptr<f32>> -> tensor<2x64xf32>
  %r = tile.arange 0 to 4096 : tensor<4096xi32>
  %bo = tile.reshape %r : tensor<4096xi32> -> tensor<64x64xi32>
  %ys = tile.splat %y : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %yp = tile.addptr %ys, %bo : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  %b = tile.load %yp : tensor<64x64x!tile.ptr<f32>> -> tensor<64x64xf32>
  %zero = arith.constant dense<0.0> : tensor<2x64xf32>
  %d = tile.dot %a, %b, %zero : tensor<2x64xf32>, tensor<64x64xf32> -> tensor<2x64xf32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<2x64x!tile.ptr<f32>>
  %op = tile.addptr %os, %o : tensor<2x64x!tile.ptr<f32>>, tensor<2x64xi32>
  tile.store %op, %d : tensor<2x64x!tile.ptr<f32>>, tensor<2x64xf32>
  return
}

// -----

// Operands of both signs fit as they are, the unsigned one first.
// CHECK-LABEL: llvm.func @signs
// CHECK-NOT: arith.xori
// CHECK: %[[B:.+]] = llvm.load {{.*}} -> vector<64xi8>
// CHECK: %[[A:.+]] = vector.bitcast {{.*}} to vector<64xi8>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"(%{{.*}}, %[[B]], %[[A]])
func.func @signs(%x: !tile.ptr<i8> {tile.disjoint}, %out: !tile.ptr<i32> {tile.disjoint}) {
  %r = tile.arange 0 to 1024 : tensor<1024xi32>
  %o = tile.reshape %r : tensor<1024xi32> -> tensor<64x16xi32>
  %bo = tile.reshape %r : tensor<1024xi32> -> tensor<16x64xi32>
  %xs = tile.splat %x : !tile.ptr<i8> -> tensor<64x16x!tile.ptr<i8>>
  %xp = tile.addptr %xs, %o : tensor<64x16x!tile.ptr<i8>>, tensor<64x16xi32>
  %ys = tile.splat %x : !tile.ptr<i8> -> tensor<16x64x!tile.ptr<i8>>
  %yp = tile.addptr %ys, %bo : tensor<16x64x!tile.ptr<i8>>, tensor<16x64xi32>
  %a = tile.load %xp : tensor<64x16x!tile.ptr<i8>> -> tensor<64x16xi8>
  %b = tile.load %yp : tensor<16x64x!tile.ptr<i8>> -> tensor<16x64xi8>
  %aw = arith.extsi %a : tensor<64x16xi8> to tensor<64x16xi32>
  %bw = arith.extui %b : tensor<16x64xi8> to tensor<16x64xi32>
  %zero = arith.constant dense<0> : tensor<64x64xi32>
  %d = tile.dot %aw, %bw, %zero : tensor<64x16xi32>, tensor<16x64xi32> -> tensor<64x64xi32>
  %ro = tile.arange 0 to 4096 : tensor<4096xi32>
  %oo = tile.reshape %ro : tensor<4096xi32> -> tensor<64x64xi32>
  %os = tile.splat %out : !tile.ptr<i32> -> tensor<64x64x!tile.ptr<i32>>
  %op = tile.addptr %os, %oo : tensor<64x64x!tile.ptr<i32>>, tensor<64x64xi32>
  tile.store %op, %d : tensor<64x64x!tile.ptr<i32>>, tensor<64x64xi32>
  return
}

// -----

// A product that is only stored goes from registers to the user's memory, and what is computed of it
// on the way there too: only the packed operand has a buffer.
// CHECK-LABEL: llvm.func @stored
// CHECK: llvm.alloca
// CHECK-NOT: llvm.alloca
// CHECK: %[[SUMS:.+]]:16 = scf.for
// CHECK: %[[SUM:.+]] = arith.addf %[[SUMS]]#0, %{{.*}} : vector<16xf32>
// CHECK: llvm.store %[[SUM]], %{{.*}} {alignment = 4 : i64} : vector<16xf32>
func.func @stored(%x: !tile.ptr<f32> {tile.disjoint}, %out: !tile.ptr<f32> {tile.disjoint}) {
  %r = tile.arange 0 to 64 : tensor<64xi32>
  %row = tile.expand_dims %r axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %size = arith.constant dense<64> : tensor<64x1xi32>
  %start = arith.muli %row, %size : tensor<64x1xi32>
  %col = tile.expand_dims %r axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %rows = tile.broadcast %start : tensor<64x1xi32> -> tensor<64x64xi32>
  %cols = tile.broadcast %col : tensor<1x64xi32> -> tensor<64x64xi32>
  %o = arith.addi %rows, %cols : tensor<64x64xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %o : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %one = arith.constant dense<1.0> : tensor<64x64xf32>
  %a = tile.load %xp : tensor<64x64x!tile.ptr<f32>> -> tensor<64x64xf32>
  %d = tile.dot %a, %a, %zero : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %e = arith.addf %d, %one : tensor<64x64xf32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %op = tile.addptr %os, %o : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  tile.store %op, %e : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xf32>
  return
}

// -----

// Where the store may reach what the product still reads, the product is complete before.
// CHECK-LABEL: llvm.func @stored_in_place
// CHECK-COUNT-2: llvm.alloca
func.func @stored_in_place(%x: !tile.ptr<f32>, %out: !tile.ptr<f32>) {
  %r = tile.arange 0 to 64 : tensor<64xi32>
  %row = tile.expand_dims %r axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %size = arith.constant dense<64> : tensor<64x1xi32>
  %start = arith.muli %row, %size : tensor<64x1xi32>
  %col = tile.expand_dims %r axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %rows = tile.broadcast %start : tensor<64x1xi32> -> tensor<64x64xi32>
  %cols = tile.broadcast %col : tensor<1x64xi32> -> tensor<64x64xi32>
  %o = arith.addi %rows, %cols : tensor<64x64xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %o : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.load %xp : tensor<64x64x!tile.ptr<f32>> -> tensor<64x64xf32>
  %d = tile.dot %a, %a, %zero : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %op = tile.addptr %os, %o : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  tile.store %op, %d : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xf32>
  return
}

// -----

// Whether a product is stored without its mask does not hang on the masks of its operands.
// CHECK-LABEL: llvm.func @masks_of_operands
// CHECK: %[[SUMS:.+]]:16 = scf.for
// CHECK: %[[FULL:.+]] = arith.cmpi sge, %{{.+}}, %{{.+}} : i32
// CHECK-NEXT: scf.if %[[FULL]] {
// CHECK: llvm.store %[[SUMS]]#0, %{{.*}} {alignment = 4 : i64} : vector<16xf32>
func.func @masks_of_operands(%x: !tile.ptr<f32> {tile.disjoint}, %out: !tile.ptr<f32> {tile.disjoint}, %k: i32, %n: i32) {
  %r = tile.arange 0 to 64 : tensor<64xi32>
  %row = tile.expand_dims %r axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %size = arith.constant dense<64> : tensor<64x1xi32>
  %start = arith.muli %row, %size : tensor<64x1xi32>
  %col = tile.expand_dims %r axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %rows = tile.broadcast %start : tensor<64x1xi32> -> tensor<64x64xi32>
  %cols = tile.broadcast %col : tensor<1x64xi32> -> tensor<64x64xi32>
  %o = arith.addi %rows, %cols : tensor<64x64xi32>
  %ks = tile.splat %k : i32 -> tensor<64x64xi32>
  %ns = tile.splat %n : i32 -> tensor<64x64xi32>
  %inner = arith.cmpi slt, %cols, %ks : tensor<64x64xi32>
  %outer = arith.cmpi sle, %cols, %ns : tensor<64x64xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %o : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.load %xp mask %inner : tensor<64x64xi1> : tensor<64x64x!tile.ptr<f32>> -> tensor<64x64xf32>
  %b = tile.load %xp : tensor<64x64x!tile.ptr<f32>> -> tensor<64x64xf32>
  %d = tile.dot %a, %b, %zero : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %op = tile.addptr %os, %o : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  tile.store %op, %d mask %outer : tensor<64x64xi1> : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xf32>
  return
}

// -----

// A that lies along m is copied step by step, the rows of a group interleaved, instead of
// transposed element by element. The second shuffle packs B.
// CHECK-LABEL: llvm.func @along_m
// CHECK: %[[K0:.+]] = llvm.load {{.*}} -> vector<32xbf16>
// CHECK: %[[K1:.+]] = llvm.load {{.*}} -> vector<32xbf16>
// CHECK: vector.shuffle %[[K0]], %[[K1]] [0, 32, 1, 33, {{.*}} : vector<32xbf16>, vector<32xbf16>
// CHECK: vector.shuffle {{.*}} [0, 32, 1, 33, {{.*}} : vector<32xbf16>, vector<32xbf16>
// CHECK-NOT: vector.shuffle
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"
func.func @along_m(%x: !tile.ptr<bf16> {tile.disjoint}, %y: !tile.ptr<bf16> {tile.disjoint}, %out: !tile.ptr<f32> {tile.disjoint}) {
  %r = tile.arange 0 to 4096 : tensor<4096xi32>
  %o = tile.reshape %r : tensor<4096xi32> -> tensor<64x64xi32>
  %t = tile.trans %o [1, 0] : tensor<64x64xi32> -> tensor<64x64xi32>
  %xs = tile.splat %x : !tile.ptr<bf16> -> tensor<64x64x!tile.ptr<bf16>>
  %xp = tile.addptr %xs, %t : tensor<64x64x!tile.ptr<bf16>>, tensor<64x64xi32>
  %ys = tile.splat %y : !tile.ptr<bf16> -> tensor<64x64x!tile.ptr<bf16>>
  %yp = tile.addptr %ys, %o : tensor<64x64x!tile.ptr<bf16>>, tensor<64x64xi32>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.load %xp : tensor<64x64x!tile.ptr<bf16>> -> tensor<64x64xbf16>
  %b = tile.load %yp : tensor<64x64x!tile.ptr<bf16>> -> tensor<64x64xbf16>
  %d = tile.dot %a, %b, %zero : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %op = tile.addptr %os, %o : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  tile.store %op, %d : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xf32>
  return
}

// -----

// Sums that go to more memory than caches hold bypass them, where rows are aligned.
// CHECK-LABEL: llvm.func @streamed
// CHECK: %[[SUMS:.+]]:16 = scf.for {{.*}} -> (vector<16xf32>
// CHECK: arith.ori
// CHECK: %[[LOW:.+]] = arith.andi %{{.*}}, %c63
// CHECK: %[[ALIGNED:.+]] = arith.cmpi eq, %[[LOW]]
// CHECK: scf.if %[[ALIGNED]] {
// CHECK-COUNT-16: llvm.store %[[SUMS]]#{{.*}} {alignment = 64 : i64, nontemporal}
// CHECK: } else {
// CHECK-COUNT-16: llvm.store %[[SUMS]]#{{.*}} {alignment = 4 : i64} : vector<16xf32>
func.func @streamed(%x: !tile.ptr<f32> {tile.disjoint}, %out: !tile.ptr<f32> {tile.disjoint, tile.streaming}) {
  %r = tile.arange 0 to 4096 : tensor<4096xi32>
  %o = tile.reshape %r : tensor<4096xi32> -> tensor<64x64xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %o : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %a = tile.load %xp : tensor<64x64x!tile.ptr<f32>> -> tensor<64x64xf32>
  %d = tile.dot %a, %a, %zero : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %op = tile.addptr %os, %o : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  tile.store %op, %d : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xf32>
  return
}

// -----

// B is used where it lies if a launch brings its rows close together, and is packed otherwise. The
// rows that a loop multiplies at each step are computed once, in front of it.
// CHECK-LABEL: llvm.func @near_rows
// CHECK: arith.mulf %{{.*}} : vector<16xf32>
// CHECK: scf.for
// CHECK-NOT: arith.mulf %{{.*}} : vector<16xf32>
// CHECK: %[[FAR:.+]] = arith.cmpi ugt, %{{.*}}, %c256_i64 : i64
// CHECK: scf.if %[[FAR]] {
// CHECK: arith.select %[[FAR]], %{{.*}}, %{{.*}} : !llvm.ptr
// CHECK-COUNT-16: math.fma {{.*}} : vector<16xf32>
func.func @near_rows(%x: !tile.ptr<f32> {tile.disjoint}, %out: !tile.ptr<f32> {tile.disjoint}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = tile.arange 0 to 64 : tensor<64xi32>
  %row = tile.reshape %r : tensor<64xi32> -> tensor<64x1xi32>
  %column = tile.reshape %r : tensor<64xi32> -> tensor<1x64xi32>
  %rows = tile.broadcast %row : tensor<64x1xi32> -> tensor<64x64xi32>
  %columns = tile.broadcast %column : tensor<1x64xi32> -> tensor<64x64xi32>
  %ns = tile.splat %n : i32 -> tensor<64x64xi32>
  %begin = arith.muli %rows, %ns : tensor<64x64xi32>
  %o = arith.addi %begin, %columns : tensor<64x64xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %o : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %two = arith.constant dense<2.0> : tensor<64x64xf32>
  %q = tile.load %xp : tensor<64x64x!tile.ptr<f32>> -> tensor<64x64xf32>
  %a = arith.mulf %q, %two : tensor<64x64xf32>
  %res = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
    %is = tile.splat %i : i32 -> tensor<64x64xi32>
    %bp = tile.addptr %xp, %is : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
    %b = tile.load %bp : tensor<64x64x!tile.ptr<f32>> -> tensor<64x64xf32>
    %d = tile.dot %a, %b, %acc : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %op = tile.addptr %os, %o : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  tile.store %op, %res : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xf32>
  return
}

// -----

// Where masks end along k, the steps behind the farther end are left out; rows and columns that the
// store leaves out are not computed. A is read where it lies, and B packed without masks, if their
// ends are those of what is computed.
// CHECK-LABEL: llvm.func @ragged
// CHECK: %[[LAST:.+]] = arith.maxsi %[[END:.+]], %[[END]] : i64
// CHECK-NEXT: %[[STEPS:.+]] = arith.minsi %[[LAST]], %c64_i64
// CHECK: scf.if %[[HOLDS:.+]] {
// CHECK-NEXT: } else {
// CHECK: llvm.intr.masked.load
// CHECK: arith.select %[[HOLDS]]
// CHECK: scf.for {{.*}} step %c8_i64
// CHECK: %[[WHOLE:.+]] = arith.andi %[[STEPS]], %c-4_i64
// CHECK-NEXT: %[[SUMS:.+]]:16 = scf.for {{.*}} to %[[WHOLE]] step %c4_i64
// CHECK: scf.for {{.*}} = %[[WHOLE]] to %[[STEPS]] step %c1_i64
func.func @ragged(%x: !tile.ptr<f32> {tile.disjoint}, %y: !tile.ptr<f32> {tile.disjoint}, %out: !tile.ptr<f32> {tile.disjoint}, %m: i32, %k: i32) {
  %r = tile.arange 0 to 64 : tensor<64xi32>
  %down = tile.expand_dims %r axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %across = tile.expand_dims %r axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %ms = tile.splat %m : i32 -> tensor<64x1xi32>
  %kd = tile.splat %k : i32 -> tensor<64x1xi32>
  %ka = tile.splat %k : i32 -> tensor<1x64xi32>
  %isRow = arith.cmpi slt, %down, %ms : tensor<64x1xi32>
  %isStepOfB = arith.cmpi slt, %down, %kd : tensor<64x1xi32>
  %isStepOfA = arith.cmpi slt, %across, %ka : tensor<1x64xi32>
  %rows = tile.broadcast %isRow : tensor<64x1xi1> -> tensor<64x64xi1>
  %stepsOfA = tile.broadcast %isStepOfA : tensor<1x64xi1> -> tensor<64x64xi1>
  %stepsOfB = tile.broadcast %isStepOfB : tensor<64x1xi1> -> tensor<64x64xi1>
  %ofA = arith.andi %rows, %stepsOfA : tensor<64x64xi1>
  %all = tile.arange 0 to 4096 : tensor<4096xi32>
  %o = tile.reshape %all : tensor<4096xi32> -> tensor<64x64xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %o : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  %ys = tile.splat %y : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %yp = tile.addptr %ys, %o : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  %a = tile.load %xp mask %ofA : tensor<64x64xi1> : tensor<64x64x!tile.ptr<f32>> -> tensor<64x64xf32>
  %b = tile.load %yp mask %stepsOfB : tensor<64x64xi1> : tensor<64x64x!tile.ptr<f32>> -> tensor<64x64xf32>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %d = tile.dot %a, %b, %zero : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %op = tile.addptr %os, %o : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  tile.store %op, %d mask %rows : tensor<64x64xi1> : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xf32>
  return
}

// -----

// What B's elements are computed of is asked for some rows ahead, where its rows lie apart: 4096
// bytes of it, here 64 rows.
// CHECK-LABEL: llvm.func @computed
// CHECK: scf.for %[[STEP:.+]] = %c0_i64 to %c64_i64
// CHECK: %[[AHEAD:.+]] = arith.muli %{{.*}}, %c64_i64
// CHECK: "llvm.intr.prefetch"
// CHECK: arith.sitofp
// CHECK-NOT: "llvm.intr.prefetch"
func.func @computed(%x: !tile.ptr<f32> {tile.disjoint}, %y: !tile.ptr<i8> {tile.disjoint}, %out: !tile.ptr<f32> {tile.disjoint}, %distance: i32) {
  %all = tile.arange 0 to 4096 : tensor<4096xi32>
  %o = tile.reshape %all : tensor<4096xi32> -> tensor<64x64xi32>
  %r = tile.arange 0 to 64 : tensor<64xi32>
  %down = tile.expand_dims %r axis 1 : tensor<64xi32> -> tensor<64x1xi32>
  %across = tile.expand_dims %r axis 0 : tensor<64xi32> -> tensor<1x64xi32>
  %ds = tile.splat %distance : i32 -> tensor<64x1xi32>
  %starts = arith.muli %down, %ds : tensor<64x1xi32>
  %startsWide = tile.broadcast %starts : tensor<64x1xi32> -> tensor<64x64xi32>
  %columns = tile.broadcast %across : tensor<1x64xi32> -> tensor<64x64xi32>
  %places = arith.addi %startsWide, %columns : tensor<64x64xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %o : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  %ys = tile.splat %y : !tile.ptr<i8> -> tensor<64x64x!tile.ptr<i8>>
  %yp = tile.addptr %ys, %places : tensor<64x64x!tile.ptr<i8>>, tensor<64x64xi32>
  %a = tile.load %xp : tensor<64x64x!tile.ptr<f32>> -> tensor<64x64xf32>
  %bytes = tile.load %yp : tensor<64x64x!tile.ptr<i8>> -> tensor<64x64xi8>
  %b = arith.sitofp %bytes : tensor<64x64xi8> to tensor<64x64xf32>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %d = tile.dot %a, %b, %zero : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<64x64x!tile.ptr<f32>>
  %op = tile.addptr %os, %o : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xi32>
  tile.store %op, %d : tensor<64x64x!tile.ptr<f32>>, tensor<64x64xf32>
  return
}
