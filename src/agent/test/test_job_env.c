/* Facts about the environment of a job. */
#include "agent/job_env.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *value_of(const char *const *env, const char *name)
{
    const char *found = NULL;

    for (; *env; env++) {
        if (strncmp(*env, name, strlen(name)) == 0 && (*env)[strlen(name)] == '=') {
            assert_null(found); /* each name once */
            found = *env + strlen(name) + 1;
        }
    }
    return found;
}

static void only_the_short_list_is_inherited_and_ours_win(void **state)
{
    static const char *const agent_env[] = {
        "PATH=/opt/bin:/bin", "LANG=C.UTF-8",       "HOME=/root",          "AWS_SECRET=s",
        "EUVYRA_API_KEY=k",   "EUVYRA_SERVER=http", "LD_PRELOAD=/evil.so", NULL};
    static const char *const job_env[] = {"A=1", "LANG=de", "EUVYRA_RUN=other",
                                          "EUVYRA_MODE=offline", NULL};
    struct wire_offer offer = {.env = job_env, .project = STR("demo"), .config = STR("{\"lr\":1}")};
    struct job_env_facts facts = {.agent_env = agent_env,
                                  .server = "https://s",
                                  .key_file = "/f/key",
                                  .runs_dir = "/f/runs",
                                  .config_file = "/f/config.json",
                                  .user_home = "/home/jobs",
                                  .user_name = "jobs",
                                  .port = 8001};
    struct arena arena = {0};
    const char *const *env;

    (void)state;
    assert_true(id_parse(STR("rabcdefghij22"), ID_RUN, &offer.run));
    env = job_env_build(&arena, &offer, &facts);
    assert_string_equal(value_of(env, "PATH"), "/opt/bin:/bin");
    assert_string_equal(value_of(env, "LANG"), "de");
    assert_string_equal(value_of(env, "HOME"), "/home/jobs");
    assert_string_equal(value_of(env, "USER"), "jobs");
    assert_string_equal(value_of(env, "A"), "1");
    assert_string_equal(value_of(env, "EUVYRA_RUN"), "rabcdefghij22");
    assert_string_equal(value_of(env, "EUVYRA_MODE"), "offline");
    assert_string_equal(value_of(env, "EUVYRA_SERVER"), "https://s");
    assert_string_equal(value_of(env, "EUVYRA_CONFIG"), "{\"lr\":1}");
    assert_string_equal(value_of(env, "EUVYRA_CONFIG_FILE"), "/f/config.json");
    assert_string_equal(value_of(env, "EUVYRA_PORT"), "8001");
    assert_null(value_of(env, "AWS_SECRET"));
    assert_null(value_of(env, "EUVYRA_API_KEY"));
    assert_null(value_of(env, "LD_PRELOAD"));
    assert_null(value_of(env, "EUVYRA_CA"));
    arena_release(&arena);
}

static void a_large_configuration_is_in_its_file_alone(void **state)
{
    static const char *const none[] = {NULL};
    struct arena arena = {0};
    char *text = arena_alloc(&arena, JOB_ENV_CONFIG_BYTES_MAX + 1);
    struct wire_offer offer = {.env = none, .project = STR("demo")};
    struct job_env_facts facts = {.agent_env = none, .config_file = "/f/config.json"};

    (void)state;
    memset(text, ' ', JOB_ENV_CONFIG_BYTES_MAX + 1);
    offer.config = str_n(text, JOB_ENV_CONFIG_BYTES_MAX);
    assert_non_null(value_of(job_env_build(&arena, &offer, &facts), "EUVYRA_CONFIG"));
    offer.config = str_n(text, JOB_ENV_CONFIG_BYTES_MAX + 1);
    const char *const *env = job_env_build(&arena, &offer, &facts);
    assert_null(value_of(env, "EUVYRA_CONFIG"));
    assert_string_equal(value_of(env, "EUVYRA_CONFIG_FILE"), "/f/config.json");
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_short_list_is_inherited_and_ours_win),
        cmocka_unit_test(a_large_configuration_is_in_its_file_alone),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
