/* The extension euvyra._core: one type, Writer, around a handle of libeuvyra.
 *
 * log() is the hot path. It is METH_FASTCALL, keeps the ids of metric names by the address of the
 * key object (it holds a reference, so an address stays what it was), and hands ids and values to
 * the library in one call. It never raises for what the caller logs: problems go to the method
 * _problem(kind, text), which warns once a kind or, in strict mode, raises.
 *
 * thread: the interpreter's lock is held throughout */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "python/euvyra/_watch.h"

#include <euvyra/euvyra.h>

#include <stdbool.h>
#include <string.h>

#define BATCH_INLINE  64
#define KEY_SLOTS     1024u /* power of two */
#define KEYS_MAX      700u  /* then the cache starts anew: names made in a loop must not fill it */
#define FLATTEN_DEPTH 1     /* a flattened mapping holds no mapping again */
#define ATTEND_MS     5000  /* between looks at the sidecar */

struct key_slot {
    PyObject *key; /* owned */
    uint32_t id;
};

struct writer {
    PyObject_HEAD struct euvyra_run *run;
    uint32_t key_count;
    struct key_slot keys[KEY_SLOTS];
};

struct batch {
    uint32_t *ids;
    double *values;
    size_t count, capacity;
    uint32_t ids_inline[BATCH_INLINE];
    double values_inline[BATCH_INLINE];
};

static void batch_init(struct batch *batch)
{
    batch->ids = batch->ids_inline;
    batch->values = batch->values_inline;
    batch->count = 0;
    batch->capacity = BATCH_INLINE;
}

static void batch_release(struct batch *batch)
{
    if (batch->ids == batch->ids_inline)
        return;
    PyMem_Free(batch->ids);
    PyMem_Free(batch->values);
}

static bool batch_grow(struct batch *batch)
{
    size_t capacity = batch->capacity * 4;
    uint32_t *ids = PyMem_Malloc(capacity * sizeof *ids);
    double *values = PyMem_Malloc(capacity * sizeof *values);

    if (ids == NULL || values == NULL) {
        PyMem_Free(ids);
        PyMem_Free(values);
        return false;
    }
    memcpy(ids, batch->ids, batch->count * sizeof *ids);
    memcpy(values, batch->values, batch->count * sizeof *values);
    batch_release(batch);
    batch->ids = ids;
    batch->values = values;
    batch->capacity = capacity;
    return true;
}

