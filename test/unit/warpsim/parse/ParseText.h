// Short PTX texts for the tests of the parser.
#ifndef TEST_UNIT_WARPSIM_PARSETEXT_H
#define TEST_UNIT_WARPSIM_PARSETEXT_H
#include "backend/warpsim/ptx/Parse.h"
#include <gtest/gtest.h>

namespace tw::warpsim {

/// A module with one kernel of this body, registers of every type, a variable in each space and
/// functions to call. The body begins on line kBodyLine.
constexpr int kBodyLine = 12;
inline std::string ptxText(const std::string &body) {
  return ".version 8.7\n.target sm_80\n.address_size 64\n"
         ".func callee() { ret; }\n"
         ".func taker(.param .align 16 .b8 taken[64]) { ret; }\n"
         ".extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 arguments);\n"
         ".global .align 4 .b32 counter = 7; .const .b32 table[4] = {1, 2, 3, 4};\n"
         ".shared .align 16 .b8 buffer[64];\n"
         ".visible .entry kernel(.param .b128 kernel_param_0, .param .u64 .ptr .global "
         "kernel_param_1) {\n"
         ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<20>; .reg .b64 %rd<9>;\n"
         ".reg .b128 %q<3>; .reg .f32 %f<9>; .reg .f64 %d<9>; .reg .b8 %b<3>;\n" +
         body + "}\n";
}

inline Program parsed(const std::string &text) {
  ParseError error;
  std::optional<Program> program = parsePtx(text, error);
  EXPECT_TRUE(program) << error.line << ": " << error.message << "\n" << text;
  return program ? std::move(*program) : Program();
}

} // namespace tw::warpsim
#endif
