// Counters of the driver; one set per device.
#pragma once

#include "tlm/base/statistics.h"

namespace hcasim::driver {

struct driver_statistics {
  counter commands;
  counter command_errors;
  histogram command_time;
  level commands_in_flight;
  counter send_wqes;
  counter receive_wqes;
  counter nops;
  counter doorbells;
  counter blueflames;
  counter inline_bytes;
  counter cqes;
  counter empty_polls;
  counter completion_events;
  counter async_events;
  counter interrupts;
  counter pinned_pages;
  counter unpinned_pages;
  counter chunks;
  counter page_faults;
  counter page_faults_refused;
  counter pages_lent;
  counter pages_returned;
  counter zaps;
  counter prefetches;
  histogram page_fault_time;
  counter dma_maps;
  counter dma_unmaps;
  histogram dma_unmap_time;
  counter ats_timeouts;
  counter health_polls;
  counter pcie_errors;
  counter pcie_corrected;
  counter lost_interrupts;
  counter failures;
  counter recoveries;
  histogram recovery_time;

  void list(statistics& s) {
    s.add("commands", "1", "Commands given to the adapter.", commands);
    s.add("command_errors", "1", "Commands that the adapter refused or did not answer.", command_errors);
    s.add("command_time", "ps", "From the command doorbell to the answer seen by software.", command_time);
    s.add("commands_in_flight", "1", "Command queue slots in use.", commands_in_flight);
    s.add("send_wqes", "1", "Send WQEs posted.", send_wqes);
    s.add("receive_wqes", "1", "Receive WQEs posted.", receive_wqes);
    s.add("nops", "1", "NOP WQEs posted to fill the end of a send ring.", nops);
    s.add("doorbells", "1", "SQ and RQ doorbells rung.", doorbells);
    s.add("blueflames", "1", "WQEs written to the doorbell page.", blueflames);
    s.add("inline_bytes", "bytes", "Payload copied into WQEs.", inline_bytes);
    s.add("cqes", "1", "CQEs consumed.", cqes);
    s.add("empty_polls", "1", "Polls that found the CQ empty.", empty_polls);
    s.add("completion_events", "1", "Completion events handed to channels.", completion_events);
    s.add("async_events", "1", "Asynchronous events seen.", async_events);
    s.add("interrupts", "1", "Interrupts handled.", interrupts);
    s.add("pinned_pages", "1", "4 KiB pages pinned for registrations and queues.", pinned_pages);
    s.add("unpinned_pages", "1", "4 KiB pages unpinned again.", unpinned_pages);
    s.add("chunks", "1", "Chunks of physically contiguous pages listed for the adapter.", chunks);
    s.add("page_faults", "1", "Page faults of the adapter that were served.", page_faults);
    s.add("page_faults_refused", "1", "Of those, the ones whose page is not mapped, or not for writing.", page_faults_refused);
    s.add("pages_lent", "1", "4 KiB pages put into tables of on-demand regions.", pages_lent);
    s.add("pages_returned", "1", "4 KiB pages taken out of them again.", pages_returned);
    s.add("zaps", "1", "Commands that took pages from the adapter for the operating system.", zaps);
    s.add("prefetches", "1", "Ranges that software asked to have put in.", prefetches);
    s.add("page_fault_time", "ps", "Serving a page fault or prefetch, waiting for the process's pages included.",
          page_fault_time);
    s.add("dma_maps", "1", "Ranges of a process's memory mapped for the adapter in the IOMMU.", dma_maps);
    s.add("dma_unmaps", "1", "Ranges unmapped again.", dma_unmaps);
    s.add("dma_unmap_time", "ps", "Clearing entries, until the IOMMU answers that nothing uses them.", dma_unmap_time);
    s.add("ats_timeouts", "1", "Invalidations that the adapter did not answer: it may not translate for itself any more.",
          ats_timeouts);
    s.add("health_polls", "1", "Looks at the device's health.", health_polls);
    s.add("pcie_errors", "1", "Errors that PCIe had noted and the device could go on after.", pcie_errors);
    s.add("pcie_corrected", "1", "Times that PCIe had noted errors that its links had put right by themselves.",
          pcie_corrected);
    s.add("lost_interrupts", "1", "Event queues whose handler had to be called without an interrupt.", lost_interrupts);
    s.add("failures", "1", "Times that the device was found to have failed.", failures);
    s.add("recoveries", "1", "Of those, how often it was brought up again.", recoveries);
    s.add("recovery_time", "ps", "From a failure to a device that can be opened.", recovery_time);
  }
};

}  // namespace hcasim::driver
