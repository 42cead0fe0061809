// Reads the .mlir tests: parts of text, and the passes that their RUN lines name.
#include "test/fuzz/Corpus.h"
#include "test/fuzz/Tokens.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

using namespace tw::fuzz;
namespace fs = std::filesystem;

static std::vector<fs::path> filesIn(const std::vector<std::string> &paths) {
  std::vector<fs::path> files;
  for (const std::string &path : paths) {
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const auto &entry : fs::recursive_directory_iterator(path))
      if (entry.path().extension() == ".mlir")
        files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end()); // a seed means the same on every machine
  return files;
}

/// The words of a RUN line up to the pipe, with quotes taken off.
static std::vector<std::string> commandWords(const std::string &line) {
  std::vector<std::string> words(1);
  char quote = 0;
  for (char c : line) {
    if (c == '|' && !quote)
      break;
    if (quote ? c == quote : c == '"' || c == '\'')
      quote = quote ? 0 : c;
    else if (c == ' ' && !quote)
      words.emplace_back();
    else
      words.back() += c;
  }
  return words;
}

/// `select-mma{num-warps=4},cse` of `tile-opt --select-mma=num-warps=4 -cse`; empty without passes.
static std::string pipelineOf(const std::string &line) {
  std::vector<std::string> words = commandWords(line);
  std::string pipeline;
  for (const std::string &word : words) {
    size_t start = word.find_first_not_of('-');
    if (start == 0 || start == std::string::npos || word == "-o" ||
        word.substr(start) == "split-input-file" || word.substr(start) == "verify-diagnostics")
      continue;
    size_t equals = word.find('=');
    std::string pass = word.substr(start, equals == std::string::npos ? equals : equals - start);
    if (equals != std::string::npos)
      pass += "{" + word.substr(equals + 1) + "}";
    pipeline += (pipeline.empty() ? "" : ",") + pass;
  }
  return pipeline;
}

/// The texts that `DEFINE: %{name} = text` lines give names; a line that ends in a backslash goes
/// on.
static std::map<std::string, std::string> definitionsIn(std::istream &stream) {
  std::map<std::string, std::string> definitions;
  std::string *open = nullptr;
  for (std::string line; std::getline(stream, line);) {
    size_t start = line.find("DEFINE: ");
    if (start == std::string::npos)
      continue;
    std::string text = line.substr(start + 8);
    if (size_t equals = text.find("} = "); !open && equals != std::string::npos) {
      open = &definitions[text.substr(0, equals + 1)];
      text = text.substr(equals + 4);
    }
    bool goesOn = !text.empty() && text.back() == '\\';
    if (goesOn)
      text.pop_back();
    if (open)
      *open += text;
    if (!goesOn)
      open = nullptr;
  }
  stream.clear();
  stream.seekg(0);
  return definitions;
}

static std::string expanded(std::string line, const std::map<std::string, std::string> &names) {
  for (const auto &[name, text] : names)
    if (size_t at = line.find(name); at != std::string::npos)
      line.replace(at, name.size(), text);
  return line;
}

static void readFile(const fs::path &path, Corpus &corpus) {
  std::ifstream stream(path);
  if (!stream) {
    std::fprintf(stderr, "tile-fuzz: cannot read %s\n", path.c_str());
    std::exit(2);
  }
  std::vector<Part> parts(1);
  std::vector<std::string> pipelines;
  const std::map<std::string, std::string> names = definitionsIn(stream);
  for (std::string line; std::getline(stream, line);) {
    size_t comment = line.find("//");
    if (size_t run = line.find("RUN: tile-opt"); run != std::string::npos)
      if (std::string pipeline = pipelineOf(expanded(line.substr(run + 14), names));
          !pipeline.empty())
        pipelines.push_back(pipeline);
    if (line.rfind("// -----", 0) == 0)
      parts.emplace_back();
    else if (comment != std::string::npos)
      line.resize(comment);
    if (line.find_first_not_of(' ') != std::string::npos && line.rfind("// -----", 0) != 0)
      parts.back().text += line + "\n";
  }
  for (Part &part : parts) {
    part.file = path.filename();
    part.pipelines = pipelines;
    if (!part.text.empty())
      corpus.parts.push_back(std::move(part));
  }
}

Corpus tw::fuzz::readCorpus(const std::vector<std::string> &paths) {
  Corpus corpus;
  for (const fs::path &path : filesIn(paths))
    readFile(path, corpus);
  if (corpus.parts.empty()) {
    std::fprintf(stderr, "tile-fuzz: no .mlir files with IR in what was named\n");
    std::exit(2);
  }
  std::set<std::string> pipelines, words;
  for (const Part &part : corpus.parts) {
    pipelines.insert(part.pipelines.begin(), part.pipelines.end());
    for (const Token &token : tokensOf(part.text))
      if (token.kind == TokenKind::Word)
        words.insert(token.text);
  }
  corpus.pipelines.assign(pipelines.begin(), pipelines.end());
  corpus.words.assign(words.begin(), words.end());
  return corpus;
}
