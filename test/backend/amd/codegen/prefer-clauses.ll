; LLVM's scheduler prefers clauses where a block loads as many words as there are registers with
; which a processor holds most programs, and no matrix instruction waits for them.
; RUN: tile-opt %s --target amd:gfx1201 --code-pass prefer-clauses | FileCheck %s

declare <4 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v4i32(ptr addrspace(8), i32, i32, i32)
declare <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half>, <8 x half>, <8 x float>)

; CHECK: define {{.*}} @fills({{.*}}) #[[CLAUSES:[0-9]+]] {
define void @fills(ptr addrspace(8) %x) #0 {
  %a = call <4 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v4i32(ptr addrspace(8) %x, i32 0, i32 0, i32 0)
  %b = call <4 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v4i32(ptr addrspace(8) %x, i32 16, i32 0, i32 0)
  ret void
}

; CHECK: define {{.*}} @fits({{.*}}) #[[PLAIN:[0-9]+]] {
define void @fits(ptr addrspace(8) %x) #0 {
  %a = call <4 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v4i32(ptr addrspace(8) %x, i32 0, i32 0, i32 0)
  ret void
}

; CHECK: define {{.*}} @products({{.*}}) #[[PLAIN]] {
define <8 x float> @products(ptr addrspace(8) %x, <8 x half> %l, <8 x half> %r, <8 x float> %sum) #0 {
  %a = call <4 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v4i32(ptr addrspace(8) %x, i32 0, i32 0, i32 0)
  %b = call <4 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v4i32(ptr addrspace(8) %x, i32 16, i32 0, i32 0)
  %product = call <8 x float> @llvm.amdgcn.wmma.f32.16x16x16.f16.v8f32.v8f16(<8 x half> %l, <8 x half> %r, <8 x float> %sum)
  ret <8 x float> %product
}

; CHECK: attributes #[[CLAUSES]] = { "amdgpu-sched-strategy"="max-memory-clause"
; CHECK: attributes #[[PLAIN]] = { "tw-register-steps"
attributes #0 = { "tw-register-steps"="8,256" }
