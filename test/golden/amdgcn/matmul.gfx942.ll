target datalayout = "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"
@"shared$memory" = external addrspace(3) global [0 x i8], align 16
define amdgpu_kernel void @matmul_kernel(ptr addrspace(1) noalias align 16 %0, ptr addrspace(1) noalias align 16 %1, ptr addrspace(1) noalias align 16 %2, i32 %3, i32 %4, i32 %5, i32 %6, i32 %7, i32 %8) #0 {
  %10 = tail call range(i32 0, 256) i32 @llvm.amdgcn.workitem.id.x()
  %11 = lshr i32 %10, 6
  %12 = lshr i32 %10, 2
  %13 = and i32 %12, 15
  %14 = shl nuw nsw i32 %11, 4
  %15 = shl nuw nsw i32 %10, 3
  %16 = and i32 %15, 56
  %17 = lshr i32 %10, 3
  %18 = and i32 %17, 7
  %19 = shl nuw nsw i32 %11, 3
  %20 = and i32 %10, 3
  %21 = shl nuw nsw i32 %20, 3
  %22 = shl nuw nsw i32 %10, 4
  %23 = and i32 %22, 624
  %24 = and i32 %10, 8
  %.not = icmp eq i32 %24, 0
  %25 = select i1 %.not, i32 0, i32 144
  %26 = xor i32 %25, %23
  %27 = lshr i32 %10, 4
  %28 = and i32 %27, 1
  %29 = mul nuw nsw i32 %28, 288
  %30 = xor i32 %26, %29
  %31 = shl nuw nsw i32 %11, 10
  %32 = and i32 %10, 15
  %33 = shl nuw nsw i32 %32, 4
  %34 = mul nuw nsw i32 %28, 272
  %35 = xor i32 %34, %33
  %36 = lshr i32 %10, 5
  %37 = and i32 %36, 1
  %38 = mul nuw nsw i32 %37, 544
  %39 = xor i32 %35, %38
  %40 = and i32 %11, 2
  %41 = shl nuw nsw i32 %40, 10
  %42 = and i32 %11, 1
  %43 = mul nuw nsw i32 %42, 1088
  %44 = or disjoint i32 %41, %43
  %45 = shl nuw nsw i32 %32, 2
  %46 = and i32 %10, 32
  %47 = shl nuw nsw i32 %46, 6
  %48 = mul nuw nsw i32 %28, 1088
  %49 = or disjoint i32 %48, %45
  %50 = or disjoint i32 %49, %47
  %51 = shl nuw nsw i32 %42, 6
  %52 = shl nuw nsw i32 %10, 6
  %53 = and i32 %52, 576
  %54 = and i32 %10, 48
  %55 = or disjoint i32 %53, %54
  %56 = lshr i32 %10, 1
  %57 = and i32 %56, 1
  %58 = mul nuw nsw i32 %57, 144
  %59 = xor i32 %55, %58
  %60 = and i32 %12, 1
  %61 = mul nuw nsw i32 %60, 288
  %62 = xor i32 %59, %61
  %63 = shl nuw nsw i32 %40, 9
  %64 = mul nuw nsw i32 %28, 304
  %65 = xor i32 %26, %64
  %66 = and i32 %15, 48
  %67 = and i32 %56, 12
  %68 = or disjoint i32 %66, %67
  %69 = shl nuw nsw i32 %46, 4
  %70 = or disjoint i32 %68, %69
  %71 = and i32 %10, 1
  %72 = mul nuw nsw i32 %71, 1120
  %73 = xor i32 %70, %72
  %74 = or disjoint i32 %51, %41
  %75 = shl nuw nsw i32 %24, 1
  %76 = shl nuw nsw i32 %10, 2
  %77 = and i32 %76, 64
  %78 = or disjoint i32 %75, %77
  %79 = or disjoint i32 %78, %47
  %80 = mul nuw nsw i32 %71, 1248
  %81 = mul nuw nsw i32 %57, 272
  %82 = mul nuw nsw i32 %60, 1120
  %83 = shl nuw nsw i32 %42, 5
  %84 = mul nuw nsw i32 %60, 304
  %85 = xor i32 %59, %84
  %86 = shl nuw nsw i32 %20, 5
  %87 = shl nuw nsw i32 %24, 7
  %88 = or disjoint i32 %86, %87
  %89 = mul nuw nsw i32 %60, 592
  %90 = xor i32 %88, %89
  %91 = mul nuw nsw i32 %28, 160
  %92 = xor i32 %90, %91
  %93 = mul nuw nsw i32 %37, 320
  %94 = xor i32 %92, %93
  %95 = shl nuw nsw i32 %42, 4
  %96 = or disjoint i32 %95, %41
  %97 = and i32 %76, 112
  %98 = mul nuw nsw i32 %71, 160
  %99 = xor i32 %97, %98
  %100 = mul nuw nsw i32 %57, 320
  %101 = xor i32 %99, %100
  %102 = mul nuw nsw i32 %37, 592
  %103 = xor i32 %101, %102
  %104 = tail call range(i32 0, 2147483647) i32 @llvm.amdgcn.workgroup.id.x()
  %105 = add i32 %3, 63
  %106 = sdiv i32 %105, 64
  %107 = add i32 %4, 63
  %108 = sdiv i32 %107, 64
  %109 = shl nsw i32 %108, 3
  %.off = add i32 %4, 126
  %110 = icmp ult i32 %.off, 127
  %111 = select i1 %110, i32 1, i32 %109
  %112 = sdiv i32 %104, %111
  %113 = shl i32 %112, 3
  %114 = select i1 %110, i32 0, i32 %113
  %115 = sub i32 %106, %114
  %116 = tail call i32 @llvm.smin.i32(i32 %115, i32 8)
  %117 = srem i32 %104, %111
  %118 = icmp eq i32 %106, %114
  %119 = icmp eq i32 %115, -1
  %120 = or i1 %118, %119
  %121 = select i1 %120, i32 1, i32 %116
  %122 = srem i32 %117, %121
  %123 = add i32 %114, %122
  %124 = sdiv i32 %117, %121
  %125 = sub nsw i32 0, %117
  %126 = select i1 %119, i32 %125, i32 %124
  %127 = shl i32 %123, 6
  %128 = or disjoint i32 %13, %14
  %129 = or disjoint i32 %18, %19
  %130 = or disjoint i32 %129, 32
  %131 = or disjoint i32 %127, %128
  %132 = or disjoint i32 %127, %129
  %133 = or disjoint i32 %127, %130
  %134 = shl i32 %126, 6
  %135 = select i1 %118, i32 0, i32 %134
  %136 = or disjoint i32 %135, %16
  %137 = mul i32 %131, %6
  %138 = sext i32 %137 to i64
  %139 = getelementptr i16, ptr addrspace(1) %0, i64 %138
  %140 = sext i32 %136 to i64
  %141 = getelementptr i16, ptr addrspace(1) %1, i64 %140
  %142 = icmp slt i32 %131, %3
  %143 = freeze i1 %142
  %144 = icmp slt i32 %132, %3
  %145 = icmp slt i32 %133, %3
  %146 = icmp slt i32 %136, %4
  %147 = freeze i1 %146
  %148 = sext i32 %5 to i64
  %149 = tail call i64 @llvm.smax.i64(i64 %148, i64 -31)
  %.lhs.trunc = add nsw i64 %149, 31
  %150 = lshr i64 %.lhs.trunc, 5
  %151 = icmp slt i32 %5, 2147483617
  %152 = tail call i64 @llvm.smax.i64(i64 %148, i64 0)
  %153 = lshr i64 %152, 5
  %154 = tail call i64 @llvm.umin.i64(i64 %153, i64 %150)
  %.tr = trunc nuw nsw i64 %154 to i32
  %155 = shl nuw nsw i32 %.tr, 5
  %156 = select i1 %151, i32 %155, i32 0
  %157 = icmp ne i32 %156, 0
  %158 = mul i32 %7, %129
  %159 = sext i32 %158 to i64
  %160 = getelementptr i16, ptr addrspace(1) %141, i64 %159
  %161 = and i1 %157, %143
  br i1 %161, label %162, label %166
