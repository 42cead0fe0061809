target datalayout = "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"
@"shared$memory" = external addrspace(3) global [0 x i8], align 16
define amdgpu_kernel void @layer_norm_kernel(ptr addrspace(1) noalias align 16 %0, ptr addrspace(1) noalias align 16 %1, ptr addrspace(1) noalias align 16 %2, ptr addrspace(1) noalias align 16 %3, ptr addrspace(1) noalias align 16 %4, ptr addrspace(1) noalias align 16 %5, i32 %6, i32 %7, float %8) #0 {
  %10 = getelementptr i8, ptr addrspace(1) %0, i64 -2147483648
  %11 = tail call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %10, i16 0, i64 4294967280, i32 822243328)
  %12 = tail call range(i32 0, 128) i32 @llvm.amdgcn.workitem.id.x()
  %13 = and i32 %12, 31
  %14 = lshr i32 %12, 3
  %15 = and i32 %14, 12
  %16 = tail call range(i32 0, 2147483647) i32 @llvm.amdgcn.workgroup.id.x()
  %17 = or disjoint i32 %12, 128
  %18 = or disjoint i32 %12, 256
  %19 = or disjoint i32 %12, 384
  %20 = icmp slt i32 %12, %7
  %21 = icmp slt i32 %17, %7
  %22 = icmp slt i32 %18, %7
  %23 = icmp slt i32 %19, %7
  %24 = shl i32 %16, 2
  %25 = mul i32 %24, %6
  %26 = shl nuw nsw i32 %12, 2
  %27 = add i32 %25, %26
  %28 = xor i32 %27, -2147483648
  %29 = select i1 %20, i32 %28, i32 -16
  %30 = tail call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %11, i32 %29, i32 0, i32 0)
  %31 = bitcast i32 %30 to float
  %32 = shl nuw nsw i32 %17, 2
  %33 = add i32 %25, %32
  %34 = xor i32 %33, -2147483648
  %35 = select i1 %21, i32 %34, i32 -16
  %36 = tail call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %11, i32 %35, i32 0, i32 0)
  %37 = bitcast i32 %36 to float
  %38 = shl nuw nsw i32 %18, 2
  %39 = add i32 %25, %38
  %40 = xor i32 %39, -2147483648
  %41 = select i1 %22, i32 %40, i32 -16
  %42 = tail call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %11, i32 %41, i32 0, i32 0)
  %43 = bitcast i32 %42 to float
  %44 = shl nuw nsw i32 %19, 2
  %45 = add i32 %25, %44
  %46 = xor i32 %45, -2147483648
  %47 = select i1 %23, i32 %46, i32 -16
  %48 = tail call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %11, i32 %47, i32 0, i32 0)
  %49 = bitcast i32 %48 to float
  %50 = fadd float %31, %37
  %51 = fadd float %43, %49
  %52 = fadd float %50, %51
  %53 = bitcast float %52 to i32
  %54 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %53, i32 177, i32 15, i32 15, i1 true)
  %55 = bitcast i32 %54 to float
  %56 = fadd float %52, %55
  %57 = bitcast float %56 to i32
  %58 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %57, i32 27, i32 15, i32 15, i1 true)
  %59 = bitcast i32 %58 to float
  %60 = fadd float %56, %59
  %61 = bitcast float %60 to i32
  %62 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %61, i32 321, i32 15, i32 15, i1 true)
  %63 = bitcast i32 %62 to float
  %64 = fadd float %60, %63
  %65 = bitcast float %64 to i32
  %66 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %65, i32 320, i32 15, i32 15, i1 true)
  %67 = bitcast i32 %66 to float
  %68 = fadd float %64, %67
  %69 = bitcast float %68 to i32
  %70 = tail call i32 @llvm.amdgcn.permlanex16.i32(i32 poison, i32 %69, i32 1985229328, i32 -19088744, i1 false, i1 false)
  %71 = icmp eq i32 %13, 0
  br i1 %71, label %72, label %76
72:                                               ; preds = %9
  %73 = getelementptr i8, ptr addrspace(3) @"shared$memory", i32 %15
  %74 = bitcast i32 %70 to float
  %75 = fadd float %68, %74
  store float %75, ptr addrspace(3) %73, align 4
  br label %76
