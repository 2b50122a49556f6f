/* Facts about the agent's GPUs, against a library that says what a file says. */
#include "agent/gpus.h"
#include "sys/clock.h"
#include "wire/node_messages.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define PERIOD_MS 20
#define BOOT      "abcdefghijkl"

static char path[64];

/* Whole or not at all: the library reads it at any moment. */
static void say(const char *text)
{
    char fresh[80];

    (void)snprintf(fresh, sizeof fresh, "%s.new", path);
    FILE *file = fopen(fresh, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename(fresh, path), 0);
}

static struct agent_gpus *open_gpus_every(int64_t period_ms)
{
    struct agent_gpus_options options = {
        .nvml_path = FAKE_NVML, .dir = "/", .period_ms = period_ms};
    struct agent_gpus *gpus = NULL;
    struct err err = {0};

    assert_int_equal(agent_gpus_new(&gpus, &options, &err), OK);
    return gpus;
}

static struct agent_gpus *open_gpus(void)
{
    return open_gpus_every(PERIOD_MS);
}

static size_t usable(struct agent_gpus *gpus)
{
    const char *uuids[WIRE_NODE_GPUS_MAX];

    return agent_gpus_usable(gpus, uuids, WIRE_NODE_GPUS_MAX);
}

/* Readings are made until this many can be given away. */
static void wait_for(struct agent_gpus *gpus, size_t count)
{
    while (usable(gpus) != count)
        agent_gpus_wait(gpus, 1000);
}

/* Two readings that began after now. */
static void read_again(struct agent_gpus *gpus)
{
    agent_gpus_wait(gpus, 0);
    agent_gpus_wait(gpus, 10000);
    agent_gpus_wait(gpus, 10000);
}

static struct wire_node node_of(struct agent_gpus *gpus, struct arena *arena)
{
    CLEANUP(buf_release) struct buf text = {0};
    CLEANUP(json_release) json_t *document = NULL;
    struct json_writer w;
    struct wire_node node, read;
    struct err err = {0};

    agent_gpus_node(gpus, arena, &node);
    buf_init(&text, 1 << 20);
    json_writer_init(&w, &text);
    wire_node_encode(&node, &w);
    assert_int_equal(json_parse(buf_str(&text), 1 << 20, &document, &err), OK);
    if (wire_node_decode(arena, document, "node.", &read, &err) != OK)
        fail_msg("%s", err.text); /* what an agent says the server takes */
    assert_int_equal(read.gpu_count, node.gpu_count);
    return node;
}

static void gpus_that_fall_ill_are_taken_out_with_a_reason(void **state)
{
    static const struct {
        const char *text, *reason;
    } faults[] = {
        {"3 lost 1\n", "it has fallen off the bus, or needs a reset"},
        {"3 silent 1\n", "it does not answer"},
        {"3 ecc 2\n", "2 memory errors could not be corrected since the driver was loaded"},
        {"3 pending 1\n", "it needs a reset to replace bad memory rows"},
    };
    CLEANUP(arena_release) struct arena arena = {0};
    (void)state;

    say("");
    struct agent_gpus *gpus = open_gpus();
    assert_int_equal(usable(gpus), 8);
    for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
        int64_t version = agent_gpus_version(gpus);
        say(faults[i].text);
        wait_for(gpus, 7);
        assert_true(agent_gpus_version(gpus) > version);
        struct wire_node node = node_of(gpus, &arena);
        assert_int_equal(node.gpu_count, 8);
        assert_true(str_eq_c(node.gpus[3].ill, faults[i].reason));
        assert_true(str_eq_c(node.gpus[3].type, "A100"));
        assert_int_equal(node.gpus[4].ill.len, 0);
        say("");
        wait_for(gpus, 8);
    }
    agent_gpus_free(gpus);
}

static void a_grave_xid_stays_and_that_of_a_program_does_not_count(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    (void)state;

    say("1 xid 13\n");
    struct agent_gpus *gpus = open_gpus();
    read_again(gpus);
    assert_int_equal(usable(gpus), 8);
    say("1 xid 79\n");
    wait_for(gpus, 7);
    assert_true(str_eq_c(node_of(gpus, &arena).gpus[1].ill, "the driver reported Xid 79"));
    say("1 xid 13\n");
    read_again(gpus);
    assert_int_equal(usable(gpus), 7);
    agent_gpus_free(gpus);
}

static void a_reset_ends_the_illness_of_an_xid(void **state)
{
    (void)state;

    say("");
    struct agent_gpus *gpus = open_gpus();
    say("1 xid 79\n1 lost 1\n2 xid 119\n2 energy 500\n");
    wait_for(gpus, 6);
    read_again(gpus); /* the events are told once */
    say("2 energy 501\n");
    wait_for(gpus, 7); /* what fell off the bus was reset, and is looked for anew */
    say("2 energy 3\n");
    wait_for(gpus, 8); /* the counter began anew */
    agent_gpus_free(gpus);
}