162:                                              ; preds = %9
  %163 = zext nneg i32 %21 to i64
  %164 = getelementptr i16, ptr addrspace(1) %139, i64 %163
  %165 = load <8 x half>, ptr addrspace(1) %164, align 16
  br label %166
166:                                              ; preds = %162, %9
  %167 = phi <8 x half> [ %165, %162 ], [ zeroinitializer, %9 ]
  %168 = and i1 %157, %147
  br i1 %168, label %169, label %171
169:                                              ; preds = %166
  %170 = load <8 x half>, ptr addrspace(1) %160, align 16
  br label %171
171:                                              ; preds = %169, %166
  %172 = phi <8 x half> [ %170, %169 ], [ zeroinitializer, %166 ]
  %173 = getelementptr i8, ptr addrspace(3) @"shared$memory", i32 %30
  %174 = getelementptr i8, ptr addrspace(3) %173, i32 %31
  store <8 x half> %167, ptr addrspace(3) %174, align 16
  %175 = xor i32 %39, %44
  %176 = getelementptr i8, ptr addrspace(3) getelementptr inbounds nuw (i8, ptr addrspace(3) @"shared$memory", i32 12288), i32 %175
  store <8 x half> %172, ptr addrspace(3) %176, align 16
  %177 = mul i32 %7, %130
  %178 = sext i32 %177 to i64
  %179 = getelementptr i16, ptr addrspace(1) %141, i64 %178
  br i1 %143, label %switch.early.test, label %185
switch.early.test:                                ; preds = %171
  switch i32 %156, label %180 [
    i32 32, label %185
    i32 0, label %185
  ]
180:                                              ; preds = %switch.early.test
  %181 = zext nneg i32 %21 to i64
  %182 = getelementptr i16, ptr addrspace(1) %139, i64 %181
  %183 = getelementptr i8, ptr addrspace(1) %182, i64 64
  %184 = load <8 x half>, ptr addrspace(1) %183, align 16
  br label %185
185:                                              ; preds = %switch.early.test, %switch.early.test, %171, %180
  %186 = phi <8 x half> [ %184, %180 ], [ zeroinitializer, %switch.early.test ], [ zeroinitializer, %171 ], [ zeroinitializer, %switch.early.test ]
  br i1 %147, label %switch.early.test26, label %189
switch.early.test26:                              ; preds = %185
  switch i32 %156, label %187 [
    i32 32, label %189
    i32 0, label %189
  ]
187:                                              ; preds = %switch.early.test26
  %188 = load <8 x half>, ptr addrspace(1) %179, align 16
  br label %189
