// 8-bit floats are converted in pairs where the GPU has instructions for that, which also bound
// what is too large; elsewhere by arithmetic.
// RUN: tile-compile %s --target nvidia:sm_89 --num-warps 1 --emit ptx | FileCheck %s --check-prefix=PAIRS
// RUN: tile-compile %s --target nvidia:sm_80 --num-warps 1 --emit ptx | FileCheck %s --check-prefix=BITS

// PAIRS: ld.global.v4.b32
// PAIRS-COUNT-2: cvt.rn.f16x2.e5m2x2
// PAIRS-NOT: {{min|max|prmt}}
// PAIRS-COUNT-2: cvt.rn.satfinite.e4m3x2.f16x2
// PAIRS-NOT: {{min|max|prmt}}
// PAIRS: st.global.v4.b32

// BITS: ld.global.v4.b32
// BITS-NOT: e5m2x2
// BITS: shl.b16
// BITS: cvt.f32.f16
// BITS-NOT: e4m3x2
// BITS: st.global.v4.b32
func.func @narrow(%a: !tile.ptr<f8E5M2> {tile.divisibility = 16 : i64},
                  %b: !tile.ptr<f8E4M3FN> {tile.divisibility = 16 : i64}) {
  %i = tile.arange 0 to 512 : tensor<512xi32>
  %as = tile.splat %a : !tile.ptr<f8E5M2> -> tensor<512x!tile.ptr<f8E5M2>>
  %ap = tile.addptr %as, %i : tensor<512x!tile.ptr<f8E5M2>>, tensor<512xi32>
  %x = tile.load %ap : tensor<512x!tile.ptr<f8E5M2>> -> tensor<512xf8E5M2>
  %h = arith.extf %x : tensor<512xf8E5M2> to tensor<512xf16>
  %low = arith.constant dense<-448.0> : tensor<512xf16>
  %high = arith.constant dense<448.0> : tensor<512xf16>
  %raised = arith.maximumf %h, %low : tensor<512xf16>
  %bounded = arith.minimumf %raised, %high : tensor<512xf16>
  %y = arith.truncf %bounded : tensor<512xf16> to tensor<512xf8E4M3FN>
  %bs = tile.splat %b : !tile.ptr<f8E4M3FN> -> tensor<512x!tile.ptr<f8E4M3FN>>
  %bp = tile.addptr %bs, %i : tensor<512x!tile.ptr<f8E4M3FN>>, tensor<512xi32>
  tile.store %bp, %y : tensor<512x!tile.ptr<f8E4M3FN>>, tensor<512xf8E4M3FN>
  return
}
