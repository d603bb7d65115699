#include "testbenches/checks/conformance/peer/peer_case.h"

#include <cstring>

namespace hcasim::kit {

system_config peer_node(bool nvme) {
  return with_peers(world::one_node(), nvme);
}

namespace {

// Makes the owner's own software take no time, so that tests place a race exactly.
peer::owner_options quick(peer::owner_options o) {
  o.allocate_call = 0_ps;
  return o;
}

}  // namespace

gpu_fixture::gpu_fixture(cpu& c, node& n, const peer::owner_options& options, std::size_t index)
    : thread(c),
      core(n.device().peers()),
      others(core.names().size()),
      device(n.peer(index)),
      owner(n.host, node::peer_bar(index), "gpu" + std::to_string(index), quick(options)),
      monitor(device) {
  EXPECT_EQ(owner.open(c), 0);
  EXPECT_TRUE(owner.join(core));
}

gpu_fixture::~gpu_fixture() {
  owner.leave(thread);
  expect_balanced();
  EXPECT_EQ(monitor.violation(), "");
}

std::uint64_t gpu_fixture::memory(process_context& p, std::uint64_t bytes, peer::placement how) {
  const std::uint64_t va = owner.allocate(p.c, p.memory, bytes, how);
  EXPECT_NE(va, 0U);
  for_each_piece(owner, va, bytes, [this](std::uint64_t offset, std::uint64_t n, std::uint64_t) { monitor.allow(offset, n); });
  return va;
}

region gpu_fixture::allocate(process_context& p, std::uint64_t bytes, int access, peer::placement how) {
  region r;
  r.length = bytes;
  r.addr = memory(p, bytes, how);
  r.mr = ibv_reg_mr(p.c, p.pd, r.addr, bytes, access);
  EXPECT_NE(r.mr, nullptr) << errno;
  return r;
}

int gpu_fixture::free(cpu& c, std::uint64_t va) {
  std::vector<peer::page_pool::run> pieces;
  for (auto piece = owner.place(va); piece; piece = owner.place(va)) {
    pieces.push_back(*piece);
    va += piece->bytes;
  }
  if (pieces.empty()) return EINVAL;
  std::uint64_t begin = va;
  for (const auto& p : pieces) begin -= p.bytes;
  const int error = owner.free(c, begin);
  c.sync();
  if (error == 0) {
    for (const auto& p : pieces) monitor.forbid(p.offset, p.bytes);
  }
  return error;
}

void gpu_fixture::expect_balanced() const {
  EXPECT_EQ(count("num_alloc_mrs"), count("num_dealloc_mrs"));
  EXPECT_EQ(count("num_reg_pages"), count("num_dereg_pages"));
  EXPECT_EQ(count("num_reg_bytes"), count("num_dereg_bytes"));
  EXPECT_EQ(owner.pinned(), 0U) << "pages are left pinned";
  if (others > 0) return;
  EXPECT_EQ(core.live(), 0U) << "registrations are left over";
  EXPECT_EQ(core.tickets(), 0U) << "tickets are left over";
}

peer_case::peer_case(cpu& thread, node& n, const peer::owner_options& o, const qp_options& qp)
    : base_case(thread, n, qp), gpu(thread, n, o), mine(gpu.allocate(p, 256_KiB)) {
  fill_peer(gpu.device, gpu.owner, mine.addr, mine.length, 99);
}

// The process first: as at the end of an application, its regions go with it.
peer_case::~peer_case() {
  EXPECT_TRUE(p.close());
}

void peer_case::expect_dead(std::uint64_t va, std::uint32_t rkey) {
  for (const bool reads : {false, true}) {
    EXPECT_EQ((reads ? read(va, rkey) : write(va, rkey)).status, IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(p.state(a), IBV_QPS_ERR);
    EXPECT_EQ(p.state(b), IBV_QPS_ERR);
    reconnect();
  }
}

void peer_case::expect_alive(std::uint64_t va, std::uint32_t rkey) {
  p.fill(here.addr, 64, 23);
  EXPECT_EQ(write(va, rkey).status, IBV_WC_SUCCESS);
  EXPECT_EQ(peer_bytes(gpu.device, gpu.owner, va, 64), p.bytes(here.addr, 64));
  p.fill(here.addr, 64, 0);
  EXPECT_EQ(read(va, rkey).status, IBV_WC_SUCCESS);
  EXPECT_EQ(peer_bytes(gpu.device, gpu.owner, va, 64), p.bytes(here.addr, 64));
}

scripted_client::scripted_client(const char* client_name, std::uint64_t dma_base) : dma(dma_base) {
  std::strncpy(name, client_name, peer::IB_PEER_MEMORY_NAME_MAX - 1);
  std::strcpy(version, "0.1");
  acquire = [this](cpu& c, const virtual_memory&, std::uint64_t addr, std::uint64_t size, void** out) {
    say(c, "acquire");
    if (acquire_answer != 1) return acquire_answer;
    if (addr < va || size > bytes || addr - va > bytes - size) return 0;
    contexts_.push_back({addr, size});
    *out = &contexts_.back();
    ++acquired;
    return 1;
  };
  get_pages = [this](cpu& c, std::uint64_t, std::uint64_t, bool, bool, peer::sg_table&, void*, std::uint64_t t) {
    ticket = t;
    say(c, "get_pages");
    if (get_pages_error) return get_pages_error;
    ++pinned;
    return 0;
  };
  dma_map = [this](cpu& c, peer::sg_table& sg, void* context_of, const driver::device&, int, int* nmap) {
    say(c, "dma_map");
    if (dma_map_error) return dma_map_error;
    const auto& x = *static_cast<context*>(context_of);
    const std::uint64_t step = std::max<std::uint64_t>(page, 4096);
    const std::uint64_t first = align_down(x.addr - va, step);
    sg = {{dma + first, align_up(x.addr - va + x.size, step) - first}};
    *nmap = 1;
    if (lie) lie(sg, *nmap);
    ++mapped;
    return 0;
  };
  dma_unmap = [this](cpu& c, peer::sg_table& sg, void*, const driver::device&) {
    say(c, "dma_unmap");
    sg.clear();
    --mapped;
    return 0;
  };
  put_pages = [this](cpu& c, peer::sg_table&, void*) {
    say(c, "put_pages");
    --pinned;
  };
  get_page_size = [this](cpu&, void*) { return page; };
  release = [this](cpu& c, void*) {
    say(c, "release");
    --acquired;
  };
}

other_thread::other_thread(node& n, const std::string& name, std::function<void(cpu&)> body)
    : state_(std::make_shared<shared>()) {
  n.host.run(name, [state = state_, body = std::move(body)](cpu& c) {
    body(c);
    c.sync();
    state->done = true;
    state->ended.notify();
  });
}

void other_thread::join(cpu& c) {
  c.sync();
  while (!state_->done) sc_core::wait(state_->ended);
}

}  // namespace hcasim::kit