76:                                               ; preds = %72, %9
  fence syncscope("workgroup") release, !mmra !2
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !2
  %77 = load <4 x float>, ptr addrspace(3) @"shared$memory", align 16
  %78 = extractelement <4 x float> %77, i64 0
  %79 = extractelement <4 x float> %77, i64 1
  %80 = extractelement <4 x float> %77, i64 2
  %81 = extractelement <4 x float> %77, i64 3
  %82 = fadd float %78, %79
  %83 = fadd float %80, %81
  %84 = fadd float %82, %83
  %85 = sitofp i32 %7 to float
  %86 = fmul float %85, 2.500000e-01
  %87 = tail call float @llvm.amdgcn.rcp.f32(float %86)
  %88 = fmul float %87, 2.500000e-01
  %89 = fmul float %88, %84
  %90 = fsub contract float %31, %89
  %91 = fsub contract float %37, %89
  %92 = fsub contract float %43, %89
  %93 = fsub contract float %49, %89
  %94 = select i1 %20, float %90, float 0.000000e+00
  %95 = select i1 %21, float %91, float 0.000000e+00
  %96 = select i1 %22, float %92, float 0.000000e+00
  %97 = select i1 %23, float %93, float 0.000000e+00
  %98 = fmul contract float %94, %94
  %99 = fmul contract float %95, %95
  %100 = fmul contract float %96, %96
  %101 = fmul contract float %97, %97
  %102 = fadd float %98, %99
  %103 = fadd float %100, %101
  %104 = fadd float %102, %103
  %105 = bitcast float %104 to i32
  %106 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %105, i32 177, i32 15, i32 15, i1 true)
  %107 = bitcast i32 %106 to float
  %108 = fadd float %104, %107
  %109 = bitcast float %108 to i32
  %110 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %109, i32 27, i32 15, i32 15, i1 true)
  %111 = bitcast i32 %110 to float
  %112 = fadd float %108, %111
  %113 = bitcast float %112 to i32
  %114 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %113, i32 321, i32 15, i32 15, i1 true)
  %115 = bitcast i32 %114 to float
  %116 = fadd float %112, %115
  %117 = bitcast float %116 to i32
  %118 = tail call i32 @llvm.amdgcn.update.dpp.i32(i32 poison, i32 %117, i32 320, i32 15, i32 15, i1 true)
  %119 = bitcast i32 %118 to float
  %120 = fadd float %116, %119
  %121 = bitcast float %120 to i32
  %122 = tail call i32 @llvm.amdgcn.permlanex16.i32(i32 poison, i32 %121, i32 1985229328, i32 -19088744, i1 false, i1 false)
  br i1 %71, label %123, label %127
123:                                              ; preds = %76
  %124 = getelementptr i8, ptr addrspace(3) getelementptr inbounds nuw (i8, ptr addrspace(3) @"shared$memory", i32 16), i32 %15
  %125 = bitcast i32 %122 to float
  %126 = fadd float %120, %125
  store float %126, ptr addrspace(3) %124, align 4
  br label %127
