// Stage scheduled: no slot is accessed while a copy into it may be in flight.
// RUN: tile-opt --verify-stage=stage=scheduled --split-input-file --verify-diagnostics %s

#line = #tile.layout<[32] register = [] lane = [[1], [2], [4], [8], [16]] warp = []>
#flat = #tile.layout<[32] offset = [[1], [2], [4], [8], [16]]>
module attributes {simt.num_warps = 1 : i32} {
// Two iterations ahead in a ring of three: each waits for all groups but the last one.
func.func @ring(%p: tensor<32x!tile.ptr<f32>, #line>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %ring = simt.alloc_shared "a" slots 3 at 0 : !simt.shared<[32], f32, #flat>
  %slot0 = simt.slot %ring[%zero] : !simt.shared<[32], f32, #flat>
  simt.async_copy %p, %slot0 pieces 1 along 0 : tensor<32x!tile.ptr<f32>, #line>, !simt.shared<[32], f32, #flat>
  simt.async_commit
  %slot1 = simt.slot %ring[%one] : !simt.shared<[32], f32, #flat>
  simt.async_copy %p, %slot1 pieces 1 along 0 : tensor<32x!tile.ptr<f32>, #line>, !simt.shared<[32], f32, #flat>
  simt.async_commit
  %end:2 = scf.for %i = %zero to %n step %one iter_args(%read = %zero, %written = %two) -> (i32, i32) : i32 {
    simt.async_wait 1
    %next = simt.slot %ring[%written] phase 2 : !simt.shared<[32], f32, #flat>
    simt.async_copy %p, %next pieces 1 along 0 : tensor<32x!tile.ptr<f32>, #line>, !simt.shared<[32], f32, #flat>
    simt.async_commit
    %slot = simt.slot %ring[%read] phase 0 : !simt.shared<[32], f32, #flat>
    %x = simt.load_shared %slot : !simt.shared<[32], f32, #flat> -> tensor<32xf32, #line>
    %ahead = arith.addi %read, %one : i32
    scf.yield %ahead, %read : i32, i32
  }
  simt.async_wait 0
  return
}
// How far ahead a slot is counts in the loop that it is made in.
func.func @slots_of_an_outer_loop(%p: tensor<32x!tile.ptr<f32>, #line>, %n: i32, %first: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %ring = simt.alloc_shared "a" slots 2 at 0 : !simt.shared<[32], f32, #flat>
  %end:2 = scf.for %i = %zero to %n step %one iter_args(%read = %first, %written = %one) -> (i32, i32) : i32 {
    %next = simt.slot %ring[%written] phase 1 : !simt.shared<[32], f32, #flat>
    %slot = simt.slot %ring[%read] phase 0 : !simt.shared<[32], f32, #flat>
    scf.for %j = %zero to %n step %one : i32 {
      simt.async_copy %p, %next pieces 1 along 0 : tensor<32x!tile.ptr<f32>, #line>, !simt.shared<[32], f32, #flat>
      simt.async_commit
      %x = simt.load_shared %slot : !simt.shared<[32], f32, #flat> -> tensor<32xf32, #line>
    }
    simt.async_wait 0
    scf.yield %written, %read : i32, i32
  }
  return
}
// Waits for fewer groups than any pipeline has; groups without end.
func.func @waits_for_next_to_nothing(%p: tensor<32x!tile.ptr<f32>, #line>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %a = simt.alloc_shared "a" at 0 : !simt.shared<[32], f32, #flat>
  scf.for %i = %zero to %n step %one : i32 {
    simt.async_commit
  }
  simt.async_copy %p, %a pieces 1 along 0 : tensor<32x!tile.ptr<f32>, #line>, !simt.shared<[32], f32, #flat>
  simt.async_commit
  simt.async_wait 1000000000
  simt.async_wait -1
  simt.async_wait 0
  return
}
}

// -----

