// Objects in programs' hands: first the public struct, then the simulator's handle.
#pragma once

#include <endian.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

#include "testbenches/verbs_programs/preload/connection.h"

// The header has inline wrappers of these names; the library defines the functions themselves.
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova
#undef ibv_get_device_list

namespace hcasim::preload {

using channel::handle;

struct device_object {
  char before[1024];  // provider libraries look for their own data around a device
  ibv_device device;
  char after[1024];
};

struct context_object {
  verbs_context verbs;
  handle name;
  bool ethernet;  // the port shows itself as RoCE
  std::uint32_t ports;
};

struct pd_object {
  ibv_pd pd;
  handle name;
  ibv_context* home;
  pd_object* parent;     // of a parent domain
  struct td_object* td;  // of a parent domain; null = none
  std::uint32_t users;   // parent domains of a PD, objects of a parent domain
};

struct td_object {
  ibv_td td;
  std::uint32_t users;  // parent domains
};

struct mr_object {
  ibv_mr mr;
  handle name;
  ibv_context* home;
  ibv_pd* pd;
};

struct mw_object {
  ibv_mw mw;
  handle name;
  ibv_context* home;
  ibv_pd* pd;
};

struct dm_object {
  ibv_dm dm;
  handle name;
  ibv_context* home;
};

struct channel_object {
  ibv_comp_channel channel;
  handle name;
  int token;
};

struct cq_object {
  ibv_cq_ex cq;  // begins as an ibv_cq
  handle name;
  ibv_context* home;
  ibv_wc polled;               // of the extended calls
  std::uint64_t polled_ticks;  // of the adapter's clock
};

// A bind in a list to post, and the earlier key of its window.
struct posted_bind {
  const ibv_send_wr* request;  // null = of an extended call
  ibv_mw* mw;
  std::uint32_t before;
};
using posted_binds = std::vector<posted_bind>;

// Shows the key that a posted bind gives to its window of type 2. The struct keeps its index.
inline void show_key(posted_binds& binds, ibv_mw* mw, std::uint32_t key, const ibv_send_wr* request) {
  if (!mw || mw->type != IBV_MW_TYPE_2) return;
  binds.push_back({request, mw, mw->rkey});
  mw->rkey = (mw->rkey & ~0xffU) | (key & 0xff);
}
// Undoes the binds from `first` on in the structs of their windows.
inline void give_back(posted_binds& binds, std::size_t first = 0) {
  for (; binds.size() > first; binds.pop_back()) binds.back().mw->rkey = binds.back().before;
}

// The requests that the extended calls have gathered between wr_start and wr_complete.
struct pending_sends {
  std::vector<channel::send_request> requests;
  std::vector<std::vector<channel::segment>> segments;
  std::vector<std::vector<char>> inlined;
  posted_binds binds;
  int error = 0;
};

struct qp_object {
  ibv_qp_ex qp;  // begins as an ibv_qp
  handle name;
  ibv_context* home;
  ibv_pd* pd;  // null = none
  bool extended;
  pending_sends* pending;
  ibv_ah_attr address;  // the program's own address; the adapter gets another form for RoCE
};

struct srq_object {
  ibv_srq srq;
  handle name;
  ibv_context* home;
  ibv_pd* pd;
  std::uint32_t number;  // XRC
};

struct xrcd_object {
  ibv_xrcd xrcd;
  handle name;
};

struct ah_object {
  ibv_ah ah;
  handle name;
  ibv_context* home;
  ibv_pd* pd;
};

template <class Object, class Public>
Object* of(Public* p) {
  return reinterpret_cast<Object*>(p);
}
inline context_object* of_context(ibv_context* c) {
  return reinterpret_cast<context_object*>(verbs_get_ctx(c));
}
inline handle name_of(ibv_context* c) {
  return of_context(c)->name;
}

// Returns the name for requests that a real library would hand to the kernel. The kernel knows objects by the context and the
// handle in the public struct. So an object names nothing if the program has overwritten either. Posting and polling use
// neither, as in a real library.
template <class Object, class Public>
handle kernel_name(const Public* p) {
  if (!p) return 0;
  const Object& o = *reinterpret_cast<const Object*>(p);
  return p->handle == channel::number_of(o.name) && p->context == o.home ? o.name : channel::no_object;
}
inline handle name_of(const ibv_pd* p) {
  return kernel_name<pd_object>(p);
}
inline handle name_of(const ibv_mr* m) {
  return kernel_name<mr_object>(m);
}
inline handle name_of(const ibv_mw* m) {
  return kernel_name<mw_object>(m);
}
inline handle name_of(const ibv_cq* c) {
  return kernel_name<cq_object>(c);
}
inline handle name_of(const ibv_qp* q) {
  return kernel_name<qp_object>(q);
}
inline handle name_of(const ibv_srq* s) {
  return kernel_name<srq_object>(s);
}
inline handle name_of(const ibv_ah* a) {
  return kernel_name<ah_object>(a);
}
inline handle name_of(const ibv_dm* d) {
  return kernel_name<dm_object>(d);
}

// Makes a request for which a real library makes a system call, so the error is in errno, too.
template <class Request>
int command(const Request& in, typename Request::answer& out) {
  const int error = call(in, out);
  if (error) errno = error;
  return error;
}
template <class Request>
int command(const Request& in) {
  typename Request::answer out;
  return command(in, out);
}

inline channel::bind_info bind_of(const ibv_mw_bind_info& b, const ibv_mw* mw) {
  return {b.mr ? of<mr_object>(b.mr)->name : 0, b.addr, b.length, b.mw_access_flags, b.mr ? b.mr->lkey : 0, mw ? mw->rkey : 0};
}

template <class Object>
Object* made() {
  auto* o = static_cast<Object*>(std::calloc(1, sizeof(Object)));
  if (!o) give_up("no memory is left");
  return o;
}

template <class T>
T* refused(int error) {
  errno = error;
  return nullptr;
}

ibv_device* only_device();
ibv_pd* made_pd(ibv_context* context, handle name);
// Counts an object of a parent domain in, or out. The kernel counts the objects of a PD.
void hold(ibv_pd* pd);
void let_go(ibv_pd* pd);
ibv_mr* made_mr(ibv_pd* pd, const channel::key_answer& out, void* address, size_t length);
ibv_dm* made_dm(ibv_context* context, handle name);

// Waits until the program has acknowledged all events of an object, which is destroyed only then.
void wait_for_events(const std::uint32_t& acknowledged, std::uint32_t given);

// Fills in one part of a context's operations, as do the functions below.
void add_device_operations(context_object& c);
void add_memory_operations(context_object& c);
void add_completion_operations(context_object& c);
void add_queue_pair_operations(context_object& c);
void add_posting_operations(context_object& c);
void add_shared_queue_operations(context_object& c);
void add_group_operations(context_object& c);

// Fills in and returns the public part of a QP that the simulator has made.
ibv_qp* made_qp(qp_object& q, ibv_context* context, handle name, std::uint32_t number, ibv_qp_type type, void* user);

void open_extended(qp_object& q, std::uint64_t operations);
void open_extended(cq_object& q);
int post(qp_object& q, const pending_sends& sends);
int poll(cq_object& q, int entries, ibv_wc* wc);

}  // namespace hcasim::preload
