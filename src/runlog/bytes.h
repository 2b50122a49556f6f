/* Little-endian integers and doubles in byte buffers of any alignment. thread: any */
#pragma once

#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the run log is little endian and so are all machines that Euvyra supports"
#endif

static inline uint16_t runlog_get_u16(const uint8_t *p)
{
    uint16_t value;
    memcpy(&value, p, sizeof value);
    return value;
}
static inline uint32_t runlog_get_u32(const uint8_t *p)
{
    uint32_t value;
    memcpy(&value, p, sizeof value);
    return value;
}
static inline uint64_t runlog_get_u64(const uint8_t *p)
{
    uint64_t value;
    memcpy(&value, p, sizeof value);
    return value;
}
static inline int64_t runlog_get_i64(const uint8_t *p)
{
    return (int64_t)runlog_get_u64(p);
}
static inline double runlog_get_f64(const uint8_t *p)
{
    double value;
    memcpy(&value, p, sizeof value);
    return value;
}
static inline uint8_t *runlog_put_u16(uint8_t *p, uint16_t value)
{
    memcpy(p, &value, sizeof value);
    return p + sizeof value;
}
static inline uint8_t *runlog_put_u32(uint8_t *p, uint32_t value)
{
    memcpy(p, &value, sizeof value);
    return p + sizeof value;
}
static inline uint8_t *runlog_put_u64(uint8_t *p, uint64_t value)
{
    memcpy(p, &value, sizeof value);
    return p + sizeof value;
}
static inline uint8_t *runlog_put_i64(uint8_t *p, int64_t value)
{
    return runlog_put_u64(p, (uint64_t)value);
}
static inline uint8_t *runlog_put_f64(uint8_t *p, double value)
{
    memcpy(p, &value, sizeof value);
    return p + sizeof value;
}