static void a_gpu_without_a_uuid_is_not_given_away(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    (void)state;

    say("* count 2\n1 uuid none\n");
    struct agent_gpus *gpus = open_gpus();
    assert_int_equal(usable(gpus), 1);
    assert_true(str_eq_c(node_of(gpus, &arena).gpus[1].ill, "it does not tell its UUID"));
    say("* count 2\n");
    wait_for(gpus, 2);
    agent_gpus_free(gpus);
}

static void what_is_missing_is_not_known_and_harms_nothing(void **state)
{
    struct agent_gpus_offer offer;
    (void)state;

    say("* power none\n* temperature none\n* utilization none\n* processes none\n* ecc none\n"
        "* pending none\n* mig none\n");
    struct agent_gpus *gpus = open_gpus();
    read_again(gpus);
    agent_gpus_offer(gpus, &offer);
    assert_int_equal(offer.count, 8);
    assert_string_equal(offer.type, "A100");
    assert_int_equal(offer.memory_bytes, INT64_C(81920) << 20);
    assert_int_equal(offer.host_reserve_bytes, 0);
    agent_gpus_free(gpus);
}

static void a_mig_parent_is_not_given_away(void **state)
{
    (void)state;

    say("2 mig 1\n");
    struct agent_gpus *gpus = open_gpus();
    assert_int_equal(usable(gpus), 7);
    agent_gpus_free(gpus);
}

static void a_gpu_without_memory_of_its_own_shares_the_machines(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct agent_gpus_offer offer;
    (void)state;

    say("* count 1\n* name NVIDIA GB10\n* memory none\n");
    struct agent_gpus *gpus = open_gpus();
    agent_gpus_offer(gpus, &offer);
    struct wire_node node = node_of(gpus, &arena);
    assert_string_equal(offer.type, "GB10");
    assert_true(str_eq_c(node.gpus[0].memory_kind, "unified"));
    assert_true(offer.host_reserve_bytes > 0);
    assert_true(offer.memory_bytes > 0);
    assert_true(offer.memory_bytes + offer.host_reserve_bytes <= node.memory_bytes);
    agent_gpus_free(gpus);
}

static void gpus_of_several_types_have_none_together(void **state)
{
    struct agent_gpus_offer offer;
    (void)state;

    say("0 name NVIDIA H100 80GB HBM3\n");
    struct agent_gpus *gpus = open_gpus();
    agent_gpus_offer(gpus, &offer);
    assert_int_equal(offer.count, 8);
    assert_string_equal(offer.type, "");
    agent_gpus_free(gpus);
}

static void a_driver_that_comes_later_is_found(void **state)
{
    (void)state;

    say("* count 0\n");
    struct agent_gpus *gpus = open_gpus();
    assert_int_equal(usable(gpus), 0);
    say("* count 2\n");
    wait_for(gpus, 2);
    agent_gpus_free(gpus);
}

static void programs_that_are_not_ours_are_named_and_subtracted(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    char text[64], wanted[128];
    (void)state;

    (void)snprintf(text, sizeof text, "5 process %d 900\n", (int)getpid());
    say(text);
    struct agent_gpus *gpus = open_gpus();
    assert_int_equal(usable(gpus), 7);
    (void)snprintf(wanted, sizeof wanted, "process %d (test_agent_gpus)", (int)getpid());
    struct str used_by = node_of(gpus, &arena).gpus[5].used_by;
    assert_true(str_starts(used_by, STR("process ")));
    assert_true(str_starts(str_from(wanted), str_n(used_by.data, used_by.len - 1)));
    say("");
    wait_for(gpus, 8);
    agent_gpus_free(gpus);
}

/* A child with the attempt's name in its environment, as any program of a job has it. */
static int start_child(const struct id *attempt)
{
    char name[64];

    (void)snprintf(name, sizeof name, "EUVYRA_ATTEMPT=%s", attempt->text);
    char *const env[] = {name, NULL}, *const argv[] = {"sleep", "1000", NULL};
    int pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)execve("/bin/sleep", argv, env);
        _exit(1);
    }
    return pid;
}

