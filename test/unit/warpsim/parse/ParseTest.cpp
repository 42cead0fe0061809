// What the parser decodes: operands, literals, variables, parameters, calls and locations.
#include "test/unit/warpsim/parse/ParseText.h"
#include <cstring>

using namespace tw::warpsim;

using OperandKind = Operand::Kind;

/// The first instruction of a kernel with this body.
static Instruction first(const std::string &body) {
  Program program = parsed(ptxText(body + "\n"));
  return program.code.empty() ? Instruction()
                              : program.code[size_t(program.findKernel("kernel")->begin)];
}

static uint64_t literal(const std::string &statement) {
  Instruction instruction = first(statement);
  EXPECT_EQ(instruction.sources.size(), 1u);
  EXPECT_EQ(instruction.sources.front().kind, OperandKind::Immediate);
  return instruction.sources.front().bits;
}

TEST(Parse, LiteralsHaveTheBitsOfTheirType) {
  EXPECT_EQ(literal("mov.b32 %r1, -1;"), 0xFFFFFFFFu);
  EXPECT_EQ(literal("mov.b64 %rd1, -1;"), ~uint64_t(0));
  EXPECT_EQ(literal("mov.b16 %h1, -2;"), 0xFFFEu);
  EXPECT_EQ(literal("mov.b32 %r1, 0x1FU;"), 31u);
  EXPECT_EQ(literal("mov.b32 %r1, 017;"), 15u);
  EXPECT_EQ(literal("mov.b32 %r1, 0b101;"), 5u);
  EXPECT_EQ(literal("mov.b32 %r1, ~1;"), 0xFFFFFFFEu);
  EXPECT_EQ(literal("mov.b32 %r1, 0f3F800000;"), 0x3F800000u);
  EXPECT_EQ(literal("mov.f32 %f1, 0fFFC00001;"), 0xFFC00001u); // NaN bits are kept
  EXPECT_EQ(literal("mov.f32 %f1, 1.5;"), 0x3FC00000u);
  EXPECT_EQ(literal("mov.f32 %f1, -1.5e0;"), 0xBFC00000u);
  EXPECT_EQ(literal("mov.f32 %f1, 0d3FF0000000000000;"), 0x3F800000u);
  EXPECT_EQ(literal("mov.f64 %d1, 0d3FF0000000000001;"), 0x3FF0000000000001u);
  EXPECT_EQ(literal("mov.f64 %d1, 0f3F800000;"), 0x3FF0000000000000u);
  EXPECT_EQ(literal("mov.u32 %r1, WARP_SZ;"), 32u);
  EXPECT_EQ(literal("mov.pred %p1, 1;"), 1u);
}

TEST(Parse, FieldsOfModifiers) {
  Instruction fma = first("fma.rz.ftz.sat.f32 %f1, %f2, 0f40000000, %f4;");
  EXPECT_EQ(fma.op, Op::Fma);
  EXPECT_EQ(fma.rounding, Rounding::Rz);
  EXPECT_TRUE(fma.isFtz && fma.isSaturating && !fma.isRelu);
  ASSERT_EQ(fma.sources.size(), 3u);
  EXPECT_EQ(fma.sources[1].bits, 0x40000000u);
  Instruction load =
      first("ld.global.nc.L1::evict_last.L2::128B.v4.f32 {%f1, %f2, _, %f4}, [%rd1+-16];");
  EXPECT_TRUE(load.isReadOnlyCache);
  EXPECT_EQ(load.vectorWidth, 4);
  EXPECT_EQ(load.modifiers, ".L1::evict_last.L2::128B");
  EXPECT_EQ(load.results[2].kind, OperandKind::Sink);
  EXPECT_EQ(load.address.offset, -16);
  Instruction atom = first("atom.acq_rel.sys.shared.cas.b64 %rd1, [%r1], %rd2, 5;");
  EXPECT_EQ(atom.atomOp, AtomOp::Cas);
  EXPECT_EQ(atom.order, Order::AcqRel);
  EXPECT_EQ(atom.scope, Scope::Sys);
  EXPECT_EQ(atom.space, Space::Shared);
  Instruction plain = first("atom.add.f32 %f1, [%rd1], %f2;");
  EXPECT_EQ(plain.order, Order::Relaxed);
  EXPECT_EQ(plain.scope, Scope::Gpu);
  EXPECT_EQ(plain.space, Space::Generic);
  Instruction compare = first("@!%p3 setp.ltu.or.ftz.f32 %p1|%p2, %f1, %f2, !%p4;");
  EXPECT_EQ(compare.compare, Compare::Ltu);
  EXPECT_EQ(compare.combine, Bool::Or);
  EXPECT_EQ(compare.results.size(), 2u);
  EXPECT_TRUE(compare.sources[2].isNegated && compare.guard.isNegated);
  EXPECT_EQ(compare.guard.reg.number, 3u);
  Instruction carry = first("madc.hi.cc.u32 %r1, %r2, %r3, %r4;");
  EXPECT_EQ(carry.op, Op::MadcHi);
  EXPECT_TRUE(carry.readsCarry && carry.writesCarry);
  EXPECT_EQ(first("membar.gl;").order, Order::SeqCst);
  EXPECT_EQ(first("fence.gpu;").order, Order::AcqRel);
  EXPECT_EQ(first("match.all.sync.b64 %r1|%p1, %rd1, -1;").vote, VoteMode::MatchAll);
  EXPECT_EQ(first("redux.sync.max.s32 %r1, %r2, -1;").atomOp, AtomOp::Max);
  EXPECT_TRUE(first("bar.sync 0, 64;").isAligned);
  EXPECT_FALSE(first("barrier.sync 0;").isAligned);
}

