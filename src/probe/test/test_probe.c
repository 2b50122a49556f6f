/* Facts about the probe: pure parsers on texts of /proc, the machine at hand, a stand-in NVML. */
#include "probe/load.h"
#include "probe/machine.h"
#include "probe/oom.h"
#include "probe/place.h"
#include "probe/process_load.h"
#include "probe/procfile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void proc_texts_are_parsed(void **state)
{
    double a, b;
    (void)state;

    assert_true(probe_parse_cpu("cpu  10 0 20 60 10 0 0 0 0 0\ncpu0 1 1 1 1\n", &a, &b));
    assert_true(a == 30 && b == 100);
    assert_false(probe_parse_cpu("nothing", &a, &b));
    assert_true(probe_parse_meminfo("MemTotal:   2 kB\nMemAvailable: 1 kB\n", "MemAvailable", &a));
    assert_true(a == 1024);
    assert_false(probe_parse_meminfo("MemTotal: 2 kB\n", "MemFree", &a));
    assert_true(probe_parse_net("Inter-|   Receive  |  Transmit\n face |bytes  packets\n"
                                "    lo: 5 0 0 0 0 0 0 0 5 0 0 0 0 0 0 0\n"
                                "  eth0: 100 1 0 0 0 0 0 0 40 1 0 0 0 0 0 0\n"
                                "  eth1: 1 1 0 0 0 0 0 0 2 1 0 0 0 0 0 0\n",
                                &a, &b));
    assert_true(a == 101 && b == 42);
}

static void fields_end_with_their_line(void **state)
{
    char value[16];
    (void)state;

    assert_true(probe__field("A=1\nNAME=\"x y\"\nB=2\n", "NAME", value, sizeof value));
    assert_string_equal(value, "x y");
    assert_true(probe__field("NAME\t: z", "NAME", value, sizeof value));
    assert_string_equal(value, "z");
    assert_false(probe__field("NAMES: z", "NAME", value, sizeof value));
    assert_true(probe__field("K:\n", "K", value, sizeof value));
    assert_string_equal(value, "");
}

static void this_machine_has_memory_and_processors(void **state)
{
    struct probe_machine machine;
    (void)state;

    probe_machine_read(&machine, NULL, "/");
    assert_true(machine.memory_bytes > 0);
    assert_true(machine.cpu_threads > 0);
    assert_true(machine.disk_bytes > 0);
    assert_true(machine.kernel[0] != '\0');
    assert_int_equal(machine.gpu_count, 0);
}

static bool has(const struct probe_value *values, size_t count, const char *name, double *ret)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(values[i].name, name) == 0) {
            *ret = values[i].value;
            return true;
        }
    return false;
}

static void readings_that_are_missing_are_left_out(void **state)
{
    static struct probe_value values[PROBE_VALUES_MAX];
    struct probe_machine machine;
    struct nvml *nvml = nvml_open_path(FAKE_NVML);
    struct probe_load load = {.nvml = nvml, .path = "/"};
    double value;
    (void)state;

    assert_non_null(nvml);
    probe_machine_read(&machine, nvml, "/");
    assert_int_equal(machine.gpu_count, 2);
    assert_string_equal(machine.gpus[1].uuid, "GPU-00000001-aaaa-bbbb-cccc-0123456789ab");
    assert_int_equal(machine.gpus[0].memory_kind, GPU_MEMORY_DEDICATED);
    assert_int_equal(machine.gpus[1].memory_kind, GPU_MEMORY_UNIFIED);
    assert_string_equal(machine.driver, "570.1");
    assert_string_equal(machine.cuda, "12.8");
    size_t count = probe_load_read(&load, values);
    assert_false(has(values, count, "cpu.percent", &value)); /* a rate needs two readings */
    assert_true(has(values, count, "gpu.0.memory_percent", &value) && value == 25);
    assert_true(has(values, count, "gpu.1.watts", &value) && value == 70.5);
    assert_true(has(values, count, "gpu.1.memory_percent", &value) && value <= 100);
    assert_false(has(values, count, "gpu.0.celsius", &value));
    do { /* the kernel counts in ticks of 10 ms */
        count = probe_load_read(&load, values);
    } while (!has(values, count, "cpu.percent", &value));
    assert_true(value >= 0 && value <= 100);
    nvml_close(nvml);
}

