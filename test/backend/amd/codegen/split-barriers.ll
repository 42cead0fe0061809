; A barrier behind products is split: waves signal in front of the last quarter of these. One with
; an access of shared memory in front of it, or of global memory too, stays whole.
; RUN: tile-opt %s --target amd:gfx1201 --code-pass split-barriers | FileCheck %s

declare <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half>, <8 x half>, <8 x float>)

; CHECK-LABEL: define amdgpu_kernel void @behind_products
; CHECK:       load <8 x half>
; CHECK-COUNT-3: call <8 x float>
; CHECK-NEXT:  fence syncscope("workgroup") release
; CHECK-NEXT:  {{.*}}s.wait.dscnt(i16 0)
; CHECK-NEXT:  {{.*}}s.barrier.signal(i32 -1)
; CHECK-NEXT:  {{.*}}sched.barrier(i32 0)
; CHECK-NEXT:  {{.*}}call <8 x float>
; CHECK-NEXT:  {{.*}}sched.barrier(i32 0)
; CHECK-NEXT:  {{.*}}s.barrier.wait(i16 -1)
; CHECK-NEXT:  fence syncscope("workgroup") acquire
; CHECK-NEXT:  store
; CHECK-NEXT:  fence
; CHECK-NEXT:  {{.*}}s.wait.dscnt
; CHECK-NEXT:  {{.*}}s.barrier()
define amdgpu_kernel void @behind_products(ptr addrspace(3) %a, ptr addrspace(1) %out) {
  %x = load <8 x half>, ptr addrspace(3) %a
  %s0 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half> %x, <8 x half> %x, <8 x float> zeroinitializer)
  %s1 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half> %x, <8 x half> %x, <8 x float> %s0)
  %s2 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half> %x, <8 x half> %x, <8 x float> %s1)
  %s3 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half> %x, <8 x half> %x, <8 x float> %s2)
  fence syncscope("workgroup") release, !mmra !0
  call void @llvm.amdgcn.s.wait.dscnt(i16 0)
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !0
  store <8 x half> %x, ptr addrspace(3) %a
  fence syncscope("workgroup") release, !mmra !0
  call void @llvm.amdgcn.s.wait.dscnt(i16 0)
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !0
  store <8 x float> %s3, ptr addrspace(1) %out
  ret void
}

; CHECK-LABEL: define amdgpu_kernel void @of_global_memory
; CHECK-NOT:   signal
; CHECK:       s.barrier()
define amdgpu_kernel void @of_global_memory(<8 x half> %x, ptr addrspace(1) %out) {
  %s0 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half> %x, <8 x half> %x, <8 x float> zeroinitializer)
  %s1 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half> %x, <8 x half> %x, <8 x float> %s0)
  %s2 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half> %x, <8 x half> %x, <8 x float> %s1)
  %s3 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half> %x, <8 x half> %x, <8 x float> %s2)
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.wait.dscnt(i16 0)
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  store <8 x float> %s3, ptr addrspace(1) %out
  ret void
}

!0 = !{!"amdgpu-synchronize-as", !"local"}
