// Memory exported by one driver and imported by others: a dma-buf [F.7]. The exporter may move the memory or take it back; the
// importers are told under the reservation lock.
//
// - Dynamic importers stop, and map the memory again at its new place when the exporter's fences are signalled.
// - For a pinned importer the memory stays in place; a move notification is ignored, with a warning.
// - For a pinned and revocable importer the memory stays in place until it is revoked, and then is gone for good.
#pragma once

#include <memory>
#include <vector>

#include "models/driver/peer/peer_client.h"
#include "models/driver/peer/sleep_mutex.h"

namespace hcasim::driver::peer {

// Work of the exporter (a copy to the new place) that must be done before others access the memory.
class dma_fence {
 public:
  void signal() {
    signalled_ = true;
    done_.wake();
  }
  [[nodiscard]] bool signalled() const { return signalled_; }
  void wait(cpu& c) {
    done_.sleep_until(c, [this] { return signalled_; });
  }

 private:
  bool signalled_ = false;
  wait_queue done_;
};

class dma_buf {
 public:
  // One import of the buffer; the reservation lock is held in every call.
  class importer {
   public:
    virtual ~importer() = default;
    virtual bool may_move() const = 0;
    virtual bool may_revoke() const = 0;
    // Ends all accesses through this import before it returns. 0, or EIO: the adapter does not answer.
    virtual int invalidate_mappings(cpu& c) = 0;
    virtual int revoke(cpu& c) = 0;
  };

  explicit dma_buf(std::uint64_t size) : size_(size) {}
  virtual ~dma_buf() = default;
  dma_buf(const dma_buf&) = delete;
  dma_buf& operator=(const dma_buf&) = delete;

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] sleep_mutex& reservation() { return reservation_; }
  [[nodiscard]] bool revoked() const { return revoked_; }
  [[nodiscard]] std::size_t importers() const { return importers_.size(); }
  // Returns the number of move notifications that a pinned importer did not follow.
  [[nodiscard]] std::uint64_t warnings() const { return warnings_; }

  // ---- for the exporter; the lock is held

  // Announces a move of the memory to the importers. The caller gives unfinished work of the move to add_fence.
  int move_notify(cpu& c);
  void add_fence(std::shared_ptr<dma_fence> f) { fences_.push_back(std::move(f)); }
  // Takes the memory back for good. EBUSY: an importer cannot give it back; nothing has changed.
  int revoke(cpu& c);

  // ---- for importers; the lock is held

  // Maps the host pages of the whole buffer at its current place. Returns 0 or an errno value; EINVAL: revoked.
  int map_attachment(cpu& c, sg_table& sg) { return revoked_ ? EINVAL : map(c, sg); }
  void unmap_attachment(cpu& c, sg_table& sg) { unmap(c, sg); }
  int pin_attachment(cpu& c) { return revoked_ ? EINVAL : pin(c); }
  void unpin_attachment(cpu& c) { unpin(c); }
  void wait_for_fences(cpu& c);
  void attach(importer& i) { importers_.push_back(&i); }
  void detach(importer& i) { std::erase(importers_, &i); }

 protected:
  virtual int map(cpu& c, sg_table& sg) = 0;
  virtual void unmap(cpu&, sg_table& sg) { sg.clear(); }
  virtual int pin(cpu&) { return 0; }
  virtual void unpin(cpu&) {}

 private:
  std::uint64_t size_;
  sleep_mutex reservation_;
  std::vector<importer*> importers_;
  std::vector<std::shared_ptr<dma_fence>> fences_;
  bool revoked_ = false;
  std::uint64_t warnings_ = 0;
};

}  // namespace hcasim::driver::peer
