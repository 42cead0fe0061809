// Which instructions each operation of one thread becomes.
#include "test/unit/backend/nvidia/NvidiaKernel.h"
#include "llvm/Support/Regex.h"

using namespace tw;
using namespace tw::test;

TEST(NvidiaAccess, UnmaskedAccessesOf16BytesAreOneInstruction) {
  for (const char *type : {"vector<4xf32>", "vector<8xf16>", "vector<8xbf16>", "vector<16xi8>",
                           "vector<2xf64>", "vector<2xi64>", "vector<4xi32>"}) {
    std::string text = std::string("%v = simt.global_load %p : !llvm.ptr<1> -> ") + type +
                       "\nsimt.global_store %q, %v : !llvm.ptr<1>, " + type;
    NvidiaResult result = compileNvidia(text);
    ASSERT_EQ(result.error, "") << type;
    bool isWide = llvm::StringRef(type).contains("64");
    EXPECT_EQ(countOf(result.ptx(), isWide ? "ld.global.v2.b64" : "ld.global.v4.b32"), 1)
        << type << result.ptx();
    EXPECT_EQ(countOf(result.ptx(), isWide ? "st.global.v2.b64" : "st.global.v4.b32"), 1)
        << type << result.ptx();
    EXPECT_EQ(countOf(result.ptx(), "ld.global"), 1) << type;
  }
}

TEST(NvidiaAccess, MaskedAccessesArePredicatedWithoutBranches) {
  NvidiaResult result = compileNvidia(R"(
    %zero = arith.constant dense<0.0> : vector<8xf16>
    %v = simt.global_load %p mask %m other %zero : vector<8xf16> : !llvm.ptr<1> -> vector<8xf16>
    simt.global_store %q, %v mask %m : !llvm.ptr<1>, vector<8xf16>)");
  ASSERT_EQ(result.error, "");
  llvm::StringRef ptx = result.ptx();
  EXPECT_EQ(countOf(ptx, "ld.global.v4.b32 {"), 1) << result.ptx();
  EXPECT_EQ(countOf(ptx, "st.global.v4.b32 ["), 1) << result.ptx();
  EXPECT_EQ(countOf(ptx, "@%p"), 2) << result.ptx();
  EXPECT_EQ(countOf(ptx, "bra"), 0) << result.ptx();
  EXPECT_EQ(countOf(ptx, "prmt"), 0) << "packed words stay packed:\n" << result.ptx();
}

TEST(NvidiaAccess, EveryWidthAndType) {
  for (const char *type : {"i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64", "!llvm.ptr<1>",
                           "vector<2xi8>", "vector<2xf16>", "vector<4xf16>", "vector<2xf32>",
                           "vector<4xi8>", "vector<8xi8>", "vector<2x!llvm.ptr<1>>"}) {
    std::string text = std::string("%v = simt.global_load %p mask %m : !llvm.ptr<1> -> ") + type +
                       "\nsimt.global_store %q, %v mask %m : !llvm.ptr<1>, " + type;
    NvidiaResult result = compileNvidia(text);
    ASSERT_EQ(result.error, "") << type;
    EXPECT_EQ(countOf(result.ptx(), "ld.global"), 1) << type;
    EXPECT_EQ(countOf(result.ptx(), "st.global"), 1) << type;
    EXPECT_EQ(countOf(result.ptx(), ".local"), 0) << type << result.ptx();
    expectAssembles(text, "sm_80");
  }
}

TEST(NvidiaAccess, ConstantMasksVanish) {
  NvidiaResult result = compileNvidia(R"(
    %true = arith.constant true
    %v = simt.global_load %p mask %true : !llvm.ptr<1> -> f32
    simt.global_store %q, %v mask %true : !llvm.ptr<1>, f32)");
  ASSERT_EQ(result.error, "");
  EXPECT_EQ(countOf(result.ptx(), "@%p"), 0) << result.ptx();
}

TEST(NvidiaAccess, HintsAreModifiers) {
  std::string text = R"(
    %a = simt.global_load %p {cache = 2 : i32} : !llvm.ptr<1> -> vector<4xf32>
    %b = simt.global_load %p mask %m {evict = 1 : i32} : !llvm.ptr<1> -> vector<4xf32>
    %c = simt.global_load %p mask %m {is_volatile} : !llvm.ptr<1> -> f32
    simt.global_store %q, %a {evict = 2 : i32} : !llvm.ptr<1>, vector<4xf32>
    simt.global_store %q, %b {cache = 6 : i32} : !llvm.ptr<1>, vector<4xf32>
    simt.global_store %p, %c {cache = 3 : i32} : !llvm.ptr<1>, f32)";
  NvidiaResult result = compileNvidia(text);
  ASSERT_EQ(result.error, "");
  for (const char *instruction :
       {"ld.global.cg.v4.b32", "ld.global.L1::evict_first.L2::cache_hint.v4.b32",
        "ld.volatile.global.b32", "st.global.L1::evict_last.L2::cache_hint.v4.b32",
        "st.global.wt.v4.b32", "st.global.cs.b32", "createpolicy.fractional.L2::evict_first.b64"})
    EXPECT_EQ(countOf(result.ptx(), instruction), 1) << instruction << result.ptx();
  for (const std::string &arch : nvidiaArchs())
    expectAssembles(text, arch);
}

