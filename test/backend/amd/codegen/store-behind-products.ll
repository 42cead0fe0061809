; A loop that loads before its products and stores behind them keeps a quarter of these, and all that
; waits for the loads, behind the others.
; RUN: tile-opt %s --target amd:gfx942 --code-pass store-behind-products | FileCheck %s

declare <4 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v4i32(ptr addrspace(8), i32, i32, i32)
declare <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half>, <4 x half>, <4 x float>, i32, i32, i32)

; CHECK-LABEL: define amdgpu_kernel void @ahead
; CHECK:       loop:
; CHECK:       buffer.load
; CHECK-COUNT-3: mfma
; CHECK-NEXT:  call void @llvm.amdgcn.sched.barrier(i32 0)
; CHECK-NEXT:  {{.*}}mfma
; CHECK-NOT:   sched.barrier
; CHECK:       br i1
define amdgpu_kernel void @ahead(ptr addrspace(8) %from, ptr addrspace(3) %to, <4 x half> %x, i32 %n, ptr addrspace(1) %out) {
entry:
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%j, %loop]
  %s = phi <4 x float> [zeroinitializer, %entry], [%s3, %loop]
  %t = call <4 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v4i32(ptr addrspace(8) %from, i32 %i, i32 0, i32 0)
  %s0 = call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %x, <4 x half> %x, <4 x float> %s, i32 0, i32 0, i32 0)
  %s1 = call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %x, <4 x half> %x, <4 x float> %s0, i32 0, i32 0, i32 0)
  %s2 = call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %x, <4 x half> %x, <4 x float> %s1, i32 0, i32 0, i32 0)
  %s3 = call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %x, <4 x half> %x, <4 x float> %s2, i32 0, i32 0, i32 0)
  store <4 x i32> %t, ptr addrspace(3) %to
  %j = add i32 %i, 1
  %more = icmp slt i32 %j, %n
  br i1 %more, label %loop, label %end
end:
  store <4 x float> %s3, ptr addrspace(1) %out
  ret void
}

; What is stored before the products waits for the loads as it must.
; CHECK-LABEL: define amdgpu_kernel void @at_once
; CHECK-NOT:   sched.barrier
; CHECK:       ret void
define amdgpu_kernel void @at_once(ptr addrspace(8) %from, ptr addrspace(3) %to, <4 x half> %x, i32 %n, ptr addrspace(1) %out) {
entry:
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%j, %loop]
  %s = phi <4 x float> [zeroinitializer, %entry], [%s0, %loop]
  %t = call <4 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v4i32(ptr addrspace(8) %from, i32 %i, i32 0, i32 0)
  store <4 x i32> %t, ptr addrspace(3) %to
  %s0 = call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %x, <4 x half> %x, <4 x float> %s, i32 0, i32 0, i32 0)
  %j = add i32 %i, 1
  %more = icmp slt i32 %j, %n
  br i1 %more, label %loop, label %end
end:
  store <4 x float> %s0, ptr addrspace(1) %out
  ret void
}
