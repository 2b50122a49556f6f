/* CRC-32C (Castagnoli), the checksum of the run log. Uses the CPU's own instruction where it has
 * one (SSE 4.2), a table elsewhere; both give the same value. thread: any */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Goes on from `crc` (0 at the start): the value over a whole equals the value over its parts in
 * order, so that a reader can keep the checksum of everything it has seen. */
uint32_t runlog_crc(uint32_t crc, const void *data, size_t len);

/* The same by table alone: what machines without the instruction run, and what tests compare. */
uint32_t runlog_crc_table(uint32_t crc, const void *data, size_t len);
