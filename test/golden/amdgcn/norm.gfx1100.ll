target datalayout = "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"
@"shared$memory" = external addrspace(3) global [0 x i8], align 16
define amdgpu_kernel void @layer_norm_kernel(ptr addrspace(1) noalias align 16 %0, ptr addrspace(1) noalias align 16 %1, ptr addrspace(1) noalias align 16 %2, ptr addrspace(1) noalias align 16 %3, ptr addrspace(1) noalias align 16 %4, ptr addrspace(1) noalias align 16 %5, i32 %6, i32 %7, float %8) #0 {
  %10 = tail call range(i32 0, 128) i32 @llvm.amdgcn.workitem.id.x()
  %11 = and i32 %10, 31
  %12 = lshr i32 %10, 3
  %13 = and i32 %12, 12
  %14 = tail call range(i32 0, 2147483647) i32 @llvm.amdgcn.workgroup.id.x()
  %15 = or disjoint i32 %10, 128
  %16 = or disjoint i32 %10, 256
  %17 = or disjoint i32 %10, 384
  %18 = icmp slt i32 %10, %7
  %19 = icmp slt i32 %15, %7
  %20 = icmp slt i32 %16, %7
  %21 = icmp slt i32 %17, %7
  %22 = mul i32 %6, %14
  %23 = sext i32 %22 to i64
  %24 = getelementptr i32, ptr addrspace(1) %0, i64 %23
  %25 = zext nneg i32 %15 to i64
  %26 = getelementptr i32, ptr addrspace(1) %24, i64 %25
  %27 = zext nneg i32 %16 to i64
  %28 = getelementptr i32, ptr addrspace(1) %24, i64 %27
  %29 = zext nneg i32 %17 to i64
  %30 = getelementptr i32, ptr addrspace(1) %24, i64 %29
  br i1 %18, label %31, label %35
31:                                               ; preds = %9
  %32 = zext nneg i32 %10 to i64
  %33 = getelementptr i32, ptr addrspace(1) %24, i64 %32
  %34 = load float, ptr addrspace(1) %33, align 4
  br label %35
35:                                               ; preds = %31, %9
  %36 = phi float [ %34, %31 ], [ 0.000000e+00, %9 ]
  br i1 %19, label %37, label %39
37:                                               ; preds = %35
  %38 = load float, ptr addrspace(1) %26, align 4
  br label %39
39:                                               ; preds = %37, %35
  %40 = phi float [ %38, %37 ], [ 0.000000e+00, %35 ]
  br i1 %20, label %41, label %43
41:                                               ; preds = %39
  %42 = load float, ptr addrspace(1) %28, align 4
  br label %43
43:                                               ; preds = %41, %39
  %44 = phi float [ %42, %41 ], [ 0.000000e+00, %39 ]
  br i1 %21, label %45, label %47
45:                                               ; preds = %43
  %46 = load float, ptr addrspace(1) %30, align 4
  br label %47
47:                                               ; preds = %45, %43
  %48 = phi float [ %46, %45 ], [ 0.000000e+00, %43 ]
  %49 = fadd float %36, %40
  %50 = fadd float %44, %48
  %51 = fadd float %49, %50
  %52 = bitcast float %51 to i32
  %53 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %52, i32 177, i32 15, i32 15, i1 true)
  %54 = bitcast i32 %53 to float
  %55 = fadd float %51, %54
  %56 = bitcast float %55 to i32
  %57 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %56, i32 78, i32 15, i32 15, i1 true)
  %58 = bitcast i32 %57 to float
  %59 = fadd float %55, %58
  %60 = bitcast float %59 to i32
  %61 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %60, i32 356, i32 15, i32 15, i1 true)
  %62 = bitcast i32 %61 to float
  %63 = fadd float %59, %62
  %64 = bitcast float %63 to i32
  %65 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %64, i32 296, i32 15, i32 15, i1 true)
  %66 = bitcast i32 %65 to float
  %67 = fadd float %63, %66
  %68 = bitcast float %67 to i32
  %69 = tail call i32 @llvm.amdgcn.permlanex16.i32(i32 poison, i32 %68, i32 1985229328, i32 -19088744, i1 false, i1 false)
  %70 = icmp eq i32 %11, 0
  br i1 %70, label %71, label %75
71:                                               ; preds = %47
  %72 = getelementptr i8, ptr addrspace(3) @"shared$memory", i32 %13
  %73 = bitcast i32 %69 to float
  %74 = fadd float %67, %73
  store float %74, ptr addrspace(3) %72, align 4
  br label %75
