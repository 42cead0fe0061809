; Assembly of whole warps, and waits that whole warps do together, are convergent; other assembly, which one thread may execute, is not.
; RUN: tile-opt %s --target nvidia:sm_90a --code-pass collective-assembly | FileCheck %s

; CHECK-LABEL: define void @wait
; CHECK:       call void asm sideeffect "wgmma.wait_group.sync.aligned 0;", ""() #[[CONVERGENT:[0-9]+]]
; CHECK:       call void asm sideeffect "bar.arrive 1, 64;", ""() #[[CONVERGENT]]
; CHECK:       call void asm sideeffect "again: mbarrier.try_wait{{.*}} #[[CONVERGENT]]
; CHECK:       call void asm sideeffect "cp.async.bulk.commit_group;", ""(){{$}}
; CHECK:       attributes #[[CONVERGENT]] = { convergent }
define void @wait() {
  call void asm sideeffect "wgmma.wait_group.sync.aligned 0;", ""()
  call void asm sideeffect "bar.arrive 1, 64;", ""()
  call void asm sideeffect "again: mbarrier.try_wait.parity.shared::cta.b64 done, [$0], 0;", "l"(i64 0)
  call void asm sideeffect "cp.async.bulk.commit_group;", ""()
  ret void
}