static void programs_of_an_attempt_count_where_it_has_the_gpu(void **state)
{
    struct id attempt = id_make(ID_ATTEMPT, 7);
    const char *const uuid = "GPU-00000005-aaaa-bbbb-cccc-0123456789ab";
    int pid = start_child(&attempt);
    char text[64];
    (void)state;

    say("");
    struct agent_gpus *gpus = open_gpus();
    agent_gpus_use(gpus, &attempt, &uuid, 1);
    (void)snprintf(text, sizeof text, "5 process %d 900\n", pid);
    say(text);
    read_again(gpus);
    assert_int_equal(usable(gpus), 8);
    (void)snprintf(text, sizeof text, "6 process %d 900\n", pid);
    say(text); /* a GPU that it was not given */
    wait_for(gpus, 7);
    agent_gpus_free(gpus);
    assert_int_equal(kill(pid, 9), 0);
}

/* In a container of the job, say, whose programs this process may not see. */
static void programs_that_cannot_be_looked_at_are_the_job_s_where_it_has_the_gpu(void **state)
{
    struct id attempt = id_make(ID_ATTEMPT, 8);
    const char *const uuid = "GPU-00000005-aaaa-bbbb-cccc-0123456789ab";
    (void)state;

    say("");
    struct agent_gpus *gpus = open_gpus();
    agent_gpus_use(gpus, &attempt, &uuid, 1);
    say("5 process 4194303 900\n");
    read_again(gpus);
    assert_int_equal(usable(gpus), 8);
    say("6 process 4194303 900\n");
    wait_for(gpus, 7);
    agent_gpus_free(gpus);
}

static struct wire_samples samples_of(struct agent_gpus *gpus, struct arena *arena,
                                      int64_t *ret_last)
{
    CLEANUP(buf_release) struct buf text = {0};
    json_t *document = NULL; /* what is decoded points into it: it is left to the end */
    struct json_writer w;
    struct wire_samples samples;
    struct err err = {0};

    buf_init(&text, 4 << 20);
    json_writer_init(&w, &text);
    *ret_last = agent_gpus_samples_encode(gpus, STR(BOOT), WIRE_SAMPLES_MAX, &w);
    assert_int_equal(json_parse(buf_str(&text), 4 << 20, &document, &err), OK);
    if (wire_samples_decode(arena, document, &samples, &err) != OK)
        fail_msg("%s", err.text);
    json_decref(document);
    samples.boot = STR("");
    samples.gpus = NULL;
    return samples;
}

static void energy_is_the_counters_difference_of_the_attempts_gpus(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct id attempt = id_make(ID_ATTEMPT, 9);
    const char *const uuids[] = {"GPU-00000000-aaaa-bbbb-cccc-0123456789ab",
                                 "GPU-00000001-aaaa-bbbb-cccc-0123456789ab"};
    double joules = 0, idle_s = 0, sum = 0;
    int64_t last = 0;
    (void)state;

    say("* energy 100\n* utilization 50\n");
    struct agent_gpus *gpus = open_gpus();
    agent_gpus_use(gpus, &attempt, uuids, 2);
    read_again(gpus);
    say("* energy 600\n* utilization 50\n");
    do {
        agent_gpus_wait(gpus, 1000);
    } while (!agent_gpus_energy(gpus, &attempt, &joules, &idle_s) || joules < 900);
    assert_true(joules <= 1000.001);
    assert_true(idle_s == 0);
    agent_gpus_release(gpus, &attempt);
    read_again(gpus);
    assert_false(agent_gpus_energy(gpus, &attempt, &joules, &idle_s));
    struct wire_samples samples = samples_of(gpus, &arena, &last);
    for (size_t i = 0; i < samples.sample_count; i++)
        for (size_t k = 0; k < samples.samples[i].use_count; k++) {
            assert_int_equal(samples.samples[i].uses[k].gpus, 3);
            sum += (double)samples.samples[i].uses[k].energy_mj;
        }
    assert_true(sum > 900000 && sum <= 1000001);
    agent_gpus_free(gpus);
}

static void energy_without_a_counter_is_the_power_over_time(void **state)
{
    struct id attempt = id_make(ID_ATTEMPT, 10);
    const char *const uuid = "GPU-00000000-aaaa-bbbb-cccc-0123456789ab";
    double joules = 0, idle_s = 0;
    (void)state;

    say("* energy none\n* power 100\n");
    struct agent_gpus *gpus = open_gpus();
    int64_t began = clock_mono_ms();
    agent_gpus_use(gpus, &attempt, &uuid, 1);
    while (!agent_gpus_energy(gpus, &attempt, &joules, &idle_s) || joules < 10)
        agent_gpus_wait(gpus, 1000);
    assert_true(joules <= 0.1 * (double)(clock_mono_ms() - began + 1));
    agent_gpus_free(gpus);
}