75:                                               ; preds = %71, %47
  fence syncscope("workgroup") release, !mmra !2
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !2
  %76 = load <4 x float>, ptr addrspace(3) @"shared$memory", align 16
  %77 = extractelement <4 x float> %76, i64 0
  %78 = extractelement <4 x float> %76, i64 1
  %79 = extractelement <4 x float> %76, i64 2
  %80 = extractelement <4 x float> %76, i64 3
  %81 = fadd float %77, %78
  %82 = fadd float %79, %80
  %83 = fadd float %81, %82
  %84 = sitofp i32 %7 to float
  %85 = fmul float %84, 2.500000e-01
  %86 = tail call float @llvm.amdgcn.rcp.f32(float %85)
  %87 = fmul float %86, 2.500000e-01
  %88 = fmul float %87, %83
  %89 = fsub contract float %36, %88
  %90 = fsub contract float %40, %88
  %91 = fsub contract float %44, %88
  %92 = fsub contract float %48, %88
  %93 = select i1 %18, float %89, float 0.000000e+00
  %94 = select i1 %19, float %90, float 0.000000e+00
  %95 = select i1 %20, float %91, float 0.000000e+00
  %96 = select i1 %21, float %92, float 0.000000e+00
  %97 = fmul contract float %93, %93
  %98 = fmul contract float %94, %94
  %99 = fmul contract float %95, %95
  %100 = fmul contract float %96, %96
  %101 = fadd float %97, %98
  %102 = fadd float %99, %100
  %103 = fadd float %101, %102
  %104 = bitcast float %103 to i32
  %105 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %104, i32 177, i32 15, i32 15, i1 true)
  %106 = bitcast i32 %105 to float
  %107 = fadd float %103, %106
  %108 = bitcast float %107 to i32
  %109 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %108, i32 78, i32 15, i32 15, i1 true)
  %110 = bitcast i32 %109 to float
  %111 = fadd float %107, %110
  %112 = bitcast float %111 to i32
  %113 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %112, i32 356, i32 15, i32 15, i1 true)
  %114 = bitcast i32 %113 to float
  %115 = fadd float %111, %114
  %116 = bitcast float %115 to i32
  %117 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %116, i32 296, i32 15, i32 15, i1 true)
  %118 = bitcast i32 %117 to float
  %119 = fadd float %115, %118
  %120 = bitcast float %119 to i32
  %121 = tail call i32 @llvm.amdgcn.permlanex16.i32(i32 poison, i32 %120, i32 1985229328, i32 -19088744, i1 false, i1 false)
  br i1 %70, label %122, label %126
122:                                              ; preds = %75
  %123 = getelementptr i8, ptr addrspace(3) getelementptr inbounds nuw (i8, ptr addrspace(3) @"shared$memory", i32 16), i32 %13
  %124 = bitcast i32 %121 to float
  %125 = fadd float %119, %124
  store float %125, ptr addrspace(3) %123, align 4
  br label %126
126:                                              ; preds = %122, %75
  fence syncscope("workgroup") release, !mmra !2
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !2
  %127 = load <4 x float>, ptr addrspace(3) getelementptr inbounds nuw (i8, ptr addrspace(3) @"shared$memory", i32 16), align 16
  %128 = extractelement <4 x float> %127, i64 0
  %129 = extractelement <4 x float> %127, i64 1
  %130 = extractelement <4 x float> %127, i64 2
  %131 = extractelement <4 x float> %127, i64 3
  %132 = fadd float %128, %129
  %133 = fadd float %130, %131
  %134 = fadd float %132, %133
  %135 = fmul float %87, %134
  %136 = fadd contract float %8, %135
  %137 = fcmp olt float %136, 0x39F0000000000000
  %138 = fmul float %136, 0x41F0000000000000
  %139 = select i1 %137, float %138, float %136
  %140 = tail call float @llvm.amdgcn.rsq.f32(float %139)
  %141 = fmul float %140, 6.553600e+04
  %142 = select i1 %137, float %141, float %140
  %143 = icmp eq i32 %10, 0
  br i1 %143, label %144, label %.critedge
144:                                              ; preds = %126
  %145 = zext nneg i32 %14 to i64
  %146 = getelementptr i32, ptr addrspace(1) %4, i64 %145
  store float %88, ptr addrspace(1) %146, align 4
  %147 = getelementptr i32, ptr addrspace(1) %5, i64 %145
  store float %142, ptr addrspace(1) %147, align 4
  br label %.critedge
.critedge:                                        ; preds = %126, %144
  %148 = getelementptr i32, ptr addrspace(1) %1, i64 %25
  %149 = getelementptr i32, ptr addrspace(1) %1, i64 %27
  %150 = getelementptr i32, ptr addrspace(1) %1, i64 %29
  br i1 %18, label %151, label %155
151:                                              ; preds = %.critedge
  %152 = zext nneg i32 %10 to i64
  %153 = getelementptr i32, ptr addrspace(1) %1, i64 %152
  %154 = load float, ptr addrspace(1) %153, align 4
  br label %155