#line = #tile.layout<[32] register = [] lane = [[1], [2], [4], [8], [16]] warp = []>
#flat = #tile.layout<[32] offset = [[1], [2], [4], [8], [16]]>
module attributes {simt.num_warps = 1 : i32} {
// The copies of the iteration before are still in flight.
func.func @waits_for_too_few(%p: tensor<32x!tile.ptr<f32>, #line>, %n: i32, %first: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %ring = simt.alloc_shared "a" slots 2 at 0 : !simt.shared<[32], f32, #flat>
  %end:2 = scf.for %i = %zero to %n step %one iter_args(%read = %first, %written = %one) -> (i32, i32) : i32 {
    simt.async_wait 1
    %next = simt.slot %ring[%written] phase 1 : !simt.shared<[32], f32, #flat>
    simt.async_copy %p, %next pieces 1 along 0 : tensor<32x!tile.ptr<f32>, #line>, !simt.shared<[32], f32, #flat>
    simt.async_commit
    %slot = simt.slot %ring[%read] phase 0 : !simt.shared<[32], f32, #flat>
    // expected-error @below {{stage scheduled: 'simt.load_shared' may be reached while a copy into its shared memory is in flight}}
    %x = simt.load_shared %slot : !simt.shared<[32], f32, #flat> -> tensor<32xf32, #line>
    scf.yield %written, %read : i32, i32
  }
  // expected-error @below {{'func.return' may be reached while a copy into its shared memory is in flight}}
  return
}
// Only the first iteration reads what is in flight: from the copies in front of the loop.
func.func @waits_for_too_few_at_first(%p: tensor<32x!tile.ptr<f32>, #line>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %ring = simt.alloc_shared "a" slots 2 at 0 : !simt.shared<[32], f32, #flat>
  %slot0 = simt.slot %ring[%zero] : !simt.shared<[32], f32, #flat>
  simt.async_copy %p, %slot0 pieces 1 along 0 : tensor<32x!tile.ptr<f32>, #line>, !simt.shared<[32], f32, #flat>
  simt.async_commit
  %end = scf.for %i = %zero to %n step %one iter_args(%read = %zero) -> (i32) : i32 {
    %slot = simt.slot %ring[%read] phase 0 : !simt.shared<[32], f32, #flat>
    // expected-error @below {{while a copy into its shared memory is in flight}}
    %x = simt.load_shared %slot : !simt.shared<[32], f32, #flat> -> tensor<32xf32, #line>
    simt.async_wait 0
    scf.yield %read : i32
  }
  simt.async_wait 0
  return
}
// On one path nothing waits.
func.func @waits_in_a_branch(%p: tensor<32x!tile.ptr<f32>, #line>, %c: i1) {
  %a = simt.alloc_shared "a" at 0 : !simt.shared<[32], f32, #flat>
  simt.async_copy %p, %a pieces 1 along 0 : tensor<32x!tile.ptr<f32>, #line>, !simt.shared<[32], f32, #flat>
  simt.async_commit
  scf.if %c {
    simt.async_wait 0
    %x = simt.load_shared %a : !simt.shared<[32], f32, #flat> -> tensor<32xf32, #line>
  }
  // expected-error @below {{while a copy into its shared memory is in flight}}
  %y = simt.load_shared %a : !simt.shared<[32], f32, #flat> -> tensor<32xf32, #line>
  simt.async_wait 0
  return
}
// Without an iteration of the loop, nothing has waited.
func.func @loop_may_not_run(%p: tensor<32x!tile.ptr<f32>, #line>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %ring = simt.alloc_shared "a" slots 2 at 0 : !simt.shared<[32], f32, #flat>
  %slot0 = simt.slot %ring[%zero] : !simt.shared<[32], f32, #flat>
  simt.async_copy %p, %slot0 pieces 1 along 0 : tensor<32x!tile.ptr<f32>, #line>, !simt.shared<[32], f32, #flat>
  simt.async_commit
  %end = scf.for %i = %zero to %n step %one iter_args(%read = %zero) -> (i32) : i32 {
    simt.async_wait 0
    %slot = simt.slot %ring[%read] phase 0 : !simt.shared<[32], f32, #flat>
    %x = simt.load_shared %slot : !simt.shared<[32], f32, #flat> -> tensor<32xf32, #line>
    scf.yield %read : i32
  }
  // expected-error @below {{while a copy into its shared memory is in flight}}
  %y = simt.load_shared %slot0 : !simt.shared<[32], f32, #flat> -> tensor<32xf32, #line>
  simt.async_wait 0
  return
}
// Another buffer takes the place of one that is still written to.
func.func @takes_its_place(%p: tensor<32x!tile.ptr<f32>, #line>, %x: tensor<32xf32, #line>) {
  %a = simt.alloc_shared "a" at 0 : !simt.shared<[32], f32, #flat>
  %b = simt.alloc_shared "b" at 64 : !simt.shared<[32], f32, #flat>
  %c = simt.alloc_shared "c" at 128 : !simt.shared<[32], f32, #flat>
  simt.async_copy %p, %a pieces 1 along 0 : tensor<32x!tile.ptr<f32>, #line>, !simt.shared<[32], f32, #flat>
  simt.store_shared %x, %c : tensor<32xf32, #line>, !simt.shared<[32], f32, #flat>
  // expected-error @below {{'simt.store_shared' may be reached while a copy into its shared memory is in flight}}
  simt.store_shared %x, %b : tensor<32xf32, #line>, !simt.shared<[32], f32, #flat>
  simt.async_commit
  simt.async_wait 0
  simt.store_shared %x, %b : tensor<32xf32, #line>, !simt.shared<[32], f32, #flat>
  return
}
}