static void energy_counts_until_the_release(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct id attempt = id_make(ID_ATTEMPT, 12);
    const char *const uuid = "GPU-00000000-aaaa-bbbb-cccc-0123456789ab";
    int64_t last = 0, sum = 0;
    (void)state;

    say("* energy 100\n");
    struct agent_gpus *gpus = open_gpus_every(1000);
    agent_gpus_use(gpus, &attempt, &uuid, 1);
    read_again(gpus);
    say("* energy 1100\n");
    agent_gpus_release(gpus, &attempt); /* at the beginning of the second in which it is used */
    read_again(gpus);
    struct wire_samples samples = samples_of(gpus, &arena, &last);
    for (size_t i = 0; i < samples.sample_count; i++)
        for (size_t k = 0; k < samples.samples[i].use_count; k++)
            sum += samples.samples[i].uses[k].energy_mj;
    assert_true(sum < 900000);
    agent_gpus_free(gpus);
}

static void an_attempt_is_not_idle_while_one_of_its_gpus_cannot_tell(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    struct id attempt = id_make(ID_ATTEMPT, 11);
    const char *const uuids[] = {"GPU-00000000-aaaa-bbbb-cccc-0123456789ab",
                                 "GPU-00000001-aaaa-bbbb-cccc-0123456789ab"};
    static const struct {
        const char *text;
        double percent; /* below 0: not known */
    } cases[] = {{"* utilization 2\n1 utilization none\n", -1},
                 {"* utilization 40\n1 utilization none\n", 40},
                 {"* utilization 2\n1 utilization 3\n", 3}};
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t last = 0;
        say(cases[i].text);
        struct agent_gpus *gpus = open_gpus();
        agent_gpus_use(gpus, &attempt, uuids, 2);
        read_again(gpus);
        struct wire_samples samples = samples_of(gpus, &arena, &last);
        double percent = samples.samples[samples.sample_count - 1].uses[0].percent;
        assert_true(cases[i].percent < 0 ? percent != percent : percent == cases[i].percent);
        agent_gpus_free(gpus);
    }
}

static void readings_wait_until_they_were_acknowledged(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};
    int64_t last = 0, again = 0;
    (void)state;

    say("0 utilization 93\n0 power none\n");
    struct agent_gpus *gpus = open_gpus();
    do {
        agent_gpus_wait(gpus, 1000);
    } while (samples_of(gpus, &arena, &last).sample_count < 3);
    struct wire_samples samples = samples_of(gpus, &arena, &again);
    assert_int_equal(samples.samples[0].number, 1);
    assert_true(samples.samples[0].gpus[0][GPU_PERCENT] == 93);
    assert_true(samples.samples[0].gpus[1][GPU_WATTS] == 60);
    assert_true(samples.samples[0].gpus[0][GPU_WATTS] != samples.samples[0].gpus[0][GPU_WATTS]);
    assert_true(samples.samples[0].node[NODE_MEMORY] > 0);
    agent_gpus_samples_drop(gpus, last);
    samples = samples_of(gpus, &arena, &again);
    if (samples.sample_count)
        assert_true(samples.samples[0].number == last + 1);
    agent_gpus_free(gpus);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpus_that_fall_ill_are_taken_out_with_a_reason),
        cmocka_unit_test(a_grave_xid_stays_and_that_of_a_program_does_not_count),
        cmocka_unit_test(a_reset_ends_the_illness_of_an_xid),
        cmocka_unit_test(a_gpu_without_a_uuid_is_not_given_away),
        cmocka_unit_test(an_attempt_is_not_idle_while_one_of_its_gpus_cannot_tell),
        cmocka_unit_test(what_is_missing_is_not_known_and_harms_nothing),
        cmocka_unit_test(a_mig_parent_is_not_given_away),
        cmocka_unit_test(a_gpu_without_memory_of_its_own_shares_the_machines),
        cmocka_unit_test(gpus_of_several_types_have_none_together),
        cmocka_unit_test(a_driver_that_comes_later_is_found),
        cmocka_unit_test(programs_that_are_not_ours_are_named_and_subtracted),
        cmocka_unit_test(programs_of_an_attempt_count_where_it_has_the_gpu),
        cmocka_unit_test(programs_that_cannot_be_looked_at_are_the_job_s_where_it_has_the_gpu),
        cmocka_unit_test(energy_is_the_counters_difference_of_the_attempts_gpus),
        cmocka_unit_test(energy_without_a_counter_is_the_power_over_time),
        cmocka_unit_test(energy_counts_until_the_release),
        cmocka_unit_test(readings_wait_until_they_were_acknowledged),
    };

    (void)snprintf(path, sizeof path, "/tmp/fake-nvml-%d", (int)getpid());
    (void)setenv("EUVYRA_FAKE_NVML", path, 1);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)unlink(path);
    return failed;
}