189:                                              ; preds = %switch.early.test26, %switch.early.test26, %185, %187
  %190 = phi <8 x half> [ %188, %187 ], [ zeroinitializer, %switch.early.test26 ], [ zeroinitializer, %185 ], [ zeroinitializer, %switch.early.test26 ]
  %191 = getelementptr i8, ptr addrspace(3) %174, i32 4096
  store <8 x half> %186, ptr addrspace(3) %191, align 16
  %192 = getelementptr i8, ptr addrspace(3) %176, i32 4096
  store <8 x half> %190, ptr addrspace(3) %192, align 16
  %193 = tail call i32 @llvm.usub.sat.i32(i32 %156, i32 64)
  br i1 %157, label %.preheader27, label %.loopexit28
.preheader27:                                     ; preds = %189
  %194 = xor i32 %50, %51
  %195 = getelementptr i8, ptr addrspace(3) getelementptr inbounds nuw (i8, ptr addrspace(3) @"shared$memory", i32 12288), i32 %194
  %196 = getelementptr i8, ptr addrspace(3) @"shared$memory", i32 %62
  %197 = getelementptr i8, ptr addrspace(3) %196, i32 %63
  br label %198
198:                                              ; preds = %.preheader27, %236
  %199 = phi i32 [ %347, %236 ], [ 0, %.preheader27 ]
  %200 = phi float [ %317, %236 ], [ 0.000000e+00, %.preheader27 ]
  %201 = phi float [ %318, %236 ], [ 0.000000e+00, %.preheader27 ]
  %202 = phi float [ %319, %236 ], [ 0.000000e+00, %.preheader27 ]
  %203 = phi float [ %320, %236 ], [ 0.000000e+00, %.preheader27 ]
  %204 = phi float [ %329, %236 ], [ 0.000000e+00, %.preheader27 ]
  %205 = phi float [ %330, %236 ], [ 0.000000e+00, %.preheader27 ]
  %206 = phi float [ %331, %236 ], [ 0.000000e+00, %.preheader27 ]
  %207 = phi float [ %332, %236 ], [ 0.000000e+00, %.preheader27 ]
  %208 = phi float [ %336, %236 ], [ 0.000000e+00, %.preheader27 ]
  %209 = phi float [ %337, %236 ], [ 0.000000e+00, %.preheader27 ]
  %210 = phi float [ %338, %236 ], [ 0.000000e+00, %.preheader27 ]
  %211 = phi float [ %339, %236 ], [ 0.000000e+00, %.preheader27 ]
  %212 = phi float [ %341, %236 ], [ 0.000000e+00, %.preheader27 ]
  %213 = phi float [ %342, %236 ], [ 0.000000e+00, %.preheader27 ]
  %214 = phi float [ %343, %236 ], [ 0.000000e+00, %.preheader27 ]
  %215 = phi float [ %344, %236 ], [ 0.000000e+00, %.preheader27 ]
  %216 = phi i32 [ %240, %236 ], [ 0, %.preheader27 ]
  %217 = phi i32 [ %216, %236 ], [ 2, %.preheader27 ]
  %218 = icmp slt i32 %199, %193
  %219 = add nuw i32 %199, 64
  %220 = or disjoint i32 %219, %129
  %221 = mul i32 %220, %7
  %222 = sext i32 %221 to i64
  %223 = getelementptr i16, ptr addrspace(1) %141, i64 %222
  %224 = and i1 %143, %218
  %225 = shl i32 %217, 12
  br i1 %224, label %226, label %231
226:                                              ; preds = %198
  %227 = or disjoint i32 %219, %21
  %228 = sext i32 %227 to i64
  %229 = getelementptr i16, ptr addrspace(1) %139, i64 %228
  %230 = load <8 x half>, ptr addrspace(1) %229, align 16
  br label %231
231:                                              ; preds = %226, %198
  %232 = phi <8 x half> [ %230, %226 ], [ zeroinitializer, %198 ]
  %233 = and i1 %147, %218
  br i1 %233, label %234, label %236
234:                                              ; preds = %231
  %235 = load <8 x half>, ptr addrspace(1) %223, align 16
  br label %236
