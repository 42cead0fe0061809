// Code for processors finds in an exported package what it finds in this process.
#include "passes/simd/ProgramLayout.h"
#include "runtime/aot/Tables.h"
#include <gtest/gtest.h>

#define EXPECT_SAME_PLACE(theirs, ours)                                                            \
  EXPECT_EQ(offsetof(tw_program, theirs), offsetof(TwProgram, ours));                              \
  EXPECT_EQ(sizeof(tw_program::theirs), sizeof(TwProgram::ours))

TEST(AotLayoutTest, ProgramsOfPackagesHaveTheLayoutThatCodeIsCompiledFor) {
  EXPECT_EQ(sizeof(tw_program), sizeof(TwProgram));
  EXPECT_SAME_PLACE(program_id, programId);
  EXPECT_SAME_PLACE(num_programs, numPrograms);
  EXPECT_SAME_PLACE(scratch, scratch);
  EXPECT_SAME_PLACE(launch, launch);
  EXPECT_SAME_PLACE(until_poll, untilPoll);
  EXPECT_SAME_PLACE(arguments, arguments);
  EXPECT_SAME_PLACE(locks, locks);
  EXPECT_EQ(int(TW_LOCK_BYTES), tw::simd::kLockBytes);
}
