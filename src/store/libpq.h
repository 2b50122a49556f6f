/* libpq, loaded when PostgreSQL is asked for: it brings a dozen libraries with it that a server on
 * its own file would carry for nothing. Folder-private. thread: main loads, any calls */
#pragma once

#include "base/err.h"

#include <libpq-fe.h>

#define LIBPQ_FUNCTIONS(X)                                                                         \
    X(PQclear)                                                                                     \
    X(PQcmdStatus)                                                                                 \
    X(PQcmdTuples)                                                                                 \
    X(PQconnectdbParams)                                                                           \
    X(PQconninfoFree)                                                                              \
    X(PQconninfoParse)                                                                             \
    X(PQconsumeInput)                                                                              \
    X(PQenterPipelineMode)                                                                         \
    X(PQerrorMessage)                                                                              \
    X(PQexec)                                                                                      \
    X(PQexitPipelineMode)                                                                          \
    X(PQfinish)                                                                                    \
    X(PQfreemem)                                                                                   \
    X(PQftype)                                                                                     \
    X(PQgetResult)                                                                                 \
    X(PQgetisnull)                                                                                 \
    X(PQgetlength)                                                                                 \
    X(PQgetvalue)                                                                                  \
    X(PQnotifies)                                                                                  \
    X(PQnparams)                                                                                   \
    X(PQntuples)                                                                                   \
    X(PQparameterStatus)                                                                           \
    X(PQparamtype)                                                                                 \
    X(PQpipelineSync)                                                                              \
    X(PQresultErrorField)                                                                          \
    X(PQresultStatus)                                                                              \
    X(PQsendDescribePrepared)                                                                      \
    X(PQsendPrepare)                                                                               \
    X(PQsendQueryParams)                                                                           \
    X(PQsendQueryPrepared)                                                                         \
    X(PQserverVersion)                                                                             \
    X(PQsocket)                                                                                    \
    X(PQstatus)

struct libpq {
#define LIBPQ_MEMBER(name) __typeof__(name) *name;
    LIBPQ_FUNCTIONS(LIBPQ_MEMBER)
#undef LIBPQ_MEMBER
};
/* Its functions, once it is loaded. */
extern struct libpq libpq;
/* Does nothing the second time. ERR_UNAVAILABLE: it is not installed, or too old. */
MUST_CHECK enum err_code libpq_load(struct err *err);
