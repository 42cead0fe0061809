; Waves of a SIMD take turns: a step is cut into memory and products, with a barrier behind each, and
; four waves pass one barrier more in front of the loop, the others behind it.
; RUN: tile-opt %s --target amd:gfx950 --code-pass alternate-waves | FileCheck %s

declare void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8), ptr addrspace(3), i32, i32, i32, i32, i32)
declare <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half>, <8 x half>, <16 x float>, i32, i32, i32)

; CHECK-LABEL: define amdgpu_kernel void @direct_copies
; The copies of the first tile are there before either group goes on.
; CHECK:       s.waitcnt(i32 3952)
; CHECK-NEXT:  %[[ID:.*]] = call i32 @llvm.amdgcn.workitem.id.x()
; CHECK-NEXT:  %[[FIRST:.*]] = call i32 @llvm.amdgcn.readfirstlane.i32(i32 %[[ID]])
; CHECK-NEXT:  %[[BEHIND:.*]] = icmp uge i32 %[[FIRST]], 256
; CHECK-NEXT:  br i1 %[[BEHIND]]
; CHECK:       fence syncscope("workgroup") release
; CHECK-NEXT:  s.waitcnt(i32 49279)
; CHECK-NEXT:  s.barrier
; CHECK-NEXT:  fence syncscope("workgroup") acquire
; CHECK:       %sum = phi
; CHECK-NEXT:  fence syncscope("workgroup") release
; CHECK-NEXT:  s.waitcnt(i32 49279)
; CHECK-NEXT:  s.barrier
; CHECK-NEXT:  fence
; CHECK-NEXT:  sched.barrier(i32 0)
; CHECK-NEXT:  load.lds
; CHECK-NEXT:  %x = load
; CHECK-NEXT:  sched.barrier(i32 0)
; CHECK-NEXT:  fence syncscope("workgroup") release
; CHECK-NEXT:  s.waitcnt(i32 49279)
; CHECK-NEXT:  s.barrier
; CHECK-NEXT:  fence
; CHECK-NEXT:  sched.barrier(i32 0)
; CHECK-NEXT:  s.setprio(i16 1)
; CHECK-NEXT:  %u = {{.*}}mfma
; CHECK-NEXT:  s.setprio(i16 0)
; CHECK-NEXT:  sched.barrier(i32 0)
; CHECK-NEXT:  fence
; CHECK-NEXT:  s.waitcnt(i32 49279)
; CHECK-NEXT:  s.barrier
; CHECK-NEXT:  fence
; CHECK-NEXT:  sched.barrier(i32 0)
; CHECK-NEXT:  %at =
; CHECK-NEXT:  %y = load
; CHECK-NEXT:  %next =
; CHECK-NEXT:  %more =
; The copies of the next tile are awaited behind the last reads of this one.
; CHECK-NEXT:  sched.barrier(i32 0)
; CHECK-NEXT:  s.waitcnt(i32 3952)
; CHECK-NEXT:  fence
; CHECK-NEXT:  s.waitcnt(i32 49279)
; CHECK-NEXT:  s.barrier
; CHECK-NEXT:  fence
; CHECK-NEXT:  sched.barrier(i32 0)
; CHECK-NEXT:  s.setprio(i16 1)
; CHECK-NEXT:  %v = {{.*}}mfma
; CHECK-NEXT:  s.setprio(i16 0)
; CHECK-NEXT:  sched.barrier(i32 0)
; CHECK-NEXT:  br i1 %more
; CHECK:       icmp ult i32 %{{.*}}, 256
; CHECK:       s.barrier
; CHECK:       store <16 x float> %v
define amdgpu_kernel void @direct_copies(ptr addrspace(8) %from, ptr addrspace(3) %to, ptr addrspace(3) %a, ptr addrspace(1) %out) #0 {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %sum = phi <16 x float> [ zeroinitializer, %entry ], [ %v, %loop ]
  call void @llvm.amdgcn.s.waitcnt(i32 3952)
  fence syncscope("workgroup") release, !mmra !0
  call void @llvm.amdgcn.s.waitcnt(i32 49279)
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !0
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %from, ptr addrspace(3) %to, i32 16, i32 0, i32 %i, i32 0, i32 0)
  %x = load <8 x half>, ptr addrspace(3) %a
  %at = getelementptr i8, ptr addrspace(3) %a, i32 %i
  %y = load <8 x half>, ptr addrspace(3) %at
  %u = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half> %x, <8 x half> %x, <16 x float> %sum, i32 0, i32 0, i32 0)
  %v = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half> %y, <8 x half> %x, <16 x float> %u, i32 0, i32 0, i32 0)
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, 9
  br i1 %more, label %loop, label %exit