236:                                              ; preds = %234, %231
  %237 = phi <8 x half> [ %235, %234 ], [ zeroinitializer, %231 ]
  %238 = add i32 %216, 1
  %239 = icmp eq i32 %238, 3
  %240 = select i1 %239, i32 0, i32 %238
  %241 = shl i32 %216, 12
  fence syncscope("workgroup") release, !mmra !2
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !2
  %242 = getelementptr i8, ptr addrspace(3) %195, i32 %241
  %243 = load <2 x half>, ptr addrspace(3) %242, align 4
  %244 = getelementptr i8, ptr addrspace(3) %242, i32 128
  %245 = load <2 x half>, ptr addrspace(3) %244, align 4
  %246 = or disjoint i32 %241, %194
  %247 = xor i32 %246, 16
  %248 = getelementptr i8, ptr addrspace(3) getelementptr inbounds nuw (i8, ptr addrspace(3) @"shared$memory", i32 12288), i32 %247
  %249 = getelementptr i8, ptr addrspace(3) %248, i32 256
  %250 = load <2 x half>, ptr addrspace(3) %249, align 4
  %251 = getelementptr i8, ptr addrspace(3) %248, i32 384
  %252 = load <2 x half>, ptr addrspace(3) %251, align 4
  %253 = xor i32 %246, 32
  %254 = getelementptr i8, ptr addrspace(3) getelementptr inbounds nuw (i8, ptr addrspace(3) @"shared$memory", i32 12288), i32 %253
  %255 = getelementptr i8, ptr addrspace(3) %254, i32 512
  %256 = load <2 x half>, ptr addrspace(3) %255, align 4
  %257 = getelementptr i8, ptr addrspace(3) %254, i32 640
  %258 = load <2 x half>, ptr addrspace(3) %257, align 4
  %259 = xor i32 %246, 48
  %260 = getelementptr i8, ptr addrspace(3) getelementptr inbounds nuw (i8, ptr addrspace(3) @"shared$memory", i32 12288), i32 %259
  %261 = getelementptr i8, ptr addrspace(3) %260, i32 768
  %262 = load <2 x half>, ptr addrspace(3) %261, align 4
  %263 = getelementptr i8, ptr addrspace(3) %260, i32 896
  %264 = load <2 x half>, ptr addrspace(3) %263, align 4
  %265 = getelementptr i8, ptr addrspace(3) %197, i32 %241
  %266 = load <4 x i32>, ptr addrspace(3) %265, align 16
  %267 = getelementptr i8, ptr addrspace(3) %265, i32 2048
  %268 = load <4 x i32>, ptr addrspace(3) %267, align 16
  %269 = shufflevector <2 x half> %243, <2 x half> %245, <2 x i32> <i32 0, i32 2>
  %270 = shufflevector <2 x half> %250, <2 x half> %252, <2 x i32> <i32 0, i32 2>
  %271 = bitcast <2 x half> %269 to i32
  %272 = bitcast <2 x half> %270 to i32
  %273 = insertelement <2 x i32> poison, i32 %271, i64 0
  %274 = insertelement <2 x i32> %273, i32 %272, i64 1
  %275 = bitcast <2 x i32> %274 to <4 x half>
  %276 = shufflevector <4 x i32> %266, <4 x i32> poison, <2 x i32> <i32 0, i32 1>
  %277 = bitcast <2 x i32> %276 to <4 x half>
  %278 = insertelement <4 x float> poison, float %200, i64 0
  %279 = insertelement <4 x float> %278, float %201, i64 1
  %280 = insertelement <4 x float> %279, float %202, i64 2
  %281 = insertelement <4 x float> %280, float %203, i64 3
  %282 = tail call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %275, <4 x half> %277, <4 x float> %281, i32 0, i32 0, i32 0)
  %283 = shufflevector <2 x half> %243, <2 x half> %245, <2 x i32> <i32 1, i32 3>
  %284 = shufflevector <2 x half> %250, <2 x half> %252, <2 x i32> <i32 1, i32 3>
  %285 = bitcast <2 x half> %283 to i32
  %286 = bitcast <2 x half> %284 to i32
  %287 = insertelement <2 x i32> poison, i32 %285, i64 0
  %288 = insertelement <2 x i32> %287, i32 %286, i64 1
  %289 = bitcast <2 x i32> %288 to <4 x half>
  %290 = insertelement <4 x float> poison, float %204, i64 0
  %291 = insertelement <4 x float> %290, float %205, i64 1
  %292 = insertelement <4 x float> %291, float %206, i64 2
  %293 = insertelement <4 x float> %292, float %207, i64 3
  %294 = tail call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %289, <4 x half> %277, <4 x float> %293, i32 0, i32 0, i32 0)
  %295 = shufflevector <4 x i32> %268, <4 x i32> poison, <2 x i32> <i32 0, i32 1>
  %296 = bitcast <2 x i32> %295 to <4 x half>
  %297 = insertelement <4 x float> poison, float %208, i64 0
  %298 = insertelement <4 x float> %297, float %209, i64 1
  %299 = insertelement <4 x float> %298, float %210, i64 2
  %300 = insertelement <4 x float> %299, float %211, i64 3
  %301 = tail call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %275, <4 x half> %296, <4 x float> %300, i32 0, i32 0, i32 0)
  %302 = insertelement <4 x float> poison, float %212, i64 0
  %303 = insertelement <4 x float> %302, float %213, i64 1
  %304 = insertelement <4 x float> %303, float %214, i64 2
  %305 = insertelement <4 x float> %304, float %215, i64 3
  %306 = tail call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %289, <4 x half> %296, <4 x float> %305, i32 0, i32 0, i32 0)
  %307 = shufflevector <2 x half> %256, <2 x half> %258, <2 x i32> <i32 0, i32 2>
  %308 = shufflevector <2 x half> %262, <2 x half> %264, <2 x i32> <i32 0, i32 2>
  %309 = bitcast <2 x half> %307 to i32
  %310 = bitcast <2 x half> %308 to i32
  %311 = insertelement <2 x i32> poison, i32 %309, i64 0
  %312 = insertelement <2 x i32> %311, i32 %310, i64 1
  %313 = bitcast <2 x i32> %312 to <4 x half>
  %314 = shufflevector <4 x i32> %266, <4 x i32> poison, <2 x i32> <i32 2, i32 3>
  %315 = bitcast <2 x i32> %314 to <4 x half>
  %316 = tail call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %313, <4 x half> %315, <4 x float> %282, i32 0, i32 0, i32 0)
  %317 = extractelement <4 x float> %316, i64 0
  %318 = extractelement <4 x float> %316, i64 1
  %319 = extractelement <4 x float> %316, i64 2
  %320 = extractelement <4 x float> %316, i64 3
  %321 = shufflevector <2 x half> %256, <2 x half> %258, <2 x i32> <i32 1, i32 3>
  %322 = shufflevector <2 x half> %262, <2 x half> %264, <2 x i32> <i32 1, i32 3>
  %323 = bitcast <2 x half> %321 to i32
  %324 = bitcast <2 x half> %322 to i32
  %325 = insertelement <2 x i32> poison, i32 %323, i64 0
  %326 = insertelement <2 x i32> %325, i32 %324, i64 1
  %327 = bitcast <2 x i32> %326 to <4 x half>
  %328 = tail call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %327, <4 x half> %315, <4 x float> %294, i32 0, i32 0, i32 0)
  %329 = extractelement <4 x float> %328, i64 0
  %330 = extractelement <4 x float> %328, i64 1
  %331 = extractelement <4 x float> %328, i64 2
  %332 = extractelement <4 x float> %328, i64 3
  %333 = shufflevector <4 x i32> %268, <4 x i32> poison, <2 x i32> <i32 2, i32 3>
  %334 = bitcast <2 x i32> %333 to <4 x half>
  %335 = tail call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %313, <4 x half> %334, <4 x float> %301, i32 0, i32 0, i32 0)
  %336 = extractelement <4 x float> %335, i64 0
  %337 = extractelement <4 x float> %335, i64 1
  %338 = extractelement <4 x float> %335, i64 2
  %339 = extractelement <4 x float> %335, i64 3
  %340 = tail call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %327, <4 x half> %334, <4 x float> %306, i32 0, i32 0, i32 0)
  %341 = extractelement <4 x float> %340, i64 0
  %342 = extractelement <4 x float> %340, i64 1
  %343 = extractelement <4 x float> %340, i64 2
  %344 = extractelement <4 x float> %340, i64 3
  %345 = getelementptr i8, ptr addrspace(3) %174, i32 %225
  store <8 x half> %232, ptr addrspace(3) %345, align 16
  %346 = getelementptr i8, ptr addrspace(3) %176, i32 %225
  store <8 x half> %237, ptr addrspace(3) %346, align 16
  %347 = add nuw i32 %199, 32
  %348 = sub i32 %347, %156
  %349 = icmp slt i32 %348, 0
  br i1 %349, label %198, label %.loopexit28
