; Atomics are on cached memory of the GPU.
; RUN: tile-opt %s --target amd:gfx942 --code-pass mark-atomics | FileCheck %s

; CHECK: atomicrmw fadd {{.*}}, !amdgpu.no.fine.grained.memory !0, !amdgpu.no.remote.memory !0
define void @add(ptr addrspace(1) %p, float %x) {
  %old = atomicrmw fadd ptr addrspace(1) %p, float %x syncscope("agent") monotonic
  ret void
}
