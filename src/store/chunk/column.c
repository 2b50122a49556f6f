/* Integers: the differences between neighbours, as distances from the smallest of them, packed into
 * as many bits as the largest distance needs. All arithmetic is modulo 2^64, so that it has no
 * special cases.
 *
 * Floats: decimal numbers as people and programs round them are whole numbers divided by a power of
 * ten; where that division gives back every bit, the whole numbers are packed like integers, and
 * the few that do not fit are listed. Others are cut into byte planes, which zstd compresses well:
 * of the four bytes of a float32 where that loses nothing, else of all eight. Either kind may be
 * shorter as differences (diffs.h). What is likely to pay is tried, and the shortest is kept. */
#include "store/chunk/coder.h"

#include "base/macros.h"
#include "base/mem.h"
#include "runlog/crc.h"
#include "store/chunk/bits.h"
#include "store/chunk/diffs.h"

#include <math.h>
#include <string.h>

#define WHOLE_MAX         9007199254740992.0 /* 2^53: up to here float64 has every whole number */
#define SAMPLES           32
#define DELTA_BYTES       17 /* first, smallest difference, width */
#define DECIMAL_BYTES     12 /* exponent, width, exceptions, base */
#define EXCEPTION_BYTES   10 /* place, bits */
#define EXCEPTIONS_MAX(n) ((n) / 8)
#define SHORT_DECIMAL     16  /* bits: no other codec is shorter than such a one */
#define SMOOTH_PART       0.6 /* of the bits of a float: differences of fewer are worth a try */

static const double power_of_ten[EXPONENT_MAX + 1] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                      1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

struct column_coder *column_coder_new(void)
{
    struct column_coder *coder = MEM_NEW(struct column_coder);

    coder->compressor = ZSTD_createCCtx();
    coder->decompressor = ZSTD_createDCtx();
    ENSURE(coder->compressor && coder->decompressor);
    return coder;
}

void column_coder_free(struct column_coder *coder)
{
    if (coder) {
        (void)ZSTD_freeCCtx(coder->compressor); /* cannot fail here */
        (void)ZSTD_freeDCtx(coder->decompressor);
    }
    mem_free(coder);
}

static uint64_t bits_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static size_t seal(enum column_codec codec, size_t len, uint8_t *out)
{
    out[0] = (uint8_t)codec;
    put_number(out + 1, len, 3);
    put_number(out + 4, runlog_crc(0, out + COLUMN_HEADER_BYTES, len), 4);
    return COLUMN_HEADER_BYTES + len;
}

size_t column_put_ints(struct column_coder *coder, const int64_t *values, size_t count,
                       uint8_t *out)
{
    uint8_t *at = out + COLUMN_HEADER_BYTES;
    int64_t least = INT64_MAX;
    uint64_t widest = 0;
    unsigned width;

    ENSURE(count >= 1 && count <= METRIC_CHUNK_POINTS);
    for (size_t i = 1; i < count; i++) {
        coder->words[i - 1] = (uint64_t)values[i] - (uint64_t)values[i - 1];
        least = MIN(least, (int64_t)coder->words[i - 1]);
    }
    if (count == 1)
        least = 0;
    for (size_t i = 0; i + 1 < count; i++) {
        coder->words[i] -= (uint64_t)least;
        widest |= coder->words[i];
    }
    width = bits_width(widest);
    if (DELTA_BYTES + bits_bytes(count - 1, width) >= count * 8) {
        for (size_t i = 0; i < count; i++)
            put_number(at + 8 * i, (uint64_t)values[i], 8);
        return seal(COLUMN_RAW, count * 8, out);
    }
    put_number(at, (uint64_t)values[0], 8);
    put_number(at + 8, (uint64_t)least, 8);
    at[16] = (uint8_t)width;
    bits_pack(coder->words, count - 1, width, at + DELTA_BYTES);
    return seal(COLUMN_DELTA, DELTA_BYTES + bits_bytes(count - 1, width), out);
}

/* The whole number of `value` with its decimal point moved, when that can be undone exactly. */
static bool whole_of(double value, double power, int64_t *ret_whole)
{
    double whole = nearbyint(value * power);

    if (!(fabs(whole) <= WHOLE_MAX) || bits_of((double)(int64_t)whole / power) != bits_of(value))
        return false; /* NaN, infinite, too fine, or -0 */
    *ret_whole = (int64_t)whole;
    return true;
}

