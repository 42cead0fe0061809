// Builds Tile IR text around one operation and runs it on the reference device.
#include "test/unit/reference/ReferenceHarness.h"
#include "test/unit/DrawnSeed.h"

using namespace tw;

std::optional<RuntimeError> test::runText(const std::string &text,
                                          const std::vector<LaunchArgument> &arguments,
                                          LaunchGrid grid) {
  std::shared_ptr<Device> device = makeReferenceDevice();
  Artifact artifact;
  artifact.target = "reference";
  artifact.symbol = "kernel";
  artifact.binary = text;
  RuntimeError error;
  std::shared_ptr<LoadedKernel> kernel = device->load(artifact, error);
  if (!kernel)
    return error;
  return device->launch(*kernel, grid, arguments);
}

void test::runExpectingSuccess(const std::string &text,
                               const std::vector<LaunchArgument> &arguments, LaunchGrid grid) {
  std::optional<RuntimeError> error = runText(text, arguments, grid);
  EXPECT_FALSE(error) << codeName(error->code) << ": " << error->message << "\nin:\n" << text;
}

void test::runExpectingError(const std::string &text, const std::vector<LaunchArgument> &arguments,
                             Code code, const std::vector<std::string> &fragments,
                             LaunchGrid grid) {
  std::optional<RuntimeError> error = runText(text, arguments, grid);
  ASSERT_TRUE(error) << "no error from:\n" << text;
  EXPECT_EQ(error->code, code) << error->message;
  for (const std::string &fragment : fragments)
    EXPECT_NE(error->message.find(fragment), std::string::npos)
        << "no \"" << fragment << "\" in: " << error->message;
}

std::string test::pointersText(const std::string &name, const std::string &pointer,
                               const std::string &type, size_t count) {
  std::string n = std::to_string(count);
  std::string pointers = "tensor<" + n + "x!tile.ptr<" + type + ">>";
  return "  %i_" + name + " = tile.arange 0 to " + n + " : tensor<" + n + "xi32>\n  %s_" + name +
         " = tile.splat " + pointer + " : !tile.ptr<" + type + "> -> " + pointers + "\n  %" + name +
         " = tile.addptr %s_" + name + ", %i_" + name + " : " + pointers + ", tensor<" + n +
         "xi32>\n";
}

std::string test::elementwiseText(const std::string &operation,
                                  const std::vector<std::string> &inputTypes,
                                  const std::string &resultType, size_t count) {
  std::string parameters = "%out: !tile.ptr<" + resultType + ">", body;
  std::string n = std::to_string(count);
  for (size_t i = 0; i < inputTypes.size(); ++i) {
    std::string name(1, char('a' + i)), pointers = "p" + name;
    parameters += ", %in_" + name + ": !tile.ptr<" + inputTypes[i] + ">";
    body += pointersText(pointers, "%in_" + name, inputTypes[i], count) + "  %" + name +
            " = tile.load %" + pointers + " : tensor<" + n + "x!tile.ptr<" + inputTypes[i] +
            ">> -> tensor<" + n + "x" + inputTypes[i] + ">\n";
  }
  body += "  " + operation + "\n" + pointersText("po", "%out", resultType, count) +
          "  tile.store %po, %r : tensor<" + n + "x!tile.ptr<" + resultType + ">>, tensor<" + n +
          "x" + resultType + ">\n";
  return "func.func @kernel(" + parameters + ") {\n" + body + "  return\n}\n";
}

test::Random::Random()
    : seed(test::drawnSeed()), trace(__FILE__, __LINE__, "random seed " + std::to_string(seed)),
      engine(seed) {}
