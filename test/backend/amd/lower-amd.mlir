// RUN: tile-opt %s --lower-amd --split-input-file | FileCheck %s

// One thread's operations become intrinsics: a barrier is ordered by fences of shared memory, a mask
// is an offset beyond the bounds of a buffer, lanes are exchanged by patterns.

module attributes {simt.num_warps = 2 : i32} {
// CHECK: #mmra_tag = #llvm.mmra_tag<"amdgpu-synchronize-as":"local">
// CHECK: llvm.mlir.global external @shared$memory() {addr_space = 3 : i32, alignment = 16
// CHECK: llvm.func amdgpu_kernelcc @k(%[[P:.*]]: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias}, %[[M:.*]]: i1)
// CHECK-SAME: "amdgpu-flat-work-group-size", "128,128"
// CHECK-SAME: "amdgpu-no-implicitarg-ptr"
llvm.func @k(%p: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias, tile.forward, tile.name = "p"}, %m: i1) attributes {simt.kernel} {
  // All accesses through a buffer are from its own address on, so that it begins there.
  // CHECK: %[[START:.*]] = llvm.ptrtoint %[[P]] : !llvm.ptr<1> to i64
  // CHECK: %[[FIRST:.*]] = llvm.zext %[[START]] : i64 to i128
  // CHECK: %[[FACTS:.*]] = llvm.or %[[FIRST]]
  // CHECK: %[[WHOLE:.*]] = llvm.inttoptr %[[FACTS]] : i128 to !llvm.ptr<8>
  // The number of the lane, and that of the thread.
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.workitem.id.x"
  // CHECK: llvm.and
  // CHECK: %[[T:.*]] = llvm.call_intrinsic "llvm.amdgcn.workitem.id.x"() : () -> (i32 {llvm.range = #llvm.constant_range<i32, 0, 128>})
  %t = simt.thread_id
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.workgroup.id.y"
  %y = simt.program_id 1
  %one = arith.constant 1 : i32
  // CHECK: %[[CONTROL:.*]] = llvm.mlir.constant(177 : i32)
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.update.dpp.i32"(%{{.*}}, %[[T]], %[[CONTROL]]
  %s = simt.shuffle xor %t, %one : i32
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.ds.bpermute"
  %i = simt.shuffle index %t, %y : i32
  // The wait stands by itself, too: of shared memory only, vmcnt(63).
  // CHECK: llvm.fence syncscope("workgroup") release {llvm.mmra = #mmra_tag}
  // CHECK-NEXT: %[[SHARED:.*]] = llvm.mlir.constant(49279 : i32)
  // CHECK-NEXT: llvm.call_intrinsic "llvm.amdgcn.s.waitcnt"(%[[SHARED]])
  // CHECK-NEXT: llvm.call_intrinsic "llvm.amdgcn.s.barrier"
  // CHECK-NEXT: llvm.fence syncscope("workgroup") acquire {llvm.mmra = #mmra_tag}
  simt.barrier
  // CHECK: llvm.fence syncscope("wavefront") release
  // CHECK-NEXT: llvm.call_intrinsic "llvm.amdgcn.wave.barrier"
  // CHECK-NEXT: llvm.fence syncscope("wavefront") acquire
  simt.barrier warp
  %a = simt.shared_address 64 : !llvm.ptr<3>
  llvm.store %i, %a : i32, !llvm.ptr<3>
  // A mask that threads share leaves nothing of the bounds; of another, the lane's offset is
  // beyond them. Scalar offsets are 0.
  %q = llvm.getelementptr %p[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  // CHECK: %[[SELECTED:.*]] = llvm.select %[[M]]
  // CHECK-NEXT: %[[BOUNDS:.*]] = llvm.call_intrinsic "llvm.amdgcn.readfirstlane.i32"(%[[SELECTED]])
  // CHECK-NEXT: %[[WIDE:.*]] = llvm.zext %[[BOUNDS]]
  // CHECK: %[[PLACED:.*]] = llvm.shl %[[WIDE]]
  // CHECK: %[[WORDS:.*]] = llvm.or %{{.*}}, %[[PLACED]]
  // CHECK: %[[ALL:.*]] = llvm.or %[[WORDS]]
  // CHECK: %[[BUFFER:.*]] = llvm.inttoptr %[[ALL]]
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.raw.ptr.buffer.load.v2i32"(%[[BUFFER]], %{{.*}}, %{{.*}}, %{{.*}})
  %v = simt.global_load %q mask %m : !llvm.ptr<1> -> vector<2xf32>
  %n = arith.cmpi slt, %t, %one : i32
  // CHECK: %[[OFFSET:.*]] = llvm.select
  // CHECK: llvm.call_intrinsic "llvm.amdgcn.raw.ptr.buffer.store.v2i32"(%{{.*}}, %[[WHOLE]], %[[OFFSET]]
  simt.global_store %q, %v mask %n : !llvm.ptr<1>, vector<2xf32>
  // CHECK: llvm.atomicrmw add %{{.*}}, %{{.*}} syncscope("agent-one-as") monotonic
  %o = simt.atomic add relaxed gpu %q, %s mask %m : !llvm.ptr<1>, i32
  // CHECK: llvm.return
  llvm.return
}
}