127:                                              ; preds = %123, %76
  %128 = getelementptr i8, ptr addrspace(1) %4, i64 -2147483648
  %129 = tail call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %128, i16 0, i64 4294967280, i32 822243328)
  %130 = getelementptr i8, ptr addrspace(1) %5, i64 -2147483648
  %131 = tail call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %130, i16 0, i64 4294967280, i32 822243328)
  %132 = getelementptr i8, ptr addrspace(1) %1, i64 -2147483648
  %133 = tail call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %132, i16 0, i64 4294967280, i32 822243328)
  %134 = getelementptr i8, ptr addrspace(1) %2, i64 -2147483648
  %135 = tail call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %134, i16 0, i64 4294967280, i32 822243328)
  %136 = getelementptr i8, ptr addrspace(1) %3, i64 -2147483648
  %137 = tail call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %136, i16 0, i64 4294967280, i32 822243328)
  fence syncscope("workgroup") release, !mmra !2
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !2
  %138 = load <4 x float>, ptr addrspace(3) getelementptr inbounds nuw (i8, ptr addrspace(3) @"shared$memory", i32 16), align 16
  %139 = extractelement <4 x float> %138, i64 0
  %140 = extractelement <4 x float> %138, i64 1
  %141 = extractelement <4 x float> %138, i64 2
  %142 = extractelement <4 x float> %138, i64 3
  %143 = fadd float %139, %140
  %144 = fadd float %141, %142
  %145 = fadd float %143, %144
  %146 = fmul float %88, %145
  %147 = fadd contract float %8, %146
  %148 = fcmp olt float %147, 0x39F0000000000000
  %149 = fmul float %147, 0x41F0000000000000
  %150 = select i1 %148, float %149, float %147
  %151 = tail call float @llvm.amdgcn.rsq.f32(float %150)
  %152 = fmul float %151, 6.553600e+04
  %153 = select i1 %148, float %152, float %151
  %154 = icmp eq i32 %12, 0
  %155 = bitcast float %89 to i32
  %156 = xor i32 %24, -2147483648
  %157 = select i1 %154, i32 %156, i32 -16
  tail call void @llvm.amdgcn.raw.ptr.buffer.store.i32(i32 %155, ptr addrspace(8) %129, i32 %157, i32 0, i32 0)
  %158 = bitcast float %153 to i32
  tail call void @llvm.amdgcn.raw.ptr.buffer.store.i32(i32 %158, ptr addrspace(8) %131, i32 %157, i32 0, i32 0)
  %159 = or disjoint i32 %26, -2147483648
  %160 = select i1 %20, i32 %159, i32 -16
  %161 = tail call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %133, i32 %160, i32 0, i32 0)
  %162 = bitcast i32 %161 to float
  %163 = or disjoint i32 %32, -2147483648
  %164 = select i1 %21, i32 %163, i32 -16
  %165 = tail call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %133, i32 %164, i32 0, i32 0)
  %166 = bitcast i32 %165 to float
  %167 = or disjoint i32 %38, -2147483648
  %168 = select i1 %22, i32 %167, i32 -16
  %169 = tail call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %133, i32 %168, i32 0, i32 0)
  %170 = bitcast i32 %169 to float
  %171 = or disjoint i32 %44, -2147483648
  %172 = select i1 %23, i32 %171, i32 -16
  %173 = tail call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %133, i32 %172, i32 0, i32 0)
  %174 = bitcast i32 %173 to float
  %175 = tail call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %135, i32 %160, i32 0, i32 0)
  %176 = bitcast i32 %175 to float
  %177 = tail call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %135, i32 %164, i32 0, i32 0)
  %178 = bitcast i32 %177 to float
  %179 = tail call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %135, i32 %168, i32 0, i32 0)
  %180 = bitcast i32 %179 to float
  %181 = tail call i32 @llvm.amdgcn.raw.ptr.buffer.load.i32(ptr addrspace(8) %135, i32 %172, i32 0, i32 0)
  %182 = bitcast i32 %181 to float
  %183 = fmul contract float %94, %153
  %184 = fmul contract float %95, %153
  %185 = fmul contract float %96, %153
  %186 = fmul contract float %97, %153
  %187 = fmul contract float %183, %162
  %188 = fmul contract float %184, %166
  %189 = fmul contract float %185, %170
  %190 = fmul contract float %186, %174
  %191 = fadd contract float %187, %176
  %192 = fadd contract float %188, %178
  %193 = fadd contract float %189, %180
  %194 = fadd contract float %190, %182
  %195 = bitcast float %191 to i32
  tail call void @llvm.amdgcn.raw.ptr.buffer.store.i32(i32 %195, ptr addrspace(8) %137, i32 %29, i32 0, i32 0)
  %196 = bitcast float %192 to i32
  tail call void @llvm.amdgcn.raw.ptr.buffer.store.i32(i32 %196, ptr addrspace(8) %137, i32 %35, i32 0, i32 0)
  %197 = bitcast float %193 to i32
  tail call void @llvm.amdgcn.raw.ptr.buffer.store.i32(i32 %197, ptr addrspace(8) %137, i32 %41, i32 0, i32 0)
  %198 = bitcast float %194 to i32
  tail call void @llvm.amdgcn.raw.ptr.buffer.store.i32(i32 %198, ptr addrspace(8) %137, i32 %47, i32 0, i32 0)
  ret void
}
attributes #0 = { nounwind "amdgpu-flat-work-group-size"="128,128" "amdgpu-ieee"="false" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-implicitarg-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "denormal-fp-math-f32"="ieee" "target-cpu"="gfx1100" "target-features"="+wavefrontsize32,-real-true16" "uniform-work-group-size"="true" }
!llvm.module.flags = !{!0, !1}
!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = !{i32 1, !"amdhsa_code_object_version", i32 500}
!2 = !{!"amdgpu-synchronize-as", !"local"}