155:                                              ; preds = %151, %.critedge
  %156 = phi float [ %154, %151 ], [ 0.000000e+00, %.critedge ]
  br i1 %19, label %157, label %159
157:                                              ; preds = %155
  %158 = load float, ptr addrspace(1) %148, align 4
  br label %159
159:                                              ; preds = %157, %155
  %160 = phi float [ %158, %157 ], [ 0.000000e+00, %155 ]
  br i1 %20, label %161, label %163
161:                                              ; preds = %159
  %162 = load float, ptr addrspace(1) %149, align 4
  br label %163
163:                                              ; preds = %161, %159
  %164 = phi float [ %162, %161 ], [ 0.000000e+00, %159 ]
  br i1 %21, label %165, label %167
165:                                              ; preds = %163
  %166 = load float, ptr addrspace(1) %150, align 4
  br label %167
167:                                              ; preds = %165, %163
  %168 = phi float [ %166, %165 ], [ 0.000000e+00, %163 ]
  %169 = getelementptr i32, ptr addrspace(1) %2, i64 %25
  %170 = getelementptr i32, ptr addrspace(1) %2, i64 %27
  %171 = getelementptr i32, ptr addrspace(1) %2, i64 %29
  br i1 %18, label %172, label %176
172:                                              ; preds = %167
  %173 = zext nneg i32 %10 to i64
  %174 = getelementptr i32, ptr addrspace(1) %2, i64 %173
  %175 = load float, ptr addrspace(1) %174, align 4
  br label %176
176:                                              ; preds = %172, %167
  %177 = phi float [ %175, %172 ], [ 0.000000e+00, %167 ]
  br i1 %19, label %178, label %180
178:                                              ; preds = %176
  %179 = load float, ptr addrspace(1) %169, align 4
  br label %180
180:                                              ; preds = %178, %176
  %181 = phi float [ %179, %178 ], [ 0.000000e+00, %176 ]
  br i1 %20, label %182, label %184
182:                                              ; preds = %180
  %183 = load float, ptr addrspace(1) %170, align 4
  br label %184
184:                                              ; preds = %182, %180
  %185 = phi float [ %183, %182 ], [ 0.000000e+00, %180 ]
  br i1 %21, label %186, label %188
186:                                              ; preds = %184
  %187 = load float, ptr addrspace(1) %171, align 4
  br label %188
188:                                              ; preds = %186, %184
  %189 = phi float [ %187, %186 ], [ 0.000000e+00, %184 ]
  %190 = getelementptr i32, ptr addrspace(1) %3, i64 %23
  %191 = getelementptr i32, ptr addrspace(1) %190, i64 %25
  %192 = getelementptr i32, ptr addrspace(1) %190, i64 %27
  %193 = getelementptr i32, ptr addrspace(1) %190, i64 %29
  %194 = fmul contract float %94, %142
  %195 = fmul contract float %95, %142
  %196 = fmul contract float %96, %142
  %197 = fmul contract float %194, %160
  %198 = fmul contract float %195, %164
  %199 = fmul contract float %196, %168
  %200 = fadd contract float %197, %181
  %201 = fadd contract float %198, %185
  %202 = fadd contract float %199, %189
  br i1 %18, label %203, label %209
203:                                              ; preds = %188
  %204 = fmul contract float %89, %142
  %205 = fmul contract float %204, %156
  %206 = fadd contract float %205, %177
  %207 = zext nneg i32 %10 to i64
  %208 = getelementptr i32, ptr addrspace(1) %190, i64 %207
  store float %206, ptr addrspace(1) %208, align 4
  br label %209
209:                                              ; preds = %203, %188
  br i1 %19, label %210, label %211
210:                                              ; preds = %209
  store float %200, ptr addrspace(1) %191, align 4
  br label %211
211:                                              ; preds = %210, %209
  br i1 %20, label %212, label %213
212:                                              ; preds = %211
  store float %201, ptr addrspace(1) %192, align 4
  br label %213
213:                                              ; preds = %212, %211
  br i1 %21, label %214, label %215
214:                                              ; preds = %213
  store float %202, ptr addrspace(1) %193, align 4
  br label %215
215:                                              ; preds = %214, %213
  ret void
}
attributes #0 = { nounwind "amdgpu-flat-work-group-size"="128,128" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-implicitarg-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "denormal-fp-math-f32"="ieee" "target-cpu"="gfx1100" "target-features"="+wavefrontsize32" "uniform-work-group-size"="true" }
!llvm.module.flags = !{!0, !1}
!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = !{i32 1, !"amdhsa_code_object_version", i32 500}
!2 = !{!"amdgpu-synchronize-as", !"local"}
