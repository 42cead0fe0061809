// RUN: tile-opt %s -split-input-file -lower-simd -cse | FileCheck %s

// An elementwise kernel is one loop over vectors: without masks as far as all elements are there,
// with them behind that, where a vector with no element is left out as a whole.
// CHECK-LABEL: llvm.func @double_elements
// CHECK: scf.for {{.*}} to %[[END:[^ ]*]] step
// CHECK-NOT: masked
// CHECK:   llvm.load {{.*}} -> vector<16xf32>
// CHECK:   arith.addf {{.*}} : vector<16xf32>
// CHECK:   llvm.store {{.*}} : vector<16xf32>
// CHECK: scf.for {{.*}} = %[[END]] to
// CHECK:   %[[SOME:.+]] = vector.reduction <or>, %[[MASK:[^ ]+]]
// CHECK:   scf.if %[[SOME]] {
// CHECK-NOT: scf.if
// CHECK:     llvm.intr.masked.load {{.*}}, %[[MASK]]
// CHECK:     arith.addf
// CHECK:     llvm.intr.masked.store {{.*}}, %[[MASK]]
func.func @double_elements(%x: !tile.ptr<f32> {tile.disjoint}, %out: !tile.ptr<f32> {tile.disjoint}, %n: i32) {
  %r = tile.arange 0 to 1024 : tensor<1024xi32>
  %nn = tile.splat %n : i32 -> tensor<1024xi32>
  %m = arith.cmpi slt, %r, %nn : tensor<1024xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %r : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  %v = tile.load %xp mask %m : tensor<1024xi1> : tensor<1024x!tile.ptr<f32>> -> tensor<1024xf32>
  %d = arith.addf %v, %v : tensor<1024xf32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %op = tile.addptr %os, %r : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  tile.store %op, %d mask %m : tensor<1024xi1> : tensor<1024x!tile.ptr<f32>>, tensor<1024xf32>
  return
}

// -----

// Where the output may overlap the input, the tile is read whole before anything is written.
// CHECK-LABEL: llvm.func @shift_in_place
// CHECK: scf.for
// CHECK:   llvm.load {{.*}} -> vector<16xf32>
// CHECK:   llvm.store
// CHECK: scf.for
// CHECK:   llvm.load {{.*}} -> vector<16xf32>
// CHECK:   llvm.store
func.func @shift_in_place(%x: !tile.ptr<f32>) {
  %r = tile.arange 0 to 64 : tensor<64xi32>
  %one = arith.constant dense<1> : tensor<64xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %r : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  %v = tile.load %xp : tensor<64x!tile.ptr<f32>> -> tensor<64xf32>
  %op = tile.addptr %xp, %one : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  tile.store %op, %v : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
  return
}

// -----

// Addresses known only element by element are gathered.
// CHECK-LABEL: llvm.func @lookup
// CHECK: llvm.load {{.*}} -> vector<16xi32>
// CHECK: llvm.intr.masked.gather
func.func @lookup(%table: !tile.ptr<f32> {tile.disjoint}, %index: !tile.ptr<i32> {tile.disjoint}, %out: !tile.ptr<f32> {tile.disjoint}) {
  %r = tile.arange 0 to 64 : tensor<64xi32>
  %is = tile.splat %index : !tile.ptr<i32> -> tensor<64x!tile.ptr<i32>>
  %ip = tile.addptr %is, %r : tensor<64x!tile.ptr<i32>>, tensor<64xi32>
  %i = tile.load %ip : tensor<64x!tile.ptr<i32>> -> tensor<64xi32>
  %ts = tile.splat %table : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
  %tp = tile.addptr %ts, %i : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  %v = tile.load %tp : tensor<64x!tile.ptr<f32>> -> tensor<64xf32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<64x!tile.ptr<f32>>
  %op = tile.addptr %os, %r : tensor<64x!tile.ptr<f32>>, tensor<64xi32>
  tile.store %op, %v : tensor<64x!tile.ptr<f32>>, tensor<64xf32>
  return
}

// -----

// A transposed copy reads and writes whole vectors: blocks are transposed in registers, four rows
// at a time within 16 bytes, and then the 16 bytes of four vectors. Neither loop is unrolled.
// CHECK: #[[STAYS:.+]] = #llvm.loop_unroll<disable = true>
// CHECK: #[[ROLLED:.+]] = #llvm.loop_annotation<unroll = #[[STAYS]]>
// CHECK-LABEL: llvm.func @transpose
// CHECK-NOT: gather
// CHECK-NOT: scatter
// CHECK-COUNT-2: vector.shuffle {{.*}} [2, 18, 3, 19, 6, 22, 7, 23,
// CHECK-COUNT-2: vector.shuffle {{.*}} [2, 3, 18, 19, 6, 7, 22, 23,
// CHECK-COUNT-4: llvm.store {{.*}} : vector<16xf32>
// CHECK: } {loop_annotation = #[[ROLLED]]}
// CHECK: scf.for
// CHECK-COUNT-4: llvm.load {{.*}} -> vector<16xf32>
// CHECK-COUNT-8: vector.shuffle {{.*}} : vector<16xf32>, vector<16xf32>
// CHECK-NOT: vector.shuffle
// CHECK-COUNT-4: llvm.store {{.*}} : vector<16xf32>
// CHECK: } {loop_annotation = #[[ROLLED]]}
// CHECK-NOT: scatter
// CHECK: llvm.return
func.func @transpose(%x: !tile.ptr<f32> {tile.disjoint}, %out: !tile.ptr<f32> {tile.disjoint}) {
  %r = tile.arange 0 to 1024 : tensor<1024xi32>
  %o = tile.reshape %r : tensor<1024xi32> -> tensor<32x32xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<32x32x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %o : tensor<32x32x!tile.ptr<f32>>, tensor<32x32xi32>
  %v = tile.load %xp : tensor<32x32x!tile.ptr<f32>> -> tensor<32x32xf32>
  %t = tile.trans %v [1, 0] : tensor<32x32xf32> -> tensor<32x32xf32>
  %os = tile.splat %out : !tile.ptr<f32> -> tensor<32x32x!tile.ptr<f32>>
  %op = tile.addptr %os, %o : tensor<32x32x!tile.ptr<f32>>, tensor<32x32xi32>
  tile.store %op, %t : tensor<32x32x!tile.ptr<f32>>, tensor<32x32xf32>
  return
}

