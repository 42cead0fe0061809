// The stable names of what a report says.
#include "backend/warpsim/Launch.h"
#include <iterator>

using namespace tw::warpsim;

/// By Kind.
static constexpr const char *kKindNames[] = {"race-raw",
                                             "race-war",
                                             "race-waw",
                                             "redundant-write",
                                             "uninit-shared",
                                             "uninit-global",
                                             "uninit-register",
                                             "out-of-bounds-global",
                                             "out-of-bounds-shared",
                                             "out-of-bounds-local",
                                             "out-of-bounds-param",
                                             "read-only",
                                             "misaligned",
                                             "divergent-collective",
                                             "divergent-barrier",
                                             "bad-membermask",
                                             "inactive-lane",
                                             "barrier-misuse",
                                             "deadlock",
                                             "trap",
                                             "assertion",
                                             "unsupported",
                                             "step-limit",
                                             "branch-index",
                                             "async-race",
                                             "async-leak",
                                             "async-misuse",
                                             "matrix-misuse",
                                             "warpgroup-misuse",
                                             "register-race",
                                             "missing-fence",
                                             "proxy-race",
                                             "mbarrier-misuse",
                                             "tensor-map-misuse",
                                             "launch-order",
                                             "cluster-misuse"};
static_assert(std::size(kKindNames) == size_t(Kind::ClusterMisuse) + 1);

const char *tw::warpsim::nameOf(Kind kind) { return kKindNames[size_t(kind)]; }
