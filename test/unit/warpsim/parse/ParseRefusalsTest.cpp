// What the parser refuses, with the line and the message: one case for each kind of error.
#include "test/unit/warpsim/parse/ParseText.h"

using namespace tw::warpsim;

namespace {
struct Refusal {
  const char *text; // of the body, or the whole module
  int line;         // from the first line of `text`
  const char *message;
};
} // namespace

static void expectRefusal(const Refusal &refusal, const std::string &text, int firstLine) {
  SCOPED_TRACE(refusal.text);
  ParseError error;
  ASSERT_FALSE(parsePtx(text, error));
  EXPECT_EQ(error.line, firstLine + refusal.line - 1);
  EXPECT_EQ(error.message, refusal.message);
}

static constexpr Refusal kBodies[] = {
    // Instructions.
    {"vadd.s32.s32.s32 %r1, %r2, %r3;", 1, "unknown instruction vadd"},
    {"ret;\n\nadd.foo.s32 %r1, %r2, %r3;", 3, "unknown modifier .foo of add"},
    {"add.sat.u32 %r1, %r2, %r3;", 1, "modifier .u32 does not fit here in add.sat.u32"},
    {"fma.ftz.rn.f32 %f1, %f1, %f1, %f1;", 1, "modifier .ftz does not fit here in fma.ftz.rn.f32"},
    {"add %r1, %r2, %r3;", 1, "add lacks a modifier or a type"},
    {"fma.f32 %f1, %f1, %f1, %f1;", 1, "modifier .f32 does not fit here in fma.f32"},
    {"wmma.load.a.sync.aligned.row.m16n16k16.f16 %r1;", 1, "unknown instruction wmma"},
    // Operands.
    {"add.s32 %r1, %r2;", 1, "add needs more operands"},
    {"add.s32 %r1, %r2, %r3, %r4;", 1, "add has too many operands"},
    {"add.s32 %r1, %r99, %r3;", 1, "register %r99 is not declared"},
    {"add.s32 %r1, %r01, %r3;", 1, "register %r01 is not declared"},
    {"add.s32 %r1, %rd2, %r3;", 1, "register %rd2 of type .b64 cannot be a .s32 operand"},
    {"add.s32 %r1, %f2, %r3;", 1, "register %f2 of type .f32 cannot be a .s32 operand"},
    {"add.f16 %r1, %h2, %h3;", 1, "register %r1 of type .b32 cannot be a .f16 operand"},
    {"ld.global.b64 %r1, [%rd1];", 1, "register %r1 of type .b32 cannot be a .b64 operand"},
    {"ld.global.u16 %f1, [%rd1];", 1, "register %f1 of type .f32 cannot be a .u16 operand"},
    {"add.s32 _, %r2, %r3;", 1, "register _ is not declared"},
    {"add.s32 %p1, %r2, %r3;", 1, "register %p1 of type .pred cannot be a .s32 operand"},
    {"selp.b32 %r1, %r2, %r3, %r4;", 1, "register %r4 of type .b32 cannot be a .pred operand"},
    {"add.s32 %r1, %r2, 1.5;", 1, "literal 1.5 cannot be a .s32 operand"},
    {"add.f32 %f1, %f2, 1;", 1, "literal 1 cannot be a .f32 operand"},
    {"add.f16 %h1, %h2, 0x3C00;", 1, "literal 0x3C00 cannot be a .f16 operand"},
    {"mov.b64 %rd1, 0f3F800000;", 1, "literal 0f3F800000 cannot be a .b64 operand"},
    {"mov.f32 %f1, 0f3F8000;", 1, "literal 0f3F8000 needs 8 hexadecimal digits"},
    {"mov.b32 %r1, 12z;", 1, "literal 12 is not a 64-bit integer"},
    {"mov.b32 %r1, 0x10000000000000000;", 1, "literal 0x10000000000000000 is not a 64-bit integer"},
    {"mov.b64 %rd1, nowhere;", 1, "unknown name 'nowhere'"},
    {"mov.u32 %r1, counter;", 1, "the address of 'counter' cannot be a .u32 operand"},
    {"add.s32 %r1, %r2, buffer;", 1, "the address of 'buffer' cannot be a .s32 operand"},
    {"mov.u32 %r1, %clock64;", 1, "special register %clock64 is not a .u32"},
    {"add.u32 %r1, %tid.x, 1;", 1, "special register %tid cannot be read here"},
    {"mov.u32 %r1, %envreg3;", 1, "register %envreg3 is not declared"},
    {"mov.b32 {%r1, %r2}, %r3;", 1, "register %r1 of type .b32 cannot be a .b16 operand"},
    {"mov.b64 {%r1, %r2, %r3}, %rd1;", 1, ".b64 has no 3 parts"},
    {"mov.u64 %rd1, {%r1, %r2};", 1, ".u64 has no 2 parts"},
    {"ld.global.v4.b32 {%r1, %r2, %r3}, [%rd1];", 1, "expected ',' instead of '}'"},
    {"ld.global.v2.b32 %r1, [%rd1];", 1, "expected a vector of 2 registers"},
    {"ld.global.v4.b64 {%rd1, %rd1, %rd1, %rd1, %rd1}, [%rd1];", 1, "expected '}' instead of ','"},
    {"ld.global.v4.b128 {%q1, %q1, %q1, %q1}, [%rd1];", 1, "a vector of 64 bytes is too wide"},
    {"discard.global.L2 [%rd1], %r1;", 1, "expected an integer instead of '%r1'"},
    // Addresses.
    {"ld.global.b32 %r1, %rd1;", 1, "expected '[' instead of '%rd1'"},
    {"ld.global.b32 %r1, [%r2];", 1, "register %r2 of type .b32 cannot hold this address"},
    {"ld.shared.b32 %r1, [%f2];", 1, "register %f2 of type .f32 cannot hold this address"},
    {"ld.global.b32 %r1, [buffer];", 1, "'buffer' is not in the space of this access"},
    {"ld.param.b32 %r1, [kernel_param_7];", 1, "unknown name 'kernel_param_7'"},
    {"ld.global.b32 %r1, [%rd1+%r1];", 1, "expected an offset instead of '%r1'"},
    {"st.param.b32 [kernel_param_0], %r1;", 1, "the parameters of a kernel cannot be stored to"},
    // Names and control flow.
    {"bra $nowhere;", 1, "unknown label '$nowhere'"},
    {"{ $inner: ret; }\nbra $inner;", 2, "unknown label '$inner'"},
    {"$twice: ret;\n$twice: ret;", 2, "label '$twice' is defined twice"},
    {"@%r1 ret;", 1, "register %r1 of type .b32 cannot be a .pred operand"},
    {"brx.idx %r1, $none;", 1, "'$none' is not a list of .branchtargets"},
    {"add.s32 %r1, %r2, %r3", 2, "expected ';' instead of '}'"},
    {"{ add.s32 %r1, %r2, %r3;\n", 4, "the body of 'kernel' has no end"},
    // Declarations.
    {".reg .b32 %r<4>;", 1, "register %r is declared twice"},
    {".reg .bf16 %x;", 1, "'.bf16' is not a type of registers"},
    {".reg .b32 %x<2000000>;", 1, "number of registers out of range: 2000000"},
    {".reg .b32 %x<0>;", 1, "number of registers out of range: 0"},
    {".shared .b8 big[99999999999];", 1, "array of 99999999999 elements is too large"},
    {".shared .align 3 .b8 odd[4];", 1, "alignment 3 is not a power of two"},
    {".shared .b8 buffer;\n.shared .b8 buffer;", 2, "variable 'buffer' is declared twice"},
    {".shared .b8 unsized[];", 1, "variable 'unsized' has no size"},
    {".tex .u64 texture;", 1, "unknown directive .tex in a function"},
    {".loc 1 2 3, inlined 4;", 1, "unknown attribute 'inlined' of .loc"},
    // Calls.
    {"call nobody;", 1, "unknown function 'nobody'"},
    {"call kernel;", 1, "kernel 'kernel' cannot be called"},
    {"call (%r1), %rd1, (%r2);", 1, "an indirect call is not supported"},
    {"call taker;", 1, "'taker' has 1 argument"},
    {"call callee, (%r1);", 1, "'callee' has 0 arguments"},
    {"call taker, (%r1);", 1, "'%r1' is no .param variable"},
    {".param .b32 p;\ncall taker, (p);", 2, "'p' has 4 bytes, the function wants 64"},
    {".param .b8 p[64];\ncall taker, (p);\ncall taker, (p);", 3, "'p' is passed to two calls"},
    {".param .b8 p[64];\nst.param.b32 [p], 1;\ncall callee;\ncall taker, (p);", 4,
     "a call stands between the stores to 'p' and its own call"},
    {"ret;\n.param .b8 p[64];\nst.param.b32 [p], 1;", 2, "parameter 'p' belongs to no call"},
};