// -----

// A loader waits for what it overwrites to be released.
module attributes {simt.num_warps = 4 : i32, simt.loader_warps = 1 : i32, simt.tensor_maps = [#simt.tensor_map<0 of f16 extents [<2147483648>, <1 of [1]>] strides [<1 of [2]>] box [32, 8] span 64>]} {
func.func @released(%p: !tile.ptr<f16>, %m: i32, %s: i32) {
  %zero = arith.constant 0 : i32
  %b = simt.alloc_shared "b" slots 1 at 0 : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>>
  %full = simt.alloc_shared "full" slots 1 at 512 : !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  %free = simt.alloc_shared "free" slots 1 at 528 : !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  %to = simt.slot %b[%zero] : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>>
  %on = simt.slot %full[%zero] : !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  %by = simt.slot %free[%zero] : !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  simt.loader {
    simt.phase_await %by, %zero : !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
    simt.box_copy maps [0] at [%m, %s] to %to on %on : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>> on !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  }
  simt.release %to on %on by %by : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>> on !simt.shared<[1], i64, #tile.layout<[1] offset = []>> by !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  return
}
func.func @other_slot(%p: !tile.ptr<f16>, %m: i32, %s: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b = simt.alloc_shared "b" slots 2 at 0 : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>>
  %full = simt.alloc_shared "full" slots 2 at 1024 : !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  %free = simt.alloc_shared "free" slots 2 at 1040 : !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  %to = simt.slot %b[%zero] : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>>
  %on = simt.slot %full[%zero] : !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  %by = simt.slot %free[%one] : !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  simt.loader {
    simt.phase_await %by, %zero : !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
    // expected-error @below {{may be reached while a copy into its shared memory is in flight}}
    simt.box_copy maps [0] at [%m, %s] to %to on %on : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>> on !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  }
  simt.release %to on %on by %by : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>> on !simt.shared<[1], i64, #tile.layout<[1] offset = []>> by !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  return
}
// No slot is read while the loader fills it.
func.func @not_awaited(%p: !tile.ptr<f16>, %m: i32, %s: i32) {
  %zero = arith.constant 0 : i32
  %b = simt.alloc_shared "b" slots 1 at 0 : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>>
  %full = simt.alloc_shared "full" slots 1 at 512 : !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  %free = simt.alloc_shared "free" slots 1 at 528 : !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  %to = simt.slot %b[%zero] : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>>
  %on = simt.slot %full[%zero] : !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  %by = simt.slot %free[%zero] : !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  simt.release %to on %on by %by : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>> on !simt.shared<[1], i64, #tile.layout<[1] offset = []>> by !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  // expected-error @below {{may be reached while a copy into its shared memory is in flight}}
  simt.release %to on %on by %by : !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>> on !simt.shared<[1], i64, #tile.layout<[1] offset = []>> by !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
  return
}
}

// -----

// A second loop goes on in the ring of the first: it may release the slot that was read last, not one
// that the loader may still fill.
!tile = !simt.shared<[8, 32], f16, #tile.layout<[8, 32] offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 8], [4, 16]]>>
!phase = !simt.shared<[1], i64, #tile.layout<[1] offset = []>>
module attributes {simt.num_warps = 4 : i32, simt.loader_warps = 1 : i32, simt.tensor_maps = [#simt.tensor_map<0 of f16 extents [<2147483648>, <1 of [1]>] strides [<1 of [2]>] box [32, 8] span 64>]} {
func.func @goes_on(%p: !tile.ptr<f16>, %m: i32, %s: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b = simt.alloc_shared "b" slots 2 at 0 : !tile
  %full = simt.alloc_shared "full" slots 2 at 1024 : !phase
  %free = simt.alloc_shared "free" slots 2 at 1040 : !phase
  simt.barrier loader
  %to = simt.slot %b[%zero] : !tile
  %on = simt.slot %full[%zero] : !phase
  %by = simt.slot %free[%zero] : !phase
  simt.release %to on %on by %by : !tile on !phase by !phase
  %places:2 = simt.loader {
    %next:2 = scf.for %i = %zero to %m step %one iter_args(%slot = %zero, %parity = %zero) -> (i32, i32) : i32 {
      %by1 = simt.slot %free[%slot] : !phase
      simt.phase_await %by1, %parity : !phase
      %to1 = simt.slot %b[%slot] : !tile
      %on1 = simt.slot %full[%slot] : !phase
      simt.box_copy maps [0] at [%i, %s] to %to1 on %on1 : !tile on !phase
      scf.yield %slot, %parity : i32, i32
    }
    simt.yield %next#0, %next#1 : i32, i32
  } -> i32, i32
  %first:3 = scf.for %i = %zero to %m step %one iter_args(%slot = %zero, %written = %one, %parity = %zero) -> (i32, i32, i32) : i32 {
    %on2 = simt.slot %full[%slot] phase 0 : !phase
    simt.phase_await %on2, %parity : !phase
    %to2 = simt.slot %b[%written] phase 1 : !tile
    %on3 = simt.slot %full[%written] phase 1 : !phase
    %by2 = simt.slot %free[%written] phase 1 : !phase
    simt.release %to2 on %on3 by %by2 : !tile on !phase by !phase
    scf.yield %written, %slot, %parity : i32, i32, i32
  }
  simt.loader {
    %next:2 = scf.for %i = %zero to %m step %one iter_args(%slot = %places#0, %parity = %places#1) -> (i32, i32) : i32 {
      %by1 = simt.slot %free[%slot] : !phase
      simt.phase_await %by1, %parity : !phase
      %to1 = simt.slot %b[%slot] : !tile
      %on1 = simt.slot %full[%slot] : !phase
      simt.box_copy maps [0] at [%i, %s] to %to1 on %on1 : !tile on !phase
      scf.yield %slot, %parity : i32, i32
    }
  }
  %second:3 = scf.for %i = %zero to %m step %one iter_args(%slot = %first#0, %written = %first#1, %parity = %first#2) -> (i32, i32, i32) : i32 {
    %to2 = simt.slot %b[%slot] phase 0 : !tile
    %on2 = simt.slot %full[%slot] phase 0 : !phase
    %by2 = simt.slot %free[%slot] phase 0 : !phase
    // expected-error @below {{may be reached while a copy into its shared memory is in flight}}
    simt.release %to2 on %on2 by %by2 : !tile on !phase by !phase
    simt.phase_await %on2, %parity : !phase
    %to3 = simt.slot %b[%written] phase 1 : !tile
    %on3 = simt.slot %full[%written] phase 1 : !phase
    %by3 = simt.slot %free[%written] phase 1 : !phase
    simt.release %to3 on %on3 by %by3 : !tile on !phase by !phase
    scf.yield %written, %slot, %parity : i32, i32, i32
  }
  return
}
}

// -----

module attributes {simt.num_warps = 4 : i32, simt.loader_warps = 1 : i32} {
func.func @loader_only(%p: !tile.ptr<i32>, %m: i32) {
  %place = simt.loader {
    simt.yield %m : i32
  } -> i32
  // expected-error @below {{'tile.store' needs what only the loader knows}}
  tile.store %p, %place : !tile.ptr<i32>, i32
  return
}
}

// -----

module attributes {simt.num_warps = 4 : i32} {
func.func @nobody_comes() {
  // expected-error @below {{'simt.barrier' waits for a loader that the module does not have}}
  simt.barrier loader
  return
}
}

// -----

module attributes {simt.num_warps = 4 : i32, simt.loader_warps = 1 : i32} {
func.func @comes_or_not(%p: !tile.ptr<i32>) {
  %zero = arith.constant 0 : i32
  %old = tile.atomic_rmw add, %p, %zero : !tile.ptr<i32>, i32 -> i32
  %is = arith.cmpi eq, %old, %zero : i32
  scf.if %is {
    // expected-error @below {{'simt.barrier' cannot run beside the program: it needs the result of what has other effects}}
    simt.barrier loader
  }
  return
}
}
