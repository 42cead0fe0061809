; The counter of shared memory counts times that are read as well: a wait behind one is another one's.
; RUN: tile-opt %s --target amd:gfx942 --code-pass merge-waits | FileCheck %s

@lds = internal addrspace(3) global [64 x i32] poison
declare i64 @llvm.amdgcn.s.memtime()

; CHECK-LABEL: clock:
; CHECK:       ds_read_b32
; CHECK:       s_waitcnt lgkmcnt(0)
; CHECK:       s_memtime
; CHECK:       s_waitcnt lgkmcnt(0)
; CHECK:       s_endpgm
define amdgpu_kernel void @clock(ptr addrspace(1) inreg %out) {
  %a = load volatile i32, ptr addrspace(3) @lds
  store i32 %a, ptr addrspace(1) %out
  %now = call i64 @llvm.amdgcn.s.memtime()
  %q = getelementptr i64, ptr addrspace(1) %out, i32 1
  store i64 %now, ptr addrspace(1) %q
  ret void
}