TEST(ParseRefusals, OfABody) {
  for (const Refusal &refusal : kBodies)
    expectRefusal(refusal, ptxText(std::string(refusal.text) + "\n"), kBodyLine);
}

// Suffixes that another instruction has, or the same one elsewhere.
static constexpr const char *kNearMisses[] = {
    "add.b32 %r1, %r2, %r3;",
    "mul.s32 %r1, %r2, %r3;",
    "mul.wide.s64 %rd1, %rd2, %rd3;",
    "and.u32 %r1, %r2, %r3;",
    "shl.s32 %r1, %r2, 1;",
    "selp.pred %p1, %p2, %p3, %p4;",
    "setp.ltu.s32 %p1, %r1, %r2;",
    "setp.lo.s32 %p1, %r1, %r2;",
    "fma.f32 %f1, %f2, %f3, %f4;",
    "fma.rn.s32 %r1, %r2, %r3, %r4;",
    "sqrt.f32 %f1, %f2;",
    "ex2.f32 %f1, %f2;",
    "tanh.approx.ftz.f32 %f1, %f2;",
    "cvt.f32.s32 %f1, %r1;",
    "cvt.rn.s32.f32 %r1, %f1;",
    "atom.global.add.s64 %rd1, [%rd2], %rd3;",
    "atom.global.min.f32 %f1, [%rd2], %f3;",
    "atom.global.cas.f32 %f1, [%rd2], %f3, %f4;",
    "red.global.exch.b32 [%rd2], %r3;",
    "red.acquire.gpu.global.add.u32 [%rd2], %r3;",
    "ld.release.gpu.global.b32 %r1, [%rd1];",
    "st.acquire.gpu.global.b32 [%rd1], %r1;",
    "ld.shared.nc.b32 %r1, [%r2];",
    "st.global.nc.b32 [%rd1], %r1;",
    "shfl.bfly.b32 %r1, %r2, 1, 31;",
    "shfl.sync.bfly.b64 %rd1, %rd2, 1, 31, -1;",
    "vote.ballot.b32 %r1, %p1;",
    "redux.sync.add.f32 %f1, %f2, -1;",
    "bar.sync.aligned 0;",
    "membar.gpu;",
};

