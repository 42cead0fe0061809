; An asynchronous copy takes a scalar base and an offset of 32 bits, also where that does not change.
; RUN: tile-opt %s --target amd:gfx1250 --code-pass sink-copy-offsets | FileCheck %s

declare void @llvm.amdgcn.global.load.async.to.lds.b128(ptr addrspace(1), ptr addrspace(3), i32, i32)

; CHECK-LABEL: kernel:
; CHECK:       .LBB0_1:
; CHECK-NOT:   v_add
; CHECK:       global_load_async_to_lds_b128 v{{[0-9]+}}, v{{[0-9]+}}, s[{{[0-9:]+}}]
; CHECK:       s_endpgm
define amdgpu_kernel void @kernel(ptr addrspace(1) %from, ptr addrspace(3) %to, i32 %n, ptr addrspace(4) %steps) {
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %bytes = mul i32 %lane, 48
  %offset = zext i32 %bytes to i64
  br label %loop
loop:
  %i = phi i32 [ 0, %0 ], [ %next, %loop ]
  %step = getelementptr i64, ptr addrspace(4) %steps, i32 %i
  %by = load i64, ptr addrspace(4) %step
  %start = ptrtoint ptr addrspace(1) %from to i64
  %sum = add i64 %start, %by
  %base = inttoptr i64 %sum to ptr addrspace(1)
  %address = getelementptr i8, ptr addrspace(1) %base, i64 %offset
  call void @llvm.amdgcn.global.load.async.to.lds.b128(ptr addrspace(1) %address, ptr addrspace(3) %to, i32 0, i32 0)
  %next = add i32 %i, 1
  %done = icmp eq i32 %next, %n
  br i1 %done, label %exit, label %loop
exit:
  ret void
}
