/* Facts about the command lines of launchers. */
#include "agent/launcher.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct launch four = {.launcher = {"torchrun", 8},
                                   .nodes = 4,
                                   .rank = 2,
                                   .processes = 8,
                                   .master_addr = "10.0.0.7",
                                   .master_port = 29511};

/* The command line with blanks between. */
static const char *line_of(struct arena *arena, const struct launch *launch,
                           const char *const *argv)
{
    const char *line = "";
    const char *const *out;
    struct err err = {0};

    if (launch_argv(launch, argv, arena, &out, &err) != OK)
        return arena_printf(arena, "error: %s", err.text);
    for (; *out; out++)
        line = arena_printf(arena, "%s%s%s", line, *line ? " " : "", *out);
    return line;
}

#define LINE(launch, ...) line_of(&arena, launch, (const char *const[]){__VA_ARGS__, NULL})
#define MEET              "--node_rank=2 --master_addr=10.0.0.7 --master_port=29511"

static void python_goes_on_with_its_interpreter_and_options(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};

    (void)state;
    assert_string_equal(
        LINE(&four, "/opt/bin/python3.12", "-u", "-X", "dev", "train.py", "--lr", "0.1"),
        "/opt/bin/python3.12 -u -X dev -m torch.distributed.run --nnodes=4 "
        "--nproc_per_node=8 " MEET " train.py --lr 0.1");
    assert_string_equal(LINE(&four, "python", "-m", "pack.train", "-v"),
                        "python -m torch.distributed.run --nnodes=4 --nproc_per_node=8 " MEET
                        " --module pack.train -v");
    assert_string_equal(LINE(&four, "python", "-mpack.train", "-v"),
                        "python -m torch.distributed.run --nnodes=4 --nproc_per_node=8 " MEET
                        " --module pack.train -v");
}

static void other_programs_are_started_as_they_are(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};

    (void)state;
    assert_string_equal(LINE(&four, "./train", "-x"),
                        "python3 -m torch.distributed.run --nnodes=4 --nproc_per_node=8 " MEET
                        " --no-python ./train -x");
    assert_string_equal(LINE(&four, "./python_train.sh", "-x"),
                        "python3 -m torch.distributed.run --nnodes=4 --nproc_per_node=8 " MEET
                        " --no-python ./python_train.sh -x");
}

static void one_machine_needs_no_meeting_place(void **state)
{
    const struct launch one = {.launcher = STR("torchrun"), .nodes = 1, .processes = 2};
    CLEANUP(arena_release) struct arena arena = {0};

    (void)state;
    assert_string_equal(LINE(&one, "python3", "train.py"),
                        "python3 -m torch.distributed.run --nnodes=1 --nproc_per_node=2 "
                        "--standalone train.py");
}

static void exec_changes_nothing(void **state)
{
    const struct launch plain = {.launcher = STR("exec"), .nodes = 1, .processes = 1};
    CLEANUP(arena_release) struct arena arena = {0};

    (void)state;
    assert_string_equal(LINE(&plain, "python3", "-c", "print(1)"), "python3 -c print(1)");
}

static void deepspeed_is_told_of_all_machines(void **state)
{
    struct launch two = four;
    CLEANUP(arena_release) struct arena arena = {0};

    (void)state;
    two.launcher = STR("deepspeed");
    two.nodes = 2;
    two.rank = 1;
    two.processes = 2;
    assert_string_equal(/* {"node0":[0,1],"node1":[0,1]} */
                        LINE(&two, "python3", "train.py"),
                        "python3 -m deepspeed.launcher.launch "
                        "--world_info=eyJub2RlMCI6WzAsMV0sIm5vZGUxIjpbMCwxXX0= "
                        "--node_rank=1 --master_addr=10.0.0.7 --master_port=29511 train.py");
}

static void what_is_no_script_is_refused(void **state)
{
    CLEANUP(arena_release) struct arena arena = {0};

    (void)state;
    assert_string_equal(LINE(&four, "python3", "-c", "print(1)"),
                        "error: a launcher runs a script or a module, not -c");
    assert_string_equal(LINE(&four, "python3", "-u"),
                        "error: a launcher runs a script or a module, and python3 has none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(python_goes_on_with_its_interpreter_and_options),
        cmocka_unit_test(other_programs_are_started_as_they_are),
        cmocka_unit_test(one_machine_needs_no_meeting_place),
        cmocka_unit_test(exec_changes_nothing),
        cmocka_unit_test(deepspeed_is_told_of_all_machines),
        cmocka_unit_test(what_is_no_script_is_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
