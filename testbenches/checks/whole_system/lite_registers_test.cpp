// Registers behind AXI-Lite that decode fewer bits than their BAR has, by an endpoint and by bundles.
#include "models/machine/rtl_device/lite_registers.h"

#include <gtest/gtest.h>
#include <tlm_utils/simple_initiator_socket.h>

#include <cstring>
#include <vector>

#include "models/machine/rtl_device/rtl_device.h"
#include "rtl/bundled_registers_design.h"
#include "rtl/small_registers_design.h"
#include "tlm/testing/simulate.h"

namespace hcasim {
namespace {

// Software's side of the BAR: one access at a time.
class software : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<software, 64> out{"out"};

  explicit software(const sc_core::sc_module_name& name) : sc_module(name) {
    out.register_nb_transport_bw(this, &software::answered);
  }
  tlm::tlm_response_status access(bool write, std::uint64_t address, void* data, unsigned bytes) {
    tlm::tlm_generic_payload p;
    p.set_command(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
    p.set_address(address);
    p.set_data_ptr(static_cast<unsigned char*>(data));
    p.set_data_length(bytes);
    p.set_streaming_width(bytes);
    tlm::tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay = to_delay(now());
    over_ = false;
    out->nb_transport_fw(p, phase, delay);
    if (!over_) testing::run_until_idle();  // the RTL is not asked for what it does not have
    EXPECT_TRUE(over_);
    return p.get_response_status();
  }
  tlm::tlm_response_status write(std::uint64_t address, std::uint32_t v, unsigned bytes = 4) {
    return access(true, address, &v, bytes);
  }
  std::uint32_t read(std::uint64_t address) {
    std::uint32_t v = 0;
    status = access(false, address, &v, 4);
    return v;
  }
  tlm::tlm_response_status status = tlm::TLM_OK_RESPONSE;

 private:
  tlm::tlm_sync_enum answered(tlm::tlm_generic_payload& /*p*/, tlm::tlm_phase& /*phase*/, sc_core::sc_time& /*delay*/) {
    over_ = true;
    return tlm::TLM_COMPLETED;
  }
  bool over_ = false;
};

void expect_registers(rtl::design_factory make) {
  rtl::open_shell shell("device", clock_domain(frequency{250e6}), make);
  lite_registers registers("registers", shell);
  software cpu("cpu");
  cpu.out.bind(registers.bar);
  for (std::uint32_t i = 0; i < 15; ++i) EXPECT_EQ(cpu.write(4 * i, 0x11111111 * i), tlm::TLM_OK_RESPONSE);
  for (std::uint32_t i = 0; i < 15; ++i) EXPECT_EQ(cpu.read(4 * i), 0x11111111 * i);
  EXPECT_EQ(cpu.write(9, 0xab, 1), tlm::TLM_OK_RESPONSE);
  EXPECT_EQ(cpu.read(8), 0x2222ab22U) << "strobes";
  cpu.read(60);
  EXPECT_EQ(cpu.status, tlm::TLM_GENERIC_ERROR_RESPONSE) << "SLVERR";
  EXPECT_EQ(registers.errors.value(), 1U);
  // Beyond the six bits there is no register, and none of those below is touched.
  EXPECT_EQ(cpu.write(64, 0xffffffff), tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(cpu.write(0xff4, 0xffffffff), tlm::TLM_ADDRESS_ERROR_RESPONSE);
  cpu.read(0x1008);
  EXPECT_EQ(cpu.status, tlm::TLM_ADDRESS_ERROR_RESPONSE);
  std::uint64_t across = 0;
  EXPECT_EQ(cpu.access(false, 60, &across, 8), tlm::TLM_ADDRESS_ERROR_RESPONSE);
  EXPECT_EQ(cpu.read(0), 0U);
  EXPECT_EQ(cpu.read(52), 0x11111111U * 13);
  EXPECT_EQ(cpu.status, tlm::TLM_OK_RESPONSE) << "an error is over with its access";
}

TEST(lite_registers, of_an_endpoint_with_six_bits_of_address) {
  expect_registers(rtl::make_small_registers_design);
}
TEST(lite_registers, of_bundles_with_six_bits_of_address) {
  expect_registers(rtl::make_bundled_registers_design);
}

TEST(lite_registers, stand_in_a_device_whose_bar_is_larger) {
  rtl_device_config config;
  rtl::chosen what;
  what.make = rtl::make_small_registers_design;
  hcasim::rtl_device device("device0", config, what, {2, 0xffff900000000000, 256, 512, 64});
  EXPECT_EQ(device.bursts(), 0U);
}

}  // namespace
}  // namespace hcasim
