// Contexts, opened or imported, and what is imported into them.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "testbenches/verbs_programs/preload/libc.h"
#include "testbenches/verbs_programs/preload/objects.h"

namespace hcasim::preload {

ibv_device* only_device() {
  static device_object* const d = [] {
    auto* made_one = made<device_object>();
    made_one->device.node_type = IBV_NODE_CA;
    made_one->device.transport_type = IBV_TRANSPORT_IB;
    const char* const given = ::getenv("HCASIM_DEVICE");
    const char* const name = given ? given : "hcasim0";
    std::snprintf(made_one->device.name, sizeof made_one->device.name, "%s", name);
    std::snprintf(made_one->device.dev_name, sizeof made_one->device.dev_name, "uverbs0");
    std::snprintf(made_one->device.dev_path, sizeof made_one->device.dev_path, "/sys/class/infiniband_verbs/uverbs0");
    std::snprintf(made_one->device.ibdev_path, sizeof made_one->device.ibdev_path, "/sys/class/infiniband/%s", name);
    return made_one;
  }();
  return &d->device;
}

ibv_pd* made_pd(ibv_context* context, handle name) {
  auto* p = made<pd_object>();
  p->pd.context = context;
  p->pd.handle = channel::number_of(name);
  p->name = name;
  p->home = context;
  return &p->pd;
}

namespace {

// Opens a context, which owns `file` from then on. The file stands for the context in processes that import the context.
template <class Request>
ibv_context* opened(int file) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return nullptr;
  channel::open_device::answer out{};
  const int with[] = {ends[1], ends[0], file};
  const int error = call(Request{}, out, with);
  ::close(ends[1]);
  if (error) {
    ::close(ends[0]);
    return refused<ibv_context>(error);
  }
  auto* c = made<context_object>();
  c->name = out.object;
  c->ethernet = out.ethernet != 0;
  c->ports = out.ports;
  c->verbs.sz = sizeof c->verbs;
  ibv_context& x = c->verbs.context;
  x.device = only_device();
  x.cmd_fd = file;
  x.async_fd = ends[0];
  x.num_comp_vectors = static_cast<int>(out.completion_vectors);
  ::pthread_mutex_init(&x.mutex, nullptr);
  x.abi_compat = __VERBS_ABI_IS_EXTENDED;
  add_device_operations(*c);
  add_memory_operations(*c);
  add_completion_operations(*c);
  add_queue_pair_operations(*c);
  add_posting_operations(*c);
  add_shared_queue_operations(*c);
  add_group_operations(*c);
  return &x;
}

}  // namespace
}  // namespace hcasim::preload

using namespace hcasim;
using namespace hcasim::preload;

HCASIM_PUBLIC ibv_context* ibv_open_device(ibv_device* device) {
  if (!mine()) return HCASIM_REAL(ibv_open_device)(device);
  if (device != only_device()) return refused<ibv_context>(ENODEV);
  const int file = ::memfd_create("uverbs0", MFD_CLOEXEC);
  if (file < 0) return nullptr;
  ibv_context* const context = opened<channel::open_device>(file);
  if (!context) {
    const int error = errno;
    ::close(file);
    errno = error;
  }
  return context;
}

HCASIM_PUBLIC ibv_context* ibv_import_device(int file) {
  return mine() ? opened<channel::import_device>(file) : HCASIM_REAL(ibv_import_device)(file);
}

HCASIM_PUBLIC int ibv_close_device(ibv_context* context) {
  if (!mine()) return HCASIM_REAL(ibv_close_device)(context);
  const int error = call(channel::close_device{name_of(context)});
  ::close(context->async_fd);
  ::close(context->cmd_fd);
  std::free(verbs_get_ctx(context));
  return error;
}

HCASIM_PUBLIC ibv_pd* ibv_import_pd(ibv_context* context, std::uint32_t pd) {
  if (!mine()) return HCASIM_REAL(ibv_import_pd)(context, pd);
  channel::made out{};
  if (const int error = call(channel::import_pd{name_of(context), pd}, out)) return refused<ibv_pd>(error);
  return made_pd(context, out.object);
}

// Frees only the imported struct: the object itself stays.
HCASIM_PUBLIC void ibv_unimport_pd(ibv_pd* pd) {
  if (!mine()) return HCASIM_REAL(ibv_unimport_pd)(pd);
  std::free(of<pd_object>(pd));
}

HCASIM_PUBLIC ibv_mr* ibv_import_mr(ibv_pd* pd, std::uint32_t mr) {
  if (!mine()) return HCASIM_REAL(ibv_import_mr)(pd, mr);
  channel::import_mr::answer out{};
  if (const int error = call(channel::import_mr{name_of(pd), mr}, out)) return refused<ibv_mr>(error);
  return made_mr(pd, {out.object, out.lkey, out.rkey}, nullptr, out.length);
}

HCASIM_PUBLIC void ibv_unimport_mr(ibv_mr* mr) {
  if (!mine()) return HCASIM_REAL(ibv_unimport_mr)(mr);
  let_go(of<mr_object>(mr)->pd);
  std::free(of<mr_object>(mr));
}

HCASIM_PUBLIC ibv_dm* ibv_import_dm(ibv_context* context, std::uint32_t dm) {
  if (!mine()) return HCASIM_REAL(ibv_import_dm)(context, dm);
  channel::made out{};
  if (const int error = call(channel::import_dm{name_of(context), dm}, out)) return refused<ibv_dm>(error);
  return made_dm(context, out.object);
}

HCASIM_PUBLIC void ibv_unimport_dm(ibv_dm* dm) {
  if (!mine()) return HCASIM_REAL(ibv_unimport_dm)(dm);
  std::free(of<dm_object>(dm));
}
