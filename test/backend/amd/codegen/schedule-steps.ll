; Between barriers, copies start first, in turn with reads; the other reads stand among the products.
; RUN: tile-opt %s --target amd:gfx950 --code-pass schedule-steps | FileCheck %s

declare void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8), ptr addrspace(3), i32, i32, i32, i32, i32)
declare <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half>, <8 x half>, <16 x float>, i32, i32, i32)

; CHECK-LABEL: define amdgpu_kernel void @kernel
; CHECK:       s.barrier
; CHECK:       mfma
; CHECK-NEXT:  sched.group.barrier(i32 32, i32 1, i32 0)
; CHECK-NEXT:  sched.group.barrier(i32 256, i32 1, i32 0)
; CHECK-NEXT:  sched.group.barrier(i32 8, i32 1, i32 0)
; CHECK-NEXT:  sched.group.barrier(i32 256, i32 1, i32 0)
; CHECK-NEXT:  sched.barrier(i32 0)
; CHECK-NEXT:  fence
; CHECK-NEXT:  s.waitcnt
; CHECK-NEXT:  s.barrier
; CHECK-NOT:   sched
; CHECK:       ret void
define amdgpu_kernel void @kernel(ptr addrspace(8) %from, ptr addrspace(3) %to, ptr addrspace(3) %a, ptr addrspace(1) %out) {
  call void @llvm.amdgcn.s.barrier()
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %from, ptr addrspace(3) %to, i32 16, i32 0, i32 0, i32 0, i32 0)
  %x = load <8 x half>, ptr addrspace(3) %a
  %next = getelementptr i8, ptr addrspace(3) %a, i32 1024
  %y = load <8 x half>, ptr addrspace(3) %next
  %sum = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half> %x, <8 x half> %y, <16 x float> zeroinitializer, i32 0, i32 0, i32 0)
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.waitcnt(i32 3952)
  call void @llvm.amdgcn.s.barrier()
  store <16 x float> %sum, ptr addrspace(1) %out
  ret void
}
