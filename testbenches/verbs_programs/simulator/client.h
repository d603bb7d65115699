// A process as the driver sees it: its verbs objects, by handle.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>

#include "models/driver/verbs/verbs.h"
#include "models/system/system.h"
#include "testbenches/verbs_programs/connection_manager/manager.h"
#include "testbenches/verbs_programs/simulator/activity.h"
#include "testbenches/verbs_programs/simulator/claims.h"
#include "testbenches/verbs_programs/simulator/gid_map.h"
#include "testbenches/verbs_programs/simulator/handles.h"
#include "testbenches/verbs_programs/simulator/overlap.h"
#include "testbenches/verbs_programs/simulator/timer_file.h"
#include "testbenches/verbs_programs/simulator/waiting.h"

namespace hcasim::applications {

class process_memory;

// Processor time that threads have used, in simulated time.
struct usage {
  ps process{0};
  ps children{0};  // which have ended
};

struct client_statistics {
  counter requests;
  counter empty_polls;
  counter stretched_polls;
  counter clock_syncs;
  counter spins;
  counter spins_landed;
  counter unproven_spins;
  counter parks;
  counter unknown_waits;
  counter machine_clocks;
  counter refused;  // requests that made no sense
};

// How long threads that wait may sleep at once, and other knobs of time.
struct time_config {
  ps clock_read{25'000};
  ps poll_stretch{20'000'000};
  ps spin_stretch{100'000'000};
  ps out_of_band{5'000'000};
  std::uint64_t locked_memory = 16ULL << 30;
  double tsc_mhz = 3000;
};

// One opening of a context.
struct opening {
  std::uint64_t device = 0;  // the file that stands for the context: other processes import the context by this file
  std::uint64_t inode = 0;
  std::function<void(int)> tell;  // called for asynchronous events that have come (> 0) or gone (< 0)
};

// Shared by the processes of a run.
struct client_services {
  waiting& sleeping;
  cm::manager& connections;
  client_statistics& stats;
  const time_config& config;
  bit_rate link_rate;
};

struct client {
  // `number`: of the node; `changes`: of the process; `seed`: of the places of its memory.
  client(node& where, std::uint32_t number, outside_memory& bytes, activity& changes, const client_services& run,
         std::uint64_t seed);

  // Gives its handles lives of their own: a forked child may name objects of its parent.
  void number_lives(std::uint64_t process);

  // Destroys all objects left in the context, as the kernel does. Their handles are invalid then.
  int close(cpu& c, verbs::ibv_context* context);
  void close_all(cpu& c);

  // Returns the GIDs of the port as programs see them. InfiniBand has one. RoCE has the port's own and the one of its IPv4
  // address, each in both versions.
  [[nodiscard]] std::vector<port_gid> port_gids(std::uint32_t port = 1) const;
  // Turns a program's address into one of the fabric. With a gateway, a GID stands for a LID, and packets have no GRH. An
  // address of RoCE is a GID, and is replaced by its node's LID and own GID. EINVAL = this is no address of RoCE; ENETUNREACH =
  // no port has the GID.
  [[nodiscard]] int route(verbs::ibv_ah_attr& to) const;

  node& where;
  const gid_map* gids = nullptr;  // when the fabric has a gateway
  bool ethernet = false;          // the port shows itself as RoCE
  std::uint32_t number;           // of the node
  activity& changes;
  waiting& sleeping;
  cm::manager& connections;
  client_statistics& stats;
  const time_config& config;
  bit_rate link_rate;
  virtual_memory memory;  // the program's
  virtual_memory queues;  // the driver's

  handles<verbs::ibv_context> contexts;  // one handle for each opening
  std::map<channel::handle, opening> openings;
  handles<verbs::ibv_pd> pds;
  handles<verbs::ibv_mr> mrs;
  handles<verbs::ibv_mw> mws;
  handles<verbs::ibv_dm> dms;
  handles<verbs::ibv_comp_channel> channels;
  handles<verbs::ibv_cq> cqs;
  handles<verbs::ibv_qp> qps;
  handles<verbs::ibv_srq> srqs;
  handles<verbs::ibv_ah> ahs;
  handles<verbs::ibv_xrcd> xrcds;
  handles<cm::file> connection_files;
  handles<timer_file> timer_files;
  std::list<timer_file> timers;  // closed ones are used again
  usage used;
  active_time active;
  process_memory* of_process = nullptr;  // null = the memory of no process
  ps* node_used = nullptr;               // of all programs of the node; null = not counted
  std::size_t connected = 0;             // QPs that were made ready to receive
  arrivals in_driver;                    // the requests of its threads

 private:
  [[nodiscard]] int route_outside(verbs::ibv_ah_attr& to) const;
  [[nodiscard]] int route_roce(verbs::ibv_ah_attr& to) const;
};

}  // namespace hcasim::applications