/* The exponent that suits most of a sample; EXPONENT_MAX + 1 when none suits enough. */
static size_t guess_exponent(const double *values, size_t count)
{
    size_t best = EXPONENT_MAX + 1, best_fits = 0;
    size_t samples = MIN(count, (size_t)SAMPLES);
    int64_t whole;

    for (size_t e = 0; e <= EXPONENT_MAX; e++) {
        size_t fits = 0;
        for (size_t i = 0; i < samples; i++)
            fits += whole_of(values[i * count / samples], power_of_ten[e], &whole);
        if (fits > best_fits) {
            best = e;
            best_fits = fits;
        }
        if (fits == samples)
            break;
    }
    return best_fits * 4 >= samples * 3 ? best : EXPONENT_MAX + 1;
}

/* Floats as whole numbers. */
struct wholes {
    size_t exponent, exceptions;
    uint16_t places[EXCEPTIONS_MAX(METRIC_CHUNK_POINTS) + 1]; /* of the exceptions */
    int64_t least;
    unsigned width; /* bits of their distances from `least` */
};

/* Leaves the distances in the coder's words, 0 for an exception. False when there are too many. */
static bool find_wholes(struct column_coder *coder, const double *values, size_t count,
                        struct wholes *w)
{
    int64_t most = INT64_MIN, whole;

    *w = (struct wholes){.exponent = guess_exponent(values, count), .least = INT64_MAX};
    if (w->exponent > EXPONENT_MAX)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (whole_of(values[i], power_of_ten[w->exponent], &whole)) {
            w->least = MIN(w->least, whole);
            most = MAX(most, whole);
            coder->words[i] = (uint64_t)whole;
            continue;
        }
        if (w->exceptions == EXCEPTIONS_MAX(count))
            return false;
        w->places[w->exceptions++] = (uint16_t)i;
    }
    for (size_t i = 0; i < w->exceptions; i++)
        coder->words[w->places[i]] = (uint64_t)w->least;
    for (size_t i = 0; i < count; i++)
        coder->words[i] -= (uint64_t)w->least;
    w->width = bits_width((uint64_t)most - (uint64_t)w->least);
    return true;
}

/* A column that is being written: the shortest way so far lies in `out`. */
struct putting {
    struct column_coder *coder;
    const double *values;
    size_t count;
    uint8_t *out;
    enum column_codec codec;
    size_t len;
};

/* Takes what was tried if it is shorter. */
static void keep_shorter(struct putting *p, enum column_codec codec, size_t len)
{
    if (len >= p->len)
        return;
    memcpy(p->out + COLUMN_HEADER_BYTES, p->coder->attempt, len);
    p->codec = codec;
    p->len = len;
}

/* exponent u8, width u8, exceptions u16, base i64 | distances from the base | exceptions: place
 * u16, bits u64 */
static void put_decimal(struct putting *p, const struct wholes *w)
{
    size_t list = DECIMAL_BYTES + bits_bytes(p->count, w->width);
    uint8_t *at = p->coder->attempt;

    if (list + w->exceptions * EXCEPTION_BYTES >= p->len)
        return;
    at[0] = (uint8_t)w->exponent;
    at[1] = (uint8_t)w->width;
    put_number(at + 2, w->exceptions, 2);
    put_number(at + 4, (uint64_t)w->least, 8);
    bits_pack(p->coder->words, p->count, w->width, at + DECIMAL_BYTES);
    for (size_t i = 0; i < w->exceptions; i++) {
        put_number(at + list + i * EXCEPTION_BYTES, w->places[i], 2);
        put_number(at + list + i * EXCEPTION_BYTES + 2, bits_of(p->values[w->places[i]]), 8);
    }
    keep_shorter(p, COLUMN_DECIMAL, list + w->exceptions * EXCEPTION_BYTES);
}