TEST(ParseRefusals, OfNearMisses) {
  for (const char *text : kNearMisses) {
    SCOPED_TRACE(text);
    ParseError error;
    ASSERT_FALSE(parsePtx(ptxText(std::string("ret;\n") + text + "\n"), error));
    EXPECT_EQ(error.line, kBodyLine + 1);
    bool namesModifier = error.message.find("modifier") != std::string::npos;
    EXPECT_TRUE(namesModifier) << error.message;
  }
}

// What an assembler for sm_80 refuses too, by the architecture that has it first.
static constexpr struct {
  const char *text;
  unsigned arch;
} kNewer[] = {
    {"stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r2};", 90},
    {"elect.sync _|%p1, -1;", 90},
    {"add.bf16x2 %r1, %r2, %r3;", 90},
    {"mul.bf16 %h1, %h2, %h3;", 90},
    {"max.s16x2 %r1, %r2, %r3;", 90},
    {"min.xorsign.abs.f32 %f1, %f2, %f3;", 86},
    {"setp.lt.bf16 %p1, %h1, %h2;", 90},
    {"tanh.approx.bf16x2 %r1, %r2;", 90},
    {"ex2.approx.ftz.bf16 %h1, %h2;", 90},
    {"cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;", 89},
    {"cvt.rn.f16x2.e5m2x2 %r1, %h1;", 89},
    {"cvt.rn.bf16.s32 %h1, %r1;", 90},
    {"cvt.rz.relu.satfinite.tf32.f32 %r1, %f1;", 100},
    {"cvt.rs.relu.satfinite.bf16x2.f32 %r1, %f1, %f2, %r2;", 100},
    {"add.rz.f32x2 %rd1, %rd2, %rd3;", 100},
    {"fma.rn.ftz.f32x2 %rd1, %rd2, %rd3, %rd4;", 100},
    {"atom.global.add.noftz.bf16x2 %r1, [%rd1], %r2;", 90},
    {"red.global.add.v2.f32 [%rd1], {%f1, %f2};", 90},
    {"fence.proxy.async;", 90},
    {"fence.proxy.async.shared::cluster;", 90},
};

