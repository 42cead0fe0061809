; Behind a loop with products, addresses are computed again from the thread's number.
; RUN: tile-opt %s --target amd:gfx1201 --code-pass rematerialize-before-loops | FileCheck %s --check-prefixes=BOTH,BEFORE
; RUN: tile-opt %s --target amd:gfx1201 --code-pass rematerialize-in-loops | FileCheck %s --check-prefixes=BOTH,IN
; RUN: tile-opt %s --target amd:gfx1201 --code-pass rematerialize-after-large-products | FileCheck %s --check-prefix=SMALL

declare i32 @llvm.amdgcn.workitem.id.x()
declare <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half>, <8 x half>, <8 x float>)

; BOTH-LABEL: define amdgpu_kernel void @kernel
; BOTH:       products:
; BOTH-NOT:   update.dpp
; BEFORE:     between:
; BEFORE:     %[[ID:.*]] = call i32 @llvm.amdgcn.update.dpp.i32(i32 %id, i32 %id,
; BEFORE:     %[[ROW:.*]] = shl i32 %[[ID]], 4
; BEFORE:     stores:
; IN:         stores:
; IN:         %[[ID:.*]] = call i32 @llvm.amdgcn.update.dpp.i32(i32 %id, i32 %id,
; IN:         %[[ROW:.*]] = shl i32 %[[ID]], 4
; BOTH:       getelementptr i8, ptr addrspace(1) %out, i32 %[[ROW]]

; The products of this loop do not fill the registers.
; SMALL-NOT:  update.dpp
define amdgpu_kernel void @kernel(ptr addrspace(1) %out, <8 x half> %a, i32 %n) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %row = shl i32 %id, 4
  br label %products
products:
  %i = phi i32 [ 0, %0 ], [ %next, %products ]
  %acc = phi <8 x float> [ zeroinitializer, %0 ], [ %sum, %products ]
  %sum = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half> %a, <8 x half> %a, <8 x float> %acc)
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %products, label %between
between:
  br label %stores
stores:
  %k = phi i32 [ 0, %between ], [ %after, %stores ]
  %to = getelementptr i8, ptr addrspace(1) %out, i32 %row
  store <8 x float> %sum, ptr addrspace(1) %to
  %after = add i32 %k, 1
  %again = icmp slt i32 %after, %n
  br i1 %again, label %stores, label %end
end:
  ret void
}
