; A loop whose 11 accumulators and 22 operands of 8 registers fill the 256 leaves none for addresses.
; RUN: tile-opt %s --target amd:gfx1100 --code-pass rematerialize-after-large-products | FileCheck %s

declare i32 @llvm.amdgcn.workitem.id.x()
declare <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half>, <16 x half>, <8 x float>)

; CHECK-LABEL: define amdgpu_kernel void @kernel
; CHECK:       products:
; CHECK-NOT:   update.dpp
; CHECK:       end:
; CHECK:       %[[ID:.*]] = call i32 @llvm.amdgcn.update.dpp.i32(i32 %id, i32 %id,
; CHECK:       %[[ROW:.*]] = shl i32 %[[ID]], 4
; CHECK:       getelementptr i8, ptr addrspace(1) %out, i32 %[[ROW]]
define amdgpu_kernel void @kernel(ptr addrspace(1) %out, i1 %more,
    <16 x half> %a0, <16 x half> %a1, <16 x half> %a2, <16 x half> %a3, <16 x half> %a4, <16 x half> %a5, <16 x half> %a6, <16 x half> %a7, <16 x half> %a8, <16 x half> %a9, <16 x half> %a10,
    <16 x half> %b0, <16 x half> %b1, <16 x half> %b2, <16 x half> %b3, <16 x half> %b4, <16 x half> %b5, <16 x half> %b6, <16 x half> %b7, <16 x half> %b8, <16 x half> %b9, <16 x half> %b10) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %row = shl i32 %id, 4
  br label %products
products:
  %p0 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a0, <16 x half> %b0, <8 x float> zeroinitializer)
  %p1 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a1, <16 x half> %b1, <8 x float> zeroinitializer)
  %p2 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a2, <16 x half> %b2, <8 x float> zeroinitializer)
  %p3 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a3, <16 x half> %b3, <8 x float> zeroinitializer)
  %p4 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a4, <16 x half> %b4, <8 x float> zeroinitializer)
  %p5 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a5, <16 x half> %b5, <8 x float> zeroinitializer)
  %p6 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a6, <16 x half> %b6, <8 x float> zeroinitializer)
  %p7 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a7, <16 x half> %b7, <8 x float> zeroinitializer)
  %p8 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a8, <16 x half> %b8, <8 x float> zeroinitializer)
  %p9 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a9, <16 x half> %b9, <8 x float> zeroinitializer)
  %p10 = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v16f16(<16 x half> %a10, <16 x half> %b10, <8 x float> zeroinitializer)
  br i1 %more, label %products, label %end
end:
  %to = getelementptr i8, ptr addrspace(1) %out, i32 %row
  store <8 x float> %p0, ptr addrspace(1) %to
  ret void
}
