/*
 * The only user of expat. Its own guard against amplification is not leaned on: without declarations there is nothing
 * to amplify. Where expat says no, its reason is handed on; where we do, the first reason of ours.
 */
#include "base/xml.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <expat.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct reading {
    XML_Parser parser;
    const struct xml_reader *reader;
    void *arg;
    int depth;
    int status;          /* 0, or why we stopped the parser */
    const char *refusal; /* the same in words */
    size_t path_len, text_len;
    bool text_is_cut;
    char path[XML_PATH_BYTES_MAX];
    char text[XML_TEXT_BYTES_MAX];
};

static void stop(struct reading *reading, int status, const char *refusal)
{
    if (reading->status == 0) {
        reading->status = status;
        reading->refusal = refusal;
    }
    XML_StopParser(reading->parser, XML_FALSE);
}

static void forget_text(struct reading *reading)
{
    reading->text_len = 0;
    reading->text_is_cut = false;
}

static void XMLCALL on_start(void *arg, const XML_Char *name, const XML_Char **attributes)
{
    struct reading *reading = arg;
    size_t len = strlen(name), at = reading->path_len;
    if (reading->status != 0)
        return;
    if (++reading->depth > XML_DEPTH_MAX || at + len + 2 > sizeof(reading->path)) {
        stop(reading, STATUS_TOO_LARGE, "nested too deep, or with too long names");
        return;
    }
    if (at > 0)
        reading->path[at++] = '/';
    memcpy(reading->path + at, name, len + 1);
    reading->path_len = at + len;
    forget_text(reading);
    if (reading->reader->open != NULL)
        reading->reader->open(reading->path, (const char *const *)attributes, reading->arg);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void XMLCALL on_end(void *arg, const XML_Char *name)
{
    struct reading *reading = arg;
    char *text = reading->text;
    (void)name;
    if (reading->status != 0)
        return;
    while (reading->text_len > 0 && is_blank(text[reading->text_len - 1]))
        reading->text_len--;
    text[reading->text_len] = '\0';
    reading->reader->close(reading->path, text, reading->arg);
    char *slash = strrchr(reading->path, '/');
    reading->path_len = slash != NULL ? (size_t)(slash - reading->path) : 0;
    reading->path[reading->path_len] = '\0';
    reading->depth--;
    forget_text(reading);
}

static void XMLCALL on_text(void *arg, const XML_Char *bytes, int bytes_len)
{
    struct reading *reading = arg;
    size_t len = (size_t)bytes_len, room = sizeof(reading->text) - 1 - reading->text_len;
    if (reading->status != 0 || reading->text_is_cut)
        return;
    for (; reading->text_len == 0 && len > 0 && is_blank(*bytes); bytes++)
        len--;
    reading->text_is_cut = len > room;
    if (reading->text_is_cut)
        for (len = room; len > 0 && ((unsigned char)bytes[len] & 0xc0) == 0x80;)
            len--;
    memcpy(reading->text + reading->text_len, bytes, len);
    reading->text_len += len;
}

static void XMLCALL on_doctype(void *arg, const XML_Char *name, const XML_Char *system, const XML_Char *public,
                               int has_internal_subset)
{
    (void)name, (void)system, (void)public;
    if (has_internal_subset)
        stop(arg, STATUS_INVALID, "a document that declares things of its own");
}

static void XMLCALL on_skipped(void *arg, const XML_Char *name, int is_parameter)
{
    (void)name, (void)is_parameter;
    stop(arg, STATUS_INVALID, "an entity that is not declared");
}

static struct reading *reading_new(const struct xml_reader *reader, void *arg)
{
    struct reading *reading = own_calloc(1, sizeof(*reading));
    reading->reader = reader;
    reading->arg = arg;
    reading->parser = XML_ParserCreate(NULL);
    if (reading->parser == NULL)
        abort(); /* no memory: see own.h */
    XML_SetUserData(reading->parser, reading);
    XML_SetElementHandler(reading->parser, on_start, on_end);
    XML_SetCharacterDataHandler(reading->parser, on_text);
    XML_SetStartDoctypeDeclHandler(reading->parser, on_doctype);
    XML_SetSkippedEntityHandler(reading->parser, on_skipped);
    return reading;
}

static void reading_free(struct reading *reading)
{
    XML_ParserFree(reading->parser);
    free(reading);
}
AUTO_DEFINE(struct reading *, reading, reading_free)

static uint64_t line_of(XML_Parser parser)
{
#if XML_MAJOR_VERSION * 100 + XML_MINOR_VERSION >= 209 /* which deprecates the other one */
    return XML_GetCurrentLineNumber64(parser);
#else
    return XML_GetCurrentLineNumber(parser);
#endif
}

int xml_read(const char *data, size_t len, size_t bytes_max, const struct xml_reader *reader, void *arg,
             char ret_error[XML_ERROR_MAX])
{
    enum { PIECE_BYTES = 1 << 20 }; /* lengths are int there */
    AUTO(reading) struct reading *reading = reading_new(reader, arg);
    enum XML_Status parsed;
    if (len > bytes_max) {
        snprintf(ret_error, XML_ERROR_MAX, "%zu bytes are more than the %zu that may be", len, bytes_max);
        return STATUS_TOO_LARGE;
    }
    size_t at = 0;
    do {
        size_t piece = len - at < PIECE_BYTES ? len - at : PIECE_BYTES;
        parsed = XML_Parse(reading->parser, data + at, (int)piece, at + piece == len);
        at += piece;
    } while (parsed == XML_STATUS_OK && at < len);
    if (parsed == XML_STATUS_OK)
        return 0;
    snprintf(ret_error, XML_ERROR_MAX, "line %" PRIu64 ": %s", line_of(reading->parser),
             reading->status != 0 ? reading->refusal : XML_ErrorString(XML_GetErrorCode(reading->parser)));
    return reading->status != 0 ? reading->status : STATUS_INVALID;
}
