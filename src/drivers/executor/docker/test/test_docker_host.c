/* Facts about engines: old ones are refused, weak ones are told. */
#include "drivers/executor/docker/docker_host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static struct docker_host read_host(const char *runc, const char *info_text)
{
    json_t *version =
        json_pack("{s:s,s:s,s:s,s:[{s:s,s:s}]}", "Version", "20.10.24", "Arch", "amd64", "Os",
                  "linux", "Components", "Name", "runc", "Version", runc);
    json_t *info = json_loads(info_text, 0, NULL);
    struct docker_host host;

    assert_non_null(info);
    docker_host_read(version, info, &host);
    json_decref(version);
    json_decref(info);
    return host;
}

#define GOOD                                                                                       \
    "{\"CgroupDriver\":\"systemd\",\"MemoryLimit\":true,\"CpuCfsQuota\":true,\"PidsLimit\":true,"  \
    "\"Driver\":\"overlay2\",\"DockerRootDir\":\"/var/lib/docker\","                               \
    "\"SecurityOptions\":[\"name=seccomp,profile=builtin\",\"name=cgroupns\"]}"

static void versions_are_compared_as_numbers(void **state)
{
    (void)state;
    assert_true(docker_version_compare("1.1.5+ds1", "1.1.12") < 0);
    assert_true(docker_version_compare("1.1.12", "1.1.12") == 0);
    assert_true(docker_version_compare("1.1.12-0ubuntu1", "1.1.12") == 0);
    assert_true(docker_version_compare("1.2", "1.1.12") > 0);
    assert_true(docker_version_compare("1.10.0", "1.9.9") > 0);
    assert_true(docker_version_compare("1.3", "1.3.3") < 0);
}

static void an_old_runc_is_refused_and_a_newer_one_told(void **state)
{
    struct docker_host host = read_host("1.1.5+ds1", GOOD);
    char notes[4][DOCKER_NOTE_BYTES];
    struct err err = {0};

    (void)state;
    assert_int_equal(docker_host_check(&host, &err), ERR_FORBIDDEN);
    assert_non_null(strstr(err.text, "CVE-2024-21626"));
    assert_non_null(strstr(err.hint, "--allow-old-runc"));
    host = read_host("1.1.15", GOOD);
    assert_int_equal(docker_host_check(&host, &err), OK);
    assert_int_equal(docker_host_notes(&host, notes, 4), 1);
    assert_non_null(strstr(notes[0], "CVE-2025-31133"));
    host = read_host("1.3.1", GOOD);
    assert_int_equal(docker_host_notes(&host, notes, 4), 1);
    host = read_host("1.3.3", GOOD);
    assert_int_equal(docker_host_notes(&host, notes, 4), 0);
    host = read_host("1.2.9", GOOD);
    assert_int_equal(docker_host_notes(&host, notes, 4), 0);
    host = read_host("", GOOD); /* not known: not refused */
    assert_int_equal(docker_host_check(&host, &err), OK);
}

static void an_engine_without_control_groups_limits_nothing(void **state)
{
    struct docker_host host =
        read_host("1.3.3", "{\"CgroupDriver\":\"none\",\"MemoryLimit\":true,\"CpuCfsQuota\":true,"
                           "\"PidsLimit\":true,\"SecurityOptions\":[\"name=rootless\"]}");
    char notes[8][DOCKER_NOTE_BYTES];

    (void)state;
    assert_false(host.limits_memory || host.limits_cpu || host.limits_pids || host.has_seccomp);
    assert_true(host.rootless);
    assert_int_equal(docker_host_notes(&host, notes, 8), 4);
    assert_int_equal(docker_host_notes(&host, notes, 2), 2);
}

static void what_an_engine_cannot_keep_is_refused(void **state)
{
    static const struct {
        struct executor_spec spec;
        const char *weak, *good; /* what is said; NULL: nothing */
    } samples[] = {
        {{.memory_bytes = 1 << 30}, "cannot limit memory", NULL},
        {{.cpus = 1}, "cannot limit CPUs", NULL},
        {{.pids = 9}, "cannot limit processes", NULL},
        {{.memory_bytes = (6 << 20) - 1}, "cannot limit memory", "is below the 6291456 bytes"},
        {{.shm_bytes = 1}, NULL, NULL},
    };
    struct docker_host weak = read_host("1.3.3", "{\"CgroupDriver\":\"none\"}");
    struct docker_host good = read_host("1.3.3", GOOD);

    (void)state;
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        const struct docker_host *hosts[] = {&weak, &good};
        const char *said[] = {samples[i].weak, samples[i].good};

        for (int j = 0; j < 2; j++) {
            struct err err = {0};
            enum err_code code = docker_host_check_limits(hosts[j], &samples[i].spec, &err);

            assert_int_equal(code, said[j] ? ERR_UNPROCESSABLE : OK);
            assert_true(!said[j] || strstr(err.text, said[j]));
        }
    }
}

