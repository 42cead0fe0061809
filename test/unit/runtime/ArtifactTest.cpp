// Artifacts survive encoding, and no malformed bytes decode.
#include "runtime/Artifact.h"
#include <gtest/gtest.h>

using namespace tw;

static Artifact makeArtifact() {
  Artifact artifact;
  artifact.target = "cpu";
  artifact.symbol = "softmax";
  artifact.binary = std::string("\x7f"
                                "ELF\0code",
                                9);
  artifact.parameters = {{"x", "*fp32", true, false, 0}, {"n", "i64", false, false, 2}};
  artifact.scratchBytes = 4096;
  artifact.codeBytes = 9;
  artifact.tensorMaps = {{0, MapElement::F32, {{1, {1}}, {64, {}}}, {{2, {1, 1}}}, {32, 64}, 128}};
  artifact.buildOptions = "-cl-option";
  artifact.promises = {"first", "second"};
  artifact.milliseconds = {{"frontend", 1.5}, {"llvm", 7.25}};
  return artifact;
}

TEST(ArtifactTest, RoundTrips) {
  Artifact decoded;
  ASSERT_TRUE(decodeArtifact(encodeArtifact(makeArtifact()), decoded));
  EXPECT_EQ(decoded.symbol, "softmax");
  EXPECT_EQ(decoded.binary.size(), 9u);
  ASSERT_EQ(decoded.parameters.size(), 2u);
  EXPECT_TRUE(decoded.parameters[0].isStored);
  EXPECT_EQ(decoded.parameters[1].name, "n");
  EXPECT_EQ(decoded.parameters[1].sourceIndex, 2);
  EXPECT_EQ(decoded.scratchBytes, 4096u);
  EXPECT_EQ(decoded.buildOptions, "-cl-option");
  EXPECT_EQ(decoded.tensorMaps, makeArtifact().tensorMaps);
  EXPECT_EQ(decoded.promises, makeArtifact().promises);
  EXPECT_EQ(decoded.milliseconds.at("llvm"), 7.25);
  EXPECT_EQ(encodeArtifact(decoded), encodeArtifact(makeArtifact()));
}

TEST(ArtifactTest, RefusesEveryTruncation) {
  std::string bytes = encodeArtifact(makeArtifact());
  for (size_t length = 0; length < bytes.size(); ++length) {
    Artifact decoded;
    EXPECT_FALSE(decodeArtifact(bytes.substr(0, length), decoded)) << length;
  }
}

TEST(ArtifactTest, RefusesTrailingBytes) {
  Artifact decoded;
  EXPECT_FALSE(decodeArtifact(encodeArtifact(makeArtifact()) + "x", decoded));
}

TEST(ArtifactTest, RefusesTensorMapsThatNoLaunchCanFillIn) {
  auto isRefused = [](auto change) {
    Artifact artifact = makeArtifact(), decoded;
    change(artifact.tensorMaps[0]);
    return !decodeArtifact(encodeArtifact(artifact), decoded);
  };
  EXPECT_FALSE(isRefused([](TensorMapRecipe &) {}));
  EXPECT_TRUE(isRefused([](TensorMapRecipe &map) { map.parameter = 1; })); // no pointer
  EXPECT_TRUE(isRefused([](TensorMapRecipe &map) { map.parameter = 2; })); // no parameter
  EXPECT_TRUE(isRefused([](TensorMapRecipe &map) { map.extents[0].parameters = {0}; }));
  EXPECT_TRUE(isRefused([](TensorMapRecipe &map) { map.strides[0].parameters = {7}; }));
  EXPECT_TRUE(isRefused([](TensorMapRecipe &map) { map.strides.clear(); }));
  EXPECT_TRUE(isRefused([](TensorMapRecipe &map) { map.extents.pop_back(); }));
  EXPECT_TRUE(isRefused([](TensorMapRecipe &map) { map.box[0] = 0; }));
  EXPECT_TRUE(isRefused([](TensorMapRecipe &map) { map.box[0] = 64; }));
  EXPECT_TRUE(isRefused([](TensorMapRecipe &map) { map.spanBytes = 0; }));
  EXPECT_TRUE(isRefused([](TensorMapRecipe &map) { map.element = MapElement(3); }));
  EXPECT_TRUE(isRefused([](TensorMapRecipe &map) { map.box[1] = 257; }));
}

TEST(ArtifactTest, SurvivesEveryFlippedByte) {
  std::string original = encodeArtifact(makeArtifact());
  for (size_t i = 0; i < original.size(); ++i) {
    std::string bytes = original;
    bytes[i] = char(~bytes[i]);
    Artifact decoded;
    // A flip in a text does not concern the format; one in a length must not be followed.
    if (decodeArtifact(bytes, decoded)) {
      EXPECT_EQ(encodeArtifact(decoded).size(), bytes.size()) << i;
    }
  }
}
