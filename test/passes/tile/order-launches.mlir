// Kernels that may begin before earlier launches have ended wait for those before they write.
// RUN: tile-opt %s -split-input-file -order-launches 2>/dev/null | FileCheck %s
// RUN: tile-opt %s -split-input-file -order-launches -verify-diagnostics -o /dev/null
// RUN: tile-opt %s -split-input-file --cse --canonicalize --loop-invariant-code-motion | FileCheck %s --check-prefix=KEPT

#early = #tile.target<warp_size = 32, shared_bytes = 2560, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, features = [dependent_launches, early_launch]>
module attributes {tile.target = #early} {
  // CHECK-LABEL: func.func @never
  // CHECK-NEXT: tile.order_launches await
  func.func @never(%p: !tile.ptr<f32>, %x: f32) {
    tile.store %p, %x : !tile.ptr<f32>, f32
    return
  }
  // What is read before the kernel's own wait is the author's. Both loads stay.
  // CHECK-LABEL: func.func @reads_before
  // CHECK-NEXT: tile.load
  // CHECK-NEXT: tile.order_launches await
  // CHECK-NOT: await
  // KEPT-LABEL: func.func @reads_before
  // KEPT: tile.load
  // KEPT: tile.order_launches await
  // KEPT: tile.load
  // KEPT: tile.order_launches permit
  func.func @reads_before(%p: !tile.ptr<f32>) {
    %x = tile.load %p : !tile.ptr<f32> -> f32
    tile.order_launches await
    %y = tile.load %p : !tile.ptr<f32> -> f32
    tile.order_launches permit
    %z = arith.addf %x, %y : f32
    tile.store %p, %z : !tile.ptr<f32>, f32
    return
  }
}

// -----

#early = #tile.target<warp_size = 32, shared_bytes = 2560, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, features = [dependent_launches, early_launch]>
module attributes {tile.target = #early} {
  // CHECK-LABEL: func.func @writes_before
  // CHECK-NEXT: tile.order_launches await
  // CHECK-NEXT: tile.store
  func.func @writes_before(%p: !tile.ptr<f32>, %x: f32) {
    tile.store %p, %x : !tile.ptr<f32>, f32
    // expected-remark @+1 {{[TW0370] the kernel may write before it waits here}}
    tile.order_launches await
    return
  }
  // CHECK-LABEL: func.func @in_a_branch
  // CHECK-NEXT: tile.order_launches await
  func.func @in_a_branch(%p: !tile.ptr<f32>, %x: f32, %c: i1) {
    scf.if %c {
      // expected-remark @+1 {{[TW0370] the kernel may write before it waits here, or not come here}}
      tile.order_launches await
    }
    tile.store %p, %x : !tile.ptr<f32>, f32
    return
  }
}

// -----

// A launch that was not asked to begin early: the kernel's own words stay.
#plain = #tile.target<warp_size = 32, shared_bytes = 2560, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4, features = [dependent_launches]>
module attributes {tile.target = #plain} {
  // CHECK-LABEL: func.func @not_asked
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: tile.order_launches permit
  func.func @not_asked(%p: !tile.ptr<f32>, %x: f32) {
    tile.store %p, %x : !tile.ptr<f32>, f32
    tile.order_launches permit
    return
  }
}

// -----

// Here launches follow each other.
#older = #tile.target<warp_size = 32, shared_bytes = 2560, registers = 255, spare_registers = 52, max_warps = 32, vector_bits = 128, line_bytes = 128, sector_bytes = 32, banks = 32, bank_bytes = 4>
module attributes {tile.target = #older} {
  // CHECK-LABEL: func.func @elsewhere
  // CHECK-NEXT: return
  func.func @elsewhere() {
    tile.order_launches await
    tile.order_launches permit
    return
  }
}