.loopexit28:                                      ; preds = %236, %189
  %350 = phi float [ 0.000000e+00, %189 ], [ %317, %236 ]
  %351 = phi float [ 0.000000e+00, %189 ], [ %318, %236 ]
  %352 = phi float [ 0.000000e+00, %189 ], [ %319, %236 ]
  %353 = phi float [ 0.000000e+00, %189 ], [ %320, %236 ]
  %354 = phi float [ 0.000000e+00, %189 ], [ %329, %236 ]
  %355 = phi float [ 0.000000e+00, %189 ], [ %330, %236 ]
  %356 = phi float [ 0.000000e+00, %189 ], [ %331, %236 ]
  %357 = phi float [ 0.000000e+00, %189 ], [ %332, %236 ]
  %358 = phi float [ 0.000000e+00, %189 ], [ %336, %236 ]
  %359 = phi float [ 0.000000e+00, %189 ], [ %337, %236 ]
  %360 = phi float [ 0.000000e+00, %189 ], [ %338, %236 ]
  %361 = phi float [ 0.000000e+00, %189 ], [ %339, %236 ]
  %362 = phi float [ 0.000000e+00, %189 ], [ %341, %236 ]
  %363 = phi float [ 0.000000e+00, %189 ], [ %342, %236 ]
  %364 = phi float [ 0.000000e+00, %189 ], [ %343, %236 ]
  %365 = phi float [ 0.000000e+00, %189 ], [ %344, %236 ]
  %366 = tail call i32 @llvm.smax.i32(i32 %5, i32 -2147483616)
  %367 = add nsw i32 %366, -32
  %368 = icmp slt i32 %156, %5
  br i1 %368, label %.preheader, label %.loopexit
.preheader:                                       ; preds = %.loopexit28
  %369 = getelementptr i8, ptr addrspace(3) @"shared$memory", i32 %65
  %370 = getelementptr i8, ptr addrspace(3) %369, i32 %31
  %371 = xor i32 %73, %74
  %372 = getelementptr i8, ptr addrspace(3) getelementptr inbounds nuw (i8, ptr addrspace(3) @"shared$memory", i32 4096), i32 %371
  %373 = xor i32 %371, 1120
  %374 = getelementptr i8, ptr addrspace(3) getelementptr inbounds nuw (i8, ptr addrspace(3) @"shared$memory", i32 4096), i32 %373
  %375 = getelementptr i8, ptr addrspace(3) %374, i32 128
  %376 = xor i32 %371, 16
  %377 = getelementptr i8, ptr addrspace(3) getelementptr inbounds nuw (i8, ptr addrspace(3) @"shared$memory", i32 4096), i32 %376
  %378 = getelementptr i8, ptr addrspace(3) %377, i32 256
  %379 = xor i32 %371, 1136
  %380 = getelementptr i8, ptr addrspace(3) getelementptr inbounds nuw (i8, ptr addrspace(3) @"shared$memory", i32 4096), i32 %379
  %381 = getelementptr i8, ptr addrspace(3) %380, i32 384
  %382 = xor i32 %81, %80
  %383 = xor i32 %382, %82
  %384 = xor i32 %383, %83
  %385 = xor i32 %384, %79
  %386 = getelementptr i8, ptr addrspace(3) getelementptr inbounds nuw (i8, ptr addrspace(3) @"shared$memory", i32 4096), i32 %385
  %387 = getelementptr i8, ptr addrspace(3) %386, i32 512
  %388 = getelementptr i8, ptr addrspace(3) @"shared$memory", i32 %85
  %389 = getelementptr i8, ptr addrspace(3) %388, i32 %63
  %390 = getelementptr i8, ptr addrspace(3) %389, i32 2048
  br label %391
