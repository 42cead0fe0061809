// How many cores this process may use: its affinity mask and the quota of its control group.
#ifndef RUNTIME_THREADS_AVAILABLECORES_H
#define RUNTIME_THREADS_AVAILABLECORES_H
#include <string>
#include <vector>

namespace tw {

/// The cores of the affinity mask; empty where it cannot be read.
std::vector<int> coresOfAffinity();

/// Cores' worth of time that the control groups of a process leave it, rounded up; 0: no limit.
/// `groups` is the text of /proc/self/cgroup, `root` where control groups are mounted.
int coresOfQuota(const std::string &groups, const std::string &root);

/// The same of this process.
int coresOfQuota();

/// Threads that can run at once in this process: at least 1.
int numAvailableCores();

/// Returns how many threads of a team of `teamThreads` get cores under `quota`. A team that is
/// larger than the process has cores was asked for: it is left as it is.
int threadsWithinQuota(int teamThreads, int cores, int quota);

} // namespace tw
#endif
