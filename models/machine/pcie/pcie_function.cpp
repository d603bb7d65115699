#include "models/machine/pcie/pcie_function.h"

#include <algorithm>
#include <bit>

namespace hcasim {
namespace {

// Returns the specification's error bit for a fate; 0 = not noted.
std::uint32_t error_of(pcie_fate f) {
  switch (f) {
    case pcie_fate::poisoned_read:
    case pcie_fate::poisoned_write:
      return PCI_ERROR_POISONED;
    case pcie_fate::unsupported:
      return PCI_ERROR_UNSUPPORTED;
    case pcie_fate::aborted:
      return PCI_ERROR_COMPLETER_ABORT;
    case pcie_fate::completion_timeout:
      return PCI_ERROR_COMPLETION_TIMEOUT;
    case pcie_fate::malformed:
      return PCI_ERROR_MALFORMED;
    case pcie_fate::ordinary:
      break;
  }
  return 0;
}

bool fits(pcie_fate f, bool read) {
  switch (f) {
    case pcie_fate::poisoned_read:
    case pcie_fate::completion_timeout:
      return read;
    case pcie_fate::poisoned_write:
      return !read;
    default:
      return true;
  }
}

}  // namespace

void pcie_function::ask(pcie_fate fate, std::uint64_t bursts) {
  if (bursts == 0) return;
  if (asked_.empty() || asked_.back().fate != fate) asked_.push_back({fate, 0});
  asked_.back().left += bursts;
  look();
}

std::uint64_t pcie_function::to_come(pcie_fate fate) const {
  std::uint64_t bursts = 0;
  for (const pcie_fault& f : asked_) bursts += f.fate == fate ? f.left : 0;
  return bursts;
}

void pcie_function::withdraw() {
  asked_.clear();
  look();
}

bool pcie_function::apply(pcie_burst& b) {
  if (!link_up_ || !is_master()) {
    ++blocked;
    return true;
  }
  if (b.empty || b.place == pcie_place::interrupts) return false;
  const auto it = std::find_if(asked_.begin(), asked_.end(), [&](const pcie_fault& f) { return fits(f.fate, b.read); });
  if (it == asked_.end()) return false;
  b.fate = it->fate;
  if (--it->left == 0) asked_.erase(it);
  look();
  ++faults;
  note(error_of(b.fate), b);
  return false;
}

void pcie_function::note(std::uint32_t error, const pcie_burst& b) {
  if (errors_ == 0)
    log_ = {static_cast<std::uint32_t>(std::countr_zero(error)), b.address, static_cast<std::uint32_t>(b.bytes)};
  errors_ |= error;
}

void pcie_function::end_mastering() {
  command_ &= ~std::uint32_t{PCI_BUS_MASTER};
  look();
}

void pcie_function::lose_link() {
  link_up_ = false;
  errors_ |= PCI_ERROR_SURPRISE_DOWN;
  if (power) power(false);
}

void pcie_function::link_is_back() {
  link_up_ = true;
  look();
  if (power) power(true);
}

std::uint32_t pcie_function::read(std::uint32_t offset) const {
  switch (offset) {
    case PCI_COMMAND:
      return command_;
    case PCI_LINK_STATUS:
      return PCI_LINK_ACTIVE;
    case PCI_ERROR_UNCORRECTABLE:
      return errors_;
    case PCI_ERROR_CORRECTABLE:
      return up_.corrected | down_.corrected;
    case PCI_ERROR_FIRST:
      return log_.first;
    case PCI_ERROR_LOG_ADDRESS:
      return static_cast<std::uint32_t>(log_.address);
    case PCI_ERROR_LOG_ADDRESS + 4:
      return static_cast<std::uint32_t>(log_.address >> 32);
    case PCI_ERROR_LOG_BYTES:
      return log_.bytes;
    default:
      return 0;
  }
}

void pcie_function::write(std::uint32_t offset, std::uint32_t value) {
  switch (offset) {
    case PCI_COMMAND:
      command_ = value & PCI_BUS_MASTER;
      break;
    case PCI_EXPRESS_CONTROL:
      if ((value & PCI_FUNCTION_RESET) == 0) break;
      command_ = 0;
      asked_.clear();
      if (reset.run) reset();
      break;
    case PCI_ERROR_UNCORRECTABLE:
      errors_ &= ~value;
      if (errors_ == 0) log_ = {};
      break;
    case PCI_ERROR_CORRECTABLE:
      up_.corrected &= ~value;
      down_.corrected &= ~value;
      break;
    default:
      break;
  }
  look();
}

}  // namespace hcasim
