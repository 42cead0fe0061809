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

/// Threads that can run at once in this process: at least 1.
int numAvailableCores();

} // namespace tw
#endif
