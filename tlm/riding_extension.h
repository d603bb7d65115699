// An extension that a unit keeps in a pool and puts on a payload of another unit on its way. Either end may be destroyed first,
// when a simulation ends with work under way. The payload does not delete the extension, and the pool removes its pointer from
// the payload.
#pragma once

#include <tlm>
#include <utility>

namespace hcasim {

template <class T>
class riding_extension : public tlm::tlm_extension<T> {
 public:
  riding_extension() = default;
  riding_extension(const riding_extension&) = delete;
  riding_extension& operator=(const riding_extension&) = delete;
  ~riding_extension() override { get_off(); }

  void get_on(tlm::tlm_generic_payload& p) {
    payload_ = &p;
    p.set_extension(static_cast<T*>(this));
  }
  void get_off() {
    if (payload_) std::exchange(payload_, nullptr)->template clear_extension<T>();
  }
  [[nodiscard]] tlm::tlm_generic_payload& payload() const { return *payload_; }

  [[nodiscard]] tlm::tlm_extension_base* clone() const override { return nullptr; }  // never copied with the payload
  void copy_from(const tlm::tlm_extension_base&) override {}
  // Forgets the payload, which is being destroyed.
  void free() override { payload_ = nullptr; }

 private:
  tlm::tlm_generic_payload* payload_ = nullptr;
};

}  // namespace hcasim
