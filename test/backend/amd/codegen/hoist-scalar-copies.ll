; Two resources share two words: the loop, which moves their addresses, copies the words before it.
; RUN: tile-opt %s --target amd:gfx942 --code-pass hoist-scalar-copies | FileCheck %s

declare float @llvm.amdgcn.raw.buffer.load.f32(<4 x i32>, i32, i32, i32)
declare i32 @llvm.amdgcn.workitem.id.x()

; CHECK-LABEL: kernel:
; CHECK:       s_mov_b32
; CHECK-NEXT:  s_mov_b32
; CHECK:       [[LOOP:.LBB[0-9_]+]]:
; CHECK-NOT:   s_mov_b
; CHECK:       buffer_load_dword
; CHECK-NOT:   s_mov_b
; CHECK:       s_cbranch_scc{{[01]}} [[LOOP]]
define amdgpu_kernel void @kernel(i64 inreg %x, i64 inreg %y, i64 inreg %facts, ptr addrspace(1) inreg %out, i32 inreg %n, i64 inreg %step) {
entry:
  %at = call i32 @llvm.amdgcn.workitem.id.x()
  br label %loop
loop:
  %left = phi i32 [ %n, %entry ], [ %next, %loop ]
  %xa = phi i64 [ %x, %entry ], [ %xn, %loop ]
  %ya = phi i64 [ %y, %entry ], [ %yn, %loop ]
  %x0 = insertelement <2 x i64> poison, i64 %xa, i64 0
  %x1 = insertelement <2 x i64> %x0, i64 %facts, i64 1
  %xr = bitcast <2 x i64> %x1 to <4 x i32>
  %y0 = insertelement <2 x i64> poison, i64 %ya, i64 0
  %y1 = insertelement <2 x i64> %y0, i64 %facts, i64 1
  %yr = bitcast <2 x i64> %y1 to <4 x i32>
  %a = call float @llvm.amdgcn.raw.buffer.load.f32(<4 x i32> %xr, i32 %at, i32 0, i32 0)
  %b = call float @llvm.amdgcn.raw.buffer.load.f32(<4 x i32> %yr, i32 %at, i32 0, i32 0)
  %sum = fadd float %a, %b
  store volatile float %sum, ptr addrspace(1) %out
  %xn = add i64 %xa, 64
  %yn = add i64 %ya, %step
  %next = add i32 %left, -1
  %again = icmp ne i32 %next, 0
  br i1 %again, label %loop, label %exit
exit:
  ret void
}
