; The back end leaves out which memory an atomic orders, and makes plain loads of atomic ones: all are
; calls with their scope and semantics.
; RUN: tile-opt --target spirv:generic16 --code-pass name-atomics %s | FileCheck %s
target triple = "spirv64v1.4-unknown-unknown"

; 1 is the device, 520 acquires and releases global memory; 2 is the work-group, 514 acquires; 0 is
; all devices, without an order.
; CHECK-LABEL: @update
; CHECK: call spir_func i32 @_Z18__spirv_AtomicIAddPU3AS1iiii(ptr addrspace(1) %p, i32 1, i32 520, i32 %n)
; CHECK: call spir_func i64 @_Z18__spirv_AtomicUMaxPU3AS1liil(ptr addrspace(1) %q, i32 0, i32 0, i64 %m)
; CHECK: call spir_func i32 @_Z18__spirv_AtomicLoadPU3AS1iii(ptr addrspace(1) %p, i32 2, i32 514)
; CHECK-NOT: atomic
define spir_kernel void @update(ptr addrspace(1) %p, ptr addrspace(1) %q, i32 %n, i64 %m) {
  %a = atomicrmw add ptr addrspace(1) %p, i32 %n syncscope("device") acq_rel, align 4
  %b = atomicrmw umax ptr addrspace(1) %q, i64 %m monotonic, align 8
  %c = load atomic i32, ptr addrspace(1) %p syncscope("workgroup") acquire, align 4
  %d = add i32 %a, %c
  store i32 %d, ptr addrspace(1) %p, align 4
  store i64 %b, ptr addrspace(1) %q, align 8
  ret void
}

; The instruction gives what it found, and the code whether that was expected.
; CHECK-LABEL: @swap
; CHECK: [[FOUND:%.*]] = call spir_func i32 @_Z29__spirv_AtomicCompareExchangePU3AS1iiiiii(ptr addrspace(1) %p, i32 1, i32 520, i32 514, i32 %new, i32 %old)
; CHECK: [[SAME:%.*]] = icmp eq i32 [[FOUND]], %old
; CHECK: select i1 [[SAME]], i32 [[FOUND]], i32 0
define spir_kernel void @swap(ptr addrspace(1) %p, i32 %old, i32 %new) {
  %both = cmpxchg ptr addrspace(1) %p, i32 %old, i32 %new syncscope("device") acq_rel acquire
  %found = extractvalue { i32, i1 } %both, 0
  %same = extractvalue { i32, i1 } %both, 1
  %result = select i1 %same, i32 %found, i32 0
  store i32 %result, ptr addrspace(1) %p, align 4
  ret void
}
