// A device that fails and comes back: detection, events to its contexts, and the way to a new bring-up.
#include "firmware/abi/pci_config.h"
#include "models/driver/device/access.h"
#include "models/driver/device/device.h"
#include "tlm/base/delegate.h"

namespace hcasim::driver {

namespace {

constexpr std::uint32_t all_ones = ~0U;  // a read of a device that is not there
constexpr const char* is_gone = "it is gone";
constexpr std::uint32_t fatal_errors = PCI_ERROR_SURPRISE_DOWN | PCI_ERROR_MALFORMED;

}  // namespace

command_result device::execute(cpu& c, const process& p, const command& what) {
  command_result r{EIO, HCA_OK, 0, 0};
  if (!p.lost) r = execute(c, what);
  if (!p.lost) return r;
  if (takes_away(what.code) && may_let_go(c, p)) return {};
  if (!r.error) r.error = EIO;  // done by a device before its reset
  return r;
}

bool device::may_let_go(cpu& c, const process& p) {
  if (!may_move(p)) return true;
  cut_.sleep_until(c, [&] { return !may_move(p) || given_up_; });
  return !may_move(p);
}

// ---- detection

void device::fail(const char* why) {
  if (failed_) return;
  failed_ = true;
  failed_at_ = now();
  failure_ = why;
  ++counters_.failures;
  commands_.die();
  machine_.rouse();
  cqs_ = {};
  qps_ = {};
  srqs_ = {};
  pager_.forget();
  verbs::ibv_async_event event{};
  event.event_type = verbs::IBV_EVENT_DEVICE_FATAL;
  for (process* p : processes_) {
    if (std::exchange(p->lost, true)) continue;
    raise(*p, event);
  }
  if (opened_) {
    call_for_care();
  } else {
    given_up_ = true;
    cut_.wake();
  }
}

void device::look() {
  look_to_come_ = false;
  if (!std::exchange(look_awaited_, false)) event_queue::instance().disregard(-1);
  if (given_up_) return;
  look_due_ = true;
  call_for_care();
}

bool device::await_look() {
  if (!look_to_come_ || std::exchange(look_awaited_, true)) return false;
  event_queue::instance().disregard(-1);
  return true;
}

// Looks keep no simulation going; an awaited one does.
void device::look_later() {
  if (config_.health_period <= 0_ps) return;
  event_queue& queue = event_queue::instance();
  queue.at(now() + config_.health_period, call<&device::look>(this));
  queue.disregard(1);
  look_to_come_ = true;
}

// The thread is made at the first need.
void device::call_for_care() {
  care_.wake();
  if (!std::exchange(has_carer_, true)) machine_.run("care", [this](cpu& c) { take_care(c); });
}

void device::take_care(cpu& c) {
  for (;;) {
    care_.sleep_until(c, [this] { return look_due_ || (failed_ && !given_up_); });
    if (std::exchange(look_due_, false)) {
      if (!failed_) poll_health(c);
      look_later();
    }
    if (failed_ && !given_up_) recover(c);
  }
}

void device::poll_health(cpu& c) {
  ++counters_.health_polls;
  const auto status = read_register<std::uint32_t>(c, at_.bar + HCA_REG_STATUS);
  c.sync();
  if (status == all_ones) return fail(is_gone);
  if (status != HCA_STATUS_READY) return fail("its status is not ready");
  const auto errors = read_register<std::uint32_t>(c, at_.config_space + PCI_ERROR_UNCORRECTABLE);
  c.sync();
  const auto command = read_register<std::uint32_t>(c, at_.config_space + PCI_COMMAND);
  c.sync();
  if (errors == all_ones) return fail(is_gone);
  if ((errors & fatal_errors) != 0) return fail("its PCIe link has a fatal error");
  if ((command & PCI_BUS_MASTER) == 0) return fail("its bus mastering is off");
  if (errors != 0) {
    ++counters_.pcie_errors;
    write_register(c, at_.config_space + PCI_ERROR_UNCORRECTABLE, errors);
  }
  const auto corrected = read_register<std::uint32_t>(c, at_.config_space + PCI_ERROR_CORRECTABLE);
  if (corrected != 0 && corrected != all_ones) {
    ++counters_.pcie_corrected;
    write_register(c, at_.config_space + PCI_ERROR_CORRECTABLE, corrected);
  }
  events_.look(c);
  // Only an answer shows that the firmware still works.
  hca_device_info info{};
  (void)execute(c, {.code = HCA_CMD_QUERY_DEVICE, .out = out_bytes(info)});
}

void device::tell_port(unsigned port, bool up) {
  if (!has_port(port)) return;
  ports_down_.set(port - 1, !up);
  verbs::ibv_async_event event{};
  event.event_type = up ? verbs::IBV_EVENT_PORT_ACTIVE : verbs::IBV_EVENT_PORT_ERR;
  event.element.port_num = static_cast<int>(port);
  for (process* p : processes_) {
    raise(*p, event);
  }
}

// ---- coming back

void device::recover(cpu& c) {
  c.spend(config_.kernel_verb);
  bool up = false;
  bool off = cut_off(c);  // also a device that is not to come back
  for (std::uint32_t tries = 0; off && !up && tries < config_.recoveries; ++tries) {
    commands_.die();
    machine_.rouse();
    commands_.wait_until_left(c);
    if (!reset_function(c, c.time() + config_.reset_timeout)) break;
    up = bring_up(c) == 0;
    if (!up) off = cut_off(c);
  }
  c.sync();
  if (up) {
    ++life_;
    ++counters_.recoveries;
    counters_.recovery_time.add(c.time() - failed_at_);
    failed_ = false;
  } else {
    given_up_ = true;
  }
  cut_.wake();
  opening_done_.wake();
}

// Cuts the device off from memory; true = none of its DMA is under way. Its DMA is off, and the answer to a read has pushed
// earlier writes before it. A device that is not there cannot reach anything.
bool device::cut_off(cpu& c) {
  write_register(c, at_.config_space + PCI_COMMAND, std::uint32_t{0});
  const auto command = read_register<std::uint32_t>(c, at_.config_space + PCI_COMMAND);
  c.sync();
  if (command != all_ones && (command & PCI_BUS_MASTER) != 0) return false;
  dma_.suspend();
  if (std::exchange(cut_off_, life_) == life_) return true;  // once more
  cut_.wake();
  // Requests without an answer are to be polled now.
  machine_.rouse();
  for (process* p : processes_) {
    if (p->lost) tell_channels(*p);
  }
  return true;
}

bool device::reset_function(cpu& c, ps deadline) {
  constexpr ps pause = 1_us;
  bool asked = false;
  for (; c.time() < deadline; c.spend(pause)) {
    const auto control = read_register<std::uint32_t>(c, at_.config_space + PCI_COMMAND);
    if (control == all_ones) continue;
    if (!std::exchange(asked, true)) {
      write_register(c, at_.config_space + PCI_ERROR_UNCORRECTABLE, all_ones);
      write_register(c, at_.config_space + PCI_EXPRESS_CONTROL, std::uint32_t{PCI_FUNCTION_RESET});
      continue;
    }
    if (read_register<std::uint32_t>(c, at_.bar + HCA_REG_STATUS) == HCA_STATUS_RESET) break;
  }
  c.sync();
  if (c.time() >= deadline) return false;
  ports_down_.reset();
  pds_ = numbers{1};
  xrcds_ = numbers{1};
  domains_.clear();
  uars_ = numbers{1};
  device_pages_.clear();
  return true;
}

void device::tell_channels(process& p) {
  for (completion_queue* cq : p.cqs.slots()) {
    if (!cq || !cq->channel) continue;
    auto& channel = static_cast<completion_channel&>(*cq->channel);
    channel.pending.push_back(cq);
    if (channel.notify) channel.notify(1);
  }
  for (completion_channel* channel : p.channels.slots()) {
    if (channel) channel->ready.wake();
  }
}

}  // namespace hcasim::driver
