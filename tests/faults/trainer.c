/* A training that logs and never fails: prints one line for every point that was recorded, and ends
 * with 0 whatever the disk and the memory do. */
#include "euvyra/euvyra.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STEPS 60

/* Without stdio, which needs memory itself. */
static void say(const char *what, int number)
{
    char line[64];
    int len = 0;

    for (const char *c = what; *c; c++)
        line[len++] = *c;
    line[len++] = (char)('0' + number / 10);
    line[len++] = (char)('0' + number % 10);
    line[len++] = '\n';
    (void)!write(STDOUT_FILENO, line, (size_t)len);
}

int main(void)
{
    struct euvyra_options options = {
        .struct_bytes = sizeof options, .project = "demo", .mode = "offline", .name = "faults"};
    struct euvyra_run *run = NULL;
    enum euvyra_code code = euvyra_open(&options, &run);
    uint32_t id = 0;

    if (code != EUVYRA_OK) {
        say("open ", (int)code);
        return 0;
    }
    code = euvyra_metric(run, "loss", 4, &id);
    for (int step = 0; step < STEPS; step++) {
        double value = step;
        if (code == EUVYRA_OK && euvyra_log(run, step, &id, &value, 1) == EUVYRA_OK)
            say("point ", step);
        if (step == STEPS / 2)
            (void)euvyra_summary(run, "{\"best\": 1}", strlen("{\"best\": 1}"));
    }
    say("end ", (int)euvyra_end(run, 0, 0, "finish", NULL));
    euvyra_close(run);
    return 0;
}
