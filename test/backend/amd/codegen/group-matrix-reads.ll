; Operands are read right before their product, not above a barrier, and groups of four products end
; with a barrier of the scheduler.
; RUN: tile-opt %s --target amd:gfx1201 --code-pass group-matrix-reads | FileCheck %s

declare <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half>, <8 x half>, <8 x float>)
declare void @llvm.amdgcn.s.barrier()

; CHECK-LABEL: define <8 x float> @products
; CHECK:       %a = load <8 x half>
; CHECK-NEXT:  call void @llvm.amdgcn.s.barrier()
; CHECK-NEXT:  %b = load <8 x half>
; CHECK-NEXT:  %one = call
; CHECK-NEXT:  %two = call
; CHECK-NEXT:  %at = getelementptr
; CHECK-NEXT:  %c = load <8 x half>
; CHECK-NEXT:  %three = call
; CHECK-NEXT:  %four = call
; CHECK-NEXT:  call void @llvm.amdgcn.sched.barrier(i32 0)
; CHECK-NEXT:  %five = call
define <8 x float> @products(ptr addrspace(3) %p, <8 x float> %sum) {
  %a = load <8 x half>, ptr addrspace(3) %p
  call void @llvm.amdgcn.s.barrier()
  %at = getelementptr i8, ptr addrspace(3) %p, i32 64
  %c = load <8 x half>, ptr addrspace(3) %at
  %b = load <8 x half>, ptr addrspace(3) %p
  %one = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half> %a, <8 x half> %b, <8 x float> %sum)
  %two = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half> %a, <8 x half> %b, <8 x float> %one)
  %three = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half> %a, <8 x half> %c, <8 x float> %two)
  %four = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half> %a, <8 x half> %b, <8 x float> %three)
  %five = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half> %a, <8 x half> %c, <8 x float> %four)
  ret <8 x float> %five
}

; Operands are converted right before their product, too; what follows from a product stays.
; CHECK-LABEL: define <8 x float> @conversions
; CHECK:       %b = load <8 x i16>
; CHECK-NEXT:  %b.wide = uitofp
; CHECK-NEXT:  %a = load <8 x i16>
; CHECK-NEXT:  %a.wide = uitofp
; CHECK-NEXT:  %a.scaled = fmul <8 x half> %a.wide, %scale
; CHECK-NEXT:  %one = call
; CHECK-NEXT:  %c = load <8 x i16>
; CHECK-NEXT:  %c.wide = uitofp
; CHECK-NEXT:  %two = call
; CHECK-NEXT:  %half = fptrunc
; CHECK-NEXT:  %unrelated = fadd
; CHECK-NEXT:  call void @llvm.amdgcn.sched.barrier(i32 256)
; CHECK-NEXT:  %three = call
define <8 x float> @conversions(ptr addrspace(3) %p, <8 x half> %scale, <8 x float> %sum) {
  %c = load <8 x i16>, ptr addrspace(3) %p
  %c.wide = uitofp <8 x i16> %c to <8 x half>
  %b = load <8 x i16>, ptr addrspace(3) %p
  %b.wide = uitofp <8 x i16> %b to <8 x half>
  %a = load <8 x i16>, ptr addrspace(3) %p
  %a.wide = uitofp <8 x i16> %a to <8 x half>
  %a.scaled = fmul <8 x half> %a.wide, %scale
  %one = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half> %a.scaled, <8 x half> %b.wide, <8 x float> %sum)
  %two = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half> %c.wide, <8 x half> %b.wide, <8 x float> %one)
  %half = fptrunc <8 x float> %two to <8 x half>
  %unrelated = fadd <8 x half> %half, %scale
  %three = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half> %unrelated, <8 x half> %b.wide, <8 x float> %two)
  ret <8 x float> %three
}