/* Tells _problem. 0 when training goes on, -1 with an exception set in strict mode. */
static int problem(PyObject *self, const char *kind, const char *text, PyObject *about)
{
    PyObject *result;

    if (PyErr_Occurred() != NULL) {
        if (!PyErr_ExceptionMatches(PyExc_Exception))
            return -1; /* KeyboardInterrupt and SystemExit are not ours to hide */
        PyErr_Clear();
    }
    result = PyObject_CallMethod(self, "_problem", "ssO", kind, text, about ? about : Py_None);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

static int problem_code(PyObject *self, enum euvyra_code code)
{
    return problem(self, euvyra_code_name(code), "", NULL);
}

static void keys_clear(struct writer *writer)
{
    for (uint32_t i = 0; i < KEY_SLOTS; i++)
        Py_CLEAR(writer->keys[i].key);
    writer->key_count = 0;
}

static struct key_slot *key_slot(struct writer *writer, const PyObject *key)
{
    uintptr_t address = (uintptr_t)key;
    uint32_t at = (uint32_t)((address >> 4) ^ (address >> 16)) & (KEY_SLOTS - 1);

    while (writer->keys[at].key != NULL && writer->keys[at].key != key)
        at = (at + 1) & (KEY_SLOTS - 1);
    return &writer->keys[at];
}

/* The slow path: the id of a name seen for the first time, or whose text is another object now. */
static int key_look_up(struct writer *writer, PyObject *key, uint32_t *ret_id)
{
    PyObject *text = PyUnicode_Check(key) ? Py_NewRef(key) : PyObject_Str(key);
    Py_ssize_t len = 0;
    const char *name = text != NULL ? PyUnicode_AsUTF8AndSize(text, &len) : NULL;
    enum euvyra_code code = EUVYRA_INVALID;

    if (name != NULL)
        code = euvyra_metric(writer->run, name, (size_t)len, ret_id);
    Py_XDECREF(text);
    if (code != EUVYRA_OK) {
        const char *kind = code == EUVYRA_INVALID ? "name" : euvyra_code_name(code);
        return problem((PyObject *)writer, kind, "", key) == 0 ? 1 : -1;
    }
    if (writer->key_count >= KEYS_MAX)
        keys_clear(writer);
    struct key_slot *slot = key_slot(writer, key);
    if (slot->key == NULL) {
        slot->key = Py_NewRef(key);
        writer->key_count++;
    }
    slot->id = *ret_id;
    return 0;
}

/* 0: *ret_value is set; 1: not a number, told; 2: a mapping; -1: exception. */
static int value_of(PyObject *self, PyObject *key, PyObject *value, double *ret_value)
{
    if (PyFloat_Check(value)) {
        *ret_value = PyFloat_AsDouble(value);
        return 0;
    }
    if (PyLong_Check(value)) {
        *ret_value = PyLong_AsDouble(value);
        if (*ret_value != -1.0 || PyErr_Occurred() == NULL)
            return 0;
        return problem(self, "value", "an integer beyond the range of a double", key) == 0 ? 1 : -1;
    }
    if (PyDict_Check(value))
        return 2;
    /* numpy, torch and the like: what has __float__ and is a single number. Text has none. */
    if (PyObject_HasAttrString(value, "__float__")) {
        PyObject *number = PyNumber_Float(value);
        if (number != NULL) {
            *ret_value = PyFloat_AsDouble(number);
            Py_DECREF(number);
            return 0;
        }
    }
    return problem(self, "value", "not a number", key) == 0 ? 1 : -1;
}

/* 0 or 1: done or left out; 2: a mapping is inside; -1: exception. */
static int batch_add(struct batch *batch, struct writer *writer, PyObject *key, PyObject *value)
{
    struct key_slot *slot;
    uint32_t id;
    double number;
    int rc = value_of((PyObject *)writer, key, value, &number);

    if (rc != 0)
        return rc;
    slot = key_slot(writer, key);
    id = slot->id;
    if (slot->key == NULL && (rc = key_look_up(writer, key, &id)) != 0)
        return rc;
    if (batch->count == batch->capacity && !batch_grow(batch))
        return problem((PyObject *)writer, "no_memory", "", NULL) == 0 ? 1 : -1;
    batch->ids[batch->count] = id;
    batch->values[batch->count++] = number;
    return 0;
}

/* Fills the batch from a dict. 2: a mapping is inside, the caller flattens. */
static int batch_fill(struct batch *batch, struct writer *writer, PyObject *metrics)
{
    PyObject *key, *value;
    Py_ssize_t at = 0;
    int rc = 0;

    batch->count = 0;
    while (rc >= 0 && rc != 2 && PyDict_Next(metrics, &at, &key, &value)) {
        /* __float__ may run code that changes the dict: hold on to both. */
        Py_INCREF(key);
        Py_INCREF(value);
        rc = batch_add(batch, writer, key, value);
        Py_DECREF(key);
        Py_DECREF(value);
    }
    return rc;
}

static int step_of(PyObject *self, PyObject *step, int64_t *ret_step)
{
    PyObject *number;
    int overflow = 0;

    *ret_step = EUVYRA_STEP_NEXT;
    if (step == NULL || step == Py_None)
        return 0;
    number = PyNumber_Index(step);
    if (number == NULL) {
        PyErr_Clear();
        number = PyObject_HasAttrString(step, "__float__") ? PyNumber_Long(step) : NULL;
    }
    if (number == NULL)
        return problem(self, "step", "not an integer", step);
    long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    Py_DECREF(number);
    if (overflow != 0 || value == INT64_MIN)
        return problem(self, "step", "beyond 64 bits", step);
    *ret_step = value;
    return 0;
}

/* metrics and step from positions and keywords; -1 with TypeError. */
static int log_arguments(PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                         PyObject **ret_metrics, PyObject **ret_step)
{
    Py_ssize_t keywords = kwnames != NULL ? PyTuple_Size(kwnames) : 0;

    *ret_metrics = nargs > 0 ? args[0] : NULL;
    *ret_step = nargs > 1 ? args[1] : NULL;
    for (Py_ssize_t i = 0; i < keywords; i++) {
        PyObject *name = PyTuple_GetItem(kwnames, i);
        if (PyUnicode_CompareWithASCIIString(name, "step") == 0 && *ret_step == NULL)
            *ret_step = args[nargs + i];
        else if (PyUnicode_CompareWithASCIIString(name, "metrics") == 0 && *ret_metrics == NULL)
            *ret_metrics = args[nargs + i];
        else
            nargs = 3;
    }
    if (*ret_metrics == NULL || nargs > 2) {
        PyErr_SetString(PyExc_TypeError, "log(metrics, step=None)");
        return -1;
    }
    return 0;
}

/* Every few seconds of logging: whether the sidecar still lives. It never raises. */
static int attend(PyObject *self)
{
    PyObject *result = PyObject_CallMethod(self, "_attend", NULL);

    if (result == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_Exception))
            return -1; /* KeyboardInterrupt and SystemExit are not ours to hide */
        PyErr_Clear();
    }
    Py_XDECREF(result);
    return 0;
}

