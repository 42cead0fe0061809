// Operands of matrix products are copied into a ring of slots ahead of their iteration.
// RUN: tile-opt --pipeline-loops=num-stages=3 --split-input-file %s 2>/dev/null | FileCheck %s
// RUN: tile-opt --pipeline-loops=num-stages=1 --split-input-file %s 2>/dev/null | FileCheck %s --check-prefix=ONE
// RUN: tile-opt --pipeline-loops=num-stages=2 --split-input-file %s 2>/dev/null | FileCheck %s --check-prefix=TWO
// RUN: sed 's/by groups/by barriers/' %s | tile-opt --pipeline-loops=num-stages=3 --split-input-file 2>/dev/null | FileCheck %s --check-prefix=REGISTERS
// RUN: sed 's/by groups/by barriers/' %s | tile-opt --pipeline-loops=num-stages=2 --split-input-file 2>/dev/null | tile-opt --canonicalize --split-input-file | FileCheck %s --check-prefix=SLOTS

#copy = #tile.layout<[32, 16] register = [[0, 1], [0, 2], [0, 4]] lane = [[0, 8], [1, 0], [2, 0], [4, 0], [8, 0]] warp = [[16, 0]]>
#a = #tile.layout<[32, 16] register = [[0, 1], [8, 0], [0, 8]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#b = #tile.layout<[16, 8] register = [[1, 0], [8, 0]] lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]] warp = [[0, 0]]>
#c = #tile.layout<[32, 8] register = [[0, 1], [8, 0]] lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]] warp = [[16, 0]]>
#mma = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
#machine = #tile.target<warp_size = 32, shared_bytes = 65536, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, mma = [#mma], copies = [#tile.copy<each_lane of [4, 8, 16] by groups>], features = [load_matrix]>

