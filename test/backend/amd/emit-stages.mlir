// RUN: tile-compile %s --target amd:gfx942 --emit laid-out | FileCheck %s --check-prefix=LAID-OUT
// RUN: tile-compile %s --target amd:gfx942 --emit llvm | FileCheck %s --check-prefix=LLVM
// RUN: tile-compile %s --target amd:gfx942 --num-warps 2 --emit asm | FileCheck %s --check-prefix=ASM
// RUN: tile-compile %s --target amd:gfx1100 --num-warps 2 --emit asm | FileCheck %s --check-prefix=RDNA
// RUN: tile-compile %s --target amd:gfx1100 --num-warps 2 --emit asm -o %t && FileCheck %s --check-prefix=RDNA < %t
// RUN: tile-compile %s --target amd:gfx1201 --emit object | llvm-readobj --file-headers - | FileCheck %s --check-prefix=OBJECT
// RUN: tile-compile %s --target amd:gfx942 --emit hsaco | llvm-readobj --file-headers --notes - | FileCheck %s --check-prefix=HSACO
// RUN: tile-compile %s --target amd:gfx90a --emit resources | FileCheck %s --check-prefix=RESOURCES
// RUN: not tile-compile %s --target amd:gfx942 --emit ptx 2>&1 | FileCheck %s --check-prefix=STAGE
// RUN: not tile-compile %s --target amd:gfx943 --emit asm 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not tile-compile %s --target amd:gfx942 --num-warps 32 --emit asm 2>&1 | FileCheck %s --check-prefix=WARPS

// Each stage of one kernel on AMD's GPUs can be seen; what does not exist is named.

// LAID-OUT: tile.target = #tile.target<warp_size = 64
// LAID-OUT: tile.load {{.*}}#tile.layout
// LLVM: define amdgpu_kernel void @copy(ptr addrspace(1) align 16
// LLVM: call <4 x i32> @llvm.amdgcn.raw.ptr.buffer.load.v4i32
// LLVM: "amdgpu-flat-work-group-size"="256,256"
// LLVM: !{i32 1, !"amdhsa_code_object_version", i32 500}
// ASM-COUNT-4: buffer_load_dwordx4
// ASM-COUNT-4: buffer_store_dwordx4
// ASM: .max_flat_workgroup_size: 128
// ASM: .wavefront_size: 64
// RDNA-COUNT-8: buffer_load_b128
// RDNA-NOT: buffer_load
// RDNA: .wavefront_size: 32
// OBJECT: Type: Relocatable
// OBJECT: Machine: EM_AMDGPU
// HSACO: ABIVersion: 3
// HSACO: Type: SharedObject
// HSACO: EF_AMDGPU_MACH_AMDGCN_GFX942
// HSACO: .group_segment_fixed_size: 0
// HSACO: .kernarg_segment_size: 8
// HSACO: .private_segment_fixed_size: 0
// HSACO: .symbol: copy.kd
// RESOURCES: "accumulation_registers": 0
// RESOURCES: "argument_bytes": 8
// RESOURCES: "scratch_bytes": 0
// RESOURCES: "threads": 256
// RESOURCES: "warp_size": 64
// STAGE: error[TW0401]: there is no stage `ptx` on target amd:gfx942
// STAGE: hint: stages: tile, {{.*}} asm, object, hsaco, resources
// UNKNOWN: there is no device `amd:gfx943`
// UNKNOWN: did you mean amd:gfx942?
// WARPS: error[TW0313]: a program cannot have 32 warps on gfx942: num_warps is 1, 2, 4, 8 or 16{{$}}
func.func @copy(%x: !tile.ptr<f32> {tile.name = "x", tile.divisibility = 16 : i64}) {
  %r = tile.arange 0 to 2048 : tensor<2048xi32>
  %xs = tile.splat %x : !tile.ptr<f32> -> tensor<2048x!tile.ptr<f32>>
  %p = tile.addptr %xs, %r : tensor<2048x!tile.ptr<f32>>, tensor<2048xi32>
  %v = tile.load %p : tensor<2048x!tile.ptr<f32>> -> tensor<2048xf32>
  %w = arith.addf %v, %v : tensor<2048xf32>
  tile.store %p, %w : tensor<2048x!tile.ptr<f32>>, tensor<2048xf32>
  return
}