TEST(Parse, PacksAndSpecialRegisters) {
  Instruction pack = first("mov.b64 %rd1, {%r1, 7};");
  EXPECT_EQ(pack.sources.size(), 2u);
  Instruction unpack = first("mov.b32 {_, %h2}, %r1;");
  EXPECT_EQ(unpack.results[0].kind, OperandKind::Sink);
  EXPECT_EQ(unpack.results[1].reg.number, 2u);
  Instruction special = first("mov.u32 %r1, %lanemask_lt;");
  EXPECT_EQ(special.op, Op::MovSpecial);
  EXPECT_EQ(special.special, Special::LanemaskLt);
  EXPECT_EQ(first("mov.u64 %rd1, %clock64;").special, Special::Clock64);
  Instruction converted = first("cvt.u64.u32 %rd1, %ctaid.z;");
  EXPECT_EQ(converted.op, Op::MovSpecial); // into a register of its own, which cvt reads
  EXPECT_EQ(converted.special, Special::CtaidZ);
}

TEST(Parse, RegistersHaveFilesAndNames) {
  Program program = parsed(ptxText(".reg .b16 %h1x; .reg .b128 %wide<2>;\n"
                                   "mov.b128 {%rd1, %rd2}, %wide1;\nmov.b16 %h1x, %h3;\n"));
  const Function *kernel = program.findKernel("kernel");
  const Instruction &unpack = program.code[size_t(kernel->begin)];
  EXPECT_EQ(unpack.sources[0].reg.file, RegisterFile::Double);
  EXPECT_EQ(registerName(kernel, unpack.sources[0].reg), "%wide1");
  EXPECT_EQ(unpack.sources[0].reg.number % 2, kernel->registerNames.back().first.number % 2);
  const Instruction &move = program.code[size_t(kernel->begin) + 1];
  EXPECT_EQ(move.results[0].reg.file, RegisterFile::Word);
  EXPECT_EQ(printInstruction(program, move), "mov.b16 %h1x, %h3");
  EXPECT_EQ(kernel->numRegisters[0], 9u);
}

TEST(Parse, VariablesHaveTheirPlaces) {
  Program program = parsed(ptxText(".shared .align 8 .b32 own[3];\n"
                                   "ld.shared.b32 %r1, [own+4];\n"
                                   "mov.b64 %rd1, counter;\n"
                                   "ld.const.b32 %r2, [table+12];\n"
                                   "mov.b32 %r3, buffer;\n"));
  const Instruction *code = &program.code[size_t(program.findKernel("kernel")->begin)];
  EXPECT_EQ(code[0].address.offset, int64_t(kSharedBase) + 64 + 4);
  EXPECT_EQ(code[0].address.base.kind, OperandKind::None);
  EXPECT_EQ(code[1].sources[0].bits, kGlobalBase);
  EXPECT_EQ(code[2].address.offset, int64_t(kConstBase) + 12);
  EXPECT_EQ(code[3].sources[0].bits, kSharedBase);
  EXPECT_EQ(program.staticSharedBytes, 76u);
  EXPECT_EQ(program.globalImage, std::string("\7\0\0\0", 4));
  int32_t last = 0;
  ASSERT_EQ(program.constImage.size(), 16u);
  std::memcpy(&last, program.constImage.data() + 12, 4);
  EXPECT_EQ(last, 4);
}

static const std::string kHeader = ".version 8.7\n.target sm_80, debug\n.address_size 64\n";

