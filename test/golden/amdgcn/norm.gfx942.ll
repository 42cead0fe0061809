target datalayout = "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"
@"shared$memory" = external addrspace(3) global [0 x i8], align 16
define amdgpu_kernel void @layer_norm_kernel(ptr addrspace(1) noalias align 16 %0, ptr addrspace(1) noalias align 16 %1, ptr addrspace(1) noalias align 16 %2, ptr addrspace(1) noalias align 16 %3, ptr addrspace(1) noalias align 16 %4, ptr addrspace(1) noalias align 16 %5, i32 %6, i32 %7, float %8) #0 {
  %10 = tail call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)
  %11 = tail call i32 @llvm.amdgcn.mbcnt.hi(i32 -1, i32 %10)
  %12 = tail call range(i32 0, 256) i32 @llvm.amdgcn.workitem.id.x()
  %13 = and i32 %12, 63
  %14 = lshr i32 %12, 4
  %15 = and i32 %14, 12
  %16 = tail call range(i32 0, 2147483647) i32 @llvm.amdgcn.workgroup.id.x()
  %17 = or disjoint i32 %12, 256
  %18 = icmp slt i32 %12, %7
  %19 = icmp slt i32 %17, %7
  %20 = mul i32 %6, %16
  %21 = sext i32 %20 to i64
  %22 = getelementptr i32, ptr addrspace(1) %0, i64 %21
  %23 = zext nneg i32 %17 to i64
  %24 = getelementptr i32, ptr addrspace(1) %22, i64 %23
  br i1 %18, label %25, label %29
25:                                               ; preds = %9
  %26 = zext nneg i32 %12 to i64
  %27 = getelementptr i32, ptr addrspace(1) %22, i64 %26
  %28 = load float, ptr addrspace(1) %27, align 4
  br label %29
29:                                               ; preds = %25, %9
  %30 = phi float [ %28, %25 ], [ 0.000000e+00, %9 ]
  br i1 %19, label %31, label %33
31:                                               ; preds = %29
  %32 = load float, ptr addrspace(1) %24, align 4
  br label %33
33:                                               ; preds = %31, %29
  %34 = phi float [ %32, %31 ], [ 0.000000e+00, %29 ]
  %35 = fadd float %30, %34
  %36 = bitcast float %35 to i32
  %37 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %36, i32 177, i32 15, i32 15, i1 true)
  %38 = bitcast i32 %37 to float
  %39 = fadd float %35, %38
  %40 = bitcast float %39 to i32
  %41 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %40, i32 78, i32 15, i32 15, i1 true)
  %42 = bitcast i32 %41 to float
  %43 = fadd float %39, %42
  %44 = bitcast float %43 to i32
  %45 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %44, i32 321, i32 15, i32 15, i1 true)
  %46 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %45, i32 27, i32 15, i32 15, i1 true)
  %47 = bitcast i32 %46 to float
  %48 = fadd float %43, %47
  %49 = bitcast float %48 to i32
  %50 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %49, i32 296, i32 15, i32 15, i1 true)
  %51 = bitcast i32 %50 to float
  %52 = fadd float %48, %51
  %53 = bitcast float %52 to i32
  %54 = tail call i32 @llvm.amdgcn.ds.swizzle(i32 %53, i32 16415)
  %55 = bitcast i32 %54 to float
  %56 = fadd float %52, %55
  %57 = bitcast float %56 to i32
  %58 = shl i32 %11, 2
  %59 = xor i32 %58, 128
  %60 = tail call i32 @llvm.amdgcn.ds.bpermute(i32 %59, i32 %57)
  %61 = icmp eq i32 %13, 0
  br i1 %61, label %62, label %66
62:                                               ; preds = %33
  %63 = getelementptr i8, ptr addrspace(3) @"shared$memory", i32 %15
  %64 = bitcast i32 %60 to float
  %65 = fadd float %56, %64
  store float %65, ptr addrspace(3) %63, align 4
  br label %66
66:                                               ; preds = %62, %33
  fence syncscope("workgroup") release, !mmra !2
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !2
  %67 = load <4 x float>, ptr addrspace(3) @"shared$memory", align 16
  %68 = extractelement <4 x float> %67, i64 0
  %69 = extractelement <4 x float> %67, i64 1
  %70 = extractelement <4 x float> %67, i64 2
  %71 = extractelement <4 x float> %67, i64 3
  %72 = fadd float %68, %69
  %73 = fadd float %70, %71
  %74 = fadd float %72, %73
  %75 = sitofp i32 %7 to float
  %76 = fmul float %75, 2.500000e-01
  %77 = tail call float @llvm.amdgcn.rcp.f32(float %76)
  %78 = fmul float %77, 2.500000e-01
  %79 = fmul float %78, %74
  %80 = fsub contract float %30, %79
  %81 = fsub contract float %34, %79
  %82 = select i1 %18, float %80, float 0.000000e+00
  %83 = select i1 %19, float %81, float 0.000000e+00
  %84 = fmul contract float %82, %82
  %85 = fmul contract float %83, %83
  %86 = fadd float %84, %85
  %87 = bitcast float %86 to i32
  %88 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %87, i32 177, i32 15, i32 15, i1 true)
  %89 = bitcast i32 %88 to float
  %90 = fadd float %86, %89
  %91 = bitcast float %90 to i32
  %92 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %91, i32 78, i32 15, i32 15, i1 true)
  %93 = bitcast i32 %92 to float
  %94 = fadd float %90, %93
  %95 = bitcast float %94 to i32
  %96 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %95, i32 321, i32 15, i32 15, i1 true)
  %97 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %96, i32 27, i32 15, i32 15, i1 true)
  %98 = bitcast i32 %97 to float
  %99 = fadd float %94, %98
  %100 = bitcast float %99 to i32
  %101 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %100, i32 296, i32 15, i32 15, i1 true)
  %102 = bitcast i32 %101 to float
  %103 = fadd float %99, %102
  %104 = bitcast float %103 to i32
  %105 = tail call i32 @llvm.amdgcn.ds.swizzle(i32 %104, i32 16415)
  %106 = bitcast i32 %105 to float
  %107 = fadd float %103, %106
  %108 = bitcast float %107 to i32
  %109 = tail call i32 @llvm.amdgcn.ds.bpermute(i32 %59, i32 %108)
  br i1 %61, label %110, label %114