module attributes {tile.target = #machine, simt.num_warps = 2 : i32} {
// ONE-NOT: simt.async
// Without copies that passes use, the data goes through registers.
// REGISTERS-NOT: simt.async
// REGISTERS-LABEL: @carried_pointers
// REGISTERS: scf.for
// REGISTERS: simt.store_shared
// REGISTERS: scf.yield
// Two slots take turns: pairs of iterations, each of which knows its slot and how far ahead in the
// ring it is of the one before. Behind the first of a pair there is always another one.
// SLOTS-LABEL: @carried_pointers
// SLOTS: %[[RING:.*]] = simt.alloc_shared "load of line {{[0-9]+}}" slots 2
// SLOTS: scf.for
// SLOTS: %[[SECOND:.*]] = simt.slot %[[RING]][%c1_i32] phase 1
// SLOTS: tile.load %{{[^ ]*}} :
// SLOTS: %[[FIRST:.*]] = simt.slot %[[RING]][%c0_i32] phase 0
// SLOTS: simt.load_shared %[[FIRST]]
// SLOTS: simt.mma
// SLOTS: simt.store_shared %{{.*}}, %[[SECOND]]
// SLOTS: %[[EXISTS:.*]] = arith.cmpi slt
// SLOTS: %[[MASK:.*]] = tile.splat %[[EXISTS]]
// SLOTS: %[[THIRD:.*]] = simt.slot %[[RING]][%c0_i32] phase 2
// SLOTS: tile.load %{{[^ ]*}} mask %[[MASK]]
// SLOTS: %[[READ:.*]] = simt.slot %[[RING]][%c1_i32] phase 1
// SLOTS: simt.load_shared %[[READ]]
// SLOTS: simt.mma
// SLOTS: simt.store_shared %{{.*}}, %[[THIRD]]
// SLOTS: scf.yield
// A last one alone has nothing to copy.
// SLOTS: scf.if
// SLOTS-NOT: tile.load
// SLOTS: simt.load_shared
// SLOTS: simt.mma
// SLOTS-NOT: simt.store_shared
// SLOTS: return
// CHECK-LABEL: @carried_pointers
// CHECK: %[[RING:.*]] = simt.alloc_shared "load of line {{[0-9]+}}" slots 3
// Two iterations are copied ahead of the loop, if there are as many.
// CHECK: %[[FIRST:.*]] = arith.cmpi slt, %[[LOWER:.*]], %[[UPPER:.*]] : i32
// CHECK: tile.splat %[[FIRST]]
// CHECK: simt.async_copy {{.*}} pieces 8 along 1
// CHECK: simt.async_commit
// CHECK: simt.async_copy
// CHECK: simt.async_commit
// CHECK: scf.for
// CHECK-NEXT: simt.async_wait 1
// CHECK-NEXT: simt.barrier
// CHECK: %[[WRITTEN:.*]] = simt.slot %[[RING]][%{{.*}}] phase 2
// CHECK: simt.async_copy %{{.*}}, %[[WRITTEN]]
// CHECK: simt.async_commit
// CHECK: %[[READ:.*]] = simt.slot %[[RING]][%{{.*}}] phase 0
// CHECK: simt.load_shared %[[READ]]
// CHECK: simt.mma
// CHECK: }
// CHECK: simt.async_wait 0
func.func @carried_pointers(%base: tensor<32x16x!tile.ptr<f16>, #copy> {tile.divisibility = 16 : i64}, %step: tensor<32x16xi32, #copy>, %b: tensor<16x8xf16, #b>, %acc: tensor<32x8xf32, #c>, %lower: i32, %upper: i32, %x: !tile.ptr<f16> {tile.divisibility = 16 : i64}) -> tensor<32x8xf32, #c> {
  %one = arith.constant 1 : i32
  %columns = tile.arange 0 to 16 : tensor<16xi32, #tile.layout<[16] register = [[1], [2], [4]] lane = [[8], [0], [0], [0], [0]] warp = [[0]]>>
  %row = tile.expand_dims %columns axis 0 : tensor<16xi32, #tile.layout<[16] register = [[1], [2], [4]] lane = [[8], [0], [0], [0], [0]] warp = [[0]]>> -> tensor<1x16xi32, #tile.layout<[1, 16] register = [[0, 1], [0, 2], [0, 4]] lane = [[0, 8], [0, 0], [0, 0], [0, 0], [0, 0]] warp = [[0, 0]]>>
  %offsets = tile.broadcast %row : tensor<1x16xi32, #tile.layout<[1, 16] register = [[0, 1], [0, 2], [0, 4]] lane = [[0, 8], [0, 0], [0, 0], [0, 0], [0, 0]] warp = [[0, 0]]>> -> tensor<32x16xi32, #copy>
  %start = tile.splat %x : !tile.ptr<f16> -> tensor<32x16x!tile.ptr<f16>, #copy>
  %pointers = tile.addptr %start, %offsets : tensor<32x16x!tile.ptr<f16>, #copy>, tensor<32x16xi32, #copy>
  %r:2 = scf.for %i = %lower to %upper step %one iter_args(%sum = %acc, %advance = %lower) -> (tensor<32x8xf32, #c>, i32) : i32 {
    %all = tile.splat %advance : i32 -> tensor<32x16xi32, #copy>
    %sixteen = arith.constant dense<16> : tensor<32x16xi32, #copy>
    %scaled = arith.muli %all, %sixteen : tensor<32x16xi32, #copy>
    %now = tile.addptr %pointers, %scaled : tensor<32x16x!tile.ptr<f16>, #copy>, tensor<32x16xi32, #copy>
    %t = tile.load %now : tensor<32x16x!tile.ptr<f16>, #copy> -> tensor<32x16xf16, #copy>
    %a = simt.convert_layout %t : tensor<32x16xf16, #copy> -> tensor<32x16xf16, #a>
    %p = simt.mma %a, %b, %sum by #mma warps [2, 1] ieee : tensor<32x16xf16, #a>, tensor<16x8xf16, #b> -> tensor<32x8xf32, #c>
    %next = arith.addi %advance, %one : i32
    scf.yield %p, %next : tensor<32x8xf32, #c>, i32
  }
  return %r#0 : tensor<32x8xf32, #c>
}

// What others write before they let this program go on cannot be read early.
// CHECK-LABEL: @acquired
// CHECK-NOT: async_copy
// CHECK: return
func.func @acquired(%x: !tile.ptr<f16> {tile.disjoint, tile.divisibility = 16 : i64}, %flag: !tile.ptr<i32> {tile.disjoint}, %b: tensor<16x8xf16, #b>, %acc: tensor<32x8xf32, #c>, %lower: i32, %upper: i32) -> tensor<32x8xf32, #c> {
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %columns = tile.arange 0 to 16 : tensor<16xi32, #tile.layout<[16] register = [[1], [2], [4]] lane = [[8], [0], [0], [0], [0]] warp = [[0]]>>
  %row = tile.expand_dims %columns axis 0 : tensor<16xi32, #tile.layout<[16] register = [[1], [2], [4]] lane = [[8], [0], [0], [0], [0]] warp = [[0]]>> -> tensor<1x16xi32, #tile.layout<[1, 16] register = [[0, 1], [0, 2], [0, 4]] lane = [[0, 8], [0, 0], [0, 0], [0, 0], [0, 0]] warp = [[0, 0]]>>
  %offsets = tile.broadcast %row : tensor<1x16xi32, #tile.layout<[1, 16] register = [[0, 1], [0, 2], [0, 4]] lane = [[0, 8], [0, 0], [0, 0], [0, 0], [0, 0]] warp = [[0, 0]]>> -> tensor<32x16xi32, #copy>
  %start = tile.splat %x : !tile.ptr<f16> -> tensor<32x16x!tile.ptr<f16>, #copy>
  %pointers = tile.addptr %start, %offsets : tensor<32x16x!tile.ptr<f16>, #copy>, tensor<32x16xi32, #copy>
  %r = scf.for %i = %lower to %upper step %one iter_args(%sum = %acc) -> (tensor<32x8xf32, #c>) : i32 {
    scf.while : () -> () {
      %seen = tile.atomic_rmw add, %flag, %zero {order = 1 : i32} : !tile.ptr<i32>, i32 -> i32
      %waits = arith.cmpi slt, %seen, %i : i32
      scf.condition(%waits)
    } do {
      scf.yield
    }
    %t = tile.load %pointers : tensor<32x16x!tile.ptr<f16>, #copy> -> tensor<32x16xf16, #copy>
    %a = simt.convert_layout %t : tensor<32x16xf16, #copy> -> tensor<32x16xf16, #a>
    %p = simt.mma %a, %b, %sum by #mma warps [2, 1] ieee : tensor<32x16xf16, #a>, tensor<16x8xf16, #b> -> tensor<32x8xf32, #c>
    scf.yield %p : tensor<32x8xf32, #c>
  }
  return %r : tensor<32x8xf32, #c>
}

// What the loop itself writes cannot be read early.
// CHECK-LABEL: @overwritten
// CHECK-NOT: async_copy
// CHECK: return
func.func @overwritten(%pointers: tensor<32x16x!tile.ptr<f16>, #copy>, %b: tensor<16x8xf16, #b>, %acc: tensor<32x8xf32, #c>, %lower: i32, %upper: i32) -> tensor<32x8xf32, #c> {
  %one = arith.constant 1 : i32
  %r = scf.for %i = %lower to %upper step %one iter_args(%sum = %acc) -> (tensor<32x8xf32, #c>) : i32 {
    %t = tile.load %pointers : tensor<32x16x!tile.ptr<f16>, #copy> -> tensor<32x16xf16, #copy>
    %a = simt.convert_layout %t : tensor<32x16xf16, #copy> -> tensor<32x16xf16, #a>
    %p = simt.mma %a, %b, %sum by #mma warps [2, 1] ieee : tensor<32x16xf16, #a>, tensor<16x8xf16, #b> -> tensor<32x8xf32, #c>
    tile.store %pointers, %t : tensor<32x16x!tile.ptr<f16>, #copy>, tensor<32x16xf16, #copy>
    scf.yield %p : tensor<32x8xf32, #c>
  }
  return %r : tensor<32x8xf32, #c>
}

// Blocks are found through a table: its entry is loaded an iteration before the copies' addresses
// are computed from it, and carried.
// CHECK-LABEL: @gathered
// Of the table, the entries of three iterations are loaded ahead, each if there is such an iteration.
// CHECK-COUNT-2: tile.load %{{.*}} mask
// CHECK: simt.async_copy
// CHECK: tile.load %{{.*}} mask
// CHECK: simt.async_copy
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[ENTRY:.*]] = %{{.*}}, %{{.*}} = %{{.*}}, %{{.*}} = %{{.*}})
// CHECK: simt.async_wait 1
// CHECK: tile.splat %[[ENTRY]]
// CHECK: simt.async_copy
// CHECK: %[[NEXT:.*]] = tile.load %{{.*}} mask
// CHECK: simt.mma
// CHECK: scf.yield %{{.*}}, %[[NEXT]],
func.func @gathered(%table: !tile.ptr<i32>, %pointers: tensor<32x16x!tile.ptr<f16>, #copy> {tile.divisibility = 16 : i64}, %x: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %b: tensor<16x8xf16, #b>, %acc: tensor<32x8xf32, #c>, %lower: i32, %upper: i32) -> tensor<32x8xf32, #c> {
  %one = arith.constant 1 : i32
  %columns = tile.arange 0 to 16 : tensor<16xi32, #tile.layout<[16] register = [[1], [2], [4]] lane = [[8], [0], [0], [0], [0]] warp = [[0]]>>
  %row = tile.expand_dims %columns axis 0 : tensor<16xi32, #tile.layout<[16] register = [[1], [2], [4]] lane = [[8], [0], [0], [0], [0]] warp = [[0]]>> -> tensor<1x16xi32, #tile.layout<[1, 16] register = [[0, 1], [0, 2], [0, 4]] lane = [[0, 8], [0, 0], [0, 0], [0, 0], [0, 0]] warp = [[0, 0]]>>
  %offsets = tile.broadcast %row : tensor<1x16xi32, #tile.layout<[1, 16] register = [[0, 1], [0, 2], [0, 4]] lane = [[0, 8], [0, 0], [0, 0], [0, 0], [0, 0]] warp = [[0, 0]]>> -> tensor<32x16xi32, #copy>
  %start = tile.splat %x : !tile.ptr<f16> -> tensor<32x16x!tile.ptr<f16>, #copy>
  %base = tile.addptr %start, %offsets : tensor<32x16x!tile.ptr<f16>, #copy>, tensor<32x16xi32, #copy>
  %r = scf.for %i = %lower to %upper step %one iter_args(%sum = %acc) -> (tensor<32x8xf32, #c>) : i32 {
    %at = tile.addptr %table, %i : !tile.ptr<i32>, i32
    %entry = tile.load %at : !tile.ptr<i32> -> i32
    %all = tile.splat %entry : i32 -> tensor<32x16xi32, #copy>
    %sixteen = arith.constant dense<16> : tensor<32x16xi32, #copy>
    %scaled = arith.muli %all, %sixteen : tensor<32x16xi32, #copy>
    %now = tile.addptr %base, %scaled : tensor<32x16x!tile.ptr<f16>, #copy>, tensor<32x16xi32, #copy>
    %t = tile.load %now : tensor<32x16x!tile.ptr<f16>, #copy> -> tensor<32x16xf16, #copy>
    %a = simt.convert_layout %t : tensor<32x16xf16, #copy> -> tensor<32x16xf16, #a>
    %p = simt.mma %a, %b, %sum by #mma warps [2, 1] ieee : tensor<32x16xf16, #a>, tensor<16x8xf16, #b> -> tensor<32x8xf32, #c>
    scf.yield %p : tensor<32x8xf32, #c>
  }
  return %r : tensor<32x8xf32, #c>
}