static void an_engine_that_remaps_users_says_from_where_on(void **state)
{
    static const char info[] =
        "{\"SecurityOptions\":[\"name=userns\"],\"DockerRootDir\":\"/data/%s\"}";
    static const struct {
        const char *folder;
        int64_t uid, gid;
    } samples[] = {{"300000.400000", 300000, 400000}, {"docker", 0, 0}, {"1.x", 0, 0}};

    (void)state;
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        struct docker_host host;
        char text[128];

        (void)snprintf(text, sizeof(text), info, samples[i].folder);
        host = read_host("1.3.3", text);
        assert_true(host.remaps_users);
        assert_int_equal(host.first_uid, samples[i].uid);
        assert_int_equal(host.first_gid, samples[i].gid);
    }
    assert_false(read_host("1.3.3", GOOD).remaps_users);
}

static void a_user_is_who_they_are_inside(void **state)
{
    static const struct {
        struct docker_host host;
        struct docker_user user, inside;
        bool refused;
    } samples[] = {
        {{.rootless = false}, {1000, 100}, {1000, 100}, false},
        {{.rootless = true}, {500, 100}, {0, 0}, false},
        {{.rootless = true}, {0, 0}, {0, 0}, true},
        {{.rootless = true}, {1000, 100}, {0, 0}, true},
        {{.remaps_users = true, .first_uid = 3000, .first_gid = 4000}, {3001, 4000}, {1, 0}, false},
        {{.remaps_users = true, .first_uid = 3000, .first_gid = 4000}, {2999, 4000}, {0, 0}, true},
        {{.remaps_users = true, .first_uid = 3000, .first_gid = 4000}, {3000, 3999}, {0, 0}, true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        struct docker_user user = samples[i].user;
        struct err err = {0};
        enum err_code code = docker_host_take_user(&samples[i].host, 500, &user, &err);

        assert_int_equal(code, samples[i].refused ? ERR_INVALID : OK);
        assert_true(!samples[i].refused || strstr(err.text, "nobody inside"));
        if (code == OK) {
            assert_int_equal(user.uid, samples[i].inside.uid);
            assert_int_equal(user.gid, samples[i].inside.gid);
        }
    }
}

static void disk_limits_need_the_right_file_system(void **state)
{
    struct docker_host host = read_host("1.3.3", GOOD);

    (void)state;
    assert_false(docker_host_limits_disk(&host, STR("/dev/sda / ext4 rw 0 0\n")));
    assert_true(docker_host_limits_disk(
        &host, STR("/dev/sda / ext4 rw 0 0\n/dev/sdb /var/lib/docker xfs rw,prjquota 0 0\n")));
    assert_false(
        docker_host_limits_disk(&host, STR("/dev/sdb /var/lib/docker xfs rw,noquota 0 0\n")));
    assert_false(
        docker_host_limits_disk(&host, STR("/dev/sdb /var/lib/docker ext4 rw,prjquota 0 0\n")));
    assert_false(docker_host_limits_disk(
        &host, STR("/dev/sdb /var/lib/dock xfs rw,prjquota 0 0\n/dev/sda / ext4 rw 0 0\n")));
    (void)snprintf(host.driver, sizeof(host.driver), "zfs");
    assert_true(docker_host_limits_disk(&host, STR("")));
    (void)snprintf(host.driver, sizeof(host.driver), "btrfs"); /* it would count the image too */
    assert_false(docker_host_limits_disk(&host, STR("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_are_compared_as_numbers),
        cmocka_unit_test(an_old_runc_is_refused_and_a_newer_one_told),
        cmocka_unit_test(an_engine_without_control_groups_limits_nothing),
        cmocka_unit_test(what_an_engine_cannot_keep_is_refused),
        cmocka_unit_test(an_engine_that_remaps_users_says_from_where_on),
        cmocka_unit_test(a_user_is_who_they_are_inside),
        cmocka_unit_test(disk_limits_need_the_right_file_system),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
