/* The layer below the control firmware. In the simulator every call takes simulated time; on a RISC-V core the same calls are
 * memory-mapped registers and DMA descriptors. All calls return when done, unless they say otherwise.
 * `ctx` is the adapter's, opaque to the firmware. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hal;

/* DMA to and from host memory. 0 = done; -1 = the address could not be reached; HAL_DAMAGED: the bytes read from ICM are
 * damaged, and reading them again does not help. */
enum { HAL_DAMAGED = -2 };
int hal_dma_read(struct hal* h, uint64_t address, void* to, uint32_t bytes);
/* Posts a write: returns when handed to the DMA engine; `from` may be reused. Later writes and hal_dma_read see it. */
int hal_dma_write(struct hal* h, uint64_t address, const void* from, uint32_t bytes);
/* Returns when every earlier posted write has landed. */
void hal_dma_fence(struct hal* h);

/* The adapter's caches hold copies of ICM. Each call writes a dirty entry back, drops the entry, and returns when no unit holds
 * it. */
enum hal_cache { HAL_CACHE_QPC = 0, HAL_CACHE_CQC = 1, HAL_CACHE_MRC = 2, HAL_CACHE_EXTENT = 3 };
void hal_cache_drop(struct hal* h, enum hal_cache cache, uint32_t index);
/* The firmware alone has the QP context of `qpn` from take to give. Take drops the cached copy; data-path units that fetch the
 * context wait. Between the two only DMA is allowed: any other call may wait for the data path. */
void hal_qpc_take(struct hal* h, uint32_t qpn);
void hal_qpc_give(struct hal* h, uint32_t qpn);
/* The firmware alone has the CQ context of `cqn` from take to give. Meanwhile no place in the CQ is taken, and CQEs of earlier
 * places are on their way to memory. Translations of its buffer may be dropped meanwhile: no unit uses them. */
void hal_cqc_take(struct hal* h, uint32_t cqn);
void hal_cqc_give(struct hal* h, uint32_t cqn);
/* Drops cached translations of `tag` (enum hca_table_tag | key index or queue number) for VAs in [first, last]; of a queue's
 * buffer, offsets. */
void hal_translation_drop(struct hal* h, uint32_t tag, uint64_t first, uint64_t last);
/* Returns when no access that was admitted through key index `index` before this call is still in flight. */
void hal_key_drain(struct hal* h, uint32_t index);

/* Locks the MRC of `index`: until unlock only the firmware changes it; binds, invalidates and fast registrations wait. */
void hal_key_lock(struct hal* h, uint32_t index);
void hal_key_unlock(struct hal* h, uint32_t index);

/* Returns when the window of `index`, bound or not, is gone: none of its accesses is in flight, and no region counts it. */
void hal_window_close(struct hal* h, uint32_t index);
/* Returns when the window of `index` is unbound, if it was bound to the region of key `region`. */
void hal_window_unbind(struct hal* h, uint32_t index, uint32_t region);

/* Sets the ICM area of a kind of entries, for the units that fetch them; `entries`: their number, 0 = no area. */
void hal_set_area(struct hal* h, enum hal_cache cache, uint64_t base, uint64_t entries);

/* Tells the place of the map of ICM; 0 = none. The areas follow. */
void hal_set_map(struct hal* h, uint64_t base);

/* Tells the place of page tables: reads from there are checked, as contexts are. */
void hal_set_tables(struct hal* h, uint64_t base, uint64_t bytes);

/* Data path of a QP. STOP: returns when no packet or WQE of the QP is processed any more; its doorbells are dropped. FLUSH:
 * complete its WQEs with WR_FLUSH_ERR. RESUME: send again, after a send error. DRAIN: begin no more WQEs. When all begun WQEs
 * are complete, the context says so and, of DRAIN_NOTIFY, HCA_EVENT_SQ_DRAINED. GO_ON: begin WQEs again. */
enum hal_qp_op {
  HAL_QP_STOP = 1,
  HAL_QP_FLUSH = 2,
  HAL_QP_RESUME = 3,
  HAL_QP_DRAIN = 4,
  HAL_QP_DRAIN_NOTIFY = 5,
  HAL_QP_GO_ON = 6,
};
void hal_qp_control(struct hal* h, uint32_t qpn, enum hal_qp_op op);
/* Starts a QP: the units forget its earlier life, and take its doorbells from this UAR page. `shared`: it is an SRQ. */
void hal_qp_start(struct hal* h, uint32_t qpn, uint32_t uar, bool shared);

/* Takes doorbells of CQ `cqn` from this UAR page, or from none. Takes no time of its own. */
enum { HAL_NO_PAGE = 0xffff };
void hal_cq_page(struct hal* h, uint32_t cqn, uint32_t uar);

/* Sets the first multicast group of hash `hash` to `first`; 0 = there are none. Takes effect with the next packet. */
void hal_group(struct hal* h, uint32_t hash, uint32_t first);
/* Tells the fabric that one group more, or one less, of the port has multicast LID `lid`. */
void hal_group_lid(struct hal* h, uint32_t port, uint32_t lid, bool joins);

/* Event queue contexts live in the adapter; `eqc` NULL closes it. */
struct hca_eqc;
void hal_set_eq(struct hal* h, uint32_t eqn, const struct hca_eqc* eqc);
/* Raises an asynchronous event (enum hca_event) on EQ 0. */
void hal_event(struct hal* h, uint32_t type, uint32_t number);

/* Pages of key index `index` with VAs in [first, last]: accesses that wait for them are repeated, or fail (see
 * enum hal_pages). */
enum hal_pages { HAL_PAGES_READY = 0, HAL_PAGES_READ_ONLY = 1, HAL_PAGES_UNMAPPED = 2 };
void hal_pages(struct hal* h, uint32_t index, uint64_t first, uint64_t last, enum hal_pages outcome);

/* Work that the firmware's core does between the calls above: the simulator charges its time per item. */
enum hal_work {
  HAL_WORK_COMMAND = 0, /* decode and dispatch of one command */
  HAL_WORK_ENTRY = 1,   /* one table entry computed */
  HAL_WORK_CHUNK = 2,   /* one chunk or segment looked at */
  HAL_WORK_BITMAP = 3,  /* one bitmap word scanned */
  HAL_WORK_KINDS = 4,
};
void hal_work(struct hal* h, enum hal_work kind, uint32_t items);

#ifdef __cplusplus
}
#endif