/* True: nothing else can be much shorter. */
static bool try_wholes(struct putting *p)
{
    struct wholes w;

    if (!find_wholes(p->coder, p->values, p->count, &w))
        return false;
    put_decimal(p, &w);
    if (w.exceptions)
        return false;
    if (w.width && p->count >= DIFFS_COUNT_MIN) {
        struct diffs_guess guess = diffs_guess(p->coder->words, p->count, 0);
        struct diffs_choice choice = {(unsigned)w.exponent, guess.order, (uint64_t)w.least};
        keep_shorter(p, COLUMN_DIFFS, diffs_put(p->coder, choice, p->coder->words, p->count));
    }
    return w.width <= SHORT_DECIMAL;
}

static void try_planes(struct putting *p)
{
    uint64_t *words = p->coder->words;
    bool narrow = true;
    size_t width;

    for (size_t i = 0; narrow && i < p->count; i++) {
        double back = (double)(float)p->values[i];
        narrow = bits_of(back) == bits_of(p->values[i]);
    }
    width = narrow ? 4 : 8;
    for (size_t i = 0; i < p->count; i++) {
        float half = (float)p->values[i];
        uint32_t half_bits;
        memcpy(&half_bits, &half, sizeof half_bits);
        words[i] = narrow ? half_bits : bits_of(p->values[i]);
    }
    keep_shorter(p, narrow ? COLUMN_PLANES_32 : COLUMN_PLANES_64,
                 planes_put(p->coder, words, p->count, width, 0));
    if (p->count >= DIFFS_COUNT_MIN) {
        struct diffs_guess guess = diffs_guess(words, p->count, 1);
        struct diffs_choice choice = {narrow ? DIFFS_FLOAT32 : DIFFS_FLOAT64, guess.order, 0};
        if (guess.bits < SMOOTH_PART * 8 * (double)width)
            keep_shorter(p, COLUMN_DIFFS, diffs_put(p->coder, choice, words, p->count));
    }
}

size_t column_put_floats(struct column_coder *coder, const double *values, size_t count,
                         uint8_t *out)
{
    struct putting p = {coder, values, count, out, COLUMN_RAW, count * 8};

    ENSURE(count >= 1 && count <= METRIC_CHUNK_POINTS);
    if (!try_wholes(&p))
        try_planes(&p);
    for (size_t i = 0; p.codec == COLUMN_RAW && i < count; i++)
        put_number(out + COLUMN_HEADER_BYTES + 8 * i, bits_of(values[i]), 8);
    return seal(p.codec, p.len, out);
}

static enum err_code damaged(struct err *err)
{
    return err_set(err, ERR_IO, "a column of metric values is damaged or of a later version");
}

struct column {
    enum column_codec codec;
    const uint8_t *at;
    size_t len;
};

static enum err_code cut_column(struct str *rest, struct column *ret, struct err *err)
{
    const uint8_t *head = (const uint8_t *)rest->data;
    size_t len;

    if (rest->len < COLUMN_HEADER_BYTES)
        return damaged(err);
    len = (size_t)get_number(head + 1, 3);
    if (len > rest->len - COLUMN_HEADER_BYTES)
        return damaged(err);
    *ret = (struct column){(enum column_codec)head[0], head + COLUMN_HEADER_BYTES, len};
    *rest = str_n(rest->data + COLUMN_HEADER_BYTES + len, rest->len - COLUMN_HEADER_BYTES - len);
    return OK;
}

enum err_code column_skip(struct str *rest, struct err *err)
{
    struct column column;

    return cut_column(rest, &column, err);
}

static enum err_code take(struct str *rest, struct column *ret, struct err *err)
{
    const uint8_t *head = (const uint8_t *)rest->data;

    TRY(cut_column(rest, ret, err));
    if (runlog_crc(0, ret->at, ret->len) != get_number(head + 4, 4))
        return damaged(err);
    return OK;
}

static bool take_delta(struct column_coder *coder, const struct column *c, size_t count,
                       int64_t *ret_values)
{
    uint64_t value, least;

    if (c->len < DELTA_BYTES || c->at[16] > 64 ||
        c->len != DELTA_BYTES + bits_bytes(count - 1, c->at[16]))
        return false;
    value = get_number(c->at, 8);
    least = get_number(c->at + 8, 8);
    bits_unpack(c->at + DELTA_BYTES, count - 1, c->at[16], coder->words);
    ret_values[0] = (int64_t)value;
    for (size_t i = 1; i < count; i++) {
        value += coder->words[i - 1] + least;
        ret_values[i] = (int64_t)value;
    }
    return true;
}