110:                                              ; preds = %66
  %111 = getelementptr i8, ptr addrspace(3) getelementptr inbounds nuw (i8, ptr addrspace(3) @"shared$memory", i32 16), i32 %15
  %112 = bitcast i32 %109 to float
  %113 = fadd float %107, %112
  store float %113, ptr addrspace(3) %111, align 4
  br label %114
114:                                              ; preds = %110, %66
  fence syncscope("workgroup") release, !mmra !2
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !2
  %115 = load <4 x float>, ptr addrspace(3) getelementptr inbounds nuw (i8, ptr addrspace(3) @"shared$memory", i32 16), align 16
  %116 = extractelement <4 x float> %115, i64 0
  %117 = extractelement <4 x float> %115, i64 1
  %118 = extractelement <4 x float> %115, i64 2
  %119 = extractelement <4 x float> %115, i64 3
  %120 = fadd float %116, %117
  %121 = fadd float %118, %119
  %122 = fadd float %120, %121
  %123 = fmul float %78, %122
  %124 = fadd contract float %8, %123
  %125 = fcmp olt float %124, 0x39F0000000000000
  %126 = fmul float %124, 0x41F0000000000000
  %127 = select i1 %125, float %126, float %124
  %128 = tail call float @llvm.amdgcn.rsq.f32(float %127)
  %129 = fmul float %128, 6.553600e+04
  %130 = select i1 %125, float %129, float %128
  %131 = icmp eq i32 %12, 0
  br i1 %131, label %132, label %.critedge
132:                                              ; preds = %114
  %133 = zext nneg i32 %16 to i64
  %134 = getelementptr i32, ptr addrspace(1) %4, i64 %133
  store float %79, ptr addrspace(1) %134, align 4
  %135 = getelementptr i32, ptr addrspace(1) %5, i64 %133
  store float %130, ptr addrspace(1) %135, align 4
  br label %.critedge
.critedge:                                        ; preds = %114, %132
  %136 = getelementptr i32, ptr addrspace(1) %1, i64 %23
  br i1 %18, label %137, label %141
137:                                              ; preds = %.critedge
  %138 = zext nneg i32 %12 to i64
  %139 = getelementptr i32, ptr addrspace(1) %1, i64 %138
  %140 = load float, ptr addrspace(1) %139, align 4
  br label %141
141:                                              ; preds = %137, %.critedge
  %142 = phi float [ %140, %137 ], [ 0.000000e+00, %.critedge ]
  br i1 %19, label %143, label %145
143:                                              ; preds = %141
  %144 = load float, ptr addrspace(1) %136, align 4
  br label %145
145:                                              ; preds = %143, %141
  %146 = phi float [ %144, %143 ], [ 0.000000e+00, %141 ]
  %147 = getelementptr i32, ptr addrspace(1) %2, i64 %23
  br i1 %18, label %148, label %152
148:                                              ; preds = %145
  %149 = zext nneg i32 %12 to i64
  %150 = getelementptr i32, ptr addrspace(1) %2, i64 %149
  %151 = load float, ptr addrspace(1) %150, align 4
  br label %152
152:                                              ; preds = %148, %145
  %153 = phi float [ %151, %148 ], [ 0.000000e+00, %145 ]
  br i1 %19, label %154, label %156
154:                                              ; preds = %152
  %155 = load float, ptr addrspace(1) %147, align 4
  br label %156
156:                                              ; preds = %154, %152
  %157 = phi float [ %155, %154 ], [ 0.000000e+00, %152 ]
  %158 = getelementptr i32, ptr addrspace(1) %3, i64 %21
  %159 = getelementptr i32, ptr addrspace(1) %158, i64 %23
  %160 = fmul contract float %83, %130
  %161 = fmul contract float %160, %146
  %162 = fadd contract float %161, %157
  br i1 %18, label %163, label %169
163:                                              ; preds = %156
  %164 = fmul contract float %80, %130
  %165 = fmul contract float %164, %142
  %166 = fadd contract float %165, %153
  %167 = zext nneg i32 %12 to i64
  %168 = getelementptr i32, ptr addrspace(1) %158, i64 %167
  store float %166, ptr addrspace(1) %168, align 4
  br label %169
169:                                              ; preds = %163, %156
  br i1 %19, label %170, label %171
170:                                              ; preds = %169
  store float %162, ptr addrspace(1) %159, align 4
  br label %171
171:                                              ; preds = %170, %169
  ret void
}
attributes #0 = { nounwind "amdgpu-flat-work-group-size"="256,256" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-implicitarg-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "denormal-fp-math-f32"="ieee" "target-cpu"="gfx942" "target-features"="+wavefrontsize64" "uniform-work-group-size"="true" }
!llvm.module.flags = !{!0, !1}
!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = !{i32 1, !"amdhsa_code_object_version", i32 500}
!2 = !{!"amdgpu-synchronize-as", !"local"}
