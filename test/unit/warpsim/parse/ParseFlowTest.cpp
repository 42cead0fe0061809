// Branch targets and the places where diverged lanes meet again.
#include "test/unit/warpsim/parse/ParseText.h"

using namespace tw::warpsim;

/// The kernel of a body whose every statement has a line of its own.
static Program flow(const std::string &body) { return parsed(ptxText("\n" + body)); }

/// The instruction on a line of the body, counted from 1.
static const Instruction &at(const Program &program, int line) {
  for (const Instruction &instruction : program.code)
    if (instruction.line == kBodyLine + line)
      return instruction;
  ADD_FAILURE() << "no instruction on line " << line;
  return program.code.front();
}

/// Where lanes that diverge on a line meet: a line of the body, or 0 at the end only.
static int meeting(const Program &program, int line) {
  int32_t index = at(program, line).reconverge;
  return index < 0 ? 0 : program.code[size_t(index)].line - kBodyLine;
}

static int target(const Program &program, int line) {
  return program.code[size_t(at(program, line).target)].line - kBodyLine;
}

TEST(ParseFlow, AnIfMeetsBehindItsBody) {
  Program program = flow("@%p1 bra $join;\n"
                         "add.s32 %r1, %r1, 1;\n"
                         "$join: mov.b32 %r2, %r1;\n"
                         "ret;\n");
  EXPECT_EQ(target(program, 1), 3);
  EXPECT_EQ(meeting(program, 1), 3);
}

TEST(ParseFlow, BothSidesOfAnIfElseMeet) {
  Program program = flow("@!%p1 bra $else;\n"
                         "add.s32 %r1, %r1, 1;\n"
                         "bra.uni $join;\n"
                         "$else: add.s32 %r1, %r1, 2;\n"
                         "$join: mov.b32 %r2, %r1;\n");
  EXPECT_TRUE(at(program, 1).guard.isNegated);
  EXPECT_EQ(meeting(program, 1), 5);
  EXPECT_EQ(meeting(program, 3), 0); // nothing diverges there
  EXPECT_TRUE(at(program, 3).isUniform);
}

// The producer's block is behind its join: the lowest program counter is not where lanes meet.
TEST(ParseFlow, ABlockBehindItsJoinMeetsAtTheJoin) {
  Program program = flow("@%p1 bra $producer;\n"
                         "$join: bar.sync 0;\n"
                         "ret;\n"
                         "$producer: st.shared.b32 [buffer], %r1;\n"
                         "bra.uni $join;\n");
  EXPECT_EQ(meeting(program, 1), 2);
}

TEST(ParseFlow, NestedIfsMeetInsideOut) {
  Program program = flow("@%p1 bra $outer;\n"
                         "@%p2 bra $inner;\n"
                         "add.s32 %r1, %r1, 1;\n"
                         "$inner: add.s32 %r1, %r1, 2;\n"
                         "$outer: mov.b32 %r2, %r1;\n");
  EXPECT_EQ(meeting(program, 1), 5);
  EXPECT_EQ(meeting(program, 2), 4);
}

TEST(ParseFlow, ALoopMeetsAtItsExit) {
  Program program = flow("$loop: add.s32 %r1, %r1, -1;\n"
                         "setp.ne.s32 %p1, %r1, 0;\n"
                         "@%p1 bra $loop;\n"
                         "mov.b32 %r2, %r1;\n");
  EXPECT_EQ(target(program, 3), 1);
  EXPECT_EQ(meeting(program, 3), 4);
}

TEST(ParseFlow, ABreakMeetsBehindTheLoopAndAContinueInIt) {
  Program program = flow("$loop: @%p1 bra $after;\n"
                         "@%p2 bra $next;\n"
                         "add.s32 %r1, %r1, 1;\n"
                         "$next: @%p3 bra $loop;\n"
                         "$after: mov.b32 %r2, %r1;\n");
  EXPECT_EQ(meeting(program, 1), 5);
  EXPECT_EQ(meeting(program, 2), 4);
  EXPECT_EQ(meeting(program, 4), 5);
}