enum err_code column_take_ints(struct column_coder *coder, struct str *rest, size_t count,
                               int64_t *ret_values, struct err *err)
{
    struct column c;

    ENSURE(count >= 1 && count <= METRIC_CHUNK_POINTS);
    TRY(take(rest, &c, err));
    if (c.codec == COLUMN_DELTA && take_delta(coder, &c, count, ret_values))
        return OK;
    if (c.codec != COLUMN_RAW || c.len != count * 8)
        return damaged(err);
    for (size_t i = 0; i < count; i++)
        ret_values[i] = (int64_t)get_number(c.at + 8 * i, 8);
    return OK;
}

static double float_of(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static double float_of_half(uint64_t bits)
{
    uint32_t half = (uint32_t)bits;
    float value;

    memcpy(&value, &half, sizeof value);
    return (double)value;
}

static bool take_decimal(struct column_coder *coder, const struct column *c, size_t count,
                         double *ret_values)
{
    size_t exceptions, list;
    uint64_t least;
    double power;

    if (c->len < DECIMAL_BYTES || c->at[0] > EXPONENT_MAX || c->at[1] > 64)
        return false;
    exceptions = (size_t)get_number(c->at + 2, 2);
    list = DECIMAL_BYTES + bits_bytes(count, c->at[1]);
    if (c->len != list + exceptions * EXCEPTION_BYTES)
        return false;
    power = power_of_ten[c->at[0]];
    least = get_number(c->at + 4, 8);
    bits_unpack(c->at + DECIMAL_BYTES, count, c->at[1], coder->words);
    for (size_t i = 0; i < count; i++)
        ret_values[i] = (double)(int64_t)(coder->words[i] + least) / power;
    for (size_t i = 0; i < exceptions; i++) {
        const uint8_t *at = c->at + list + i * EXCEPTION_BYTES;
        size_t place = (size_t)get_number(at, 2);
        if (place >= count)
            return false;
        ret_values[place] = float_of(get_number(at + 2, 8));
    }
    return true;
}

static bool take_planes(struct column_coder *coder, const struct column *c, size_t count,
                        double *ret_values)
{
    bool narrow = c->codec == COLUMN_PLANES_32;

    if (!planes_take(coder, str_n((const char *)c->at, c->len), count, narrow ? 4 : 8,
                     coder->words))
        return false;
    for (size_t i = 0; i < count; i++)
        ret_values[i] = narrow ? float_of_half(coder->words[i]) : float_of(coder->words[i]);
    return true;
}

static bool take_diffs(struct column_coder *coder, const struct column *c, size_t count,
                       double *ret_values)
{
    const uint64_t *words = coder->words;
    unsigned source;

    if (!diffs_take(coder, str_n((const char *)c->at, c->len), count, &source, coder->words))
        return false;
    for (size_t i = 0; i < count; i++)
        ret_values[i] = source == DIFFS_FLOAT32 ? float_of_half(words[i])
                        : source == DIFFS_FLOAT64
                            ? float_of(words[i])
                            : (double)(int64_t)words[i] / power_of_ten[source];
    return true;
}

static void take_raw_floats(const struct column *c, size_t count, double *ret_values)
{
    for (size_t i = 0; i < count; i++) {
        ret_values[i] = float_of(get_number(c->at + 8 * i, 8));
    }
}

enum err_code column_take_floats(struct column_coder *coder, struct str *rest, size_t count,
                                 double *ret_values, struct err *err)
{
    struct column c;
    bool good = false;

    ENSURE(count >= 1 && count <= METRIC_CHUNK_POINTS);
    TRY(take(rest, &c, err));
    switch (c.codec) {
    case COLUMN_DECIMAL: good = take_decimal(coder, &c, count, ret_values); break;
    case COLUMN_PLANES_32:
    case COLUMN_PLANES_64: good = take_planes(coder, &c, count, ret_values); break;
    case COLUMN_DIFFS: good = take_diffs(coder, &c, count, ret_values); break;
    case COLUMN_RAW:
        good = c.len == count * 8;
        if (good)
            take_raw_floats(&c, count, ret_values);
        break;
    case COLUMN_DELTA: break; /* of integers */
    }
    return good ? OK : damaged(err);
}