static int log_mapping(struct writer *writer, PyObject *metrics, int64_t step)
{
    struct batch batch;
    PyObject *flat = NULL;
    int rc;

    batch_init(&batch);
    rc = PyDict_Check(metrics) ? batch_fill(&batch, writer, metrics) : 2;
    if (rc == 2) { /* nested, or another kind of mapping */
        flat = PyObject_CallMethod((PyObject *)writer, "_flatten", "O", metrics);
        if (flat == NULL || !PyDict_Check(flat))
            rc = problem((PyObject *)writer, "value", "not a mapping of names to numbers", NULL);
        else
            rc = batch_fill(&batch, writer, flat);
        Py_XDECREF(flat);
    }
    if (rc >= 0 && batch.count > 0) {
        enum euvyra_code code = euvyra_log(writer->run, step, batch.ids, batch.values, batch.count);
        rc = code == EUVYRA_OK ? 0 : problem_code((PyObject *)writer, code);
        if (rc == 0 && euvyra_is_due(writer->run, ATTEND_MS))
            rc = attend((PyObject *)writer);
    }
    batch_release(&batch);
    return rc < 0 ? -1 : 0;
}

PyDoc_STRVAR(log_doc,
             "log(metrics, step=None)\n--\n\n"
             "Records the numbers in `metrics` (name to number) for one step.\n\n"
             "`step` is any integer; without it one after the last. NaN and infinities are kept.\n"
             "Numbers are Python's, or of any library that converts with float(): numpy and torch\n"
             "scalars. Nested mappings become names with dots. Never raises into the loop: what\n"
             "cannot be recorded is warned about once (EUVYRA_STRICT=1 raises instead).\n\n"
             "    run.log({\"loss\": 0.25, \"acc\": 0.9})");

static PyObject *writer_log(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                            PyObject *kwnames)
{
    struct writer *writer = (struct writer *)self;
    PyObject *metrics, *step;
    int64_t number;

    if (log_arguments(args, nargs, kwnames, &metrics, &step) != 0)
        return NULL;
    if (writer->run == NULL)
        Py_RETURN_NONE;
    if (step_of(self, step, &number) != 0 || log_mapping(writer, metrics, number) != 0)
        return NULL;
    Py_RETURN_NONE;
}

/* Borrows the UTF-8 of up to `max` texts. The count, or -1 with an exception. */
static Py_ssize_t argv_borrow(PyObject *list, const char **ret_argv, Py_ssize_t max)
{
    Py_ssize_t count = PyList_Size(list);

    count = count > max ? max : count;
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t len;
        ret_argv[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(list, i), &len);
        if (ret_argv[i] == NULL)
            return -1;
    }
    return count;
}

