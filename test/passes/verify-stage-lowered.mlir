// After lowering there are no tiles.
// RUN: tile-opt --verify-stage=stage=lowered --split-input-file --verify-diagnostics %s

llvm.func @valid(%x: vector<16xf32>) {
  %y = arith.addf %x, %x : vector<16xf32>
  llvm.return
}

// -----

func.func @tiles(%x: i32) {
  %a = ub.poison : tensor<4xf32> // expected-error {{stage lowered: 'ub.poison' has a tile}}
  %b = tile.num_programs 0 // expected-error {{stage lowered has no operation 'tile.num_programs'}}
  return
}

// -----

// expected-error@+1 {{stage lowered: 'func.func' has a tile}}
func.func @arguments(%x: tensor<4xf32>) {
  return
}

// -----

func.func @threads(%p: !llvm.ptr<1>, %x: f32) {
  simt.barrier
  simt.global_store %p, %x : !llvm.ptr<1>, f32
  // expected-error @below {{stage lowered: 'simt.alloc_shared' has a shared buffer}}
  %b = simt.alloc_shared "b" at 0 : !simt.shared<[1], f32, #tile.layout<[1] offset = []>>
  // expected-error @below {{stage lowered: 'simt.store_shared' is an earlier stage's}}
  simt.store_shared %x, %b : f32, !simt.shared<[1], f32, #tile.layout<[1] offset = []>>
  return
}
