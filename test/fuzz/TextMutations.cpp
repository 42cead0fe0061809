// Changes to the text of IR: most are refused by the parser, the others keep what a change of
// structure would never make.
#include "test/fuzz/Mutations.h"
#include "test/fuzz/Tokens.h"

using namespace tw::fuzz;

static constexpr const char *kNumbers[] = {"0",          "1",          "2",
                                           "3",          "4",          "5",
                                           "7",          "8",          "12",
                                           "16",         "17",         "32",
                                           "33",         "48",         "64",
                                           "128",        "256",        "-1",
                                           "-2",         "96",         "512",
                                           "1024",       "65536",      "1048576",
                                           "2147483647", "2147483648", "4294967296",
                                           "?",          "6",          "31",
                                           "100",        "4096",       "9223372036854775807"};

static constexpr const char *kTypes[] = {"i1",
                                         "i8",
                                         "i16",
                                         "i32",
                                         "i64",
                                         "f16",
                                         "bf16",
                                         "f32",
                                         "f64",
                                         "f8E4M3FN",
                                         "f8E5M2",
                                         "index",
                                         "f8E4M3FNUZ",
                                         "f8E5M2FNUZ",
                                         "tf32",
                                         "i4",
                                         "i128",
                                         "f128",
                                         "f80",
                                         "i7",
                                         "none",
                                         "ui32",
                                         "!tile.ptr<f32>",
                                         "!tile.ptr<i8>",
                                         "complex<f32>",
                                         "f4E2M1FN",
                                         "vector<4xf32>",
                                         "!llvm.ptr",
                                         "!tile.ptr<!tile.ptr<i1>>"};

std::string tw::fuzz::drawNumber(Draw &draw, const std::string &old) {
  int64_t number = std::strtoll(old.c_str(), nullptr, 10);
  switch (draw.below(6)) {
  case 0:
    return std::to_string(int64_t(uint64_t(number) * 2));
  case 1:
    return std::to_string(number / 2);
  case 2:
    return std::to_string(int64_t(uint64_t(number) + draw.below(3) - 1));
  default:
    return draw.of(kNumbers);
  }
}

/// The positions of the tokens that `holds` accepts.
template <typename Predicate>
static std::vector<size_t> find(const std::vector<Token> &tokens, Predicate holds) {
  std::vector<size_t> found;
  for (size_t i = 0; i < tokens.size(); ++i)
    if (holds(tokens[i]))
      found.push_back(i);
  return found;
}

static std::vector<size_t> find(const std::vector<Token> &tokens, TokenKind kind) {
  return find(tokens, [&](const Token &token) { return token.kind == kind; });
}

/// Replaces the token at a drawn place; two times of three wherever it stands, which keeps types
/// in agreement.
static void replace(std::vector<Token> &tokens, size_t at, const std::string &text, Draw &draw) {
  Token old = tokens[at];
  bool isEverywhere = draw.chance(66);
  for (size_t i = 0; i < tokens.size(); ++i)
    if (i == at || (isEverywhere && tokens[i] == old))
      tokens[i].text = text;
}

static void changeNumber(std::vector<Token> &tokens, const Corpus &, Draw &draw) {
  std::vector<size_t> numbers = find(tokens, TokenKind::Number);
  if (numbers.empty())
    return;
  size_t at = draw.of(numbers);
  replace(tokens, at, drawNumber(draw, tokens[at].text), draw);
}

static void changeType(std::vector<Token> &tokens, const Corpus &, Draw &draw) {
  std::vector<size_t> types = find(tokens, [](const Token &token) {
    return std::find(std::begin(kTypes), std::end(kTypes), token.text) != std::end(kTypes);
  });
  if (!types.empty())
    replace(tokens, draw.of(types), draw.of(kTypes), draw);
}