static PyObject *writer_open(PyObject *self, PyObject *args)
{
    static const Py_ssize_t argv_max = 1024;
    struct writer *writer = (struct writer *)self;
    struct euvyra_options options = {.struct_bytes = sizeof options};
    const char **argv = PyMem_Malloc((size_t)argv_max * sizeof *argv);
    PyObject *list;
    long long first_step, from_step;
    enum euvyra_code code;

    if (argv == NULL)
        return PyErr_NoMemory();
    if (writer->run != NULL ||
        !PyArg_ParseTuple(
            args, "zzzzzzzzzzzzzzO!L(iii)(iL)z", &options.dir, &options.project, &options.name,
            &options.group, &options.job_type, &options.notes, &options.mode, &options.resume,
            &options.run, &options.folder, &options.config_json, &options.tags_json, &options.sdk,
            &options.kind, &PyList_Type, &list, &first_step, &options.world_size, &options.rank,
            &options.local_rank, &options.has_from_step, &from_step, &options.branch_from)) {
        PyMem_Free(argv);
        return NULL;
    }
    Py_ssize_t argc = argv_borrow(list, argv, argv_max);
    if (argc < 0) { /* a command line that is not text is no reason not to record */
        PyErr_Clear();
        argc = 0;
    }
    options.argv = argv;
    options.argc = (size_t)argc;
    options.first_step = first_step;
    options.from_step = from_step;
    Py_BEGIN_ALLOW_THREADS code = euvyra_open(&options, &writer->run);
    Py_END_ALLOW_THREADS PyMem_Free(argv);
    return PyLong_FromLong(code);
}

typedef enum euvyra_code (*json_call)(struct euvyra_run *run, const char *json, size_t len);

static PyObject *writer_json(PyObject *self, PyObject *text, json_call call)
{
    struct writer *writer = (struct writer *)self;
    Py_ssize_t len;
    const char *json = PyUnicode_AsUTF8AndSize(text, &len);

    if (json == NULL)
        return NULL;
    if (writer->run == NULL)
        return PyLong_FromLong(EUVYRA_CLOSED);
    return PyLong_FromLong(call(writer->run, json, (size_t)len));
}

static PyObject *writer_config(PyObject *self, PyObject *text)
{
    return writer_json(self, text, euvyra_config);
}

static PyObject *writer_summary(PyObject *self, PyObject *text)
{
    return writer_json(self, text, euvyra_summary);
}

static PyObject *writer_code_facts(PyObject *self, PyObject *text)
{
    return writer_json(self, text, euvyra_code_facts);
}

static PyObject *writer_tags(PyObject *self, PyObject *text)
{
    return writer_json(self, text, euvyra_tags);
}

static PyObject *writer_alert(PyObject *self, PyObject *args)
{
    struct writer *writer = (struct writer *)self;
    const char *title, *text, *level;

    if (!PyArg_ParseTuple(args, "sss", &title, &text, &level))
        return NULL;
    if (writer->run == NULL)
        return PyLong_FromLong(EUVYRA_CLOSED);
    return PyLong_FromLong(euvyra_alert(writer->run, title, text, level));
}

static PyObject *writer_define(PyObject *self, PyObject *args)
{
    struct writer *writer = (struct writer *)self;
    const char *name, *step_metric, *summary, *goal;

    if (!PyArg_ParseTuple(args, "szzz", &name, &step_metric, &summary, &goal))
        return NULL;
    if (writer->run == NULL)
        return PyLong_FromLong(EUVYRA_CLOSED);
    return PyLong_FromLong(euvyra_define_metric(writer->run, name, step_metric, summary, goal));
}

static PyObject *writer_preempting(PyObject *self, PyObject *unused)
{
    struct writer *writer = (struct writer *)self;

    (void)unused;
    return PyLong_FromLong(writer->run == NULL ? EUVYRA_CLOSED : euvyra_preempting(writer->run));
}

static PyObject *writer_console(PyObject *self, PyObject *args)
{
    struct writer *writer = (struct writer *)self;
    const char *text;
    Py_ssize_t len;
    int stream;

    if (!PyArg_ParseTuple(args, "is#", &stream, &text, &len))
        return NULL;
    if (writer->run == NULL)
        return PyLong_FromLong(EUVYRA_CLOSED);
    return PyLong_FromLong(euvyra_console(writer->run, stream, text, (size_t)len));
}

static PyObject *writer_end(PyObject *self, PyObject *args)
{
    struct writer *writer = (struct writer *)self;
    int exit_code, signal;
    const char *reason, *error;

    if (!PyArg_ParseTuple(args, "iisz", &exit_code, &signal, &reason, &error))
        return NULL;
    if (writer->run == NULL)
        return PyLong_FromLong(EUVYRA_CLOSED);
    return PyLong_FromLong(euvyra_end(writer->run, exit_code, signal, reason, error));
}