// -----

// f16 are gathered and scattered as integers, which LLVM can select for x86.
// CHECK-LABEL: llvm.func @gather_halves
// CHECK: %[[BITS:.*]] = llvm.intr.masked.gather {{.*}} -> vector<16xi16>
// CHECK: arith.bitcast %[[BITS]] : vector<16xi16> to vector<16xf16>
// CHECK: llvm.intr.masked.scatter {{.*}} : vector<16xi16>
func.func @gather_halves(%x: !tile.ptr<f16> {tile.disjoint}, %out: !tile.ptr<f16> {tile.disjoint}, %step: i32) {
  %r = tile.arange 0 to 16 : tensor<16xi32>
  %s = tile.splat %step : i32 -> tensor<16xi32>
  %o = arith.muli %r, %s : tensor<16xi32>
  %xs = tile.splat %x : !tile.ptr<f16> -> tensor<16x!tile.ptr<f16>>
  %xp = tile.addptr %xs, %o : tensor<16x!tile.ptr<f16>>, tensor<16xi32>
  %v = tile.load %xp : tensor<16x!tile.ptr<f16>> -> tensor<16xf16>
  %os = tile.splat %out : !tile.ptr<f16> -> tensor<16x!tile.ptr<f16>>
  %op = tile.addptr %os, %o : tensor<16x!tile.ptr<f16>>, tensor<16xi32>
  tile.store %op, %v : tensor<16x!tile.ptr<f16>>, tensor<16xf16>
  return
}

// -----

// What a mask keeps of f16 is stored as integers of its bits, which LLVM takes apart well.
// CHECK-LABEL: llvm.func @masked_halves
// CHECK: llvm.store %{{.+}} : vector<[[LANES:[0-9]+]]xf16>
// CHECK: %[[BITS:.+]] = arith.bitcast %{{.+}} : vector<[[LANES]]xf16> to vector<[[LANES]]xi16>
// CHECK: llvm.intr.masked.store %[[BITS]]
func.func @masked_halves(%x: !tile.ptr<f16> {tile.disjoint}, %out: !tile.ptr<f16> {tile.disjoint}, %n: i32) {
  %r = tile.arange 0 to 64 : tensor<64xi32>
  %ns = tile.splat %n : i32 -> tensor<64xi32>
  %m = arith.cmpi slt, %r, %ns : tensor<64xi32>
  %xs = tile.splat %x : !tile.ptr<f16> -> tensor<64x!tile.ptr<f16>>
  %xp = tile.addptr %xs, %r : tensor<64x!tile.ptr<f16>>, tensor<64xi32>
  %v = tile.load %xp : tensor<64x!tile.ptr<f16>> -> tensor<64xf16>
  %os = tile.splat %out : !tile.ptr<f16> -> tensor<64x!tile.ptr<f16>>
  %op = tile.addptr %os, %r : tensor<64x!tile.ptr<f16>>, tensor<64xi32>
  tile.store %op, %v mask %m : tensor<64xi1> : tensor<64x!tile.ptr<f16>>, tensor<64xf16>
  return
}

// -----

// Masked-off vectors of a sum are not read, and gathers, which touch nothing then, are not asked.
// CHECK-LABEL: llvm.func @sums
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[SOME:.+]] = vector.reduction <or>, %[[MASK:[^ ]+]]
// CHECK: scf.if %[[SOME]] -> (vector<16xf32>) {
// CHECK:   llvm.intr.masked.load {{.*}}, %[[MASK]]
// CHECK: } else {
// CHECK:   scf.yield %{{.*}} : vector<16xf32>
// CHECK: }
// CHECK-NOT: scf.if
// CHECK: llvm.intr.masked.gather
func.func @sums(%x: !tile.ptr<f32> {tile.disjoint}, %out: !tile.ptr<f32> {tile.disjoint}, %n: i32, %step: i32) {
  %r = tile.arange 0 to 1024 : tensor<1024xi32>
  %nn = tile.splat %n : i32 -> tensor<1024xi32>
  %m = arith.cmpi slt, %r, %nn : tensor<1024xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>>
  %xp = tile.addptr %xs, %r : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  %v = tile.load %xp mask %m : tensor<1024xi1> : tensor<1024x!tile.ptr<f32>> -> tensor<1024xf32>
  %s = tile.splat %step : i32 -> tensor<1024xi32>
  %o = arith.muli %r, %s : tensor<1024xi32>
  %gp = tile.addptr %xs, %o : tensor<1024x!tile.ptr<f32>>, tensor<1024xi32>
  %g = tile.load %gp mask %m : tensor<1024xi1> : tensor<1024x!tile.ptr<f32>> -> tensor<1024xf32>
  %both = arith.addf %v, %g : tensor<1024xf32>
  %sum = tile.reduce(%both) axis 0 commutative {
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tile.yield %c : f32
  } : (tensor<1024xf32>) -> f32
  tile.store %out, %sum : !tile.ptr<f32>, f32
  return
}