static void changeWord(std::vector<Token> &tokens, const Corpus &corpus, Draw &draw) {
  std::vector<size_t> words = find(tokens, TokenKind::Word);
  if (words.empty() || corpus.words.empty())
    return;
  size_t at = draw.of(words);
  // Mostly another word of the dialect, which is likely to be understood; of types and keywords,
  // one without a dialect.
  std::string dialect = tokens[at].text.substr(0, tokens[at].text.find('.') + 1);
  std::string word;
  for (int tries = 0; tries < 50 && (word.empty() || word.rfind(dialect, 0) != 0 ||
                                     (dialect.empty() && word.find('.') != std::string::npos));
       ++tries)
    word = draw.of(corpus.words);
  replace(tokens, at, word, draw);
}

static void exchangeNames(std::vector<Token> &tokens, const Corpus &, Draw &draw) {
  std::vector<size_t> names = find(tokens, TokenKind::Name);
  if (names.empty())
    return;
  char sigil = tokens[draw.of(names)].text[0];
  names = find(tokens, [&](const Token &token) { return token.text[0] == sigil; });
  tokens[draw.of(names)].text = tokens[draw.of(names)].text;
}

static void dropOrRepeatToken(std::vector<Token> &tokens, const Corpus &, Draw &draw) {
  size_t at = draw.below(tokens.size());
  if (draw.chance(50))
    tokens.erase(tokens.begin() + at);
  else
    tokens.insert(tokens.begin() + at, Token(tokens[draw.below(tokens.size())]));
}

/// Drops an entry of a list: up to the comma after it, or what the comma before it begins.
static void dropEntry(std::vector<Token> &tokens, const Corpus &, Draw &draw) {
  std::vector<size_t> commas = find(tokens, [](const Token &t) { return t.text == ","; });
  if (commas.empty())
    return;
  size_t at = draw.of(commas), end = at + 1;
  while (end < tokens.size() && tokens[end].text != "," && tokens[end].text != "]" &&
         tokens[end].text != ")" && tokens[end].text != ">")
    ++end;
  tokens.erase(tokens.begin() + at, tokens.begin() + end);
}

static std::vector<std::string> linesOf(const std::string &text) {
  std::vector<std::string> lines(1);
  for (char c : text) {
    if (c == '\n')
      lines.emplace_back();
    else
      lines.back() += c;
  }
  return lines;
}

static std::string mutateLines(const std::string &text, const Corpus &corpus, Draw &draw) {
  std::vector<std::string> lines = linesOf(text);
  size_t at = draw.below(lines.size());
  std::string line = lines[at];
  switch (draw.below(4)) {
  case 0:
    lines.erase(lines.begin() + at);
    break;
  case 1:
    lines.insert(lines.begin() + draw.below(lines.size()), line);
    break;
  case 2:
    lines[at] = lines[draw.below(lines.size())];
    break;
  default: {
    std::vector<std::string> others = linesOf(draw.of(corpus.parts).text);
    lines.insert(lines.begin() + at, draw.of(others));
  }
  }
  std::string joined;
  for (const std::string &kept : lines)
    joined += kept + "\n";
  return joined;
}

std::string tw::fuzz::mutateText(const std::string &text, const Corpus &corpus, Draw &draw) {
  using Mutation = void (*)(std::vector<Token> &, const Corpus &, Draw &);
  static constexpr Mutation mutations[] = {changeNumber,  changeNumber,      changeNumber,
                                           changeType,    changeType,        changeWord,
                                           exchangeNames, dropOrRepeatToken, dropEntry};
  if (draw.chance(8))
    return mutateLines(text, corpus, draw);
  std::vector<Token> tokens = tokensOf(text);
  if (tokens.empty())
    return text;
  draw.of(mutations)(tokens, corpus, draw);
  return textOf(tokens);
}

//===-- Attributes ---------------------------------------------------------------------------===//

namespace {
/// `name = value` of an operation: tokens from `begin` up to the comma or brace at `end`.
struct Entry {
  size_t begin, end;
  bool isLast; // of its operation
};
} // namespace

