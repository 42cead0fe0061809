; What a loop beside products needs, in a branch that multiplies in another way, is computed in front
; of that loop and not kept through the products; inside of loops, operands of the products too.
; RUN: tile-opt %s --target amd:gfx1201 --code-pass rematerialize-before-loops | FileCheck %s --check-prefixes=BOTH,BEFORE
; RUN: tile-opt %s --target amd:gfx1201 --code-pass rematerialize-in-loops | FileCheck %s --check-prefixes=BOTH,IN

declare i32 @llvm.amdgcn.workitem.id.x()
declare <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half>, <8 x half>, <8 x float>)

; BOTH-LABEL: define amdgpu_kernel void @kernel
; BOTH:       front:
; BOTH-NEXT:  %row = shl i32 %id, 4
; BOTH:       loop:
; BEFORE-NOT: update.dpp
; IN:         call i32 @llvm.amdgcn.update.dpp.i32(
; BOTH:       br i1 %rare, label %[[PRE:.*]], label %merge
; BOTH:       [[PRE]]:
; BOTH:       %[[ID:.*]] = call i32 @llvm.amdgcn.update.dpp.i32(i32 %id, i32 %id,
; BOTH:       %[[ROW:.*]] = shl i32 %[[ID]], 4
; BOTH:       slow:
; BOTH:       getelementptr i8, ptr addrspace(3) null, i32 %[[ROW]]
define amdgpu_kernel void @kernel(ptr addrspace(1) %out, <8 x half> %a, i32 %n) {
  %id = call i32 @llvm.amdgcn.workitem.id.x()
  %any = icmp sgt i32 %n, 0
  br i1 %any, label %front, label %end
front:
  %row = shl i32 %id, 4
  br label %loop
loop:
  %i = phi i32 [ 0, %front ], [ %next, %merge ]
  %acc = phi <8 x float> [ zeroinitializer, %front ], [ %result, %merge ]
  %from = getelementptr i8, ptr addrspace(3) null, i32 %row
  %b = load <8 x half>, ptr addrspace(3) %from
  %sum = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half> %a, <8 x half> %b, <8 x float> %acc)
  %rare = icmp eq i32 %i, 7
  br i1 %rare, label %slow, label %merge
slow:
  %part = phi <8 x float> [ %sum, %loop ], [ %more, %slow ]
  %k = phi i32 [ 0, %loop ], [ %after, %slow ]
  %at = getelementptr i8, ptr addrspace(3) null, i32 %row
  %x = load <8 x float>, ptr addrspace(3) %at
  %more = fadd <8 x float> %part, %x
  %after = add i32 %k, 1
  %again = icmp slt i32 %after, %n
  br i1 %again, label %slow, label %merge
merge:
  %result = phi <8 x float> [ %more, %slow ], [ %sum, %loop ]
  %next = add i32 %i, 1
  %goes = icmp slt i32 %next, %n
  br i1 %goes, label %loop, label %end
end:
  ret void
}