static void the_type_of_a_gpu_comes_from_its_name(void **state)
{
    static const char *const pairs[][2] = {
        {"NVIDIA A100-SXM4-80GB", "A100"},
        {"NVIDIA A100 80GB PCIe", "A100"},
        {"NVIDIA H100 80GB HBM3", "H100"},
        {"NVIDIA H100 NVL", "H100"},
        {"NVIDIA H200", "H200"},
        {"NVIDIA GH200 480GB", "GH200"},
        {"NVIDIA GB10", "GB10"},
        {"Tesla V100-SXM2-16GB", "V100"},
        {"Tesla T4", "T4"},
        {"NVIDIA L40S", "L40S"},
        {"NVIDIA GeForce RTX 4090", "RTX-4090"},
        {"NVIDIA GeForce RTX 3060 Ti", "RTX-3060-Ti"},
        {"NVIDIA GeForce RTX 4080 Laptop GPU", "RTX-4080"},
        {"NVIDIA RTX 6000 Ada Generation", "RTX-6000-Ada"},
        {"NVIDIA RTX A6000", "RTX-A6000"},
        {"NVIDIA TITAN RTX", "TITAN-RTX"},
        {"GRID A100X-4C", "GRID-A100X-4C"},
        {"", ""},
    };
    char type[64], small[6];
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        probe_gpu_type(pairs[i][0], type, sizeof type);
        assert_string_equal(type, pairs[i][1]);
    }
    probe_gpu_type("NVIDIA RTX 6000 Ada", small, sizeof small);
    assert_string_equal(small, "RTX");
}

static void a_machine_without_the_library_has_no_gpus(void **state)
{
    (void)state;
    assert_null(nvml_open_path("/nonexistent/libnvidia-ml.so.1"));
    nvml_close(NULL);
}

static void kills_for_lack_of_memory_are_counted(void **state)
{
    char path[64];
    (void)state;

    assert_int_equal(probe_parse_oom_kills("low 0\noom 4\noom_kill 3\n"), 3);
    assert_int_equal(probe_parse_oom_kills("oom_kill_disable 0\nunder_oom 0\noom_kill 1"), 1);
    assert_int_equal(probe_parse_oom_kills("oom 4\n"), -1);
    assert_true(probe_parse_cgroup("0::/user.slice/x\n", path, sizeof path));
    assert_string_equal(path, "/user.slice/x");
    assert_true(probe_parse_cgroup("0::/x\n5:cpu:/c\n4:memory:/jobs/a\n", path, sizeof path));
    assert_string_equal(path, "memory/jobs/a");
    assert_false(probe_parse_cgroup("5:cpu:/c\nnonsense", path, sizeof path));
}

static void without_evidence_nothing_is_claimed(void **state)
{
    struct probe_oom oom;
    (void)state;

    probe_oom_begin(&oom, 0);
    assert_false(probe_oom_happened(&oom, 1 << 30));
    probe_oom_end(&oom);
    assert_false(oom.path[0] != '\0');
}

static void a_process_is_read_whatever_its_name(void **state)
{
    struct probe_process self = {.pid = getpid()};
    struct probe_process_reading r;
    double ticks, threads, pages;
    (void)state;

    assert_true(probe_parse_stat("1 (a) b) (c) S 0 1 1 0 -1 4194560 9 8 7 6 30 12 5 4 20 0 3 0 "
                                 "100 2000 77 18446744073709551615\n",
                                 &ticks, &threads, &pages));
    assert_true(ticks == 42 && threads == 3 && pages == 77);
    assert_false(probe_parse_stat("1 (a) S 0", &ticks, &threads, &pages));
    assert_true(probe_process_read(&self, &r));
    assert_true(r.cpu_percent < 0 && r.memory_bytes > 0 && r.threads >= 1);
    assert_true(probe_process_read(&self, &r));
    assert_true(r.cpu_percent >= 0);
    assert_false(probe_process_read(&(struct probe_process){.pid = 1 << 30}, &r));
}

static void a_place_is_told_by_names_alone(void **state)
{
    struct probe_fact facts[PROBE_PLACE_MAX];
    const char *job = NULL, *pod = NULL;
    (void)state;

    setenv("SLURM_JOB_ID", "4711", 1);
    setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
    setenv("POD_NAME", "trainer-0", 1);
    size_t count = probe_place_read(facts);
    for (size_t i = 0; i < count; i++) {
        job = strcmp(facts[i].key, "slurm_job_id") == 0 ? facts[i].value : job;
        pod = strcmp(facts[i].key, "kubernetes_pod") == 0 ? facts[i].value : pod;
        assert_null(strstr(facts[i].value, "10.0.0.1"));
    }
    assert_string_equal(job, "4711");
    assert_string_equal(pod, "trainer-0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proc_texts_are_parsed),
        cmocka_unit_test(kills_for_lack_of_memory_are_counted),
        cmocka_unit_test(without_evidence_nothing_is_claimed),
        cmocka_unit_test(a_process_is_read_whatever_its_name),
        cmocka_unit_test(a_place_is_told_by_names_alone),
        cmocka_unit_test(fields_end_with_their_line),
        cmocka_unit_test(this_machine_has_memory_and_processors),
        cmocka_unit_test(readings_that_are_missing_are_left_out),
        cmocka_unit_test(the_type_of_a_gpu_comes_from_its_name),
        cmocka_unit_test(a_machine_without_the_library_has_no_gpus),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
