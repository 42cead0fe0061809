; A loop with 16 registers of sums, 4 of operands and 1 of an address leaves none of 21 to six values
; that only the code behind it takes: more programs fit at once where these are computed again.
; RUN: tile-opt %s --target amd:gfx942 --code-pass rematerialize-for-occupancy | FileCheck %s

declare i32 @llvm.amdgcn.workitem.id.x()
declare <16 x float> @llvm.amdgcn.mfma.f32.32x32x8f16(<4 x half>, <4 x half>, <16 x float>, i32, i32, i32)

; CHECK-LABEL: define amdgpu_kernel void @gains
; CHECK:       products:
; CHECK-NOT:   update.dpp
; CHECK:       end:
; CHECK:       %[[ID:.*]] = call i32 @llvm.amdgcn.update.dpp.i32(i32 %id, i32 %id,
; CHECK:       shl i32 %[[ID]], 4
define amdgpu_kernel void @gains(ptr addrspace(1) %out, ptr addrspace(3) %in, i1 %more) #0 {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %from = getelementptr i8, ptr addrspace(3) %in, i32 %id
  %r0 = shl i32 %id, 4
  %r1 = add i32 %r0, 1
  %r2 = add i32 %r0, 2
  %r3 = add i32 %r0, 3
  %r4 = add i32 %r0, 4
  %r5 = add i32 %r0, 5
  br label %products
products:
  %sums = phi <16 x float> [ zeroinitializer, %0 ], [ %p, %products ]
  %a = load <4 x half>, ptr addrspace(3) %from
  %at = getelementptr i8, ptr addrspace(3) %from, i32 64
  %b = load <4 x half>, ptr addrspace(3) %at
  %p = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x8f16(<4 x half> %a, <4 x half> %b, <16 x float> %sums, i32 0, i32 0, i32 0)
  br i1 %more, label %products, label %end
end:
  %s0 = xor i32 %r0, %r1
  %s1 = xor i32 %r2, %r3
  %s2 = xor i32 %r4, %r5
  %s3 = xor i32 %s0, %s1
  %s4 = xor i32 %s2, %s3
  %to = getelementptr i8, ptr addrspace(1) %out, i32 %s4
  store <16 x float> %p, ptr addrspace(1) %to
  ret void
}

; With one register fewer, the loop alone does not fit; the next number has room for all of them.
; CHECK-LABEL: define amdgpu_kernel void @gains_nothing
; CHECK-NOT:   update.dpp
; CHECK:       ret void
define amdgpu_kernel void @gains_nothing(ptr addrspace(1) %out, ptr addrspace(3) %in, i1 %more) #1 {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %from = getelementptr i8, ptr addrspace(3) %in, i32 %id
  %r0 = shl i32 %id, 4
  %r1 = add i32 %r0, 1
  br label %products
products:
  %sums = phi <16 x float> [ zeroinitializer, %0 ], [ %p, %products ]
  %a = load <4 x half>, ptr addrspace(3) %from
  %at = getelementptr i8, ptr addrspace(3) %from, i32 64
  %b = load <4 x half>, ptr addrspace(3) %at
  %p = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x8f16(<4 x half> %a, <4 x half> %b, <16 x float> %sums, i32 0, i32 0, i32 0)
  br i1 %more, label %products, label %end
end:
  %s0 = xor i32 %r0, %r1
  %to = getelementptr i8, ptr addrspace(1) %out, i32 %s0
  store <16 x float> %p, ptr addrspace(1) %to
  ret void
}

attributes #0 = { "tw-register-steps"="21,512" }
attributes #1 = { "tw-register-steps"="20,24,512" }
