; Offsets of buffer accesses that differ by a constant of instructions are one value.
; RUN: tile-opt %s --target amd:gfx1100 --code-pass share-offsets | FileCheck %s

declare float @llvm.amdgcn.raw.ptr.buffer.load.f32(ptr addrspace(8), i32, i32, i32)

; CHECK-LABEL: define float @near
; CHECK:       %[[FIRST:.*]] = add i32 %row, %column
; CHECK:       buffer.load.f32(ptr addrspace(8) %x, i32 %[[FIRST]],
; CHECK:       %[[SECOND:.*]] = add i32 %[[FIRST]], 64
; CHECK:       buffer.load.f32(ptr addrspace(8) %x, i32 %[[SECOND]],
define float @near(ptr addrspace(8) %x, i32 %row, i32 %column) {
  %first = add i32 %row, %column
  %next = add i32 %column, 64
  %second = add i32 %row, %next
  %a = call float @llvm.amdgcn.raw.ptr.buffer.load.f32(ptr addrspace(8) %x, i32 %first, i32 0, i32 0)
  %b = call float @llvm.amdgcn.raw.ptr.buffer.load.f32(ptr addrspace(8) %x, i32 %second, i32 0, i32 0)
  %sum = fadd float %a, %b
  ret float %sum
}

; Instructions add at most 4095.
; CHECK-LABEL: define float @far
; CHECK:       %second = add i32 %row, %next
; CHECK:       buffer.load.f32(ptr addrspace(8) %x, i32 %second,
define float @far(ptr addrspace(8) %x, i32 %row, i32 %column) {
  %first = add i32 %row, %column
  %next = add i32 %column, 4096
  %second = add i32 %row, %next
  %a = call float @llvm.amdgcn.raw.ptr.buffer.load.f32(ptr addrspace(8) %x, i32 %first, i32 0, i32 0)
  %b = call float @llvm.amdgcn.raw.ptr.buffer.load.f32(ptr addrspace(8) %x, i32 %second, i32 0, i32 0)
  %sum = fadd float %a, %b
  ret float %sum
}
