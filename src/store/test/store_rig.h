/* The database of a store test: an SQLite file, or a PostgreSQL database of its own in the cluster
 * whose socket lies in EUVYRA_TEST_POSTGRES. One thread. */
#pragma once

#include "store/store.h"

/* `postgres`: which one. Makes an empty database. False (with words on stderr) when it cannot. */
bool store_rig_open(bool postgres);
void store_rig_close(void);
const char *store_rig_where(void); /* for store_open */
bool store_rig_is_postgres(void);
/* One statement beside the store, as an administrator would; its first value in *ret_value (size
 * bytes, may be NULL). */
bool store_rig_sql(const char *sql, char *ret_value, size_t size);
