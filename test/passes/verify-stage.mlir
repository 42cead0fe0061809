// Every operation or type that a stage does not have is reported where it is.
// RUN: tile-opt --verify-stage=stage=tile --split-input-file --verify-diagnostics %s

func.func @valid(%p: !tile.ptr<f32>, %n: i32) {
  %x = tile.splat %n : i32 -> tensor<64xi32>
  %y = arith.addi %x, %x : tensor<64xi32>
  return
}

// -----

func.func @vectors(%x: vector<16xf32>) { // expected-error {{stage tile: 'func.func' has a vector or memref, which is a later stage's: 'vector<16xf32>'}}
  return
}

// -----

func.func @dynamic() {
  %x = ub.poison : tensor<?xf32> // expected-error {{has a tile whose shape is not static}}
  return
}

// -----

func.func @layout() {
  %x = ub.poison : tensor<4xf32, "layout"> // expected-error {{has a tile with a layout}}
  return
}

// -----

llvm.func @foreign() // expected-error {{stage tile has no operation 'llvm.func'}}
