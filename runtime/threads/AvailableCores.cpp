// How many cores this process may use: its affinity mask and the quota of its control group.
#include "runtime/threads/AvailableCores.h"
#include <algorithm>
#include <fstream>
#include <sched.h>
#include <sstream>
#include <thread>

using namespace tw;

std::vector<int> tw::coresOfAffinity() {
  std::vector<int> cores;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &set))
        cores.push_back(core);
  return cores;
}

/// Microseconds of `quota` in each `period`, as whole cores; 0 where there is no limit.
static int wholeCores(const std::string &quota, long period) {
  char *end = nullptr;
  long microseconds = strtol(quota.c_str(), &end, 10);
  if (end == quota.c_str() || microseconds <= 0 || period <= 0)
    return 0; // "max" in version 2, -1 in version 1
  return int(std::min<long>((microseconds + period - 1) / period, 1 << 20));
}

static int quotaOfDirectory(const std::string &directory, bool isUnified) {
  std::string quota;
  long period = 0;
  if (isUnified) {
    std::ifstream(directory + "/cpu.max") >> quota >> period;
  } else {
    std::ifstream(directory + "/cpu.cfs_quota_us") >> quota;
    std::ifstream(directory + "/cpu.cfs_period_us") >> period;
  }
  return wholeCores(quota, period);
}

/// The least quota of a group and the groups around it.
static int quotaOfGroup(const std::string &mount, std::string group, bool isUnified) {
  int least = 0;
  while (true) {
    int cores = quotaOfDirectory(mount + group, isUnified);
    if (cores && (!least || cores < least))
      least = cores;
    size_t parent = group.find_last_of('/');
    if (parent == std::string::npos || group.empty())
      return least;
    group.resize(parent);
  }
}

int tw::coresOfQuota(const std::string &groups, const std::string &root) {
  std::istringstream lines(groups);
  int least = 0;
  // Lines are `number:controllers:group`; version 2 has no controllers (man 7 cgroups).
  for (std::string line; std::getline(lines, line);) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos)
      continue;
    std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    std::string group = line.substr(second + 1);
    bool isUnified = controllers == ",,";
    if (!isUnified && controllers.find(",cpu,") == std::string::npos)
      continue;
    int cores = quotaOfGroup(isUnified ? root : root + "/cpu", group, isUnified);
    if (cores && (!least || cores < least))
      least = cores;
  }
  return least;
}

static std::string textOf(const char *path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

int tw::coresOfQuota() { return coresOfQuota(textOf("/proc/self/cgroup"), "/sys/fs/cgroup"); }

int tw::numAvailableCores() {
  int cores = int(coresOfAffinity().size());
  if (cores == 0)
    cores = int(std::thread::hardware_concurrency());
  int quota = coresOfQuota();
  return std::max(1, quota ? std::min(cores, quota) : cores);
}

int tw::threadsWithinQuota(int teamThreads, int cores, int quota) {
  return quota && teamThreads <= cores ? std::min(teamThreads, quota) : teamThreads;
}
