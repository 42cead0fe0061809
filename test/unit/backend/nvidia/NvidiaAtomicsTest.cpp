// Atomics: one instruction where the machine has it, else a loop.
#include "test/unit/backend/nvidia/NvidiaKernel.h"

using namespace tw;
using namespace tw::test;

/// A used atomic of a kind on a type.
static std::string atomicOf(const std::string &kind, const std::string &type,
                            const std::string &order = "acq_rel", bool isUsed = true) {
  std::string text = "%v = simt.global_load %p : !llvm.ptr<1> -> " + type + "\n%o = simt.atomic " +
                     kind + " " + order + " gpu %q, %v mask %m : !llvm.ptr<1>, " + type + "\n";
  return isUsed ? text + "simt.global_store %p, %o : !llvm.ptr<1>, " + type : text;
}

TEST(NvidiaAtomics, NativeOnesAreOnePredicatedInstruction) {
  const std::tuple<const char *, const char *, const char *> rows[] = {
      {"add", "i32", "add.u32"},
      {"add", "i64", "add.u64"},
      {"fadd", "f32", "add.f32"},
      {"fadd", "f64", "add.f64"},
      {"fadd", "f16", "add.noftz.f16"},
      {"max", "i32", "max.s32"},
      {"min", "i64", "min.s64"},
      {"umax", "i32", "max.u32"},
      {"umin", "i64", "min.u64"},
      {"and", "i32", "and.b32"},
      {"or", "i64", "or.b64"},
      {"xor", "i32", "xor.b32"},
      {"xchg", "f32", "exch.b32"},
      {"xchg", "f64", "exch.b64"},
      {"xchg", "!llvm.ptr<1>", "exch.b64"}};
  for (auto [kind, type, operation] : rows) {
    NvidiaResult result = compileNvidia(atomicOf(kind, type));
    ASSERT_EQ(result.error, "") << kind << type;
    EXPECT_EQ(countOf(result.ptx(), std::string("atom.acq_rel.gpu.global.") + operation), 1)
        << result.ptx();
    EXPECT_EQ(countOf(result.ptx(), "bra"), 0) << result.ptx();
    expectAssembles(atomicOf(kind, type), "sm_80");
  }
}

TEST(NvidiaAtomics, UnusedResultsMakeReductions) {
  EXPECT_EQ(countOf(compileNvidia(atomicOf("fadd", "f32", "relaxed", false)).ptx(),
                    "red.relaxed.gpu.global.add.f32"),
            1);
  EXPECT_EQ(countOf(compileNvidia(atomicOf("add", "i32", "release", false)).ptx(),
                    "red.release.gpu.global.add.u32"),
            1);
  // A reduction cannot acquire, and there is none that exchanges.
  EXPECT_EQ(countOf(compileNvidia(atomicOf("add", "i32", "acquire", false)).ptx(),
                    "atom.acquire.gpu.global.add.u32"),
            1);
  EXPECT_EQ(countOf(compileNvidia(atomicOf("xchg", "i32", "relaxed", false)).ptx(),
                    "atom.relaxed.gpu.global.exch.b32"),
            1);
}

TEST(NvidiaAtomics, OthersAreLoopsOfCompareAndSwap) {
  const std::tuple<const char *, const char *, const char *> rows[] = {
      {"fadd", "bf16", "cas.b16"}, {"fmax", "f32", "cas.b32"}, {"fmin", "f64", "cas.b64"},
      {"fmax", "f16", "cas.b16"},  {"add", "i16", "cas.b16"},  {"add", "i8", "cas.b32"},
      {"umax", "i8", "cas.b32"},   {"xchg", "i8", "cas.b32"},  {"xchg", "f16", "cas.b16"}};
  for (auto [kind, type, operation] : rows) {
    NvidiaResult result = compileNvidia(atomicOf(kind, type));
    ASSERT_EQ(result.error, "") << kind << type;
    EXPECT_EQ(countOf(result.ptx(), std::string("atom.acq_rel.gpu.global.") + operation), 1)
        << result.ptx();
    EXPECT_GT(countOf(result.ptx(), "bra"), 0) << result.ptx();
    for (const std::string &arch : nvidiaArchs())
      expectAssembles(atomicOf(kind, type), arch);
  }
}

TEST(NvidiaAtomics, LaterGpusAddBf16) {
  EXPECT_EQ(countOf(compileNvidia(atomicOf("fadd", "bf16"), "sm_90a").ptx(), "add.noftz.bf16"), 1);
  expectAssembles(atomicOf("fadd", "bf16"), "sm_90a");
}

TEST(NvidiaAtomics, CompareAndSwap) {
  for (auto [type, operation] : {std::pair("i32", "cas.b32"), std::pair("i64", "cas.b64"),
                                 std::pair("f16", "cas.b16"), std::pair("i8", "cas.b32")}) {
    std::string text = std::string("%v = simt.global_load %p : !llvm.ptr<1> -> ") + type +
                       "\n%o = simt.atomic xchg relaxed sys %q, %v expecting %v : " + type +
                       " mask %m : !llvm.ptr<1>, " + type +
                       "\nsimt.global_store %p, %o : !llvm.ptr<1>, " + type;
    NvidiaResult result = compileNvidia(text);
    ASSERT_EQ(result.error, "") << type;
    EXPECT_EQ(countOf(result.ptx(), std::string("atom.relaxed.sys.global.") + operation), 1)
        << result.ptx();
    expectAssembles(text, "sm_80");
  }
}