TEST(ParseFlow, SeveralReturnsMeetAtTheEndOnly) {
  Program program = flow("@%p1 bra $other;\n"
                         "@%p2 bra $inner;\n"
                         "add.s32 %r1, %r1, 1;\n"
                         "$inner: ret;\n"
                         "$other: add.s32 %r1, %r1, 2;\n"
                         "ret;\n");
  EXPECT_EQ(meeting(program, 1), 0);
  EXPECT_EQ(meeting(program, 2), 4);
}

TEST(ParseFlow, AnEarlyExitToTheCommonReturnMeetsThere) {
  Program program = flow("@%p1 bra $end;\n"
                         "@%p2 bra $skip;\n"
                         "add.s32 %r1, %r1, 1;\n"
                         "$skip: add.s32 %r1, %r1, 2;\n"
                         "$end: ret;\n");
  EXPECT_EQ(meeting(program, 1), 5);
  EXPECT_EQ(meeting(program, 2), 4);
}

TEST(ParseFlow, AGuardedReturnKeepsTheOthersTogether) {
  Program program = flow("@%p1 bra $join;\n"
                         "@%p2 ret;\n"
                         "add.s32 %r1, %r1, 1;\n"
                         "$join: ret;\n");
  EXPECT_EQ(meeting(program, 1), 4);
}

TEST(ParseFlow, APathThatTrapsDoesNotKeepTheOthersApart) {
  Program program = flow("$loop: @%p1 bra $bad;\n"
                         "add.s32 %r1, %r1, 1;\n"
                         "@%p2 bra $loop;\n"
                         "ret;\n"
                         "$bad: @%p3 bra $worse;\n"
                         "add.s32 %r1, %r1, 1;\n"
                         "$worse: trap;\n"
                         "exit;\n");
  EXPECT_EQ(meeting(program, 1), 2);
  EXPECT_EQ(meeting(program, 3), 4);
  EXPECT_EQ(meeting(program, 5), 7); // inside the failing path
}

TEST(ParseFlow, AnIfInAnEndlessLoopMeetsInTheLoop) {
  Program program = flow("$loop: @%p1 bra $join;\n"
                         "add.s32 %r1, %r1, 1;\n"
                         "$join: add.s32 %r1, %r1, 2;\n"
                         "bra.uni $loop;\n");
  EXPECT_EQ(meeting(program, 1), 3);
}

TEST(ParseFlow, ASwitchMeetsBehindItsCases) {
  Program program = flow("$cases: .branchtargets $a, $b, $a;\n"
                         "brx.idx %r1, $cases;\n"
                         "$a: add.s32 %r1, %r1, 1;\n"
                         "bra.uni $join;\n"
                         "$b: add.s32 %r1, %r1, 2;\n"
                         "$join: ret;\n");
  EXPECT_EQ(meeting(program, 2), 6);
  const std::vector<int32_t> &targets = at(program, 2).targets;
  ASSERT_EQ(targets.size(), 3u);
  EXPECT_EQ(targets[0], targets[2]);
  EXPECT_EQ(program.code[size_t(targets[1])].line, kBodyLine + 5);
}

TEST(ParseFlow, LabelsRepeatInScopes) {
  Program program = flow("{ .reg .pred p;\n"
                         "wait: add.s32 %r1, %r1, 1;\n"
                         "@p bra wait; }\n"
                         "{ .reg .pred p;\n"
                         "wait: add.s32 %r1, %r1, 2;\n"
                         "@p bra wait; @p bra $end; }\n"
                         "$end: ret;\n");
  EXPECT_EQ(target(program, 3), 2);
  EXPECT_EQ(target(program, 6), 5);
  EXPECT_NE(at(program, 3).guard.reg.number, at(program, 6).guard.reg.number);
}

TEST(ParseFlow, RunningPastTheEndReturns) {
  Program program = flow("@%p1 bra $end;\n"
                         "add.s32 %r1, %r1, 1;\n"
                         "$end:\n");
  EXPECT_EQ(program.code.back().op, Op::Ret);
  EXPECT_EQ(program.functions.back().end, int32_t(program.code.size()));
  EXPECT_EQ(size_t(at(program, 1).target), program.code.size() - 1);
}
