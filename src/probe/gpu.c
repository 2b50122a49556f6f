/* What names and readings of GPUs mean. */
#include "probe/gpu.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESERVE_BYTES_MIN ((int64_t)2 << 30)
#define RESERVE_PART      16

static const char *const kind_names[] = {
    [GPU_MEMORY_UNKNOWN] = "unknown",
    [GPU_MEMORY_DEDICATED] = "dedicated",
    [GPU_MEMORY_UNIFIED] = "unified",
};

const char *gpu_memory_kind_name(enum gpu_memory_kind kind)
{
    return kind_names[kind];
}

/* Words that say whose it is. */
static bool is_brand(const char *word)
{
    static const char *const brands[] = {"NVIDIA", "Tesla", "GeForce", "Quadro", "Graphics"};

    for (size_t i = 0; i < ARRAY_LEN(brands); i++)
        if (strcmp(word, brands[i]) == 0)
            return true;
    return false;
}

/* Words that say how it is built or how much memory it has: the type ends before them. */
static bool is_form(const char *word)
{
    static const char *const forms[] = {"SXM",    "PCI",        "PCIe", "PCIE",   "NVL", "HBM",
                                        "Laptop", "Generation", "GPU",  "Device", "with"};
    char *rest;

    for (size_t i = 0; i < ARRAY_LEN(forms); i++)
        if (strncmp(word, forms[i], strlen(forms[i])) == 0)
            return true;
    return strtol(word, &rest, 10) > 0 && (strcmp(rest, "GB") == 0 || strcmp(rest, "G") == 0);
}

void probe_gpu_type(const char *name, char *ret_type, size_t type_bytes)
{
    char text[96], *save = NULL;
    size_t len = 0;

    ret_type[0] = '\0';
    (void)snprintf(text, sizeof text, "%s", name);
    for (char *word = strtok_r(text, " -", &save); word; word = strtok_r(NULL, " -", &save)) {
        if (is_brand(word))
            continue;
        if (is_form(word) && len > 0)
            break;
        int n = snprintf(ret_type + len, type_bytes - len, "%s%s", len ? "-" : "", word);
        if (n < 0 || (size_t)n >= type_bytes - len) {
            ret_type[len] = '\0'; /* no word is cut */
            return;
        }
        len += (size_t)n;
    }
}

bool probe_xid_is_grave(unsigned long long xid)
{
    /* Double-bit memory error, firmware faults, NVLink, fallen off the bus, memory that could not
     * be contained, GSP gone, and "recovery action needed". */
    static const unsigned long long grave[] = {48,  62,  64,  74,  79,  95,
                                               110, 119, 120, 140, 143, 154};

    for (size_t i = 0; i < ARRAY_LEN(grave); i++)
        if (grave[i] == xid)
            return true;
    return false;
}

bool probe_gpu_is_well(const struct nvml_reading *reading, unsigned long long xid,
                       char ret_reason[PROBE_GPU_ILL_BYTES])
{
    ret_reason[0] = '\0';
    if (reading->lost)
        (void)snprintf(ret_reason, PROBE_GPU_ILL_BYTES,
                       "it has fallen off the bus, or needs a reset");
    else if (reading->silent)
        (void)snprintf(ret_reason, PROBE_GPU_ILL_BYTES, "it does not answer");
    else if (probe_xid_is_grave(xid))
        (void)snprintf(ret_reason, PROBE_GPU_ILL_BYTES, "the driver reported Xid %llu", xid);
    else if (reading->memory_errors > 0)
        (void)snprintf(ret_reason, PROBE_GPU_ILL_BYTES,
                       "%.0f memory errors could not be corrected since the driver was loaded",
                       reading->memory_errors);
    else if (reading->rows_pending > 0)
        (void)snprintf(ret_reason, PROBE_GPU_ILL_BYTES,
                       "it needs a reset to replace bad memory rows");
    return ret_reason[0] == '\0';
}

int64_t probe_host_reserve(int64_t machine_bytes)
{
    return MIN(MAX(machine_bytes / RESERVE_PART, RESERVE_BYTES_MIN), machine_bytes / 2);
}
