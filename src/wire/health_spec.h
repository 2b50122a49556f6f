/* The member `health` of a service's spec, as server and agent read it. thread: any */
#pragma once

#include "base/json.h"
#include "model/health.h"

/* Takes the fields of the opened object, with defaults for those it does not have; the path is
 * borrowed from it. The caller ends the reader: *ret_spec counts only if that is OK. */
void health_spec_take(struct json_reader *r, struct health_spec *ret_spec);