391:                                              ; preds = %.preheader, %426
  %392 = phi i32 [ %512, %426 ], [ %156, %.preheader ]
  %393 = phi float [ %484, %426 ], [ %350, %.preheader ]
  %394 = phi float [ %485, %426 ], [ %351, %.preheader ]
  %395 = phi float [ %486, %426 ], [ %352, %.preheader ]
  %396 = phi float [ %487, %426 ], [ %353, %.preheader ]
  %397 = phi float [ %496, %426 ], [ %354, %.preheader ]
  %398 = phi float [ %497, %426 ], [ %355, %.preheader ]
  %399 = phi float [ %498, %426 ], [ %356, %.preheader ]
  %400 = phi float [ %499, %426 ], [ %357, %.preheader ]
  %401 = phi float [ %503, %426 ], [ %358, %.preheader ]
  %402 = phi float [ %504, %426 ], [ %359, %.preheader ]
  %403 = phi float [ %505, %426 ], [ %360, %.preheader ]
  %404 = phi float [ %506, %426 ], [ %361, %.preheader ]
  %405 = phi float [ %508, %426 ], [ %362, %.preheader ]
  %406 = phi float [ %509, %426 ], [ %363, %.preheader ]
  %407 = phi float [ %510, %426 ], [ %364, %.preheader ]
  %408 = phi float [ %511, %426 ], [ %365, %.preheader ]
  %409 = or disjoint i32 %392, %21
  %410 = or disjoint i32 %392, %129
  %411 = icmp slt i32 %409, %5
  %412 = icmp slt i32 %410, %5
  %413 = and i1 %143, %411
  %414 = and i1 %147, %412
  br i1 %413, label %415, label %419
415:                                              ; preds = %391
  %416 = sext i32 %409 to i64
  %417 = getelementptr i16, ptr addrspace(1) %139, i64 %416
  %418 = load <8 x half>, ptr addrspace(1) %417, align 16
  br label %419
419:                                              ; preds = %415, %391
  %420 = phi <8 x half> [ %418, %415 ], [ zeroinitializer, %391 ]
  fence syncscope("workgroup") release, !mmra !2
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !2
  store <8 x half> %420, ptr addrspace(3) %370, align 16
  br i1 %414, label %421, label %426
421:                                              ; preds = %419
  %422 = mul i32 %410, %7
  %423 = sext i32 %422 to i64
  %424 = getelementptr i16, ptr addrspace(1) %141, i64 %423
  %425 = load <8 x half>, ptr addrspace(1) %424, align 16
  br label %426