// -----

// Memory beyond the reach of offsets of 32 bits makes no buffer: a masked access lies in a branch.
module attributes {simt.num_warps = 2 : i32} {
// CHECK-LABEL: llvm.func amdgpu_kernelcc @large
llvm.func @large(%p: !llvm.ptr<1> {tile.large, tile.name = "p"}, %m: i1) attributes {simt.kernel} {
  // CHECK-NOT: buffer
  // CHECK: scf.if
  // CHECK: llvm.load {{.*}} : !llvm.ptr<1> -> f32
  %v = simt.global_load %p mask %m : !llvm.ptr<1> -> f32
  simt.global_store %p, %v : !llvm.ptr<1>, f32
  llvm.return
}
}

// -----

// A barrier between a write and an access that may meet it orders global memory, too.
module attributes {simt.num_warps = 2 : i32} {
// CHECK-LABEL: llvm.func amdgpu_kernelcc @meets
llvm.func @meets(%p: !llvm.ptr<1> {tile.disjoint, tile.name = "p"}, %q: !llvm.ptr<1> {tile.disjoint, tile.name = "q"}) attributes {simt.kernel} {
  %v = simt.global_load %q : !llvm.ptr<1> -> f32
  // CHECK: llvm.fence syncscope("workgroup") release {llvm.mmra
  simt.barrier
  simt.global_store %p, %v : !llvm.ptr<1>, f32
  // CHECK: llvm.fence syncscope("workgroup") release{{$}}
  // CHECK-NEXT: %[[ALL:.*]] = llvm.mlir.constant(112 : i32)
  // CHECK-NEXT: "llvm.amdgcn.s.waitcnt"(%[[ALL]])
  // CHECK-NEXT: s.barrier
  // CHECK-NEXT: llvm.fence syncscope("workgroup") acquire{{$}}
  simt.barrier
  %w = simt.global_load %p : !llvm.ptr<1> -> f32
  // Reads of %p by others have to be there before it is written again.
  // CHECK: llvm.fence syncscope("workgroup") release{{$}}
  simt.barrier
  simt.global_store %p, %w : !llvm.ptr<1>, f32
  llvm.return
}
}

// -----

// Beside an atomic that releases or acquires, a barrier orders global memory, and all waves release to
// the atomic's scope, whatever it is the atomic of. A barrier farther away does not.
module attributes {simt.num_warps = 2 : i32} {
// CHECK-LABEL: llvm.func amdgpu_kernelcc @hands_over
llvm.func @hands_over(%p: !llvm.ptr<1> {tile.disjoint, tile.name = "p"}, %q: !llvm.ptr<1> {tile.disjoint, tile.name = "q"}, %v: i32, %c: i1) attributes {simt.kernel} {
  simt.global_store %p, %v : !llvm.ptr<1>, i32
  // CHECK: llvm.fence syncscope("workgroup") release {llvm.mmra
  simt.barrier
  // CHECK: llvm.fence syncscope("agent") release{{$}}
  // CHECK-NEXT: llvm.mlir.constant(112 : i32)
  // CHECK-NEXT: "llvm.amdgcn.s.waitcnt"
  // CHECK-NEXT: s.barrier
  // CHECK-NEXT: llvm.fence syncscope("workgroup") acquire{{$}}
  simt.barrier
  // An atomic that releases waits, too.
  // CHECK: llvm.fence syncscope("wavefront") acq_rel
  // CHECK-NEXT: llvm.mlir.constant(112 : i32)
  // CHECK-NEXT: "llvm.amdgcn.s.waitcnt"
  // CHECK-NEXT: llvm.atomicrmw xchg {{.*}} syncscope("agent-one-as") release
  %a = simt.atomic xchg release gpu %q, %v : !llvm.ptr<1>, i32
  // Of these two, either may be the last one.
  // CHECK: llvm.fence release{{$}}
  simt.barrier
  scf.if %c {
    // CHECK: llvm.fence release{{$}}
    simt.barrier
  }
  // CHECK: llvm.atomicrmw add {{.*}} syncscope("one-as") acq_rel
  %b = simt.atomic add acq_rel sys %q, %v : !llvm.ptr<1>, i32
  // CHECK: llvm.fence syncscope("workgroup") release{{$}}
  // CHECK-NEXT: %[[ALL:.*]] = llvm.mlir.constant(112 : i32)
  // CHECK-NEXT: "llvm.amdgcn.s.waitcnt"(%[[ALL]])
  // CHECK-NEXT: s.barrier
  // CHECK-NEXT: llvm.fence syncscope("workgroup") acquire{{$}}
  simt.barrier
  // Read anew each time.
  // CHECK: llvm.load volatile
  %w = simt.global_load %q {cache = 4 : i32} : !llvm.ptr<1> -> i32
  llvm.return
}
}

