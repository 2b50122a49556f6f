/* Patterns for LIKE ... ESCAPE '!'. Folder-private. thread: any */
#pragma once

#include "base/arena.h"

/* '%text%' with what LIKE knows escaped; "" for no text. `fold_case`: ASCII to lower case. */
struct str store__like_part(struct arena *arena, struct str text, bool fold_case);