426:                                              ; preds = %421, %419
  %427 = phi <8 x half> [ %425, %421 ], [ zeroinitializer, %419 ]
  %428 = shufflevector <8 x half> %427, <8 x half> poison, <2 x i32> <i32 0, i32 1>
  store <2 x half> %428, ptr addrspace(3) %372, align 4
  %429 = shufflevector <8 x half> %427, <8 x half> poison, <2 x i32> <i32 2, i32 3>
  store <2 x half> %429, ptr addrspace(3) %375, align 4
  %430 = shufflevector <8 x half> %427, <8 x half> poison, <2 x i32> <i32 4, i32 5>
  store <2 x half> %430, ptr addrspace(3) %378, align 4
  %431 = shufflevector <8 x half> %427, <8 x half> poison, <2 x i32> <i32 6, i32 7>
  store <2 x half> %431, ptr addrspace(3) %381, align 4
  fence syncscope("workgroup") release, !mmra !2
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !2
  %432 = load <8 x half>, ptr addrspace(3) %386, align 16
  %433 = load <8 x half>, ptr addrspace(3) %387, align 16
  %434 = load <4 x i32>, ptr addrspace(3) %389, align 16
  %435 = load <4 x i32>, ptr addrspace(3) %390, align 16
  %436 = shufflevector <8 x half> %432, <8 x half> poison, <2 x i32> <i32 0, i32 2>
  %437 = bitcast <2 x half> %436 to i32
  %438 = shufflevector <8 x half> %432, <8 x half> poison, <2 x i32> <i32 4, i32 6>
  %439 = bitcast <2 x half> %438 to i32
  %440 = insertelement <2 x i32> poison, i32 %437, i64 0
  %441 = insertelement <2 x i32> %440, i32 %439, i64 1
  %442 = bitcast <2 x i32> %441 to <4 x half>
  %443 = shufflevector <4 x i32> %434, <4 x i32> poison, <2 x i32> <i32 0, i32 1>
  %444 = bitcast <2 x i32> %443 to <4 x half>
  %445 = insertelement <4 x float> poison, float %393, i64 0
  %446 = insertelement <4 x float> %445, float %394, i64 1
  %447 = insertelement <4 x float> %446, float %395, i64 2
  %448 = insertelement <4 x float> %447, float %396, i64 3
  %449 = tail call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %442, <4 x half> %444, <4 x float> %448, i32 0, i32 0, i32 0)
  %450 = shufflevector <8 x half> %432, <8 x half> poison, <2 x i32> <i32 1, i32 3>
  %451 = bitcast <2 x half> %450 to i32
  %452 = shufflevector <8 x half> %432, <8 x half> poison, <2 x i32> <i32 5, i32 7>
  %453 = bitcast <2 x half> %452 to i32
  %454 = insertelement <2 x i32> poison, i32 %451, i64 0
  %455 = insertelement <2 x i32> %454, i32 %453, i64 1
  %456 = bitcast <2 x i32> %455 to <4 x half>
  %457 = insertelement <4 x float> poison, float %397, i64 0
  %458 = insertelement <4 x float> %457, float %398, i64 1
  %459 = insertelement <4 x float> %458, float %399, i64 2
  %460 = insertelement <4 x float> %459, float %400, i64 3
  %461 = tail call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %456, <4 x half> %444, <4 x float> %460, i32 0, i32 0, i32 0)
  %462 = shufflevector <4 x i32> %435, <4 x i32> poison, <2 x i32> <i32 0, i32 1>
  %463 = bitcast <2 x i32> %462 to <4 x half>
  %464 = insertelement <4 x float> poison, float %401, i64 0
  %465 = insertelement <4 x float> %464, float %402, i64 1
  %466 = insertelement <4 x float> %465, float %403, i64 2
  %467 = insertelement <4 x float> %466, float %404, i64 3
  %468 = tail call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %442, <4 x half> %463, <4 x float> %467, i32 0, i32 0, i32 0)
  %469 = insertelement <4 x float> poison, float %405, i64 0
  %470 = insertelement <4 x float> %469, float %406, i64 1
  %471 = insertelement <4 x float> %470, float %407, i64 2
  %472 = insertelement <4 x float> %471, float %408, i64 3
  %473 = tail call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %456, <4 x half> %463, <4 x float> %472, i32 0, i32 0, i32 0)
  %474 = shufflevector <8 x half> %433, <8 x half> poison, <2 x i32> <i32 0, i32 2>
  %475 = bitcast <2 x half> %474 to i32
  %476 = shufflevector <8 x half> %433, <8 x half> poison, <2 x i32> <i32 4, i32 6>
  %477 = bitcast <2 x half> %476 to i32
  %478 = insertelement <2 x i32> poison, i32 %475, i64 0
  %479 = insertelement <2 x i32> %478, i32 %477, i64 1
  %480 = bitcast <2 x i32> %479 to <4 x half>
  %481 = shufflevector <4 x i32> %434, <4 x i32> poison, <2 x i32> <i32 2, i32 3>
  %482 = bitcast <2 x i32> %481 to <4 x half>
  %483 = tail call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %480, <4 x half> %482, <4 x float> %449, i32 0, i32 0, i32 0)
  %484 = extractelement <4 x float> %483, i64 0
  %485 = extractelement <4 x float> %483, i64 1
  %486 = extractelement <4 x float> %483, i64 2
  %487 = extractelement <4 x float> %483, i64 3
  %488 = shufflevector <8 x half> %433, <8 x half> poison, <2 x i32> <i32 1, i32 3>
  %489 = bitcast <2 x half> %488 to i32
  %490 = shufflevector <8 x half> %433, <8 x half> poison, <2 x i32> <i32 5, i32 7>
  %491 = bitcast <2 x half> %490 to i32
  %492 = insertelement <2 x i32> poison, i32 %489, i64 0
  %493 = insertelement <2 x i32> %492, i32 %491, i64 1
  %494 = bitcast <2 x i32> %493 to <4 x half>
  %495 = tail call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %494, <4 x half> %482, <4 x float> %461, i32 0, i32 0, i32 0)
  %496 = extractelement <4 x float> %495, i64 0
  %497 = extractelement <4 x float> %495, i64 1
  %498 = extractelement <4 x float> %495, i64 2
  %499 = extractelement <4 x float> %495, i64 3
  %500 = shufflevector <4 x i32> %435, <4 x i32> poison, <2 x i32> <i32 2, i32 3>
  %501 = bitcast <2 x i32> %500 to <4 x half>
  %502 = tail call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %480, <4 x half> %501, <4 x float> %468, i32 0, i32 0, i32 0)
  %503 = extractelement <4 x float> %502, i64 0
  %504 = extractelement <4 x float> %502, i64 1
  %505 = extractelement <4 x float> %502, i64 2
  %506 = extractelement <4 x float> %502, i64 3
  %507 = tail call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %494, <4 x half> %501, <4 x float> %473, i32 0, i32 0, i32 0)
  %508 = extractelement <4 x float> %507, i64 0
  %509 = extractelement <4 x float> %507, i64 1
  %510 = extractelement <4 x float> %507, i64 2
  %511 = extractelement <4 x float> %507, i64 3
  %512 = add i32 %392, 32
  %513 = icmp slt i32 %392, %367
  br i1 %513, label %391, label %.loopexit