static PyObject *writer_state(PyObject *self, PyObject *unused)
{
    struct writer *writer = (struct writer *)self;

    (void)unused;
    if (writer->run == NULL)
        return Py_BuildValue("(sssKi)", "", "", "", 0ull, 0);
    return Py_BuildValue("(sssKi)", euvyra_run_id(writer->run), euvyra_run_folder(writer->run),
                         euvyra_writer_id(writer->run),
                         (unsigned long long)euvyra_lost(writer->run),
                         euvyra_is_owner(writer->run));
}

static void writer_free(PyObject *self)
{
    struct writer *writer = (struct writer *)self;
    PyTypeObject *type = Py_TYPE(self);
    freefunc free_memory = (freefunc)PyType_GetSlot(type, Py_tp_free);

    keys_clear(writer);
    euvyra_close(writer->run);
    free_memory(self);
    Py_DECREF(type);
}

static PyObject *core_find(PyObject *module, PyObject *args)
{
    struct euvyra_query query;
    struct euvyra_found found;
    enum euvyra_code code;

    (void)module;
    if (!PyArg_ParseTuple(args, "zzzzi", &query.dir, &query.run, &query.project, &query.name,
                          &query.rank))
        return NULL;
    Py_BEGIN_ALLOW_THREADS code = euvyra_find(&query, &found);
    Py_END_ALLOW_THREADS if (code != EUVYRA_OK) Py_RETURN_NONE;
    return Py_BuildValue("(ssL)", found.run, found.folder, (long long)found.last_step);
}

static PyObject *core_code_name(PyObject *module, PyObject *code)
{
    long value = PyLong_AsLong(code);

    (void)module;
    if (value == -1 && PyErr_Occurred() != NULL)
        return NULL;
    return PyUnicode_FromString(euvyra_code_name((enum euvyra_code)value));
}

static PyObject *core_watch_start(PyObject *module, PyObject *args)
{
    int pid, read_fds[2], saved_fds[2];

    (void)module;
    if (!PyArg_ParseTuple(args, "i(ii)(ii)", &pid, &read_fds[0], &read_fds[1], &saved_fds[0],
                          &saved_fds[1]))
        return NULL;
    return PyLong_FromLong(euvyra_watch_start(pid, read_fds, saved_fds));
}

static PyObject *core_watch_stop(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyBool_FromLong(euvyra_watch_stop());
}

static PyMethodDef writer_methods[] = {
    {"log", (PyCFunction)(void (*)(void))writer_log, METH_FASTCALL | METH_KEYWORDS, log_doc},
    {"_open", writer_open, METH_VARARGS, NULL},
    {"_config", writer_config, METH_O, NULL},
    {"_summary", writer_summary, METH_O, NULL},
    {"_code_facts", writer_code_facts, METH_O, NULL},
    {"_tags", writer_tags, METH_O, NULL},
    {"_alert", writer_alert, METH_VARARGS, NULL},
    {"_define", writer_define, METH_VARARGS, NULL},
    {"_preempting", writer_preempting, METH_NOARGS, NULL},
    {"_console", writer_console, METH_VARARGS, NULL},
    {"_end", writer_end, METH_VARARGS, NULL},
    {"_state", writer_state, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot writer_slots[] = {
    {Py_tp_dealloc, writer_free},
    {Py_tp_methods, writer_methods},
    {Py_tp_doc, "One log of a run. Use euvyra.init()."},
    {0, NULL},
};

static PyType_Spec writer_spec = {
    .name = "euvyra._core.Writer",
    .basicsize = sizeof(struct writer),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = writer_slots,
};

static PyMethodDef core_methods[] = {
    {"find", core_find, METH_VARARGS, NULL},
    {"code_name", core_code_name, METH_O, NULL},
    {"watch_start", core_watch_start, METH_VARARGS, NULL},
    {"watch_stop", core_watch_stop, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static int core_exec(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&writer_spec);

    if (type == NULL || PyModule_AddObjectRef(module, "Writer", type) != 0) {
        Py_XDECREF(type);
        return -1;
    }
    Py_DECREF(type);
    return PyModule_AddStringConstant(module, "VERSION", EUVYRA_VERSION);
}

static PyModuleDef_Slot core_slots[] = {{Py_mod_exec, core_exec}, {0, NULL}};

static PyModuleDef core_module = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "euvyra._core",
    .m_methods = core_methods,
    .m_slots = core_slots,
};

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&core_module);
}