TEST(ParseRefusals, OfWhatTheTargetLacks) {
  for (const auto &newer : kNewer) {
    std::string text = ptxText(std::string(newer.text) + "\n"), arch = std::to_string(newer.arch);
    ParseError error;
    ASSERT_FALSE(parsePtx(text, error)) << newer.text;
    EXPECT_NE(error.message.find(" needs sm_" + arch + ", and the target is sm_80"),
              std::string::npos)
        << error.message;
    EXPECT_TRUE(parsePtx(text.replace(text.find("sm_80"), 5, "sm_" + arch), error))
        << error.message;
  }
}

TEST(ParseRefusals, OfWarpgroupsBeyondTheirTarget) {
  auto messageFor = [](const char *version, const char *target) {
    std::string text = ptxText("wgmma.fence.sync.aligned;\n");
    text.replace(text.find("8.7"), 3, version).replace(text.find("sm_80"), 5, target);
    ParseError error;
    return parsePtx(text, error) ? "" : error.message;
  };
  const std::string needs = "wgmma.fence.sync.aligned needs ";
  EXPECT_EQ(messageFor("8.0", "sm_90a"), "");
  EXPECT_EQ(messageFor("7.8", "sm_90a"), needs + "PTX 8.0, and the version is 7.8");
  EXPECT_EQ(messageFor("8.0", "sm_90"), needs + "sm_90a, and the target is sm_90");
  EXPECT_EQ(messageFor("8.6", "sm_100a"), needs + "sm_90a and is gone from the next generation on, "
                                                  "and the target is sm_100a");
}

TEST(ParseRefusals, OfWarpgroupOperands) {
  auto messageFor = [](const std::string &operands) {
    std::string text =
        ptxText("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " + operands + ";\n");
    ParseError error;
    bool isParsed = bool(parsePtx(text.replace(text.find("sm_80"), 5, "sm_90a"), error));
    return isParsed ? "" : error.message;
  };
  const std::string d = "{%f1, %f2, %f3, %f4}, ", a = "{%r1, %r2, %r3, %r4}, ";
  EXPECT_EQ(messageFor(d + "%rd1, %rd2, %p1, 1, -1, 0, 1"), "");
  EXPECT_EQ(messageFor(d + a + "%rd2, !%p1, -1, 1, 1"), "");
  EXPECT_EQ(messageFor(d + "%rd1, %rd2, %p1, 1, 2, 0, 1"), "expected 1 or -1 instead of 2");
  EXPECT_EQ(messageFor(d + "%rd1, %rd2, %p1, 1, 1, 0, 2"), "expected 0 or 1 instead of 2");
  EXPECT_EQ(messageFor(d + "%rd1, %rd2, %p1, 1, 1"), "wgmma needs more operands");
  EXPECT_EQ(messageFor(d + a + "%rd2, %p1, 1, 1, 0, 1"), "wgmma has too many operands");
  EXPECT_EQ(messageFor("{%f1, %f2}, %rd1, %rd2, %p1, 1, 1, 0, 1"), "expected ',' instead of '}'");
  EXPECT_EQ(messageFor("%f1, %rd1, %rd2, %p1, 1, 1, 0, 1"), "expected a vector of 4 registers");
  EXPECT_EQ(messageFor("{_, %f2, %f3, %f4}, %rd1, %rd2, %p1, 1, 1, 0, 1"),
            "register _ is not declared");
  EXPECT_EQ(messageFor(d + "%r1, %rd2, %p1, 1, 1, 0, 1"),
            "register %r1 of type .b32 cannot be a .b64 operand");
}