TEST(Parse, InitializersFillTheImage) {
  Program program = parsed(kHeader + ".global .b8 a[2][3] = {{1, 2}, {3, 4, 5}};\n"
                                     ".global .align 16 .f32 f = 0f3F800000;\n"
                                     ".global .u64 pointers[2] = {generic(f)+4, a};\n"
                                     ".global .v2 .b16 pair;\n.global .b8 text[] = {104, 105};\n");
  EXPECT_EQ(program.globalImage.substr(0, 6), std::string("\1\2\3\4\5\0", 6));
  EXPECT_EQ(program.variables[1].offset, 16u);
  uint64_t pointers[2];
  std::memcpy(pointers, program.globalImage.data() + program.variables[2].offset, 16);
  EXPECT_EQ(pointers[0], kGlobalBase + 16 + 4);
  EXPECT_EQ(pointers[1], kGlobalBase);
  EXPECT_EQ(program.variables[3].bytes, 4u);
  EXPECT_EQ(program.variables[4].bytes, 2u);
}

TEST(Parse, DynamicSharedMemoryBeginsBehindTheStatic) {
  Program program = parsed(kHeader + ".extern .shared .align 32 .b8 dynamic[];\n"
                                     ".entry k() { .reg .b32 r;\n.shared .b8 own[20];\n"
                                     "mov.b32 r, dynamic;\nld.shared.b32 r, [dynamic+8]; ret; }\n");
  EXPECT_TRUE(program.hasDynamicShared);
  EXPECT_EQ(program.staticSharedBytes, 32u);
  EXPECT_EQ(program.code[0].sources[0].bits, kSharedBase + 32);
  EXPECT_EQ(program.code[1].address.offset, int64_t(kSharedBase) + 40);
}

TEST(Parse, KernelsHaveParametersAndLimits) {
  Program program =
      parsed(kHeader + ".visible .entry k(.param .u64 .ptr .global .align 16 out, .param .u32 n,\n"
                       ".param .align 8 .b8 pair[12], .param .f64 x)\n"
                       ".maxntid 128, 2\n.reqntid 64\n.minnctapersm 3\n.maxnreg 40\n"
                       "{ .reg .b64 a; ld.param.b64 a, [x]; mov.b64 a, pair; ret; }\n");
  const Function &kernel = program.functions[0];
  ASSERT_EQ(kernel.parameters.size(), 4u);
  EXPECT_TRUE(kernel.parameters[0].isPointer);
  EXPECT_FALSE(kernel.parameters[1].isPointer);
  EXPECT_EQ(kernel.parameters[2].offset, 16u);
  EXPECT_EQ(kernel.parameters[3].offset, 32u);
  EXPECT_EQ(kernel.maxNtid, (std::array<uint32_t, 3>{128, 2, 1}));
  EXPECT_EQ(kernel.reqNtid, (std::array<uint32_t, 3>{64, 1, 1}));
  EXPECT_EQ(kernel.minCtas, 3u);
  EXPECT_EQ(kernel.maxRegisters, 40u);
  EXPECT_EQ(program.code[0].space, Space::Param);
  EXPECT_EQ(program.code[0].address.offset, 32);
  EXPECT_EQ(program.code[1].sources[0].bits, 16u);
}

TEST(Parse, ArgumentsAreStoredWhereTheCalleeReadsThem) {
  Program program =
      parsed(kHeader + ".func (.param .b32 back) f(.param .b32 a, .param .align 8 .b8 s[16]) {\n"
                       ".reg .b32 r; .reg .b64 p; ld.param.b32 r, [s+8]; mov.b64 p, s;\n"
                       "st.param.b32 [back], r; ret; }\n"
                       ".entry k() { .reg .b32 r; .local .align 4 .b8 stack[20];\n"
                       "st.local.b32 [stack+4], 1;\n"
                       "{ .param .b32 x; .param .align 8 .b8 y[16]; .param .b32 z;\n"
                       "st.param.b32 [x], r; st.param.b32 [y+8], r;\n"
                       "call.uni (z), f, (x, y);\nld.param.b32 r, [z]; } ret; }\n");
  const Function &callee = program.functions[0], &kernel = program.functions[1];
  const Instruction *f = &program.code[size_t(callee.begin)];
  const Instruction *k = &program.code[size_t(kernel.begin)];
  EXPECT_EQ(f[0].space, Space::Local);
  EXPECT_EQ(f[0].address.offset, k[2].address.offset); // s+8 and y+8
  EXPECT_EQ(f[1].sources[0].bits + 8, uint64_t(f[0].address.offset));
  EXPECT_EQ(f[2].address.offset, k[4].address.offset); // back and z
  EXPECT_NE(k[1].address.offset, k[2].address.offset);
  EXPECT_GE(f[2].address.offset, 20); // behind the caller's frame
  EXPECT_EQ(k[0].address.offset, 4);
  EXPECT_EQ(k[3].callee, 0);
  EXPECT_EQ(kernel.localBytes, callee.localBytes);
}

