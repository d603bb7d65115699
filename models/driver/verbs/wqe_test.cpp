// Rules of posting, without a kernel: lengths and bytes of WQEs, and the index arithmetic of the send ring.
#include "models/driver/verbs/wqe.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstring>
#include <deque>

#include "models/driver/objects/objects.h"
#include "models/driver/verbs/send_ring.h"
#include "models/machine/host/physical_memory.h"
#include "models/machine/host/virtual_memory.h"
#include "tlm/wqe.h"

namespace hcasim::driver {
namespace {

using namespace verbs;

constexpr send_limits limits{HCA_TRANSPORT_RC, 4, 208};

struct source {
  physical_memory bytes;
  virtual_memory memory{bytes, 1};
  std::uint64_t at = memory.allocate(8192);

  source() {
    std::vector<std::byte> pattern(8192);
    for (std::size_t i = 0; i < pattern.size(); ++i) pattern[i] = static_cast<std::byte>(i * 7 + 1);
    memory.write(at, pattern);
  }
  static std::byte value(std::size_t i) { return static_cast<std::byte>(i * 7 + 1); }
};

ibv_send_wr request(ibv_wr_opcode op, ibv_sge* sges, int n, unsigned flags = 0) {
  ibv_send_wr wr{};
  wr.opcode = op;
  wr.sg_list = sges;
  wr.num_sge = n;
  wr.send_flags = flags;
  return wr;
}

template <class T>
T at(const wqe_buffer& b, std::size_t offset) {
  T v;
  std::memcpy(&v, b.data() + offset, sizeof v);
  return v;
}

TEST(Wqe, InlineLengthsInBlocks) {
  const auto blocks = [](ibv_wr_opcode op, std::uint32_t bytes) {
    ibv_sge sge{0, bytes, 0};
    return shape_of(request(op, &sge, 1, IBV_SEND_INLINE), limits).blocks;
  };
  for (const auto& [bytes, n] :
       {std::pair{0U, 1U}, {1U, 1U}, {28U, 1U}, {29U, 2U}, {88U, 2U}, {89U, 3U}, {148U, 3U}, {149U, 4U}, {208U, 4U}}) {
    EXPECT_EQ(blocks(IBV_WR_RDMA_WRITE, bytes), n) << bytes;
  }
  for (const auto& [bytes, n] : {std::pair{44U, 1U}, {45U, 2U}, {104U, 2U}, {105U, 3U}, {164U, 3U}, {165U, 4U}}) {
    EXPECT_EQ(blocks(IBV_WR_SEND, bytes), n) << bytes;
  }
  EXPECT_EQ(inline_capacity(32, 1), 28U);
  EXPECT_EQ(inline_capacity(32, 3), 148U);
  EXPECT_EQ(inline_capacity(16, 2), 104U);
}

// 64 B of addresses, 4 B of the one chunk's header, then the data.
TEST(Wqe, WideDatagrams) {
  source s;
  address_handle ah;
  ah.attr = {7, 0, 1};
  for (const auto& [bytes, n] : {std::pair{0U, 2U}, {60U, 2U}, {61U, 3U}, {124U, 3U}, {125U, 4U}, {188U, 4U}, {189U, 5U}}) {
    EXPECT_EQ(blocks_with_inline(header_bytes(HCA_WQE_SEND, addressing::wide_datagram), bytes), n) << bytes;
  }
  EXPECT_EQ(inline_capacity(HCA_WQE_BLOCK, 1), 0U);
  EXPECT_EQ(inline_capacity(HCA_WQE_BLOCK, 3), 124U);
  send_limits wide = limits;
  wide.transport = HCA_TRANSPORT_UD;
  wide.wide_datagrams = true;
  for (const bool global : {false, true}) {
    ah.attr.is_global = global ? 1 : 0;
    ah.attr.grh.hop_limit = global ? 9 : 0;
    ah.attr.grh.dgid.raw[3] = global ? 0x33 : 0;
    ibv_sge sge{s.at, 100, 0};
    ibv_send_wr wr = request(IBV_WR_SEND, &sge, 1, IBV_SEND_INLINE);
    wr.wr.ud = {&ah, 0x55, 0x66};
    const send_shape shape = shape_of(wr, wide);
    ASSERT_EQ(shape.error, 0);
    ASSERT_EQ(shape.blocks, 3U);
    wqe_buffer out;
    out.fill(std::byte{0xee});
    ASSERT_TRUE(build_send(wr, shape, 0x1234, 0, false, s.memory, out));
    wqe_view seen;
    ASSERT_EQ(parse_wqe(out, seen), wqe_fault::none);
    EXPECT_EQ(seen.length, 100U);
    EXPECT_EQ(seen.datagram.qpn, 0x55U);
    EXPECT_EQ(seen.gid != nullptr, global);
    std::array<std::byte, 100> copied{};
    copy_inline(seen, 0, copied);
    for (std::size_t i = 0; i < copied.size(); ++i) EXPECT_EQ(copied[i], source::value(i));
    std::array<std::byte, 7> tail{};
    copy_inline(seen, 93, tail);
    for (std::size_t i = 0; i < tail.size(); ++i) EXPECT_EQ(tail[i], source::value(93 + i));
    out[63] = std::byte{1};
    EXPECT_EQ(parse_wqe(out, seen), wqe_fault::reserved) << "behind the address all is zero";
  }
}

TEST(Wqe, WriteWithSegments) {
  source s;
  ibv_sge sges[3] = {{0x1111, 10, 0xa1}, {0x2222, 0, 0xdead}, {0x3333, 30, 0xa3}};
  ibv_send_wr wr = request(IBV_WR_RDMA_WRITE_WITH_IMM, sges, 3, IBV_SEND_SIGNALED | IBV_SEND_FENCE | IBV_SEND_SOLICITED);
  wr.wr.rdma = {0x123456789abcdef0, 0xcafe01};
  wr.imm_data = 0x11223344;
  const send_shape shape = shape_of(wr, limits);
  ASSERT_EQ(shape.error, 0);
  ASSERT_EQ(shape.blocks, 2U);  // 32 + 3 * 16
  wqe_buffer out;
  out.fill(std::byte{0xee});
  ASSERT_TRUE(build_send(wr, shape, 0x1234, 0xfffe, false, s.memory, out));

  const auto control = at<hca_wqe_control>(out, 0);
  EXPECT_EQ(control.opcode, HCA_WQE_WRITE_IMM);
  EXPECT_EQ(control.flags, HCA_WQE_SIGNALED | HCA_WQE_FENCE | HCA_WQE_SOLICITED);
  EXPECT_EQ(control.blocks, 2);
  EXPECT_EQ(control.segments, 3);
  EXPECT_EQ(control.index, 0xfffe);
  EXPECT_EQ(control.qpn, 0x1234U);
  EXPECT_EQ(control.immediate, 0x11223344U);
  EXPECT_EQ(at<std::uint64_t>(out, 16), 0x123456789abcdef0U);
  EXPECT_EQ(at<std::uint32_t>(out, 24), 0xcafe01U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(at<std::uint64_t>(out, 32 + 16 * i), sges[i].addr);
    EXPECT_EQ(at<std::uint32_t>(out, 40 + 16 * i), sges[i].length);
    EXPECT_EQ(at<std::uint32_t>(out, 44 + 16 * i), sges[i].lkey);
  }
  for (std::size_t i = 80; i < 128; ++i) EXPECT_EQ(out[i], std::byte{0});
}

TEST(Wqe, Atomics) {
  source s;
  ibv_sge sge{0x1000, 8, 0xa1};
  ibv_send_wr wr = request(IBV_WR_ATOMIC_CMP_AND_SWP, &sge, 1);
  wr.wr.atomic = {0x8000, 111, 222, 0xbeef};
  wqe_buffer out;
  ASSERT_TRUE(build_send(wr, shape_of(wr, limits), 1, 0, true, s.memory, out));
  EXPECT_EQ(at<hca_wqe_control>(out, 0).opcode, HCA_WQE_COMPARE_SWAP);
  EXPECT_EQ(at<hca_wqe_control>(out, 0).flags, HCA_WQE_SIGNALED);  // every request of such a QP
  EXPECT_EQ(at<hca_wqe_remote>(out, 16).address, 0x8000U);
  EXPECT_EQ(at<hca_wqe_remote>(out, 16).key, 0xbeefU);
  EXPECT_EQ(at<hca_wqe_atomic>(out, 32).swap_add, 222U);
  EXPECT_EQ(at<hca_wqe_atomic>(out, 32).compare, 111U);
  EXPECT_EQ(at<hca_wqe_data>(out, 48).address, 0x1000U);

  wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
  ASSERT_TRUE(build_send(wr, shape_of(wr, limits), 1, 0, false, s.memory, out));
  EXPECT_EQ(at<hca_wqe_atomic>(out, 32).swap_add, 111U);
  EXPECT_EQ(at<hca_wqe_atomic>(out, 32).compare, 0U);

  sge.length = 9;
  EXPECT_EQ(shape_of(wr, limits).error, EINVAL);
  sge.length = 4;
  EXPECT_EQ(shape_of(wr, limits).error, EINVAL);
}

// Reads inline data back as the adapter does: one chunk at the head of each block, until a header of 0.
std::vector<std::byte> gather_inline(const wqe_buffer& wqe, std::size_t at_byte, std::size_t blocks) {
  std::vector<std::byte> data;
  while (at_byte < blocks * 64) {
    const auto n = at<std::uint32_t>(wqe, at_byte);
    if (n == 0) break;
    EXPECT_LE(at_byte % 64 + 4 + n, 64U) << "a chunk crosses a block";
    data.insert(data.end(), wqe.begin() + static_cast<long>(at_byte + 4), wqe.begin() + static_cast<long>(at_byte + 4 + n));
    at_byte = (at_byte / 64 + 1) * 64;
  }
  return data;
}

TEST(Wqe, InlineDataComesBack) {
  source s;
  const send_limits wide{HCA_TRANSPORT_RC, 8, 900};
  EXPECT_TRUE(rc::check("inline data of any cut into SGEs", [&](bool write) {
    const auto cuts =
        *rc::gen::container<std::vector<std::uint32_t>>(*rc::gen::inRange<std::size_t>(0, 9), rc::gen::inRange(0U, 110U));
    std::vector<ibv_sge> sges;
    std::vector<std::byte> expected;
    for (const std::uint32_t n : cuts) {
      const std::uint64_t from = *rc::gen::inRange<std::uint64_t>(0, 8000);
      sges.push_back({s.at + from, n, 0xbad});
      for (std::uint32_t i = 0; i < n; ++i) expected.push_back(source::value(from + i));
    }
    const ibv_send_wr wr =
        request(write ? IBV_WR_RDMA_WRITE : IBV_WR_SEND, sges.data(), static_cast<int>(sges.size()), IBV_SEND_INLINE);
    const send_shape shape = shape_of(wr, wide);
    RC_ASSERT(shape.error == 0);
    wqe_buffer out;
    out.fill(std::byte{0xee});
    RC_ASSERT(build_send(wr, shape, 1, 0, false, s.memory, out));
    RC_ASSERT(at<hca_wqe_control>(out, 0).segments == 0);
    RC_ASSERT(gather_inline(out, write ? 32 : 16, shape.blocks) == expected);
  }));
}

TEST(Wqe, RefusedRequests) {
  ibv_sge sges[6]{};
  const auto error = [&](ibv_wr_opcode op, int n, unsigned flags, hca_transport t) {
    return shape_of(request(op, sges, n, flags), {t, 4, 100}).error;
  };
  EXPECT_EQ(error(IBV_WR_SEND, 4, 0, HCA_TRANSPORT_RC), 0);
  EXPECT_EQ(error(IBV_WR_SEND, 5, 0, HCA_TRANSPORT_RC), EINVAL);
  EXPECT_EQ(error(IBV_WR_SEND, -1, 0, HCA_TRANSPORT_RC), EINVAL);
  EXPECT_EQ(error(static_cast<ibv_wr_opcode>(15), 1, 0, HCA_TRANSPORT_RC), EINVAL);
  EXPECT_EQ(error(IBV_WR_RDMA_READ, 1, IBV_SEND_INLINE, HCA_TRANSPORT_RC), EINVAL);
  EXPECT_EQ(error(IBV_WR_RDMA_READ, 1, 0, HCA_TRANSPORT_UC), EINVAL);
  EXPECT_EQ(error(IBV_WR_RDMA_WRITE, 1, 0, HCA_TRANSPORT_UC), 0);
  EXPECT_EQ(error(IBV_WR_RDMA_WRITE, 1, 0, HCA_TRANSPORT_UD), EINVAL);
  EXPECT_EQ(error(IBV_WR_BIND_MW, 0, 0, HCA_TRANSPORT_RC), EINVAL) << "no window";
  EXPECT_EQ(error(IBV_WR_LOCAL_INV, 0, 0, HCA_TRANSPORT_RC), 0);
  EXPECT_EQ(error(IBV_WR_LOCAL_INV, 1, 0, HCA_TRANSPORT_RC), EINVAL);
  EXPECT_EQ(error(IBV_WR_LOCAL_INV, 0, 0, HCA_TRANSPORT_UD), EINVAL);
  EXPECT_EQ(error(IBV_WR_REG_MR, 0, 0, HCA_TRANSPORT_RC), EINVAL) << "not privileged";
  EXPECT_EQ(error(IBV_WR_SEND_WITH_INV, 1, 0, HCA_TRANSPORT_RC), 0);
  EXPECT_EQ(error(IBV_WR_SEND_WITH_INV, 1, 0, HCA_TRANSPORT_UC), EINVAL);
  sges[0].length = 101;
  EXPECT_EQ(error(IBV_WR_SEND, 1, IBV_SEND_INLINE, HCA_TRANSPORT_RC), EINVAL);
  sges[0].length = sges[1].length = 1U << 31;
  EXPECT_EQ(error(IBV_WR_SEND, 1, 0, HCA_TRANSPORT_RC), 0);
  EXPECT_EQ(error(IBV_WR_SEND, 2, 0, HCA_TRANSPORT_RC), EINVAL);
}

// The reader finds the same segments between the control segment and the data.
TEST(Wqe, AddressesOfDatagramsAndExtendedConnections) {
  source s;
  ibv_sge sge{0x1000, 100, 7};
  address_handle to;
  to.attr = {9, 3, 1};
  ibv_send_wr wr = request(IBV_WR_SEND, &sge, 1, 0);
  wr.wr.ud = {&to, 0x1234, 0x5678};
  const send_limits datagrams{.transport = HCA_TRANSPORT_UD};
  alignas(64) wqe_buffer out;
  const auto read = [&](const send_limits& l) {
    const send_shape shape = shape_of(wr, l);
    EXPECT_EQ(shape.error, 0);
    EXPECT_EQ(shape.blocks, 1U);
    EXPECT_TRUE(build_send(wr, shape, 5, 0, false, s.memory, out));
    wqe_view view;
    EXPECT_EQ(parse_wqe(out, view), wqe_fault::none);
    EXPECT_EQ(view.length, 100U);
    return view;
  };
  wqe_view view = read(datagrams);
  EXPECT_EQ(view.gid, nullptr);
  EXPECT_EQ(view.datagram.lid, 9);
  to.attr.is_global = 1;
  to.attr.grh = {.dgid = {{0xff, 1, 2}}, .flow_label = 0xfabcde, .sgid_index = 0, .hop_limit = 4, .traffic_class = 0x5a};
  view = read(datagrams);
  ASSERT_NE(view.gid, nullptr);
  EXPECT_EQ(std::memcmp(view.gid->byte, to.attr.grh.dgid.raw, 16), 0);
  EXPECT_EQ(view.datagram.flow, 0x5aabcdeU) << "20 bits of flow label";
  EXPECT_EQ(view.datagram.hop_limit, 4);

  const send_limits extended{.transport = HCA_TRANSPORT_XRC_INI};
  wr = request(IBV_WR_RDMA_WRITE, &sge, 1, 0);
  wr.wr.rdma = {0x7000, 0x99};
  wr.qp_type.xrc.remote_srqn = 0xabcdef;
  view = read(extended);
  EXPECT_TRUE(view.is_xrc());
  EXPECT_EQ(view.srqn, 0xabcdefU);
  EXPECT_EQ(view.remote.address, 0x7000U);
  wr.qp_type.xrc.remote_srqn = 1U << 24;
  EXPECT_EQ(shape_of(wr, extended).error, EINVAL);
  wr = request(IBV_WR_ATOMIC_FETCH_AND_ADD, &sge, 1, 0);
  sge.length = 8;
  EXPECT_EQ(shape_of(wr, extended).blocks, 2U) << "the data segment is the fifth";
  EXPECT_EQ(shape_of(wr, {.transport = HCA_TRANSPORT_XRC_TGT}).error, EINVAL);
}

TEST(Wqe, InlineFromUnmappedMemory) {
  source s;
  ibv_sge sge{0x10, 8, 0};
  const ibv_send_wr wr = request(IBV_WR_SEND, &sge, 1, IBV_SEND_INLINE);
  wqe_buffer out;
  EXPECT_FALSE(build_send(wr, shape_of(wr, limits), 1, 0, false, s.memory, out));
}

TEST(Wqe, ReceiveEndsWithATerminator) {
  ibv_sge sges[4] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {10, 11, 12}};
  ibv_recv_wr wr{1, nullptr, sges, 2};
  hca_wqe_data out[4];
  EXPECT_EQ(build_receive(wr, 4, out), 48U);
  EXPECT_EQ(out[1].address, 4U);
  EXPECT_EQ(out[2].key, static_cast<std::uint32_t>(HCA_RECV_END));
  EXPECT_EQ(out[2].length, 0U);
  wr.num_sge = 4;
  EXPECT_EQ(build_receive(wr, 4, out), 64U);
  EXPECT_EQ(out[3].key, 12U);
  wr.num_sge = 0;
  EXPECT_EQ(build_receive(wr, 4, out), 16U);
  EXPECT_EQ(out[0].key, static_cast<std::uint32_t>(HCA_RECV_END));
}

TEST(SendRing, SizeHoldsTheRequestsWhateverTheirPlace) {
  EXPECT_EQ(send_ring::size_for(16, 1), 16U);
  EXPECT_EQ(send_ring::size_for(16, 2), 64U);  // 33 blocks at worst
  EXPECT_EQ(send_ring::size_for(32768, 1), 32768U);
  EXPECT_EQ(send_ring::size_for(32769, 1), 0U);
}

TEST(SendRing, FullByRequestsAndByBlocks) {
  send_ring ring;
  ring.resize(8, 3);
  for (std::uint64_t i = 0; i < 3; ++i) ring.push(ring.find(1), 1, i, HCA_WQE_SEND);
  EXPECT_TRUE(ring.find(1).full);  // three requests
  ring.complete(2);
  EXPECT_EQ(ring.outstanding(), 0U);
  EXPECT_FALSE(ring.find(1).full);
  const auto wrapped = ring.find(6);  // 5 blocks are left to the end: a NOP, but then only 3 are free
  EXPECT_TRUE(wrapped.full);
}

// A reference keeps every block of outstanding WQEs.
TEST(SendRing, NeverWrapsNorOverlaps) {
  EXPECT_TRUE(rc::check("random posts and completions", [] {
    const unsigned longest = *rc::gen::inRange(1U, 9U);
    const std::uint32_t requests = *rc::gen::inRange(1U, 20U);
    send_ring ring;
    const std::uint32_t size = send_ring::size_for(requests, longest);
    ring.resize(size, requests);
    struct posted {
      std::uint16_t index;
      unsigned blocks;
      std::uint64_t id;
    };
    std::deque<posted> live;
    std::uint64_t id = 0;
    std::vector<int> used(size);
    for (int step = 0; step < 400; ++step) {
      if (*rc::gen::inRange(0, 3) != 0) {
        const unsigned blocks = *rc::gen::inRange(1U, longest + 1);
        const auto place = ring.find(blocks);
        RC_ASSERT(place.full == (live.size() >= requests));  // the ring's size leaves room for every request and its NOP
        if (place.full) continue;
        RC_ASSERT((place.index & (size - 1)) + blocks <= size);
        for (unsigned b = 0; b < blocks; ++b) RC_ASSERT(used[(place.index + b) & (size - 1)]++ == 0);
        ring.push(place, blocks, id, HCA_WQE_SEND);
        live.push_back({place.index, blocks, id++});
      } else if (!live.empty()) {
        const std::size_t which = *rc::gen::inRange<std::size_t>(0, live.size());
        const auto inside = static_cast<std::uint16_t>(live[which].index + 1);
        if (live[which].blocks > 1) RC_ASSERT(!ring.complete(inside));
        const send_entry* const done = ring.complete(live[which].index);
        RC_ASSERT(done && done->wr_id == live[which].id);
        RC_ASSERT(!ring.complete(live[which].index));
        for (std::size_t i = 0; i <= which; ++i) {
          for (unsigned b = 0; b < live.front().blocks; ++b) --used[(live.front().index + b) & (size - 1)];
          live.pop_front();
        }
        RC_ASSERT(ring.outstanding() == live.size());
      }
    }
  }));
}

}  // namespace
}  // namespace hcasim::driver
