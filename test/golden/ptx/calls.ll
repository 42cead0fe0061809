; llc -mtriple=nvptx64-nvidia-cuda -mcpu=sm_80 calls.ll: a call, a switch, orders and scopes, bf16.
target triple = "nvptx64-nvidia-cuda"
@staged = internal addrspace(3) global [64 x float] undef, align 16
@dynamic = external addrspace(3) global [0 x i8], align 16
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier0()
declare <2 x bfloat> @llvm.fma.v2bf16(<2 x bfloat>, <2 x bfloat>, <2 x bfloat>)

define float @weigh(float %a, <4 x float> %v) noinline {
  %e = extractelement <4 x float> %v, i32 2
  %r = fmul float %a, %e
  ret float %r
}

define ptx_kernel void @calls(ptr addrspace(1) %out, ptr addrspace(1) readonly %in, i32 %n,
                              <2 x bfloat> %b) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %isInside = icmp slt i32 %t, %n
  br i1 %isInside, label %body, label %end
body:
  %from = getelementptr <4 x float>, ptr addrspace(1) %in, i32 %t
  %v = load <4 x float>, ptr addrspace(1) %from, align 16, !invariant.load !0
  %e = extractelement <4 x float> %v, i32 0
  %mine = getelementptr float, ptr addrspace(3) @staged, i32 %t
  store float %e, ptr addrspace(3) %mine
  call void @llvm.nvvm.barrier0()
  %other = load float, ptr addrspace(3) getelementptr (float, ptr addrspace(3) @staged, i32 5)
  store float %other, ptr addrspace(3) @dynamic
  %w = call float @weigh(float %other, <4 x float> %v)
  %old = atomicrmw fadd ptr addrspace(1) %out, float %w syncscope("device") acq_rel
  %b2 = call <2 x bfloat> @llvm.fma.v2bf16(<2 x bfloat> %b, <2 x bfloat> %b, <2 x bfloat> %b)
  store <2 x bfloat> %b2, ptr addrspace(1) %out
  fence syncscope("device") seq_cst
  %kind = load atomic i32, ptr addrspace(1) %out acquire, align 4
  switch i32 %kind, label %end [ i32 0, label %zero  i32 1, label %one  i32 2, label %two
                                 i32 3, label %three  i32 4, label %zero ]
zero:
  store i8 1, ptr addrspace(1) %out
  br label %end
one:
  store i16 1, ptr addrspace(1) %out
  br label %end
two:
  store i64 1, ptr addrspace(1) %out
  br label %zero
three:
  store <4 x i32> <i32 1, i32 2, i32 3, i32 4>, ptr addrspace(1) %out, align 16
  br label %end
end:
  ret void
}
!0 = !{}