// With one iteration ahead, what the second product needs is waited for after the first one; with
// two, all copies of an iteration are there at its beginning.
// CHECK-LABEL: @two_products
// CHECK: scf.for
// CHECK: simt.async_wait 1
// CHECK-NOT: simt.async_wait
// CHECK: scf.yield
// TWO-LABEL: @two_products
// TWO: scf.for
// TWO-NEXT: simt.async_wait 1
// TWO-NEXT: simt.barrier
// TWO: simt.async_copy
// TWO-NEXT: simt.async_commit
// TWO: simt.async_copy
// TWO-NEXT: simt.async_commit
// TWO: simt.mma
// TWO: simt.async_wait 2
// TWO-NEXT: simt.barrier
// TWO: simt.load_shared
// TWO: simt.mma
// TWO: scf.yield
func.func @two_products(%x: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %y: !tile.ptr<f16> {tile.divisibility = 16 : i64}, %b: tensor<16x8xf16, #b>, %acc: tensor<32x8xf32, #c>, %lower: i32, %upper: i32) -> tensor<32x8xf32, #c> {
  %one = arith.constant 1 : i32
  %columns = tile.arange 0 to 16 : tensor<16xi32, #tile.layout<[16] register = [[1], [2], [4]] lane = [[8], [0], [0], [0], [0]] warp = [[0]]>>
  %row = tile.expand_dims %columns axis 0 : tensor<16xi32, #tile.layout<[16] register = [[1], [2], [4]] lane = [[8], [0], [0], [0], [0]] warp = [[0]]>> -> tensor<1x16xi32, #tile.layout<[1, 16] register = [[0, 1], [0, 2], [0, 4]] lane = [[0, 8], [0, 0], [0, 0], [0, 0], [0, 0]] warp = [[0, 0]]>>
  %offsets = tile.broadcast %row : tensor<1x16xi32, #tile.layout<[1, 16] register = [[0, 1], [0, 2], [0, 4]] lane = [[0, 8], [0, 0], [0, 0], [0, 0], [0, 0]] warp = [[0, 0]]>> -> tensor<32x16xi32, #copy>
  %xs = tile.splat %x : !tile.ptr<f16> -> tensor<32x16x!tile.ptr<f16>, #copy>
  %ys = tile.splat %y : !tile.ptr<f16> -> tensor<32x16x!tile.ptr<f16>, #copy>
  %first = tile.addptr %xs, %offsets : tensor<32x16x!tile.ptr<f16>, #copy>, tensor<32x16xi32, #copy>
  %second = tile.addptr %ys, %offsets : tensor<32x16x!tile.ptr<f16>, #copy>, tensor<32x16xi32, #copy>
  %r = scf.for %i = %lower to %upper step %one iter_args(%sum = %acc) -> (tensor<32x8xf32, #c>) : i32 {
    %t = tile.load %first : tensor<32x16x!tile.ptr<f16>, #copy> -> tensor<32x16xf16, #copy>
    %u = tile.load %second : tensor<32x16x!tile.ptr<f16>, #copy> -> tensor<32x16xf16, #copy>
    %a = simt.convert_layout %t : tensor<32x16xf16, #copy> -> tensor<32x16xf16, #a>
    %p = simt.mma %a, %b, %sum by #mma warps [2, 1] ieee : tensor<32x16xf16, #a>, tensor<16x8xf16, #b> -> tensor<32x8xf32, #c>
    %c = simt.convert_layout %u : tensor<32x16xf16, #copy> -> tensor<32x16xf16, #a>
    %q = simt.mma %c, %b, %p by #mma warps [2, 1] ieee : tensor<32x16xf16, #a>, tensor<16x8xf16, #b> -> tensor<32x8xf32, #c>
    scf.yield %q : tensor<32x8xf32, #c>
  }
  return %r : tensor<32x8xf32, #c>
}
}
