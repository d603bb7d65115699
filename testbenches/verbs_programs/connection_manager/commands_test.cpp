// Writes to the file: addresses of every family, and commands of any bytes.
#include "testbenches/verbs_programs/connection_manager/connection_manager_kit.h"

namespace hcasim::applications::cm {
namespace {

// Addresses come back in the family that they were given in.
TEST(connection_manager, addresses_of_every_family) {
  listed_network net;
  for (const std::uint16_t family : {std::uint16_t{AF_INET}, std::uint16_t{AF_INET6}, ib_family}) {
    for (const std::uint32_t node : {0U, 1U, any_node}) {
      __kernel_sockaddr_storage a;
      const std::size_t bytes = write_address({family, node, 1234}, RDMA_PS_TCP, net, a);
      const auto back = read_address(&a, bytes, 0, net);
      ASSERT_TRUE(back);
      EXPECT_EQ(back->family, family);
      EXPECT_EQ(back->node, node);
      EXPECT_EQ(back->port, 1234);
      EXPECT_FALSE(read_address(&a, bytes - 1, 0, net));
    }
  }
}

// Each of a program's random commands gets an answer, and nothing is left when the program has gone.
void fuzz(std::uint64_t seed) {
  random_stream r(seed, "commands");
  listed_network net;
  manager m(net, {});
  std::array<std::byte, most_answer_bytes> answer;
  std::vector<file*> files;
  for (std::uint32_t i = 0; i < 4; ++i) files.push_back(&m.open(i % 2, [](int) {}));
  for (int i = 0; i < 4000; ++i) {
    std::vector<std::byte> bytes(r.below(4) ? 400 : r.below(400));
    for (std::size_t at = 0; at + 4 <= bytes.size(); at += 4) {
      std::uint32_t v = 0;
      switch (r.below(6)) {
        case 0:
          v = static_cast<std::uint32_t>(r.below(std::uint64_t{1} << 32));
          break;
        case 1:
          v = static_cast<std::uint32_t>(r.below(8));
          break;
        case 2:
          v = static_cast<std::uint32_t>(1 + r.below(m.identifiers() + 4));
          break;
        case 3:
          v = r.below(2) ? RDMA_PS_TCP : RDMA_PS_UDP;
          break;
        case 4:
          v = htonl((r.below(4) ? 127U : 239U) << 24 | static_cast<std::uint32_t>(r.below(4)));
          break;
        default:
          v = AF_INET | 7000U << 16;
      }
      std::memcpy(bytes.data() + at, &v, sizeof v);
    }
    const rdma_ucm_cmd_hdr h{static_cast<std::uint32_t>(r.below(25)), static_cast<std::uint16_t>(r.below(420)),
                             static_cast<std::uint16_t>(r.below(1100))};
    if (bytes.size() >= sizeof h) std::memcpy(bytes.data(), &h, sizeof h);
    file*& f = files[r.below(files.size())];
    const std::size_t option = std::min<std::size_t>(r.below(8), bytes.size());
    execute(m, *f, {bytes, std::span(bytes).first(option), files[r.below(files.size())]}, answer);
    if (r.below(3) == 0) net.run(net.time() + 20_us);
    if (r.below(400) == 0) {
      m.close(*f);
      f = &m.open(static_cast<std::uint32_t>(r.below(2)), [](int) {});
    }
  }
  for (file* f : files) m.close(*f);
  net.run();
  EXPECT_EQ(m.identifiers(), 0u);
}

TEST(connection_manager, commands_of_all_kinds) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) fuzz(seed);
}

}  // namespace
}  // namespace hcasim::applications::cm