TEST(Parse, RegisterParametersArePassedByTheCall) {
  Program program = parsed(kHeader + ".func (.reg .b32 sum) f(.reg .b32 a, .reg .b64 b) {\n"
                                     "add.s32 sum, a, 1; ret; }\n"
                                     ".entry k() { .reg .b32 r;\ncall (r), f, (r, 7);\nret; }\n");
  const Function &callee = program.functions[0];
  EXPECT_EQ(callee.arguments.size(), 2u);
  EXPECT_EQ(callee.results.size(), 1u);
  const Instruction &call = program.code[size_t(program.functions[1].begin)];
  ASSERT_EQ(call.sources.size(), 2u);
  EXPECT_EQ(call.sources[1].bits, 7u);
  EXPECT_EQ(call.results.size(), 1u);
}

TEST(Parse, AHostFunctionGetsValues) {
  Program program = parsed(ptxText("{ .param .b64 a; .param .b64 b; .param .b32 c;\n"
                                   "st.param.b64 [a], %rd1; st.param.b64 [b], %rd2;\n"
                                   "@%p1 call.uni (c), vprintf, (a, b);\n"
                                   "ld.param.b32 %r1, [c]; }\n"));
  const Instruction *code = &program.code[size_t(program.findKernel("kernel")->begin)];
  std::vector<Op> ops;
  for (int i = 0; i < 7; ++i)
    ops.push_back(code[i].op);
  EXPECT_EQ(ops, (std::vector<Op>{Op::St, Op::St, Op::Ld, Op::Ld, Op::Call, Op::St, Op::Ld}));
  EXPECT_EQ(code[0].address.offset, code[2].address.offset);
  EXPECT_EQ(code[5].address.offset, code[6].address.offset);
  EXPECT_EQ(code[4].calleeName, "vprintf");
  EXPECT_EQ(code[4].callee, -1);
  EXPECT_EQ(code[4].sources[1].reg.number, code[3].results[0].reg.number);
  EXPECT_EQ(code[4].results[0].reg.number, code[5].sources[0].reg.number);
  for (int i = 2; i < 6; ++i)
    EXPECT_EQ(code[i].guard.kind, OperandKind::Register);
}

TEST(Parse, LocationsFollowTheCallsTheyAreInlinedAt) {
  Program program =
      parsed(ptxText(".loc 1 10 3\nret;\n"
                     ".loc 2 20 5, function_name $name, inlined_at 1 10 3\nret;\n"
                     ".loc 3 30 7, function_name $name+8, inlined_at 2 20 5\nret;\n") +
             ".file 1 \"kernel.py\"\n.file 2 \"dir\" \"other.py\", 5, 6\n");
  const Instruction *code = &program.code[size_t(program.findKernel("kernel")->begin)];
  const SourceLocation &inner = program.locations[size_t(code[2].location)];
  EXPECT_EQ(inner.line, 30);
  const SourceLocation &middle = program.locations[size_t(inner.inlinedAt)];
  EXPECT_EQ(middle.line, 20);
  EXPECT_EQ(program.locations[size_t(middle.inlinedAt)].line, 10);
  EXPECT_EQ(program.locations[size_t(middle.inlinedAt)].inlinedAt, -1);
  EXPECT_EQ(program.files.at(1), "kernel.py");
  EXPECT_EQ(program.files.at(2), "dir/other.py");
}

TEST(Parse, PrintsOperandsByTheirNames) {
  for (const char *text :
       {"@!%p1 add.s32 %r1, %r2, -5", "ld.global.v2.b64 {%rd1, %rd2}, [%rd3+-8]",
        "ld.param.b32 %r1, [kernel_param_0+4]", "st.shared.f32 [buffer+16], 0f3F800000",
        "mul.wide.s32 %rd1, %r1, -4", "bar.red.popc.u32 %r1, 0, 32, !%p1",
        "bar.red.or.pred %p1, 0, %p2", "createpolicy.fractional.L2::evict_last.b64 %rd1",
        "mov.u32 %r1, %tid.x", "atom.global.add.f32 _, [%rd1], %f1",
        "cvta.to.global.u64 %rd1, %rd2", "mov.b64 {%r1, _}, %rd1",
        "shfl.sync.bfly.b32 %r1|%p1, %r2, 16, 31, 0xFFFFFFFF"}) {
    std::string body = std::string(text) + ";\n";
    Program program = parsed(ptxText(body));
    EXPECT_EQ(printInstruction(program, first(body)), text);
  }
}
