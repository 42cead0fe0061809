// Basic blocks and immediate post-dominators of a PTX function.
//
// Lanes that meet at the immediate post-dominator of their branch meet as early as any order of the
// blocks in the text allows; taking the lowest program counter instead is wrong for compiled code,
// which may put a block after the place where it joins. Paths that only end in `trap` or `exit` do
// not count where others return: their lanes never come back, so the rest need not wait for the end
// (an assertion in a loop must not keep the loop's lanes apart).
//
// Method: Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm" (2001), on the reversed
// graph.
#include "backend/warpsim/ptx/ControlFlow.h"
#include <algorithm>

using namespace tw::warpsim;
using namespace tw::warpsim::ptx;

namespace {
struct Block {
  int32_t begin = 0, end = 0; // instructions
  std::vector<int32_t> successors, predecessors;
};

struct Graph {
  std::vector<Block> blocks;
  std::vector<int32_t> blockAt; // by instruction, from the function's first
};
} // namespace

static bool isGuarded(const Instruction &instruction) {
  return instruction.guard.kind != Operand::Kind::None;
}

static bool endsBlock(Op op) {
  return op == Op::Bra || op == Op::BrxIdx || op == Op::Ret || op == Op::Exit || op == Op::Trap;
}

static void connect(Graph &graph, int32_t from, int32_t to) {
  std::vector<int32_t> &successors = graph.blocks[size_t(from)].successors;
  if (std::ranges::find(successors, to) != successors.end())
    return;
  successors.push_back(to);
  graph.blocks[size_t(to)].predecessors.push_back(from);
}

static Graph buildGraph(const Program &program, const Function &function) {
  Graph graph;
  int32_t count = function.end - function.begin;
  std::vector<bool> isLeader(size_t(count) + 1);
  isLeader[0] = true;
  for (int32_t i = 0; i < count; ++i) {
    const Instruction &instruction = program.code[size_t(function.begin + i)];
    if (endsBlock(instruction.op))
      isLeader[size_t(i) + 1] = true;
    if (instruction.op == Op::Bra)
      isLeader[size_t(instruction.target - function.begin)] = true;
    for (int32_t target : instruction.targets)
      isLeader[size_t(target - function.begin)] = true;
  }
  for (int32_t i = 0; i < count; ++i) {
    if (isLeader[size_t(i)])
      graph.blocks.push_back({function.begin + i, 0, {}, {}});
    graph.blocks.back().end = function.begin + i + 1;
    graph.blockAt.push_back(int32_t(graph.blocks.size()) - 1);
  }
  for (int32_t b = 0; b < int32_t(graph.blocks.size()); ++b) {
    const Instruction &last = program.code[size_t(graph.blocks[size_t(b)].end) - 1];
    auto to = [&](int32_t instruction) {
      connect(graph, b, graph.blockAt[size_t(instruction - function.begin)]);
    };
    if (last.op == Op::Bra)
      to(last.target);
    for (int32_t target : last.targets)
      to(target);
    bool fallsThrough = !endsBlock(last.op) || isGuarded(last);
    if (fallsThrough && graph.blocks[size_t(b)].end < function.end)
      to(graph.blocks[size_t(b)].end);
  }
  return graph;
}

/// Marks the blocks from which one of `endings` can be reached, backwards.
static void markReaching(const Graph &graph, std::vector<int32_t> endings,
                         std::vector<bool> &isReaching) {
  for (int32_t ending : endings)
    isReaching[size_t(ending)] = true;
  while (!endings.empty()) {
    int32_t block = endings.back();
    endings.pop_back();
    for (int32_t predecessor : graph.blocks[size_t(block)].predecessors)
      if (!isReaching[size_t(predecessor)]) {
        isReaching[size_t(predecessor)] = true;
        endings.push_back(predecessor);
      }
  }
}

/// The blocks in a postorder of the reversed graph from the endings; the last one of the result is
/// visited first.
/// Adds what leads to an ending and has not been seen, each block after those that lead to it.
static void visitPredecessors(const Graph &graph, int32_t ending, std::vector<bool> &isSeen,
                              std::vector<int32_t> &order) {
  std::vector<std::pair<int32_t, size_t>> stack; // block, next predecessor
  auto enter = [&](int32_t block) {
    if (!isSeen[size_t(block)])
      stack.push_back({block, 0});
    isSeen[size_t(block)] = true;
  };
  enter(ending);
  while (!stack.empty()) {
    auto &[block, next] = stack.back();
    const std::vector<int32_t> &predecessors = graph.blocks[size_t(block)].predecessors;
    if (next < predecessors.size()) {
      enter(predecessors[next++]);
      continue;
    }
    order.push_back(block);
    stack.pop_back();
  }
}

