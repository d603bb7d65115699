// libFuzzer: a stream of commands with mailboxes of any content. The firmware must neither touch memory that is not its own nor
// hang. Layout of the input, repeated: opcode selector, flags, object, modifier, length and bytes of the mailbox.
#include "firmware/control/commands.h"
#include "firmware/control/firmware_bench.h"

using namespace hcasim::testing;

namespace {

class input {
 public:
  input(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
  [[nodiscard]] bool empty() const { return left_ == 0; }
  std::size_t take(void* to, std::size_t n) {
    n = std::min(n, left_);
    std::memcpy(to, data_, n);
    data_ += n;
    left_ -= n;
    return n;
  }
  template <class T>
  T next() {
    T v{};
    take(&v, sizeof v);
    return v;
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

struct shape {
  std::uint16_t opcode;
  std::uint32_t out_bytes;
};
#define SHAPE(name, handler, needs_init, in, out, locks) {HCA_CMD_##name, out},
constexpr shape shapes[] = {FW_COMMANDS(SHAPE)};
#undef SHAPE

std::uint32_t out_bytes(std::uint16_t opcode) {
  for (const shape& s : shapes) {
    if (s.opcode == opcode) return s.out_bytes;
  }
  return 0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static firmware_bench* const b = new firmware_bench(small_limits(), false);
  b->h = hal{};
  b->reset();
  b->init();
  b->create_eq();
  b->create_cq();
  b->create_qp(1);
  input in(data, size);
  std::uint32_t key = 0;
  std::array<std::byte, 4096> mailbox{};
  for (int i = 0; i < 64 && !in.empty(); i++) {
    const auto selector = in.next<std::uint8_t>();
    const auto flags = in.next<std::uint8_t>();
    hca_command c{};
    c.opcode = (flags & 1) != 0 ? selector : shapes[selector % std::size(shapes)].opcode;
    c.object = (flags & 2) != 0 ? in.next<std::uint32_t>() : (flags & 4) != 0 ? key : 2;
    c.modifier = in.next<std::uint16_t>();
    const std::size_t n = in.take(mailbox.data(), in.next<std::uint16_t>() % mailbox.size());
    b->h.write(firmware_bench::in, mailbox.data(), n);
    c.in_address = firmware_bench::in;
    c.in_bytes = static_cast<std::uint32_t>(n);
    if ((flags & 8) == 0 && n >= sizeof(hca_region) && c.opcode >= HCA_CMD_REGISTER) {
      // The lengths agree, since most inputs would end here otherwise.
      auto r = b->h.get<hca_region>(c.in_address);
      r.chunks = static_cast<std::uint32_t>((n - sizeof r) / sizeof(hca_chunk));
      b->h.put(c.in_address, r);
      c.in_bytes = static_cast<std::uint32_t>(sizeof r + r.chunks * sizeof(hca_chunk));
    }
    c.out_address = (flags & 16) != 0 ? in.next<std::uint64_t>() : std::uint64_t{firmware_bench::out};
    c.out_bytes = (flags & 32) != 0 ? in.next<std::uint8_t>() : out_bytes(c.opcode);
    b->h.fail_at = (flags & 64) != 0 ? b->h.dma_calls + in.next<std::uint8_t>() : -1;
    fw_execute(b->fw(), &c);
    fw_tidy(b->fw());
    if (c.status > HCA_UNSUPPORTED) __builtin_trap();
    if (c.status == HCA_OK && hca_key_index(c.result[0]) != 0) key = c.result[0];
  }
  return 0;
}
