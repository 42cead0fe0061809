// Prints, assertions and assumptions of the reference device.
#include "runtime/codes/Codes.h"
#include "test/unit/reference/ReferenceHarness.h"

using namespace tw;
using namespace tw::test;

TEST(PrintTest, OneLinePerElementWithProgramAndIndex) {
  std::string text = R"(
func.func @kernel() {
  %x = arith.constant dense<[[1.5, -2.0]]> : tensor<1x2xf32>
  %c = arith.constant -1 : i8
  %t = arith.constant true
  tile.print " x: " {hex = false, is_signed = array<i32: 1>} : %x : tensor<1x2xf32>
  tile.print " c: " {hex = false, is_signed = array<i32: 1, 0, 0>} : %c, %c, %t : i8, i8, i1
  tile.print " h: " {hex = true, is_signed = array<i32: 1>} : %c : i8
  tile.print " only text" {hex = false, is_signed = array<i32>}
  return
})";
  testing::internal::CaptureStdout();
  runExpectingSuccess(text, {}, {{1, 2, 1}});
  auto lines = [](const std::string &y) {
    std::string pid = "pid (0, " + y + ", 0)", idx = pid + " idx ";
    return idx + "(0, 0) x: 1.500000\n" + idx + "(0, 1) x: -2.000000\n" + idx +
           "() c: (operand 0) -1\n" + idx + "() c: (operand 1) 255\n" + idx +
           "() c: (operand 2) 1\n" + idx + "() h: 0xff\n" + pid + " only text\n";
  };
  EXPECT_EQ(testing::internal::GetCapturedStdout(), lines("0") + lines("1"));
}

TEST(AssertTest, TheFirstFailureStopsTheLaunch) {
  std::vector<int32_t> out = {0};
  std::string text = R"(
func.func @kernel(%out: !tile.ptr<i32>, %n: i32) {
  %i = tile.arange 0 to 4 : tensor<4xi32>
  %s = tile.splat %n : i32 -> tensor<4xi32>
  %c = arith.cmpi slt, %i, %s : tensor<4xi32>
  %mask = arith.constant dense<[true, true, true, false]> : tensor<4xi1>
  tile.assert %c, "i is too large" mask %mask : tensor<4xi1> : tensor<4xi1> loc("user.py":7:3)
  %x = tile.program_id 0
  tile.store %out, %x : !tile.ptr<i32>, i32
  return
})";
  runExpectingSuccess(text, {bufferOf(out), scalarOf(int32_t(3))}, {{3, 1, 1}});
  EXPECT_EQ(out[0], 2) << "a masked-off element does not fail";
  out[0] = -1;
  runExpectingError(text, {bufferOf(out), scalarOf(int32_t(2))}, Code::DeviceAssert,
                    {"i is too large", "program (0, 0, 0)", "tile index (2)", "user.py:7:3"},
                    {{3, 1, 1}});
  EXPECT_EQ(out[0], -1) << "nothing runs after the failure";
}

TEST(AssumeTest, AFalsePromiseIsAnError) {
  std::string text = "func.func @kernel(%c: i1) {\n  tile.barrier\n  tile.assume %c\n  return\n}";
  runExpectingSuccess(text, {scalarOf(uint8_t(1))});
  runExpectingError(text, {scalarOf(uint8_t(0))}, Code::FalseAssumption, {"assumption"});
}