// -----

// By what a loop adds for all threads, of either sign, the resource moves. Offsets of lanes do not
// change in the loop.
module attributes {simt.num_warps = 1 : i32} {
// CHECK-LABEL: llvm.func amdgpu_kernelcc @walks
// CHECK-SAME: %[[STEP:[a-z0-9]*]]: i64, %[[STRIDE:[a-z0-9]*]]: i32, %[[N:[a-z0-9]*]]: i32)
llvm.func @walks(%p: !llvm.ptr<1> {tile.name = "p"}, %step: i64, %stride: i32, %n: i32) attributes {simt.kernel} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %start = arith.constant 0 : i64
  %t = simt.thread_id
  %q = llvm.getelementptr %p[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  // CHECK: %[[LANE:.*]] = llvm.call_intrinsic "llvm.amdgcn.workitem.id.x"
  // CHECK: scf.for
  // CHECK-SAME: iter_args(%[[AT:.*]] = %
  %r = scf.for %i = %zero to %n step %one iter_args(%at = %start) -> (i64) : i32 {
    // CHECK: %[[ABOVE:.*]] = arith.subi %[[AT]], %c0
    // CHECK: %[[BYTES:.*]] = llvm.mul %[[ABOVE]]
    // CHECK: %[[MOVED:.*]] = llvm.add %{{.*}}, %[[BYTES]] : i64
    // CHECK: %[[WIDE:.*]] = llvm.zext %[[MOVED]]
    // CHECK: %[[WORDS:.*]] = llvm.or %[[WIDE]]
    // CHECK: %[[BUFFER:.*]] = llvm.inttoptr %[[WORDS]]
    // CHECK: %[[OWN:.*]] = llvm.mul %[[LANE]]
    // CHECK: %[[OFFSET:.*]] = llvm.add %[[OWN]]
    // CHECK: buffer.load.i32"(%[[BUFFER]], %[[OFFSET]],
    %a = llvm.getelementptr %q[%at] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
    %v = simt.global_load %a : !llvm.ptr<1> -> f32
    %next = arith.addi %at, %step : i64
    scf.yield %next : i64
  }
  // Behind the loop the carried number is computed again.
  // CHECK: %[[TRIPS:.*]] = arith.maxsi
  // CHECK: %[[WAY:.*]] = arith.muli %[[STEP]], %[[TRIPS]]
  // CHECK: %[[END:.*]] = arith.addi %{{.*}}, %[[WAY]] : i64
  // CHECK: llvm.trunc %[[END]]
  %end = llvm.getelementptr %q[%r] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
  %last = simt.global_load %end : !llvm.ptr<1> -> f32
  simt.global_store %q, %last : !llvm.ptr<1>, f32
  // Of rows, whose number a stride multiplies.
  // CHECK: scf.for
  scf.for %i = %zero to %n step %one : i32 {
    // CHECK: %[[FIRST:.*]] = arith.subi
    // CHECK: %[[PLACE:.*]] = arith.muli %[[FIRST]], %[[STRIDE]]
    // CHECK: %[[WAY:.*]] = llvm.sext %[[PLACE]]
    // CHECK: %[[BYTES:.*]] = llvm.mul %[[WAY]]
    // CHECK: llvm.add %{{.*}}, %[[BYTES]] : i64
    // CHECK: buffer.store.i32"
    %row = arith.addi %i, %t : i32
    %at = arith.muli %row, %stride : i32
    %a = llvm.getelementptr %p[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
    simt.global_store %a, %t : !llvm.ptr<1>, i32
  }
  llvm.return
}
}

// -----

// A buffer begins 2^31 bytes before an argument that may be accessed below its own address.
module attributes {simt.num_warps = 2 : i32} {
// CHECK-LABEL: llvm.func amdgpu_kernelcc @below
llvm.func @below(%p: !llvm.ptr<1>, %q: !llvm.ptr<1> {tile.forward}) attributes {simt.kernel} {
  // CHECK-SAME: (%[[P:.*]]: !llvm.ptr<1>, %[[Q:[^ ]*]]: !llvm.ptr<1>)
  // CHECK: llvm.ptrtoint %[[Q]] : !llvm.ptr<1> to i64
  // CHECK: %[[AT:.*]] = llvm.ptrtoint %[[P]] : !llvm.ptr<1> to i64
  // CHECK-NEXT: %[[BIAS:.*]] = llvm.mlir.constant(2147483648 : i64)
  // CHECK-NEXT: llvm.sub %[[AT]], %[[BIAS]]
  %t = simt.thread_id
  %a = llvm.getelementptr %p[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %v = simt.global_load %a : !llvm.ptr<1> -> f32
  %b = llvm.getelementptr %q[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  simt.global_store %b, %v : !llvm.ptr<1>, f32
  llvm.return
}
}
