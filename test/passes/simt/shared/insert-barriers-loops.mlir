// Barriers over branches and loops: back edges are ordered, and what a loop does not need anew is
// ordered in front of it.
// RUN: tile-opt --insert-barriers %s | FileCheck %s

#row = #tile.layout<[1024] register = [[1], [2], [512]] lane = [[4], [8], [16], [32], [64]] warp = [[128], [256]]>
#other = #tile.layout<[1024] register = [[128], [256], [512]] lane = [[1], [2], [4], [8], [16]] warp = [[32], [64]]>
#flat = #tile.layout<[1024] offset = [[1], [2], [4], [8], [16], [32], [64], [128], [256], [512]]>
!buffer = !simt.shared<[1024], f32, #flat>
module attributes {simt.num_warps = 4 : i32} {
// One buffer: the next iteration's write waits for this one's reads.
// CHECK-LABEL: @one_buffer
func.func @one_buffer(%x: tensor<1024xf32, #row>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %a = simt.alloc_shared "a" at 0 : !buffer
  // CHECK: scf.for
  // CHECK-NEXT: simt.barrier{{$}}
  // CHECK-NEXT: simt.store_shared
  // CHECK-NEXT: simt.barrier{{$}}
  // CHECK-NEXT: simt.load_shared
  // CHECK-NEXT: }
  scf.for %i = %zero to %n step %one : i32 {
    simt.store_shared %x, %a : tensor<1024xf32, #row>, !buffer
    %y = simt.load_shared %a : !buffer -> tensor<1024xf32, #other>
  }
  return
}

// Two slots of a ring: in one iteration they are different memory, but one that was read in an
// iteration is written in the next.
// CHECK-LABEL: @slots
func.func @slots(%x: tensor<1024xf32, #row>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %ring = simt.alloc_shared "ring" slots 2 at 0 : !buffer
  // CHECK: scf.for
  // CHECK: simt.barrier{{$}}
  // CHECK-NEXT: simt.store_shared
  // CHECK-NEXT: simt.slot
  // CHECK-NEXT: simt.load_shared
  // CHECK-NEXT: arith.subi
  // CHECK-NEXT: scf.yield
  scf.for %i = %zero to %n step %one iter_args(%slot = %zero) -> i32 : i32 {
    %next = arith.subi %one, %slot : i32
    %written = simt.slot %ring[%next] phase 1 : !buffer
    simt.store_shared %x, %written : tensor<1024xf32, #row>, !buffer
    %read = simt.slot %ring[%slot] phase 0 : !buffer
    %y = simt.load_shared %read : !buffer -> tensor<1024xf32, #other>
    %following = arith.subi %one, %slot : i32
    scf.yield %following : i32
  }
  return
}

// Two buffers: each one's barrier also orders the other's back edge.
// CHECK-LABEL: @two_buffers
func.func @two_buffers(%x: tensor<1024xf32, #row>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %a = simt.alloc_shared "a" at 0 : !buffer
  %b = simt.alloc_shared "b" at 4096 : !buffer
  // CHECK: scf.for
  // CHECK-NEXT: simt.store_shared
  // CHECK-NEXT: simt.barrier{{$}}
  // CHECK-NEXT: simt.load_shared
  // CHECK-NEXT: simt.store_shared
  // CHECK-NEXT: simt.barrier{{$}}
  // CHECK-NEXT: simt.load_shared
  // CHECK-NEXT: }
  scf.for %i = %zero to %n step %one : i32 {
    simt.store_shared %x, %a : tensor<1024xf32, #row>, !buffer
    %y = simt.load_shared %a : !buffer -> tensor<1024xf32, #other>
    simt.store_shared %x, %b : tensor<1024xf32, #row>, !buffer
    %z = simt.load_shared %b : !buffer -> tensor<1024xf32, #other>
  }
  return
}

// CHECK-LABEL: @in_front
func.func @in_front(%x: tensor<1024xf32, #row>, %n: i32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %a = simt.alloc_shared "a" at 0 : !buffer
  // CHECK: simt.store_shared
  // CHECK-NEXT: simt.barrier{{$}}
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: simt.load_shared
  // CHECK-NEXT: }
  simt.store_shared %x, %a : tensor<1024xf32, #row>, !buffer
  scf.for %i = %zero to %n step %one : i32 {
    %y = simt.load_shared %a : !buffer -> tensor<1024xf32, #other>
  }
  return
}

// One barrier in front of the branch serves the reads in it and after it.
// CHECK-LABEL: @branch
func.func @branch(%x: tensor<1024xf32, #row>, %c: i1) {
  %a = simt.alloc_shared "a" at 0 : !buffer
  // CHECK: simt.store_shared
  // CHECK-NEXT: simt.barrier{{$}}
  // CHECK-NEXT: scf.if
  // CHECK-NEXT: simt.load_shared
  // CHECK-NEXT: }
  // CHECK-NEXT: simt.load_shared
  simt.store_shared %x, %a : tensor<1024xf32, #row>, !buffer
  scf.if %c {
    %y = simt.load_shared %a : !buffer -> tensor<1024xf32, #other>
  }
  %z = simt.load_shared %a : !buffer -> tensor<1024xf32, #other>
  return
}

// Where nothing after the branch needs it, the barrier is in the branch.
// CHECK-LABEL: @rare_branch
func.func @rare_branch(%x: tensor<1024xf32, #row>, %c: i1) {
  %a = simt.alloc_shared "a" at 0 : !buffer
  // CHECK: simt.store_shared
  // CHECK-NEXT: scf.if
  // CHECK-NEXT: simt.barrier{{$}}
  // CHECK-NEXT: simt.load_shared
  // CHECK-NEXT: }
  // CHECK-NEXT: return
  simt.store_shared %x, %a : tensor<1024xf32, #row>, !buffer
  scf.if %c {
    %y = simt.load_shared %a : !buffer -> tensor<1024xf32, #other>
  }
  return
}

// A loop that spins: the result is written again only when all have read it.
// CHECK-LABEL: @spin
func.func @spin(%lock: !tile.ptr<i32>, %zero: i32, %one: i32) {
  %a = simt.alloc_shared "old" at 0 : !simt.shared<[1], i32, #tile.layout<[1] offset = []>>
  // CHECK: scf.while
  // CHECK-NEXT: tile.atomic_cas
  // CHECK-NEXT: simt.barrier{{$}}
  // CHECK-NEXT: simt.store_shared
  // CHECK-NEXT: simt.barrier{{$}}
  // CHECK-NEXT: simt.load_shared
  scf.while : () -> () {
    %old = tile.atomic_cas %lock, %zero, %one : !tile.ptr<i32>, i32
    simt.store_shared %old, %a : i32, !simt.shared<[1], i32, #tile.layout<[1] offset = []>>
    %seen = simt.load_shared %a : !simt.shared<[1], i32, #tile.layout<[1] offset = []>> -> i32
    %taken = arith.cmpi ne, %seen, %zero : i32
    scf.condition(%taken)
  } do {
    scf.yield
  }
  return
}

// A release by one thread for the program: all stores before it are done.
// CHECK-LABEL: @release
func.func @release(%base: !tile.ptr<f32> {tile.disjoint}, %x: tensor<1024xf32, #row>, %lock: !tile.ptr<i32> {tile.disjoint}, %zero: i32) {
  %p = tile.splat %base : !tile.ptr<f32> -> tensor<1024x!tile.ptr<f32>, #row>
  // CHECK: tile.store
  // CHECK-NEXT: simt.barrier{{$}}
  // CHECK-NEXT: tile.atomic_rmw xchg
  // CHECK-NEXT: tile.atomic_rmw add
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: return
  tile.store %p, %x : tensor<1024x!tile.ptr<f32>, #row>, tensor<1024xf32, #row>
  %old = tile.atomic_rmw xchg, %lock, %zero {order = 2 : i32} : !tile.ptr<i32>, i32 -> i32
  %count = tile.atomic_rmw add, %lock, %zero {order = 0 : i32} : !tile.ptr<i32>, i32 -> i32
  tile.store %p, %x : tensor<1024x!tile.ptr<f32>, #row>, tensor<1024xf32, #row>
  return
}
}
