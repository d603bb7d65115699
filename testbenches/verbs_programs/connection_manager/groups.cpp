// Multicast groups, as a subnet manager keeps them: a group has a multicast LID from the first join to the last leave.
#include <algorithm>
#include <cerrno>

#include "firmware/abi/route.h"
#include "testbenches/verbs_programs/connection_manager/manager.h"

namespace hcasim::applications::cm {
namespace {

// The lowest that is free; 0 = all are in use.
std::uint16_t free_lid(const std::map<gid, std::pair<std::uint16_t, std::uint32_t>>& groups) {
  for (std::uint16_t lid = HCA_MULTICAST_LID; hca_lid_is_group(lid); ++lid) {
    const auto has = [lid](const auto& g) { return g.second.first == lid; };
    if (std::none_of(groups.begin(), groups.end(), has)) return lid;
  }
  return 0;
}

rdma_ucm_ud_param group_address(const gid& group, std::uint16_t lid, std::uint32_t qkey) {
  constexpr std::uint32_t every_member = 0xff'ffff;
  rdma_ucm_ud_param p{};
  p.qp_num = every_member;
  p.qkey = qkey;
  p.ah_attr.dlid = lid;
  p.ah_attr.is_global = 1;
  p.ah_attr.port_num = 1;
  std::copy(group.begin(), group.end(), p.ah_attr.grh.dgid);
  return p;
}

}  // namespace

std::uint16_t manager::lid_of_group(const gid& group) {
  auto& [lid, count] = groups_[group];
  if (count > 0) return lid;
  lid = free_lid(groups_);
  if (lid == 0) {
    groups_.erase(group);
    return 0;
  }
  ++count;
  return lid;
}

int manager::join(identifier& id, std::uint64_t uid, const endpoint& to, std::uint32_t& number) {
  if (!id.on_device() || !id.datagram()) return EINVAL;
  if (!to.is_group()) return EINVAL;
  if (!groups_.contains(to.group)) {
    if (lid_of_group(to.group) == 0) return ENOMEM;
  } else {
    ++groups_.at(to.group).second;
  }
  number = ++made_;
  members_[number] = {id.number, uid, to.group, 0};
  network_.later(config_.management, [this, joined = number] {
    const auto m = members_.find(joined);
    if (m == members_.end()) return;
    identifier* const who = at(m->second.of);
    event e{happened::joined};
    e.member = joined;
    e.uid = m->second.uid;
    e.param.ud =
        group_address(m->second.group, groups_.at(m->second.group).first, who->own.qkey ? who->own.qkey : default_qkey);
    tell(*who, e);
  });
  return 0;
}

int manager::leave(file& f, std::uint32_t number, std::uint32_t& events_reported) {
  const auto m = members_.find(number);
  if (m == members_.end()) return ENOENT;
  if (at(m->second.of)->of != &f) return EINVAL;
  events_reported = m->second.events_reported;
  end(number);
  return 0;
}

// Events of this membership that the program has not taken are dropped.
void manager::end(std::uint32_t number) {
  const auto m = members_.find(number);
  file& f = *at(m->second.of)->of;
  const std::size_t unheard = f.events.remove_if([number](const event& e) { return e.member == number; });
  if (unheard) f.pending(-static_cast<int>(unheard));
  const auto group = groups_.find(m->second.group);
  if (--group->second.second == 0) groups_.erase(group);
  members_.erase(m);
}

}  // namespace hcasim::applications::cm
