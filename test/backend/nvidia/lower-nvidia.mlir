// RUN: tile-opt %s --lower-nvidia | FileCheck %s

// One thread's operations become intrinsics with ranges and predicated inline PTX.

module attributes {simt.num_warps = 2 : i32} {
// CHECK: llvm.mlir.global external @shared$memory() {addr_space = 3 : i32, alignment = 16
// CHECK: llvm.func ptx_kernelcc @k(%[[P:.*]]: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias}, %[[M:.*]]: i1)
// CHECK-SAME: passthrough = {{.*}}"nvvm.reqntid", "64"
llvm.func @k(%p: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias, tile.name = "p"}, %m: i1) attributes {simt.kernel} {
  // CHECK: llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"() : () -> (i32 {llvm.range = #llvm.constant_range<i32, 0, 64>})
  %t = simt.thread_id
  // CHECK: llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.ctaid.y"() : () -> (i32 {llvm.range = #llvm.constant_range<i32, 0, 65535>})
  %y = simt.program_id 1
  // CHECK: llvm.call_intrinsic "llvm.nvvm.shfl.sync.bfly.i32"
  %s = simt.shuffle xor %t, %y : i32
  // CHECK: llvm.call_intrinsic "llvm.nvvm.barrier.cta.sync.aligned.all"
  simt.barrier
  // CHECK: llvm.getelementptr inbounds {{.*}}[64] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
  %a = simt.shared_address 64 : !llvm.ptr<3>
  llvm.store %s, %a : i32, !llvm.ptr<3>
  // CHECK: llvm.inline_asm has_side_effects "@$2 ld.global.v2.b32 {$0, $1}, [$3];", "=r,=r,b,l" %[[M]], %[[P]]
  %v = simt.global_load %p mask %m : !llvm.ptr<1> -> vector<2xf32>
  // CHECK: llvm.inline_asm has_side_effects "@$0 st.global.v2.b32 [$1], {$2, $3};", "b,l,r,r" %[[M]], %[[P]]
  simt.global_store %p, %v mask %m : !llvm.ptr<1>, vector<2xf32>
  // CHECK: llvm.inline_asm has_side_effects "@$0 red.relaxed.gpu.global.add.u32 [$1], $2;"
  %o = simt.atomic add relaxed gpu %p, %s mask %m : !llvm.ptr<1>, i32
  // CHECK: llvm.return
  llvm.return
}
}
