// Addresses of slots: loops compute as little of them as they can.
// RUN: tile-opt %s --lower-nvidia | FileCheck %s

#mma = #tile.mma<16 x 8 x 16, f16 in "k0 m3 k3 | k1 k2 m0 m1 m2", f16 in "k0 k3 | k1 k2 n0 n1 n2" -> f32 in "n0 m3 | n1 n2 m0 m1 m2">
module attributes {simt.num_warps = 4 : i32, simt.loader_warps = 1 : i32, simt.tensor_maps = [#simt.tensor_map<0 of f16 extents [<2147483648>, <1 of [1]>] strides [<1 of [2]>] box [32, 8] span 64>]} {
// CHECK-LABEL: llvm.func ptx_kernelcc @load
llvm.func @load(%p: !llvm.ptr<1> {tile.name = "p"}, %n: i32 {tile.name = "n"}, %k: i32 {tile.name = "k"}) attributes {simt.kernel} {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %eight = arith.constant 8 : i32
  // The address of a map goes through a shuffle in front of the loop, in which the assembler would compute it again.
  // CHECK: llvm.ptrtoint %{{.*}} : !llvm.ptr to i64
  // CHECK-COUNT-2: "llvm.nvvm.shfl.sync.idx.i32"
  // CHECK: %[[MAP:.*]] = llvm.inttoptr
  // CHECK: scf.for
  scf.for %i = %zero to %n step %one : i32 {
    %bytes = arith.muli %i, %eight : i32
    %free = simt.shared_address 1056 : !llvm.ptr<3>
    %of_slot = llvm.getelementptr %free[%bytes] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    // The place among barriers is in the instruction.
    // CHECK: %[[MEMORY:.*]] = llvm.mlir.addressof @shared$memory
    // CHECK: %[[SLOT:.*]] = llvm.getelementptr %[[MEMORY]][%{{.*}}] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    // CHECK: %[[WORD:.*]] = llvm.ptrtoint %[[SLOT]] : !llvm.ptr<3> to i32
    // CHECK: mbarrier.try_wait.parity.shared::cta.b64 done, [$0+1056], $1;{{.*}}"r,r" %[[WORD]]
    simt.phase_await %of_slot, %zero : !llvm.ptr<3>
    %map = simt.tensor_map 0 : !llvm.ptr
    // CHECK: cp.async.bulk.tensor.2d{{.*}}"l,l,r,r,l" %{{.*}}, %[[MAP]],
    simt.copy_box %map[%k, %i], %free on %of_slot : !llvm.ptr, !llvm.ptr<3> on !llvm.ptr<3>
  }
  // Outside of loops a map's address is the parameter's.
  // CHECK-NOT: shfl
  %map = simt.tensor_map 0 : !llvm.ptr
  %to = simt.shared_address 0 : !llvm.ptr<3>
  simt.copy_box %map[%k, %n], %to on %to : !llvm.ptr, !llvm.ptr<3> on !llvm.ptr<3>
  llvm.return
}

// CHECK-LABEL: llvm.func ptx_kernelcc @multiply
llvm.func @multiply(%slot: i32 {tile.name = "slot"}, %group: i32 {tile.name = "group"}) attributes {simt.kernel} {
  %bytes = arith.constant 16384 : i32
  %rows = arith.constant 8192 : i32
  %of_slot = arith.muli %slot, %bytes : i32
  %of_group = arith.muli %group, %rows : i32
  %offset = arith.addi %of_group, %of_slot : i32
  %start = simt.shared_address 98304 : !llvm.ptr<3>
  %a = llvm.getelementptr %start[%offset] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  %b = simt.shared_address 0 : !llvm.ptr<3>
  // The lower word of a descriptor: the start and the bytes from slab to slab, then the group's and the slot's part in
  // units of 16 bytes. The upper word is known.
  // CHECK: %[[START:.*]] = llvm.ptrtoint %{{.*}} : !llvm.ptr<3> to i32
  // CHECK: %[[UNITS:.*]] = llvm.lshr %[[START]], %{{.*}} : i32
  // CHECK: %[[FIELD:.*]] = llvm.mlir.constant(67108864 : i32)
  // CHECK: %[[LOW:.*]] = llvm.or %[[UNITS]], %[[FIELD]] : i32
  // CHECK: %[[ROWS:.*]] = llvm.mlir.constant(512 : i32)
  // CHECK: %[[OF_GROUP:.*]] = llvm.mul %arg1, %[[ROWS]] : i32
  // CHECK: %[[FIRST:.*]] = llvm.add %[[LOW]], %[[OF_GROUP]] : i32
  // CHECK: %[[BYTES:.*]] = llvm.mlir.constant(1024 : i32)
  // CHECK: %[[OF_SLOT:.*]] = llvm.mul %arg0, %[[BYTES]] : i32
  // CHECK: %[[SUM:.*]] = llvm.add %[[FIRST]], %[[OF_SLOT]] : i32
  // CHECK: %[[HIGH:.*]] = llvm.mlir.constant(4611686293305294848 : i64)
  // CHECK: %[[WIDE:.*]] = llvm.zext %[[SUM]] : i32 to i64
  // CHECK: llvm.or %[[WIDE]], %[[HIGH]] : i64
  %c:4 = simt.group_mma <mma = #mma, warps = 4, columns = 8, span_bytes = 128, across = true> columns 8 steps 1(%a) in <span_bytes = 128, slab_bytes = 16384, across = false> [0], %b in <span_bytes = 128, slab_bytes = 8192, across = false> [0],() : (!llvm.ptr<3>, !llvm.ptr<3>) -> (f32, f32, f32, f32)
  llvm.return
}

// Two addends of which only the sum is whole groups of 16 bytes: the sum is divided.
// CHECK-LABEL: llvm.func ptx_kernelcc @together
llvm.func @together(%slot: i32 {tile.name = "slot"}, %group: i32 {tile.name = "group"}) attributes {simt.kernel} {
  %bytes = arith.constant 24 : i32
  %of_slot = arith.muli %slot, %bytes : i32
  %of_group = arith.muli %group, %bytes : i32
  // CHECK: %[[OFFSET:.*]] = arith.addi %{{.*}}, %{{.*}} : i32
  %offset = arith.addi %of_group, %of_slot : i32
  %start = simt.shared_address 98304 : !llvm.ptr<3>
  %a = llvm.getelementptr %start[%offset] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  %b = simt.shared_address 0 : !llvm.ptr<3>
  // CHECK: %[[LOW:.*]] = llvm.or %{{.*}}, %{{.*}} : i32
  // CHECK: %[[FOUR:.*]] = llvm.mlir.constant(4 : i32)
  // CHECK: %[[GROUPS:.*]] = llvm.lshr %[[OFFSET]], %[[FOUR]] : i32
  // CHECK: llvm.add %[[LOW]], %[[GROUPS]] : i32
  %c:4 = simt.group_mma <mma = #mma, warps = 4, columns = 8, span_bytes = 128, across = true> columns 8 steps 1(%a) in <span_bytes = 128, slab_bytes = 16384, across = false> [0], %b in <span_bytes = 128, slab_bytes = 8192, across = false> [0],() : (!llvm.ptr<3>, !llvm.ptr<3>) -> (f32, f32, f32, f32)
  llvm.return
}
}