exit:
  store <16 x float> %v, ptr addrspace(1) %out
  ret void
}

; The tiles of the next step wait in registers. They are written between the last two quarters of the
; products: each barrier of the loop is followed by memory, and what precedes it are products.
; CHECK-LABEL: define amdgpu_kernel void @one_slot
; CHECK:       = phi
; CHECK:       s.barrier
; CHECK:       %tile = load
; CHECK:       %x = load
; CHECK:       s.barrier
; CHECK:       %p =
; CHECK:       s.barrier
; CHECK:       s.barrier
; CHECK:       %q =
; CHECK:       s.barrier
; CHECK:       %y = load
; CHECK:       s.barrier
; CHECK:       %r =
; CHECK:       s.barrier
; CHECK:       store <4 x i32> %tile
; CHECK:       s.barrier
; CHECK:       s.setprio(i16 1)
; CHECK:       %s =
; CHECK:       br i1 %more
define amdgpu_kernel void @one_slot(ptr addrspace(1) %from, ptr addrspace(3) %a, ptr addrspace(1) %out) #0 {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %sum = phi <16 x float> [ zeroinitializer, %entry ], [ %s, %loop ]
  %place = getelementptr i8, ptr addrspace(1) %from, i32 %i
  %tile = load <4 x i32>, ptr addrspace(1) %place
  fence syncscope("workgroup") release, !mmra !0
  call void @llvm.amdgcn.s.waitcnt(i32 49279)
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !0
  %x = load <8 x half>, ptr addrspace(3) %a
  %at = getelementptr i8, ptr addrspace(3) %a, i32 1024
  %y = load <8 x half>, ptr addrspace(3) %at
  %p = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half> %x, <8 x half> %x, <16 x float> %sum, i32 0, i32 0, i32 0)
  %q = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half> %x, <8 x half> %x, <16 x float> %p, i32 0, i32 0, i32 0)
  %r = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half> %x, <8 x half> %x, <16 x float> %q, i32 0, i32 0, i32 0)
  %s = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half> %y, <8 x half> %x, <16 x float> %r, i32 0, i32 0, i32 0)
  fence syncscope("workgroup") release, !mmra !0
  call void @llvm.amdgcn.s.waitcnt(i32 49279)
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !0
  store <4 x i32> %tile, ptr addrspace(3) %a
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, 9
  br i1 %more, label %loop, label %exit
exit:
  store <16 x float> %s, ptr addrspace(1) %out
  ret void
}

; Loops stay as they are: of four waves; of products that need what others computed; of waves that
; read what they have just written; that read what others change meanwhile; where a processor holds a
; second program.
; CHECK-NOT:   call {{.*}}s.setprio
define amdgpu_kernel void @four_waves(ptr addrspace(3) %a, ptr addrspace(1) %out) #1 {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %sum = phi <16 x float> [ zeroinitializer, %entry ], [ %v, %loop ]
  fence syncscope("workgroup") release, !mmra !0
  call void @llvm.amdgcn.s.waitcnt(i32 49279)
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !0
  %x = load <8 x half>, ptr addrspace(3) %a
  %u = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half> %x, <8 x half> %x, <16 x float> %sum, i32 0, i32 0, i32 0)
  %v = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half> %x, <8 x half> %x, <16 x float> %u, i32 0, i32 0, i32 0)
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, 9
  br i1 %more, label %loop, label %exit
exit:
  store <16 x float> %v, ptr addrspace(1) %out
  ret void
}