static std::vector<int32_t> reversePostorder(const Graph &graph,
                                             const std::vector<int32_t> &endings) {
  std::vector<int32_t> order;
  std::vector<bool> isSeen(graph.blocks.size());
  for (int32_t ending : endings)
    visitPredecessors(graph, ending, isSeen, order);
  return order;
}

/// The immediate post-dominator of every block: a block, `blocks.size()` for the end of the
/// function, -1 for blocks that reach none of the endings.
static std::vector<int32_t> postDominators(const Graph &graph,
                                           const std::vector<int32_t> &endings) {
  const int32_t exit = int32_t(graph.blocks.size());
  std::vector<int32_t> order = reversePostorder(graph, endings);
  std::vector<int32_t> number(size_t(exit) + 1, -1), parent(size_t(exit) + 1, -1);
  std::vector<bool> isEnding(graph.blocks.size());
  for (size_t i = 0; i < order.size(); ++i)
    number[size_t(order[i])] = int32_t(i);
  for (int32_t ending : endings)
    isEnding[size_t(ending)] = true;
  number[size_t(exit)] = int32_t(order.size());
  parent[size_t(exit)] = exit;
  auto meet = [&](int32_t a, int32_t b) {
    while (a != b)
      (number[size_t(a)] < number[size_t(b)] ? a : b) =
          parent[size_t(number[size_t(a)] < number[size_t(b)] ? a : b)];
    return a;
  };
  for (bool hasChanged = true; hasChanged;) {
    hasChanged = false;
    for (size_t i = order.size(); i-- > 0;) {
      int32_t block = order[i], found = isEnding[size_t(block)] ? exit : -1;
      for (int32_t successor : graph.blocks[size_t(block)].successors)
        if (parent[size_t(successor)] >= 0)
          found = found < 0 ? successor : meet(found, successor);
      hasChanged |= parent[size_t(block)] != found;
      parent[size_t(block)] = found;
    }
  }
  parent.pop_back();
  return parent;
}

/// The endings of a function in three ranks: returns, then exits and traps, then endless loops (one
/// block of each).
static std::vector<std::vector<int32_t>> rankEndings(const Program &program, const Graph &graph) {
  std::vector<std::vector<int32_t>> ranks(3);
  std::vector<bool> isReaching(graph.blocks.size());
  for (size_t b = 0; b < graph.blocks.size(); ++b)
    if (graph.blocks[b].successors.empty())
      ranks[program.code[size_t(graph.blocks[b].end) - 1].op == Op::Ret ? 0 : 1].push_back(
          int32_t(b));
  markReaching(graph, ranks[0], isReaching);
  markReaching(graph, ranks[1], isReaching);
  for (size_t b = graph.blocks.size(); b-- > 0;)
    if (!isReaching[b]) {
      ranks[2].push_back(int32_t(b));
      markReaching(graph, {int32_t(b)}, isReaching);
    }
  return ranks;
}

/// The block where the lanes of each meet again; -1 where no ending says.
static std::vector<int32_t> meetingsOf(const Program &program, const Graph &graph) {
  std::vector<int32_t> endings, meeting(graph.blocks.size(), -1);
  for (const std::vector<int32_t> &rank : rankEndings(program, graph)) {
    if (rank.empty())
      continue;
    endings.insert(endings.end(), rank.begin(), rank.end());
    std::vector<int32_t> found = postDominators(graph, endings);
    // What better endings decided stays.
    for (size_t b = 0; b < found.size(); ++b)
      if (meeting[b] < 0)
        meeting[b] = found[b];
  }
  return meeting;
}

void tw::warpsim::ptx::findReconvergence(Program &program, const Function &function) {
  Graph graph = buildGraph(program, function);
  const int32_t exit = int32_t(graph.blocks.size());
  std::vector<int32_t> meeting = meetingsOf(program, graph);
  for (size_t b = 0; b < graph.blocks.size(); ++b) {
    Instruction &last = program.code[size_t(graph.blocks[b].end) - 1];
    bool mayDiverge = last.op == Op::BrxIdx || (last.op == Op::Bra && isGuarded(last));
    if (mayDiverge && meeting[b] >= 0 && meeting[b] != exit)
      last.reconverge = graph.blocks[size_t(meeting[b])].begin;
  }
}
