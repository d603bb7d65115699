// The register of peer clients, and its exported files [F.1, F.5].
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "models/driver/peer/client_record.h"

namespace hcasim::driver::peer {
namespace {

struct file {
  const char* name;
  std::uint64_t client_record::*value;
};
constexpr file counters[] = {
    {"num_alloc_mrs", &client_record::num_alloc_mrs},           {"num_dealloc_mrs", &client_record::num_dealloc_mrs},
    {"num_reg_pages", &client_record::num_reg_pages},           {"num_dereg_pages", &client_record::num_dereg_pages},
    {"num_reg_bytes", &client_record::num_reg_bytes},           {"num_dereg_bytes", &client_record::num_dereg_bytes},
    {"num_free_callbacks", &client_record::num_free_callbacks},
};

template <std::size_t N>
std::string text(const char (&s)[N]) {
  return {s, static_cast<std::size_t>(std::find(s, s + N - 1, '\0') - s)};
}

template <class Client>
bool complete(const Client& c, bool with_page_size) {
  const bool name_ends = std::find(c.name, c.name + IB_PEER_MEMORY_NAME_MAX, '\0') != c.name + IB_PEER_MEMORY_NAME_MAX;
  return c.acquire && c.get_pages && c.put_pages && c.dma_map && c.dma_unmap && (!with_page_size || c.get_page_size) &&
         name_ends && c.name[0] != '\0' && !std::strchr(c.name, '/');
}

// All but `acquire`, which is asked in its own way.
std::unique_ptr<peer_memory_client> translate(const peer_memory_client_v1& v1) {
  auto t = std::make_unique<peer_memory_client>();
  std::copy(std::begin(v1.name), std::end(v1.name), t->name);
  std::copy(std::begin(v1.version), std::end(v1.version), t->version);
  t->get_pages = [&v1](cpu& c, std::uint64_t addr, std::uint64_t size, bool write, bool force, sg_table& sg, void* context,
                       std::uint64_t ticket) {
    return v1.get_pages(c, addr, size, write, force, sg, context, std::bit_cast<void*>(ticket));
  };
  t->dma_map = v1.dma_map;
  t->dma_unmap = v1.dma_unmap;
  t->put_pages = v1.put_pages;
  t->get_page_size = v1.get_page_size;
  t->release = v1.release;
  return t;
}

}  // namespace

peer_core::peer_core(const device& dma_device, const driver_config& config) : dma_device_(dma_device), config_(config) {}
peer_core::~peer_core() = default;

void* peer_core::ib_register_peer_memory_client(const peer_memory_client* client, invalidate_peer_memory* invalidate_out) {
  if (!client || !complete(*client, legacy())) return nullptr;
  auto r = std::make_unique<client_record>();
  r->client = client;
  r->needs_invalidation = invalidate_out != nullptr;
  if (client->version[IB_PEER_MEMORY_VER_MAX - 1] != 0) {
    const auto& ex = static_cast<const peer_memory_client_ex&>(*client);
    r->unmaps = ex.ex_size >= sizeof(peer_memory_client_ex) && (ex.flags & PEER_MEM_INVALIDATE_UNMAPS);
  }
  void* const handle = enlist(std::move(r));
  if (handle && invalidate_out) {
    *invalidate_out = [this](cpu& c, void* reg_handle, std::uint64_t ticket) { return invalidate(c, reg_handle, ticket); };
  }
  return handle;
}

void* peer_core::ib_register_peer_memory_client_v1(const peer_memory_client_v1* client,
                                                   invalidate_peer_memory_v1* invalidate_out) {
  if (!legacy() || !client || !complete(*client, true)) return nullptr;
  auto r = std::make_unique<client_record>();
  r->v1 = client;
  r->translated = translate(*client);
  r->client = r->translated.get();
  r->needs_invalidation = invalidate_out != nullptr;
  void* const handle = enlist(std::move(r));
  if (handle && invalidate_out) {
    *invalidate_out = [this](cpu& c, void* reg_handle, void* core_context) {
      return invalidate(c, reg_handle, std::bit_cast<std::uint64_t>(core_context));
    };
  }
  return handle;
}

void* peer_core::enlist(std::unique_ptr<client_record> r) {
  r->name = text(r->client->name);
  r->version = text(r->client->version);
  const auto same = [&r](const auto& other) { return other->name == r->name; };
  if (std::any_of(clients_.begin(), clients_.end(), same)) return nullptr;
  clients_.push_back(std::move(r));
  return clients_.back().get();
}

client_record* peer_core::registered(const void* reg_handle) const {
  for (const auto& r : clients_) {
    if (r.get() == reg_handle) return r.get();
  }
  return nullptr;
}

// The client is unlinked first. The registry's lock is held during every acquire, so none is under way afterwards.
void peer_core::ib_unregister_peer_memory_client(cpu& c, void* reg_handle) {
  client_record* const r = registered(reg_handle);
  if (!r || r->leaving) return;
  registry_.lock(c);
  const bool told_before = std::exchange(r->leaving, true);
  registry_.unlock();
  if (told_before) return;
  r->idle.sleep_until(c, [r] { return r->users == 0; });
  registry_.lock(c);  // a search under way goes by their places
  const auto it = std::find_if(clients_.begin(), clients_.end(), [r](const auto& other) { return other.get() == r; });
  r->client = nullptr;
  former_.push_back(std::move(*it));
  clients_.erase(it);
  registry_.unlock();
}

std::vector<std::string> peer_core::names() const {
  std::vector<std::string> all;
  for (const auto& list : {&clients_, &former_}) {
    for (const auto& r : *list) {
      if (std::find(all.begin(), all.end(), r->name) == all.end()) all.push_back(r->name);
    }
  }
  return all;
}

const client_record* peer_core::named(const std::string& name) const {
  for (const auto& r : clients_) {
    if (r->name == name) return r.get();
  }
  const auto it = std::find_if(former_.rbegin(), former_.rend(), [&](const auto& r) { return r->name == name; });
  return it == former_.rend() ? nullptr : it->get();
}

const std::vector<std::string>& peer_core::files() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names{"version"};
    for (const file& f : counters) names.emplace_back(f.name);
    return names;
  }();
  return all;
}

std::uint64_t peer_core::count(const std::string& name, const std::string& wanted) const {
  const client_record* const r = named(name);
  for (const file& f : counters) {
    if (r && wanted == f.name) return r->*f.value;
  }
  return 0;
}

std::string peer_core::read(const std::string& name, const std::string& wanted) const {
  const client_record* const r = named(name);
  if (!r) return {};
  if (wanted == "version") return r->version;
  for (const file& f : counters) {
    if (wanted == f.name) return std::to_string(r->*f.value);
  }
  return {};
}

void peer_core::write(const std::filesystem::path& folder) const {
  for (const std::string& name : names()) {
    const std::filesystem::path place = folder / "memory_peers" / name;
    std::filesystem::create_directories(place);
    for (const std::string& file : files()) std::ofstream(place / file) << read(name, file) << '\n';
  }
}

}  // namespace hcasim::driver::peer
