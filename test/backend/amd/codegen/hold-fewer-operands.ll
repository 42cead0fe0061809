; Two operands of one side are held, and each of the other side's three is read for both of its
; products, up to a product that needs a result of these.
; RUN: tile-opt %s --target amd:gfx1100 --code-pass hold-fewer-operands | FileCheck %s

declare <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half>, <16 x half>, <8 x float>)
declare void @llvm.amdgcn.s.barrier()

; CHECK-LABEL: define {{.*}}@products
; CHECK:       %a1 = call {{.*}} %a, <16 x half> %one,
; CHECK-NEXT:  %b1 = call {{.*}} %b, <16 x half> %one,
; CHECK-NEXT:  %a2 = call {{.*}} %a, <16 x half> %two,
; CHECK-NEXT:  %b2 = call {{.*}} %b, <16 x half> %two,
; CHECK-NEXT:  %a3 = call {{.*}} %a, <16 x half> %three,
; CHECK-NEXT:  %b3 = call {{.*}} %b, <16 x half> %three,
; CHECK-NEXT:  %last = call
define <8 x float> @products(<16 x half> %a, <16 x half> %b, <16 x half> %one, <16 x half> %two, <16 x half> %three, <8 x float> %sum, ptr addrspace(1) %out) {
  %a1 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a, <16 x half> %one, <8 x float> %sum)
  %a2 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a, <16 x half> %two, <8 x float> %sum)
  %a3 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a, <16 x half> %three, <8 x float> %sum)
  %b1 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %b, <16 x half> %one, <8 x float> %sum)
  %b2 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %b, <16 x half> %two, <8 x float> %sum)
  %b3 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %b, <16 x half> %three, <8 x float> %sum)
  %last = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a, <16 x half> %one, <8 x float> %b3)
  store <8 x float> %a1, ptr addrspace(1) %out
  store <8 x float> %a2, ptr addrspace(1) %out
  store <8 x float> %a3, ptr addrspace(1) %out
  store <8 x float> %b1, ptr addrspace(1) %out
  store <8 x float> %b2, ptr addrspace(1) %out
  ret <8 x float> %last
}

; Nothing moves across a barrier.
; CHECK-LABEL: define {{.*}}@apart
; CHECK:       %a1 = call
; CHECK-NEXT:  %a2 = call
; CHECK-NEXT:  call void @llvm.amdgcn.s.barrier()
; CHECK-NEXT:  %b1 = call
define void @apart(<16 x half> %a, <16 x half> %b, <16 x half> %one, <16 x half> %two, <8 x float> %sum, ptr addrspace(1) %out) {
  %a1 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a, <16 x half> %one, <8 x float> %sum)
  %a2 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a, <16 x half> %two, <8 x float> %sum)
  call void @llvm.amdgcn.s.barrier()
  %b1 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %b, <16 x half> %one, <8 x float> %sum)
  store <8 x float> %a1, ptr addrspace(1) %out
  store <8 x float> %a2, ptr addrspace(1) %out
  store <8 x float> %b1, ptr addrspace(1) %out
  ret void
}