define amdgpu_kernel void @chained(ptr addrspace(3) %a, ptr addrspace(1) %out) #0 {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %sum = phi <16 x float> [ zeroinitializer, %entry ], [ %v, %loop ]
  fence syncscope("workgroup") release, !mmra !0
  call void @llvm.amdgcn.s.waitcnt(i32 49279)
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !0
  %x = load <8 x half>, ptr addrspace(3) %a
  %u = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half> %x, <8 x half> %x, <16 x float> %sum, i32 0, i32 0, i32 0)
  %half = fptrunc <16 x float> %u to <16 x half>
  %y = shufflevector <16 x half> %half, <16 x half> poison, <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half> %y, <8 x half> %x, <16 x float> %sum, i32 0, i32 0, i32 0)
  %v = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half> %x, <8 x half> %x, <16 x float> %t, i32 0, i32 0, i32 0)
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, 9
  br i1 %more, label %loop, label %exit
exit:
  store <16 x float> %v, ptr addrspace(1) %out
  ret void
}

define amdgpu_kernel void @own_tile(ptr addrspace(3) %a, ptr addrspace(1) %out) #0 {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %sum = phi <16 x float> [ zeroinitializer, %entry ], [ %v, %loop ]
  fence syncscope("workgroup") release, !mmra !0
  call void @llvm.amdgcn.s.waitcnt(i32 49279)
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !0
  store i32 %i, ptr addrspace(3) %a
  %x = load <8 x half>, ptr addrspace(3) %a
  %u = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half> %x, <8 x half> %x, <16 x float> %sum, i32 0, i32 0, i32 0)
  %v = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half> %x, <8 x half> %x, <16 x float> %u, i32 0, i32 0, i32 0)
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, 9
  br i1 %more, label %loop, label %exit
exit:
  store <16 x float> %v, ptr addrspace(1) %out
  ret void
}

define amdgpu_kernel void @polled(ptr addrspace(3) %a, ptr addrspace(1) %out) #0 {
entry:
  br label %loop
loop:
  %sum = phi <16 x float> [ zeroinitializer, %entry ], [ %v, %loop ]
  fence syncscope("workgroup") release, !mmra !0
  call void @llvm.amdgcn.s.waitcnt(i32 49279)
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !0
  %x = load <8 x half>, ptr addrspace(3) %a
  %flag = load atomic i32, ptr addrspace(1) %out monotonic, align 4
  %u = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half> %x, <8 x half> %x, <16 x float> %sum, i32 0, i32 0, i32 0)
  %v = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half> %x, <8 x half> %x, <16 x float> %u, i32 0, i32 0, i32 0)
  %more = icmp ult i32 %flag, 9
  br i1 %more, label %loop, label %exit
exit:
  store <16 x float> %v, ptr addrspace(1) %out
  ret void
}

define amdgpu_kernel void @second_program(ptr addrspace(3) %a, ptr addrspace(1) %out) #2 {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %sum = phi <16 x float> [ zeroinitializer, %entry ], [ %v, %loop ]
  fence syncscope("workgroup") release, !mmra !0
  call void @llvm.amdgcn.s.waitcnt(i32 49279)
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !0
  %x = load <8 x half>, ptr addrspace(3) %a
  %u = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half> %x, <8 x half> %x, <16 x float> %sum, i32 0, i32 0, i32 0)
  %v = call <16 x float> @llvm.amdgcn.mfma.f32.32x32x16.f16(<8 x half> %x, <8 x half> %x, <16 x float> %u, i32 0, i32 0, i32 0)
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, 9
  br i1 %more, label %loop, label %exit
exit:
  store <16 x float> %v, ptr addrspace(1) %out
  ret void
}

attributes #0 = { "amdgpu-flat-work-group-size"="512,512" "tw-register-steps"="256,512" }
attributes #1 = { "amdgpu-flat-work-group-size"="256,256" "tw-register-steps"="256,512" }
attributes #2 = { "amdgpu-flat-work-group-size"="512,512" "tw-register-steps"="128,256,512" }
!0 = !{!"amdgpu-synchronize-as", !"local"}
