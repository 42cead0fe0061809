// The special registers of PTX by name.
#include "backend/warpsim/ptx/InstructionTable.h"

using namespace tw::warpsim;
using namespace tw::warpsim::ptx;

namespace {
struct NamedSpecial {
  std::string_view name;
  Special special;
  Type type;
};
} // namespace

static constexpr NamedSpecial kSpecials[] = {
    {"%tid.x", Special::TidX, Type::U32},
    {"%tid.y", Special::TidY, Type::U32},
    {"%tid.z", Special::TidZ, Type::U32},
    {"%ntid.x", Special::NtidX, Type::U32},
    {"%ntid.y", Special::NtidY, Type::U32},
    {"%ntid.z", Special::NtidZ, Type::U32},
    {"%ctaid.x", Special::CtaidX, Type::U32},
    {"%ctaid.y", Special::CtaidY, Type::U32},
    {"%ctaid.z", Special::CtaidZ, Type::U32},
    {"%nctaid.x", Special::NctaidX, Type::U32},
    {"%nctaid.y", Special::NctaidY, Type::U32},
    {"%nctaid.z", Special::NctaidZ, Type::U32},
    {"%laneid", Special::Laneid, Type::U32},
    {"%warpid", Special::Warpid, Type::U32},
    {"%nwarpid", Special::Nwarpid, Type::U32},
    {"%smid", Special::Smid, Type::U32},
    {"%nsmid", Special::Nsmid, Type::U32},
    {"%gridid", Special::Gridid, Type::U64},
    {"%lanemask_eq", Special::LanemaskEq, Type::U32},
    {"%lanemask_lt", Special::LanemaskLt, Type::U32},
    {"%lanemask_le", Special::LanemaskLe, Type::U32},
    {"%lanemask_gt", Special::LanemaskGt, Type::U32},
    {"%lanemask_ge", Special::LanemaskGe, Type::U32},
    {"%clock", Special::Clock, Type::U32},
    {"%clock64", Special::Clock64, Type::U64},
    {"%globaltimer", Special::Globaltimer, Type::U64},
    {"%globaltimer_lo", Special::GlobaltimerLo, Type::U32},
    {"%dynamic_smem_size", Special::DynamicSmemSize, Type::U32},
    {"%total_smem_size", Special::TotalSmemSize, Type::U32},
    {"%cluster_ctaid.x", Special::ClusterCtaidX, Type::U32},
    {"%cluster_ctaid.y", Special::ClusterCtaidY, Type::U32},
    {"%cluster_ctaid.z", Special::ClusterCtaidZ, Type::U32},
    {"%cluster_nctaid.x", Special::ClusterNctaidX, Type::U32},
    {"%cluster_nctaid.y", Special::ClusterNctaidY, Type::U32},
    {"%cluster_nctaid.z", Special::ClusterNctaidZ, Type::U32},
    {"%cluster_ctarank", Special::ClusterCtarank, Type::U32},
    {"%cluster_nctarank", Special::ClusterNctarank, Type::U32},
    {"%is_explicit_cluster", Special::IsExplicitCluster, Type::Pred},
};

std::optional<Special> tw::warpsim::ptx::specialNamed(std::string_view name, Type &type) {
  for (const NamedSpecial &candidate : kSpecials)
    if (candidate.name == name) {
      type = candidate.type;
      return candidate.special;
    }
  return std::nullopt;
}

std::string_view tw::warpsim::ptx::specialName(Special special) {
  for (const NamedSpecial &candidate : kSpecials)
    if (candidate.special == special)
      return candidate.name;
  return {};
}
