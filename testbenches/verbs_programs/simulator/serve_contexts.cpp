// Requests that open the device, open a context once more, and close a context.
#include <sys/stat.h>

#include "testbenches/verbs_programs/simulator/handler.h"
#include "testbenches/verbs_programs/simulator/tokens.h"

namespace hcasim::applications {
namespace {

using namespace verbs;

channel::open_device::answer open_as(client& p, ibv_context* context, opening o) {
  const channel::handle name = p.contexts.add(context);
  p.openings.emplace(name, std::move(o));
  return {name, static_cast<std::uint32_t>(context->num_comp_vectors), p.ethernet, hca_device_ports(&context->device->info())};
}

bool identify(const descriptor& file, opening& o) {
  struct stat s {};
  if (::fstat(file.get(), &s) != 0) return false;
  o.device = s.st_dev;
  o.inode = s.st_ino;
  return true;
}

int open_device(caller& k, const channel::open_device&, channel::open_device::answer& out) {
  std::vector<descriptor> with = k.descriptors(3);
  opening o;
  if (with.size() != 3 || !identify(with[2], o)) return EINVAL;
  client& p = k.who;
  if (const int error = p.where.device().open(k.c)) return error;
  ibv_context* context = ibv_open_device(k.c, p.where.device(), p.memory);
  if (!context) return errno;
  context->queue_memory = &p.queues;
  o.tell = tokens_in(std::move(with[0]), std::move(with[1]), p.sleeping);
  driver::of(context).async_notify = [&p, context](int change) {
    if (driver::of(context).lost) p.connections.remove_device(p.number);
    for (const auto& [name, each] : p.openings) {
      if (p.contexts.find(name) == context) each.tell(change);
    }
  };
  out = open_as(p, context, std::move(o));
  return 0;
}

int import_device(caller& k, const channel::import_device&, channel::open_device::answer& out) {
  std::vector<descriptor> with = k.descriptors(3);
  opening o;
  if (with.size() != 3 || !identify(with[2], o)) return EINVAL;
  client& p = k.who;
  for (const auto& [name, each] : p.openings) {
    if (each.device != o.device || each.inode != o.inode) continue;
    o.tell = tokens_in(std::move(with[0]), std::move(with[1]), p.sleeping);
    out = open_as(p, p.contexts.find(name), std::move(o));
    return 0;
  }
  return EINVAL;
}

int close_device(caller& k, const channel::close_device& in, channel::nothing&) {
  client& p = k.who;
  ibv_context* context = p.contexts.find(in.context);
  if (!context) return EINVAL;
  p.contexts.remove(in.context);
  p.openings.erase(in.context);
  bool open = false;
  p.contexts.each([&](const ibv_context& x) { open |= &x == context; });
  return open ? 0 : p.close(k.c, context);
}

// Returns the object with this number, if the object belongs to the context.
template <class T>
T* of_number(const handles<T>& all, std::uint32_t number, const ibv_context* context, channel::handle& name) {
  name = all.named(number);
  T* const found = all.find(name);
  return context && found && found->context == context ? found : nullptr;
}

int import_pd(caller& k, const channel::import_pd& in, channel::made& out) {
  return of_number(k.who.pds, in.pd, k.who.contexts.find(in.context), out.object) ? 0 : EINVAL;
}

int import_mr(caller& k, const channel::import_mr& in, channel::import_mr::answer& out) {
  const ibv_pd* pd = k.who.pds.find(in.pd);
  const ibv_mr* mr = of_number(k.who.mrs, in.mr, pd ? pd->context : nullptr, out.object);
  if (!mr) return EINVAL;
  out.lkey = mr->lkey;
  out.rkey = mr->rkey;
  out.length = mr->length;
  return 0;
}

int import_dm(caller& k, const channel::import_dm& in, channel::made& out) {
  return of_number(k.who.dms, in.dm, k.who.contexts.find(in.context), out.object) ? 0 : EINVAL;
}

}  // namespace

void add_context_requests(handler_table& t) {
  add<channel::open_device, open_device>(t);
  add<channel::import_device, import_device>(t);
  add<channel::close_device, close_device>(t);
  add<channel::import_pd, import_pd>(t);
  add<channel::import_mr, import_mr>(t);
  add<channel::import_dm, import_dm>(t);
}

}  // namespace hcasim::applications