TEST(ParseRefusals, OfWhatLaterTargetsLack) {
  std::string text = ptxText("cvt.rs.f16x2.f32 %r1, %f1, %f2, %r2;\n");
  ParseError error;
  ASSERT_FALSE(parsePtx(text.replace(text.find("sm_80"), 5, "sm_120"), error));
  EXPECT_NE(error.message.find("gone from the next generation on, and the target is sm_120"),
            std::string::npos)
      << error.message;
}

static constexpr Refusal kHeaders[] = {
    {"", 1, "a PTX text begins with .version"},
    {".version eight\n", 1, "expected a version like 8.7 instead of 'eight'"},
    {".version 8.7\n.address_size 64\n", 3, "the text has no .target"},
    {".version 8.7\n.target gfx942\n", 3, "unknown target 'gfx942'"},
    {".version 8.7\n.target sm_80\n.address_size 32\n", 3, ".address_size must be 64"},
};

// Behind the three lines of a header.
static constexpr Refusal kModules[] = {
    {".bogus 3;", 1, "unknown directive .bogus"},
    {"add.s32 %r1, %r1, %r1;", 1, "expected a directive instead of 'add'"},
    {"/* no end", 1, "comment without an end"},
    {".file 1 \"no end", 1, "string without an end"},
    {"#", 1, "character '#' has no meaning here"},
    {".section .debug_info { .b8 1", 1, "section without an end"},
    {".local .b8 stack[4];", 1, ".local variables belong to functions"},
    {".extern .global .b32 elsewhere;", 1, "variable 'elsewhere' is defined elsewhere"},
    {".global .b8 few[2] = {1, 2, 3};", 1, "more initial values than 'few' has elements"},
    {".global .b32 wrong = 1.5;", 1, "literal 1.5 cannot be a .b32 operand"},
    {".global .b32 address = address;", 1, "'address' is not a variable whose address can be here"},
    {".entry k() .bogus { ret; }", 1, "unknown directive .bogus of a function"},
    {".entry k() { ret; }\n.entry k() { ret; }", 2, "function 'k' is defined twice"},
    {".func f();\n.func f(.param .b32 a) { ret; }", 2,
     "function 'f' was declared differently before"},
    {".func f();\n.entry k() {\ncall f; ret; }", 3, "function 'f' has no body"},
    {".func f() {\ncall f;\nret; }", 2, "function 'f' calls itself"},
    {".func g();\n.func f() { call g; ret; }\n.func g() { call f; ret; }", 2,
     "function 'g' calls itself"},
    {".entry k(.param .pred p) { ret; }", 1, "'.pred' is not a type of parameters"},
    {".entry k(.reg .b32 r) { ret; }", 1, "expected .param instead of '.reg'"},
    {".func f(.param .b8 a[3]) { ret; }\n.entry k() {\n.param .b8 x[3];\ncall f, (x", 4,
     "'f' has 1 argument"},
};

TEST(ParseRefusals, OfAModule) {
  for (const Refusal &refusal : kHeaders)
    expectRefusal(refusal, refusal.text, 1);
  const std::string header = ".version 8.7\n.target sm_80\n.address_size 64\n";
  for (const Refusal &refusal : kModules)
    expectRefusal(refusal, header + refusal.text, 4);
}