.loopexit:                                        ; preds = %426, %.loopexit28
  %514 = phi float [ %350, %.loopexit28 ], [ %484, %426 ]
  %515 = phi float [ %351, %.loopexit28 ], [ %485, %426 ]
  %516 = phi float [ %352, %.loopexit28 ], [ %486, %426 ]
  %517 = phi float [ %353, %.loopexit28 ], [ %487, %426 ]
  %518 = phi float [ %354, %.loopexit28 ], [ %496, %426 ]
  %519 = phi float [ %355, %.loopexit28 ], [ %497, %426 ]
  %520 = phi float [ %356, %.loopexit28 ], [ %498, %426 ]
  %521 = phi float [ %357, %.loopexit28 ], [ %499, %426 ]
  %522 = phi float [ %358, %.loopexit28 ], [ %503, %426 ]
  %523 = phi float [ %359, %.loopexit28 ], [ %504, %426 ]
  %524 = phi float [ %360, %.loopexit28 ], [ %505, %426 ]
  %525 = phi float [ %361, %.loopexit28 ], [ %506, %426 ]
  %526 = phi float [ %362, %.loopexit28 ], [ %508, %426 ]
  %527 = phi float [ %363, %.loopexit28 ], [ %509, %426 ]
  %528 = phi float [ %364, %.loopexit28 ], [ %510, %426 ]
  %529 = phi float [ %365, %.loopexit28 ], [ %511, %426 ]
  %530 = mul i32 %133, %8
  %531 = sext i32 %530 to i64
  %532 = getelementptr i16, ptr addrspace(1) %2, i64 %531
  %533 = getelementptr i16, ptr addrspace(1) %532, i64 %140
  %534 = and i1 %144, %147
  %535 = and i1 %145, %147
  %536 = fptrunc float %514 to half
  %537 = fptrunc float %515 to half
  %538 = fptrunc float %516 to half
  %539 = fptrunc float %517 to half
  %540 = fptrunc float %518 to half
  %541 = fptrunc float %519 to half
  %542 = fptrunc float %520 to half
  %543 = fptrunc float %521 to half
  %544 = fptrunc float %522 to half
  %545 = fptrunc float %523 to half
  %546 = fptrunc float %524 to half
  %547 = fptrunc float %525 to half
  %548 = fptrunc float %526 to half
  %549 = fptrunc float %527 to half
  %550 = fptrunc float %528 to half
  %551 = fptrunc float %529 to half
  fence syncscope("workgroup") release, !mmra !2
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !2
  %552 = xor i32 %94, %96
  %553 = insertelement <8 x half> poison, half %536, i64 0
  %554 = insertelement <8 x half> %553, half %540, i64 1
  %555 = insertelement <8 x half> %554, half %537, i64 2
  %556 = insertelement <8 x half> %555, half %541, i64 3
  %557 = insertelement <8 x half> %556, half %538, i64 4
  %558 = insertelement <8 x half> %557, half %542, i64 5
  %559 = insertelement <8 x half> %558, half %539, i64 6
  %560 = insertelement <8 x half> %559, half %543, i64 7
  %561 = getelementptr i8, ptr addrspace(3) @"shared$memory", i32 %552
  store <8 x half> %560, ptr addrspace(3) %561, align 16
  %562 = insertelement <8 x half> poison, half %544, i64 0
  %563 = insertelement <8 x half> %562, half %548, i64 1
  %564 = insertelement <8 x half> %563, half %545, i64 2
  %565 = insertelement <8 x half> %564, half %549, i64 3
  %566 = insertelement <8 x half> %565, half %546, i64 4
  %567 = insertelement <8 x half> %566, half %550, i64 5
  %568 = insertelement <8 x half> %567, half %547, i64 6
  %569 = insertelement <8 x half> %568, half %551, i64 7
  %570 = getelementptr i8, ptr addrspace(3) %561, i32 4096
  store <8 x half> %569, ptr addrspace(3) %570, align 16
  fence syncscope("workgroup") release, !mmra !2
  tail call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !2
  %571 = getelementptr i8, ptr addrspace(3) @"shared$memory", i32 %103
  %572 = getelementptr i8, ptr addrspace(3) %571, i32 %31
  %573 = getelementptr i8, ptr addrspace(3) %572, i32 4096
  %574 = load <8 x half>, ptr addrspace(3) %573, align 16
  br i1 %534, label %575, label %581
575:                                              ; preds = %.loopexit
  %576 = load <8 x half>, ptr addrspace(3) %572, align 16
  %577 = mul i32 %132, %8
  %578 = sext i32 %577 to i64
  %579 = getelementptr i16, ptr addrspace(1) %2, i64 %578
  %580 = getelementptr i16, ptr addrspace(1) %579, i64 %140
  store <8 x half> %576, ptr addrspace(1) %580, align 16
  br label %581
581:                                              ; preds = %575, %.loopexit
  br i1 %535, label %582, label %583
582:                                              ; preds = %581
  store <8 x half> %574, ptr addrspace(1) %533, align 16
  br label %583
583:                                              ; preds = %582, %581
  ret void
}
attributes #0 = { nounwind "amdgpu-flat-work-group-size"="256,256" "amdgpu-no-completion-action" "amdgpu-no-default-queue" "amdgpu-no-dispatch-id" "amdgpu-no-dispatch-ptr" "amdgpu-no-flat-scratch-init" "amdgpu-no-heap-ptr" "amdgpu-no-hostcall-ptr" "amdgpu-no-implicitarg-ptr" "amdgpu-no-lds-kernel-id" "amdgpu-no-multigrid-sync-arg" "amdgpu-no-queue-ptr" "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z" "amdgpu-no-workitem-id-y" "amdgpu-no-workitem-id-z" "denormal-fp-math-f32"="ieee" "target-cpu"="gfx942" "target-features"="+wavefrontsize64" "uniform-work-group-size"="true" }
!llvm.module.flags = !{!0, !1}
!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = !{i32 1, !"amdhsa_code_object_version", i32 500}
!2 = !{!"amdgpu-synchronize-as", !"local"}
