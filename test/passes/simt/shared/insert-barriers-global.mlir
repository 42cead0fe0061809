// Accesses of global memory by different threads happen in the program's order where they may meet.
// RUN: tile-opt --insert-barriers %s | FileCheck %s

#row = #tile.layout<[256] register = [[1]] lane = [[2], [4], [8], [16], [32]] warp = [[64], [128]]>
#other = #tile.layout<[256] register = [[128]] lane = [[1], [2], [4], [8], [16]] warp = [[32], [64]]>
module attributes {simt.num_warps = 4 : i32} {
// CHECK-LABEL: @read_back
func.func @read_back(%p: !tile.ptr<f32> {tile.disjoint}, %x: tensor<256xf32, #row>) {
  // CHECK: tile.store
  // CHECK-NEXT: simt.barrier{{$}}
  // CHECK-NEXT: tile.load
  %a = tile.splat %p : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>, #row>
  %b = tile.splat %p : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>, #other>
  tile.store %a, %x : tensor<256x!tile.ptr<f32>, #row>, tensor<256xf32, #row>
  %y = tile.load %b : tensor<256x!tile.ptr<f32>, #other> -> tensor<256xf32, #other>
  return
}

// Each thread reads its own elements; another argument's memory is another's.
// CHECK-LABEL: @in_place
// CHECK-NOT: simt.barrier
// CHECK: return
func.func @in_place(%p: !tile.ptr<f32> {tile.disjoint}, %q: !tile.ptr<f32> {tile.disjoint}) {
  %ps = tile.splat %p : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>, #row>
  %qs = tile.splat %q : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>, #other>
  %i = tile.arange 0 to 256 : tensor<256xi32, #row>
  %j = tile.arange 0 to 256 : tensor<256xi32, #other>
  %a = tile.addptr %ps, %i : tensor<256x!tile.ptr<f32>, #row>, tensor<256xi32, #row>
  %b = tile.addptr %qs, %j : tensor<256x!tile.ptr<f32>, #other>, tensor<256xi32, #other>
  %x = tile.load %a : tensor<256x!tile.ptr<f32>, #row> -> tensor<256xf32, #row>
  tile.store %a, %x : tensor<256x!tile.ptr<f32>, #row>, tensor<256xf32, #row>
  %y = tile.load %b : tensor<256x!tile.ptr<f32>, #other> -> tensor<256xf32, #other>
  tile.store %b, %y : tensor<256x!tile.ptr<f32>, #other>, tensor<256xf32, #other>
  return
}

// Elements that meet are all read before any is written, and read anew after all are written.
// CHECK-LABEL: @elements_meet
// CHECK: tile.load
// CHECK-NEXT: simt.barrier{{$}}
// CHECK-NEXT: tile.store
// CHECK-NEXT: simt.barrier{{$}}
// CHECK-NEXT: tile.load
// CHECK: return
func.func @elements_meet(%p: !tile.ptr<f32> {tile.disjoint}) {
  %a = tile.splat %p : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>, #row>
  %x = tile.load %a : tensor<256x!tile.ptr<f32>, #row> -> tensor<256xf32, #row>
  tile.store %a, %x : tensor<256x!tile.ptr<f32>, #row>, tensor<256xf32, #row>
  %y = tile.load %a : tensor<256x!tile.ptr<f32>, #row> -> tensor<256xf32, #row>
  return
}

// Each iteration moves the tile past its own end: no two iterations meet.
// CHECK-LABEL: @moves_past_its_end
// CHECK-NOT: simt.barrier
// CHECK: return
func.func @moves_past_its_end(%p: !tile.ptr<f32> {tile.disjoint}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c256 = arith.constant 256 : i32
  %base = tile.splat %p : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>, #row>
  %columns = tile.arange 0 to 256 : tensor<256xi32, #row>
  scf.for %i = %c0 to %n step %c256 : i32 {
    %start = tile.splat %i : i32 -> tensor<256xi32, #row>
    %offsets = arith.addi %start, %columns : tensor<256xi32, #row>
    %a = tile.addptr %base, %offsets : tensor<256x!tile.ptr<f32>, #row>, tensor<256xi32, #row>
    %x = tile.load %a : tensor<256x!tile.ptr<f32>, #row> -> tensor<256xf32, #row>
    tile.store %a, %x : tensor<256x!tile.ptr<f32>, #row>, tensor<256xf32, #row>
  }
  return
}

// The next iteration reads elements that other threads wrote in this one.
// CHECK-LABEL: @moves_into_itself
// CHECK: scf.for
// CHECK: simt.barrier{{$}}
// CHECK-NEXT: tile.load
// CHECK-NOT: simt.barrier
// CHECK: return
func.func @moves_into_itself(%p: !tile.ptr<f32> {tile.disjoint}, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c255 = arith.constant 255 : i32
  %base = tile.splat %p : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>, #row>
  %columns = tile.arange 0 to 256 : tensor<256xi32, #row>
  scf.for %i = %c0 to %n step %c255 : i32 {
    %start = tile.splat %i : i32 -> tensor<256xi32, #row>
    %offsets = arith.addi %start, %columns : tensor<256xi32, #row>
    %a = tile.addptr %base, %offsets : tensor<256x!tile.ptr<f32>, #row>, tensor<256xi32, #row>
    %x = tile.load %a : tensor<256x!tile.ptr<f32>, #row> -> tensor<256xf32, #row>
    tile.store %a, %x : tensor<256x!tile.ptr<f32>, #row>, tensor<256xf32, #row>
  }
  return
}

// Pointers that a loop carries and moves by a number from the launch: nothing keeps them apart.
// CHECK-LABEL: @moves_by_any_step
// CHECK: scf.for
// CHECK: simt.barrier{{$}}
// CHECK-NEXT: tile.store
// CHECK: return
func.func @moves_by_any_step(%p: !tile.ptr<f32> {tile.disjoint}, %n: i32, %by: i32, %x: tensor<256xf32, #row>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %base = tile.splat %p : !tile.ptr<f32> -> tensor<256x!tile.ptr<f32>, #row>
  %columns = tile.arange 0 to 256 : tensor<256xi32, #row>
  %first = tile.addptr %base, %columns : tensor<256x!tile.ptr<f32>, #row>, tensor<256xi32, #row>
  %step = tile.splat %by : i32 -> tensor<256xi32, #row>
  %last = scf.for %i = %c0 to %n step %c1 iter_args(%a = %first) -> (tensor<256x!tile.ptr<f32>, #row>) : i32 {
    tile.store %a, %x : tensor<256x!tile.ptr<f32>, #row>, tensor<256xf32, #row>
    %next = tile.addptr %a, %step : tensor<256x!tile.ptr<f32>, #row>, tensor<256xi32, #row>
    scf.yield %next : tensor<256x!tile.ptr<f32>, #row>
  }
  return
}

// A thread exchanges elements that another one updates next.
// CHECK-LABEL: @atomics_in_two_layouts
// CHECK: tile.atomic_rmw xchg
// CHECK-NEXT: simt.barrier{{$}}
// CHECK-NEXT: tile.atomic_rmw add
// CHECK-NEXT: simt.barrier{{$}}
// CHECK-NEXT: tile.atomic_cas
// CHECK: return
func.func @atomics_in_two_layouts(%p: !tile.ptr<i32> {tile.disjoint}, %x: tensor<256xi32, #row>, %y: tensor<256xi32, #other>) {
  %ps = tile.splat %p : !tile.ptr<i32> -> tensor<256x!tile.ptr<i32>, #row>
  %qs = tile.splat %p : !tile.ptr<i32> -> tensor<256x!tile.ptr<i32>, #other>
  %i = tile.arange 0 to 256 : tensor<256xi32, #row>
  %j = tile.arange 0 to 256 : tensor<256xi32, #other>
  %a = tile.addptr %ps, %i : tensor<256x!tile.ptr<i32>, #row>, tensor<256xi32, #row>
  %b = tile.addptr %qs, %j : tensor<256x!tile.ptr<i32>, #other>, tensor<256xi32, #other>
  %0 = tile.atomic_rmw xchg, %a, %x : tensor<256x!tile.ptr<i32>, #row>, tensor<256xi32, #row> -> tensor<256xi32, #row>
  %1 = tile.atomic_rmw add, %b, %y : tensor<256x!tile.ptr<i32>, #other>, tensor<256xi32, #other> -> tensor<256xi32, #other>
  %2 = tile.atomic_cas %a, %x, %x : tensor<256x!tile.ptr<i32>, #row>, tensor<256xi32, #row>
  return
}

// Updates of one kind leave the same in either order, until somebody uses an old element.
// CHECK-LABEL: @updates_commute
// CHECK: tile.atomic_rmw add
// CHECK-NEXT: tile.atomic_rmw add
// CHECK-NEXT: simt.barrier{{$}}
// CHECK-NEXT: tile.atomic_rmw add
// CHECK: return
func.func @updates_commute(%p: !tile.ptr<i32> {tile.disjoint}, %x: tensor<256xi32, #row>, %y: tensor<256xi32, #other>) -> tensor<256xi32, #row> {
  %a = tile.splat %p : !tile.ptr<i32> -> tensor<256x!tile.ptr<i32>, #row>
  %b = tile.splat %p : !tile.ptr<i32> -> tensor<256x!tile.ptr<i32>, #other>
  %0 = tile.atomic_rmw add, %a, %x : tensor<256x!tile.ptr<i32>, #row>, tensor<256xi32, #row> -> tensor<256xi32, #row>
  %1 = tile.atomic_rmw add, %b, %y : tensor<256x!tile.ptr<i32>, #other>, tensor<256xi32, #other> -> tensor<256xi32, #other>
  %2 = tile.atomic_rmw add, %a, %x : tensor<256x!tile.ptr<i32>, #row>, tensor<256xi32, #row> -> tensor<256xi32, #row>
  return %2 : tensor<256xi32, #row>
}

// The owner of an element does all that happens to it, and one thread all that happens to scalars.
// CHECK-LABEL: @one_thread_does_all
// CHECK-NOT: simt.barrier
// CHECK: return
func.func @one_thread_does_all(%p: !tile.ptr<i32> {tile.disjoint}, %q: !tile.ptr<i32> {tile.disjoint}, %x: tensor<256xi32, #row>, %n: i32) -> tensor<256xi32, #row> {
  %ps = tile.splat %p : !tile.ptr<i32> -> tensor<256x!tile.ptr<i32>, #row>
  %i = tile.arange 0 to 256 : tensor<256xi32, #row>
  %a = tile.addptr %ps, %i : tensor<256x!tile.ptr<i32>, #row>, tensor<256xi32, #row>
  tile.store %a, %x : tensor<256x!tile.ptr<i32>, #row>, tensor<256xi32, #row>
  %0 = tile.atomic_rmw add, %a, %x : tensor<256x!tile.ptr<i32>, #row>, tensor<256xi32, #row> -> tensor<256xi32, #row>
  %1 = tile.atomic_cas %a, %x, %0 : tensor<256x!tile.ptr<i32>, #row>, tensor<256xi32, #row>
  %next = tile.addptr %q, %n : !tile.ptr<i32>, i32
  tile.store %q, %n : !tile.ptr<i32>, i32
  %2 = tile.atomic_rmw max, %next, %n {order = 0 : i32} : !tile.ptr<i32>, i32 -> i32
  %3 = tile.atomic_rmw xchg, %q, %n {order = 0 : i32} : !tile.ptr<i32>, i32 -> i32
  return %1 : tensor<256xi32, #row>
}

// Several threads update one element: all of them store before any adds.
// CHECK-LABEL: @updated_elements_meet
// CHECK: tile.store
// CHECK-NEXT: simt.barrier{{$}}
// CHECK-NEXT: tile.atomic_rmw add
// CHECK: return
func.func @updated_elements_meet(%p: !tile.ptr<i32> {tile.disjoint}, %x: tensor<256xi32, #row>) {
  %a = tile.splat %p : !tile.ptr<i32> -> tensor<256x!tile.ptr<i32>, #row>
  tile.store %a, %x : tensor<256x!tile.ptr<i32>, #row>, tensor<256xi32, #row>
  %0 = tile.atomic_rmw add, %a, %x : tensor<256x!tile.ptr<i32>, #row>, tensor<256xi32, #row> -> tensor<256xi32, #row>
  return
}

// The next iteration exchanges elements that other threads exchanged in this one; adding them up
// needs no order.
// CHECK-LABEL: @exchanges_move_into_themselves
// CHECK: scf.for
// CHECK: simt.barrier{{$}}
// CHECK-NEXT: tile.atomic_rmw xchg
// CHECK-NOT: simt.barrier
// CHECK: return
func.func @exchanges_move_into_themselves(%p: !tile.ptr<i32> {tile.disjoint}, %q: !tile.ptr<i32> {tile.disjoint}, %x: tensor<256xi32, #row>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ps = tile.splat %p : !tile.ptr<i32> -> tensor<256x!tile.ptr<i32>, #row>
  %qs = tile.splat %q : !tile.ptr<i32> -> tensor<256x!tile.ptr<i32>, #row>
  %columns = tile.arange 0 to 256 : tensor<256xi32, #row>
  scf.for %i = %c0 to %n step %c1 : i32 {
    %start = tile.splat %i : i32 -> tensor<256xi32, #row>
    %offsets = arith.addi %start, %columns : tensor<256xi32, #row>
    %a = tile.addptr %ps, %offsets : tensor<256x!tile.ptr<i32>, #row>, tensor<256xi32, #row>
    %b = tile.addptr %qs, %offsets : tensor<256x!tile.ptr<i32>, #row>, tensor<256xi32, #row>
    %0 = tile.atomic_rmw xchg, %a, %x : tensor<256x!tile.ptr<i32>, #row>, tensor<256xi32, #row> -> tensor<256xi32, #row>
    %1 = tile.atomic_rmw add, %b, %x : tensor<256x!tile.ptr<i32>, #row>, tensor<256xi32, #row> -> tensor<256xi32, #row>
  }
  return
}
}
