/* The part of a function's PCIe configuration space that the root complex serves: 4 KiB for each device, in the order of its
 * links. Other offsets read as 0; an absent device reads as all ones. Offsets of the capabilities are this function's own. */
#pragma once

#include "firmware/abi/layout.h"

#define PCI_CONFIG_WINDOW 0xffffe00000000000ULL

enum {
  PCI_CONFIG_BYTES = 4096, /* of a device */

  PCI_COMMAND = 0x04,              /* rw 4 B: enum pci_command */
  PCI_EXPRESS_CONTROL = 0x48,      /* rw 4 B: enum pci_express_control */
  PCI_LINK_STATUS = 0x50,          /* ro 4 B: enum pci_link_status */
  PCI_ERROR_UNCORRECTABLE = 0x104, /* rw1c 4 B: enum pci_error */
  PCI_ERROR_CORRECTABLE = 0x110,   /* rw1c 4 B: enum pci_corrected */
  PCI_ERROR_FIRST = 0x118,         /* ro 4 B: bit number of the first uncorrectable error */
  PCI_ERROR_LOG_ADDRESS = 0x11c,   /* ro 8 B: address of the failed request */
  PCI_ERROR_LOG_BYTES = 0x124,     /* ro 4 B: its length */
};

enum pci_command { PCI_BUS_MASTER = 1 << 2 };
enum pci_express_control { PCI_FUNCTION_RESET = 1 << 15 };
enum pci_link_status { PCI_LINK_ACTIVE = 1 << 29 };

/* Bits of PCI_ERROR_UNCORRECTABLE. */
enum pci_error {
  PCI_ERROR_SURPRISE_DOWN = 1 << 5,
  PCI_ERROR_POISONED = 1 << 12,
  PCI_ERROR_COMPLETION_TIMEOUT = 1 << 14,
  PCI_ERROR_COMPLETER_ABORT = 1 << 15,
  PCI_ERROR_MALFORMED = 1 << 18,
  PCI_ERROR_UNSUPPORTED = 1 << 20,
};

/* Bits of PCI_ERROR_CORRECTABLE: the link has corrected the error by a retransmission. */
enum pci_corrected {
  PCI_CORRECTED_RECEIVER = 1 << 0,        /* a TLP arrived garbled */
  PCI_CORRECTED_REPLAY_TIMEOUT = 1 << 12, /* a TLP was not acknowledged in time */
};
