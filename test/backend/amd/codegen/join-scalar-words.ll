; Resources of two buffers share two words, which are copied by one instruction.
; RUN: tile-opt %s --target amd:gfx942 --code-pass join-scalar-words | FileCheck %s

declare float @llvm.amdgcn.raw.ptr.buffer.load.f32(ptr addrspace(8), i32, i32, i32)
declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)

; CHECK-LABEL: kernel:
; CHECK:       s_mov_b64
; CHECK:       s_endpgm
define amdgpu_kernel void @kernel(ptr addrspace(1) %x, ptr addrspace(1) %y, ptr addrspace(1) %out, i32 %at) {
  %a = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %x, i16 0, i64 4294967280, i32 159744)
  %b = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %y, i16 0, i64 4294967280, i32 159744)
  %p = call float @llvm.amdgcn.raw.ptr.buffer.load.f32(ptr addrspace(8) %a, i32 %at, i32 0, i32 0)
  %q = call float @llvm.amdgcn.raw.ptr.buffer.load.f32(ptr addrspace(8) %b, i32 %at, i32 0, i32 0)
  %sum = fadd float %p, %q
  store float %sum, ptr addrspace(1) %out
  ret void
}
