/* What the PCIe check makes of files of /sys/bus/pci/devices. */
#ifndef HOLDFAST_AGENTS_CHECKS_PCIE_H
#define HOLDFAST_AGENTS_CHECKS_PCIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The sum of an aer_dev_… file: its line TOTAL_ERR_…. */
bool pcie_parse_total(const char *data, size_t len, int64_t *ret_total);
/* "16.0 GT/s PCIe" in thousandths; false for "Unknown". */
bool pcie_parse_speed(const char *data, size_t len, int64_t *ret_milli);
/* "16"; false for 0 and 255, which some devices without a link show. */
bool pcie_parse_width(const char *data, size_t len, int64_t *ret_width);

enum pcie_kind { PCIE_OTHER, PCIE_GPU, PCIE_NETWORK, PCIE_DISK, PCIE_ACCELERATOR };
/* Of "0x030200". */
enum pcie_kind pcie_parse_class(const char *data, size_t len);

#endif