TEST(NvidiaThreads, RegistersShufflesAndBarriers) {
  std::string text = R"(
    %t = simt.thread_id
    %x = simt.program_id 0
    %z = simt.num_programs 2
    %l = llvm.mlir.constant(3 : i32) : i32
    %a = simt.shuffle xor %t, %l : i32
    %b = simt.shuffle index %x, %l : i32
    %c = simt.shuffle up %z, %l : i32
    %d = simt.shuffle down %t, %t : i32
    %w = arith.extui %a : i32 to i64
    %e = simt.shuffle xor %w, %l : i64
    %h = arith.sitofp %b : i32 to f16
    %g = simt.shuffle xor %h, %l : f16
    %r = simt.shuffle index %p, %l : !llvm.ptr<1>
    simt.barrier
    simt.barrier warp
    simt.global_store %q, %c : !llvm.ptr<1>, i32
    simt.global_store %r, %d : !llvm.ptr<1>, i32
    simt.global_store %q, %e : !llvm.ptr<1>, i64
    simt.global_store %q, %g : !llvm.ptr<1>, f16)";
  NvidiaResult result = compileNvidia(text);
  ASSERT_EQ(result.error, "");
  llvm::StringRef ptx = result.ptx();
  EXPECT_EQ(countOf(ptx, "%tid.x"), 1) << result.ptx();
  EXPECT_EQ(countOf(ptx, "%ctaid.x"), 1);
  EXPECT_EQ(countOf(ptx, "%nctaid.z"), 1);
  EXPECT_EQ(countOf(ptx, "shfl.sync.bfly.b32"), 4)
      << result.ptx();                             // two of the i64, one of the f16
  EXPECT_EQ(countOf(ptx, "shfl.sync.idx.b32"), 3); // two of the pointer
  EXPECT_EQ(countOf(ptx, "shfl.sync.up.b32"), 1);
  EXPECT_TRUE(llvm::Regex("shfl.sync.up.b32[^;]*, 0, -1;").match(ptx)) << result.ptx();
  EXPECT_TRUE(llvm::Regex("shfl.sync.down.b32[^;]*, 31, -1;").match(ptx)) << result.ptx();
  EXPECT_EQ(countOf(ptx, "bar.sync \t0") + countOf(ptx, "barrier.sync"), 1) << result.ptx();
  EXPECT_EQ(countOf(ptx, "bar.warp.sync"), 1);
  EXPECT_TRUE(ptx.contains(".reqntid 128"));
  EXPECT_TRUE(ptx.contains(".entry k("));
  for (const std::string &arch : nvidiaArchs())
    expectAssembles(text, arch);
}

TEST(NvidiaThreads, OneWarpNeedsNoBarrierOfTheCta) {
  NvidiaResult result = compileNvidia("simt.barrier", "sm_80", false, /*numWarps=*/1);
  EXPECT_EQ(countOf(result.ptx(), "bar.warp.sync"), 1) << result.ptx();
  EXPECT_EQ(countOf(result.ptx(), "bar.sync"), 0);
}

TEST(NvidiaThreads, SharedAddressesAre32BitsWithOffsetsFolded) {
  std::string text = R"(
    %t = simt.thread_id
    %four = arith.constant 4 : i32
    %o = arith.muli %t, %four : i32
    %a = simt.shared_address 1024 : !llvm.ptr<3>
    %b = llvm.getelementptr %a[%o] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    llvm.store %t, %b : i32, !llvm.ptr<3>
    simt.barrier
    %c = simt.shared_address 0 : !llvm.ptr<3>
    %v = llvm.load %c : !llvm.ptr<3> -> i32
    simt.global_store %q, %v : !llvm.ptr<1>, i32)";
  NvidiaResult result = compileNvidia(text);
  ASSERT_EQ(result.error, "");
  EXPECT_EQ(countOf(result.ptx(), ".extern .shared .align 16 .b8 shared$memory[]"), 1)
      << result.ptx();
  EXPECT_TRUE(llvm::Regex("st.shared.b32 ?\t?\\[%r[0-9]+\\+1024\\]").match(result.ptx()))
      << result.ptx();
  EXPECT_EQ(result.artifact.resources.at("shared_bytes"), 4096);
  expectAssembles(text, "sm_80");
}

TEST(NvidiaMath, ApproximationsKeepSubnormals) {
  std::string text = "%v = simt.global_load %p : !llvm.ptr<1> -> f32\n";
  for (const char *kind : {"exp2", "log2", "reciprocal", "sqrt", "rsqrt", "sin", "cos", "tanh"})
    text += std::string("%") + kind + " = simt.approx " + kind + " %v\n" +
            "simt.global_store %q, %" + kind + " mask %m : !llvm.ptr<1>, f32\n";
  text += "%d = simt.divide %v, %exp2\nsimt.global_store %q, %d : !llvm.ptr<1>, f32";
  NvidiaResult result = compileNvidia(text);
  ASSERT_EQ(result.error, "");
  for (const char *instruction :
       {"ex2.approx.f32", "lg2.approx.f32", "rcp.approx.f32", "sqrt.approx.f32", "rsqrt.approx.f32",
        "sin.approx.f32", "cos.approx.f32", "tanh.approx.f32", "div.full.f32"})
    EXPECT_TRUE(llvm::StringRef(result.ptx()).contains(instruction)) << instruction;
  EXPECT_EQ(countOf(result.ptx(), ".ftz"), 0) << result.ptx();
  expectAssembles(text, "sm_90a");
}

TEST(NvidiaMath, ProductsAndSumsKeepTheirRoundings) {
  NvidiaResult result = compileNvidia(R"(
    %v = simt.global_load %p : !llvm.ptr<1> -> f32
    %a = arith.mulf %v, %v : f32
    %b = arith.addf %a, %v : f32
    simt.global_store %q, %b : !llvm.ptr<1>, f32)");
  EXPECT_EQ(countOf(result.ptx(), "fma"), 0) << result.ptx();
}