static int nestingOf(const std::string &text) {
  if (text == "<" || text == "[" || text == "{" || text == "(")
    return 1;
  return text == ">" || text == "]" || text == "}" || text == ")" ? -1 : 0;
}

/// The entries of what begins with the brace at `open`.
static void findEntries(const std::vector<Token> &tokens, size_t open, std::vector<Entry> &found) {
  int depth = 0;
  size_t begin = open + 1;
  for (size_t at = begin; at < tokens.size() && depth >= 0; ++at) {
    bool isArrow = tokens[at].text == ">" && tokens[at - 1].text == "-";
    depth += isArrow ? 0 : nestingOf(tokens[at].text);
    if (depth > 0 || (depth == 0 && tokens[at].text != ","))
      continue;
    if (at > begin)
      found.push_back({begin, at, depth < 0});
    begin = at + 1;
  }
}

/// Of all operations: what is written `<{...}>`.
static std::vector<Entry> findEntries(const std::vector<Token> &tokens) {
  std::vector<Entry> found;
  for (size_t at = 1; at < tokens.size(); ++at)
    if (tokens[at].text == "{" && tokens[at - 1].text == "<")
      findEntries(tokens, at, found);
  return found;
}

static std::string nameOf(const std::vector<Token> &tokens, const Entry &entry) {
  for (size_t at = entry.begin; at < entry.end; ++at)
    if (tokens[at].kind == TokenKind::Word || tokens[at].kind == TokenKind::String)
      return tokens[at].text;
  return "";
}

static void leaveOut(std::vector<Token> &tokens, const Entry &entry) {
  // With the comma after it, or the last with the one before it.
  bool hasCommaBefore = entry.isLast && tokens[entry.begin - 1].text == ",";
  tokens.erase(tokens.begin() + entry.begin - hasCommaBefore,
               tokens.begin() + entry.end + !entry.isLast);
}

/// Takes the value of another entry, of the same name where there is one.
static void takeValue(std::vector<Token> &tokens, const Entry &entry,
                      const std::vector<Entry> &entries, Draw &draw) {
  std::vector<Entry> others;
  for (const Entry &other : entries)
    if (nameOf(tokens, other) == nameOf(tokens, entry))
      others.push_back(other);
  Entry other = draw.chance(90) ? draw.of(others) : draw.of(entries);
  std::vector<Token> taken(tokens.begin() + other.begin, tokens.begin() + other.end);
  tokens.erase(tokens.begin() + entry.begin, tokens.begin() + entry.end);
  tokens.insert(tokens.begin() + entry.begin, taken.begin(), taken.end());
}

static void changeValue(std::vector<Token> &tokens, const Entry &entry, Draw &draw) {
  std::vector<size_t> places;
  for (size_t at = entry.begin; at < entry.end; ++at)
    if (tokens[at].kind == TokenKind::Number || tokens[at].kind == TokenKind::String ||
        tokens[at].text == "true" || tokens[at].text == "false")
      places.push_back(at);
  if (places.empty())
    return;
  Token &token = tokens[draw.of(places)];
  if (token.kind == TokenKind::Number)
    token.text = drawNumber(draw, token.text);
  else if (token.kind == TokenKind::String)
    token.text = draw.chance(50) ? "\"\"" : "\"changed\"";
  else
    token.text = token.text == "true" ? "false" : "true";
}

std::string tw::fuzz::changeAttribute(const std::string &text, Draw &draw) {
  std::vector<Token> tokens = tokensOf(text);
  std::vector<Entry> entries = findEntries(tokens);
  if (entries.empty())
    return text;
  Entry entry = draw.of(entries);
  size_t kind = draw.below(100);
  if (kind < 15)
    leaveOut(tokens, entry);
  else if (kind < 40)
    takeValue(tokens, entry, entries, draw);
  else
    changeValue(tokens, entry, draw);
  return textOf(tokens);
}
