; A product of RDNA 3 that adds to zeros takes the constant 0; the next one adds to its result.
; Accumulators of 16 bits keep their register: its other half stays as it is.
; RUN: tile-opt %s --target amd:gfx1100 --code-pass fold-zero-sums | FileCheck %s

declare <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half>, <16 x half>, <8 x float>)
declare <8 x i32> @llvm.amdgcn.wmma.i32.16x16x16.iu8.v8i32.v4i32(i1, <4 x i32>, i1, <4 x i32>, <8 x i32>, i1)
declare <16 x half> @llvm.amdgcn.wmma.f16.16x16x16.f16.v16f16.v16f16(<16 x half>, <16 x half>, <16 x half>, i1)

; CHECK-LABEL: floats:
; CHECK:       v_wmma_f32_16x16x16_f16 [[SUM:v\[[0-9]+:[0-9]+\]]], {{.*}}, 0{{$}}
; CHECK:       v_wmma_f32_16x16x16_f16 {{.*}}, [[SUM]]{{$}}
define amdgpu_kernel void @floats(ptr addrspace(1) %x, ptr addrspace(1) %y, ptr addrspace(1) %out) {
  %a = load volatile <16 x half>, ptr addrspace(1) %x
  %b = load volatile <16 x half>, ptr addrspace(1) %y
  %first = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a, <16 x half> %b, <8 x float> zeroinitializer)
  %sum = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %b, <16 x half> %a, <8 x float> %first)
  store <8 x float> %sum, ptr addrspace(1) %out
  ret void
}

; CHECK-LABEL: integers:
; CHECK:       v_wmma_i32_16x16x16_iu8 {{.*}}, 0 neg_lo:[1,1,0]
define amdgpu_kernel void @integers(ptr addrspace(1) %x, ptr addrspace(1) %y, ptr addrspace(1) %out) {
  %a = load volatile <4 x i32>, ptr addrspace(1) %x
  %b = load volatile <4 x i32>, ptr addrspace(1) %y
  %sum = call <8 x i32> @llvm.amdgcn.wmma.i32.16x16x16.iu8.v8i32.v4i32(i1 1, <4 x i32> %a, i1 1, <4 x i32> %b, <8 x i32> zeroinitializer, i1 0)
  store <8 x i32> %sum, ptr addrspace(1) %out
  ret void
}

; CHECK-LABEL: halves:
; CHECK:       v_wmma_f16_16x16x16_f16 {{.*}}, v[{{[0-9:]+}}]{{$}}
define amdgpu_kernel void @halves(ptr addrspace(1) %x, ptr addrspace(1) %y, ptr addrspace(1) %out) {
  %a = load volatile <16 x half>, ptr addrspace(1) %x
  %b = load volatile <16 x half>, ptr addrspace(1) %y
  %sum = call <16 x half> @llvm.amdgcn.wmma.f16.16x16x16.f16.v16f16.v16f16(<16 x half> %a, <16 x half> %b, <16 x half> zeroinitializer, i1 0)
  store <16 x half> %sum, ptr addrspace(1) %out
  ret void
}

; CHECK-LABEL: others:
; CHECK-NOT:   v_wmma_f32_16x16x16_f16 {{.*}}, 0{{$}}
; CHECK:       s_endpgm
define amdgpu_kernel void @others(ptr addrspace(1) %x, ptr addrspace(1) %y, ptr addrspace(1) %out, float %last) {
  %a = load volatile <16 x half>, ptr addrspace(1) %x
  %b = load volatile <16 x half>, ptr addrspace(1) %y
  %acc = insertelement <8 x float> zeroinitializer, float %last, i32 7
  %sum = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a, <16 x half> %b, <8 x float> %acc)
  store <8 x float> %sum, ptr addrspace(1) %out
  ret void
}
