// Shows an identifier in the structs of the answers to programs.
#pragma once

#include "testbenches/verbs_programs/connection_manager/manager.h"

namespace hcasim::applications::cm {

rdma_ucm_query_route_resp route_of(const identifier& id, const network& net);
rdma_ucm_query_addr_resp addresses_of(const identifier& id, const network& net);
rdma_ucm_query_addr_resp gids_of(const identifier& id, const network& net);

// rdma_ucm_query_path_resp with one path, or none.
struct path_answer {
  std::uint32_t paths;
  std::uint32_t reserved;
  ib_path_rec_data path;
};
path_answer paths_of(const identifier& id, const network& net);

// Writes the way to a node as an address.
void put_route(ib_uverbs_ah_attr& to, std::uint32_t node, const network& net);

// Puts into `out` the attributes that the queue pair needs for a change to `qp_state`. Returns 0 or an errno value.
int qp_attributes_of(const identifier& id, std::uint32_t qp_state, const network& net, ib_uverbs_qp_attr& out);

}  // namespace hcasim::applications::cm
