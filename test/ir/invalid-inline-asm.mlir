// What the verifier of assembly text refuses.
// RUN: tile-opt %s -split-input-file -verify-diagnostics

func.func @count(%x: tensor<8xi8>) {
  // expected-error @+1 {{must have one constraint for each register}}
  %0 = tile.inline_asm pure "" "=r,r" pack 8(%x) : (tensor<8xi8>) -> tensor<8xi8>
  return
}

// -----
func.func @shapes(%x: tensor<8xi8>) {
  // expected-error @+1 {{sources and results must have one shape and layout}}
  %0 = tile.inline_asm pure "" "=r,r" pack 1(%x) : (tensor<8xi8>) -> i8
  return
}

// -----
func.func @pack(%x: i32) {
  // expected-error @+1 {{pack must be a power of two up to 32}}
  %0 = tile.inline_asm pure "" "=r,r" pack 3(%x) : (i32) -> i32
  return
}
