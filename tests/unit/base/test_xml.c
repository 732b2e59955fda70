/* XML: what passes by of a document, and the documents that are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "base/xml.h"

#include <stdio.h>
#include <string.h>

#define BYTES_MAX (4 << 20)

static void on_open(const char *path, const char *const attributes[], void *arg)
{
    text_printf(arg, "<%s", path);
    for (; *attributes != NULL; attributes += 2)
        text_printf(arg, " %s=%s", attributes[0], attributes[1]);
    text_add_char(arg, '>');
}

static void on_close(const char *path, const char *text, void *arg)
{
    text_printf(arg, "%s=[%s]", path, text);
}

static const struct xml_reader recorder = {.open = on_open, .close = on_close};

static int read_all(const char *data, size_t len, struct text *seen, char error[XML_ERROR_MAX])
{
    autofree char *exact = own_calloc(len > 0 ? len : 1, 1); /* so that the sanitizers see a byte too many */
    memcpy(exact, data, len);
    text_clear(seen);
    return xml_read(exact, len, BYTES_MAX, &recorder, seen, error);
}

static void test_elements_pass_by(void **state)
{
    static const struct {
        const char *document, *seen;
    } cases[] = {
        {"<a/>", "<a>a=[]"},
        {"<a> x \n</a>", "<a>a=[x]"},
        {"<?xml version=\"1.0\" ?>\n<!DOCTYPE a SYSTEM \"a_v12.dtd\">\n<a><b>1</b></a>\n", "<a><a/b>a/b=[1]a=[]"},
        {"<a><g id=\"0:1\" n='2'><t>29 C</t></g></a>", "<a><a/g id=0:1 n=2><a/g/t>a/g/t=[29 C]a/g=[]a=[]"},
        {"<a>before<b>in</b>behind</a>", "<a><a/b>a/b=[in]a=[behind]"},
        {"<a>1 &lt; 2 &amp;&#32;&#x41;</a>", "<a>a=[1 < 2 & A]"},
        {"<a><![CDATA[<b>]]></a>", "<a>a=[<b>]"},
        {"<a><!-- no --><b/><?no?></a>", "<a><a/b>a/b=[]a=[]"},
        {"<\xc3\xa9>\xe2\x82\xac</\xc3\xa9>", "<\xc3\xa9>\xc3\xa9=[\xe2\x82\xac]"},
        {"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xe9</a>", "<a>a=[\xc3\xa9]"},
    };
    AUTO(text) struct text seen = {0};
    char error[XML_ERROR_MAX];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(read_all(cases[i].document, strlen(cases[i].document), &seen, error), 0);
        assert_string_equal(text_get(&seen), cases[i].seen);
    }
}

static void test_refused(void **state)
{
    static const char *const cases[] = {
        "",
        " ",
        "a",
        "<a>",
        "<a></b>",
        "<a><b></a></b>",
        "<a/><b/>",
        "<a/>text",
        "text<a/>",
        "<a",
        "<a b></a>",
        "<a b=1/>",
        "<a b='1' b='2'/>",
        "<a>&undeclared;</a>",
        "<!DOCTYPE a SYSTEM \"a.dtd\"><a>&undeclared;</a>",
        "<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>",
        "<!DOCTYPE a [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><a>&x;</a>",
        "<!DOCTYPE a [<!ENTITY % p SYSTEM \"http://127.0.0.1/\"> %p;]><a/>",
        "<!DOCTYPE a SYSTEM \"a.dtd\" [<!ATTLIST a b CDATA 'c'>]><a/>",
        "<!DOCTYPE a [<!ENTITY l \"lol\"><!ENTITY m \"&l;&l;&l;&l;\"><!ENTITY n \"&m;&m;&m;&m;\">]><a>&n;</a>",
        "<?xml version='1.0' encoding='martian'?><a/>",
        "<a>\xff\xfe</a>",
        "<a>\x01</a>",
        "\x7f"
        "ELF",
    };
    AUTO(text) struct text seen = {0};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char error[XML_ERROR_MAX] = "";
        if (read_all(cases[i], strlen(cases[i]), &seen, error) != STATUS_INVALID)
            fail_msg("taken: %s", cases[i]);
        assert_true(strlen(error) > 8);
        assert_null(strstr(text_get(&seen), "root:"));
    }
}

static void test_zero_bytes_are_refused(void **state)
{
    AUTO(text) struct text seen = {0};
    char error[XML_ERROR_MAX];
    (void)state;
    assert_int_equal(read_all("<a>\0</a>", 8, &seen, error), STATUS_INVALID);
    assert_int_equal(read_all("<a/>\0", 5, &seen, error), STATUS_INVALID);
}

/* No piece of a document passes for the whole. */
static void test_every_beginning_is_refused(void **state)
{
    static const char whole[] =
        "<?xml version=\"1.0\" ?><!DOCTYPE a SYSTEM \"a\"><a><g id=\"0\"><t>29 C</t></g>&amp;</a>";
    AUTO(text) struct text seen = {0};
    char error[XML_ERROR_MAX];
    (void)state;
    assert_int_equal(read_all(whole, strlen(whole), &seen, error), 0);
    for (size_t len = 0; len < strlen(whole); len++)
        assert_int_equal(read_all(whole, len, &seen, error), STATUS_INVALID);
}

static void nested(struct text *document, int depth)
{
    text_clear(document);
    for (int i = 0; i < depth; i++)
        text_add(document, "<a>");
    for (int i = 0; i < depth; i++)
        text_add(document, "</a>");
}

static void test_depth_has_a_limit(void **state)
{
    AUTO(text) struct text seen = {0}, document = {0};
    char error[XML_ERROR_MAX];
    (void)state;
    nested(&document, XML_DEPTH_MAX);
    assert_int_equal(read_all(document.data, document.len, &seen, error), 0);
    nested(&document, XML_DEPTH_MAX + 1);
    assert_int_equal(read_all(document.data, document.len, &seen, error), STATUS_TOO_LARGE);
    assert_non_null(strstr(error, "too deep"));
    nested(&document, 100000);
    assert_int_equal(read_all(document.data, document.len, &seen, error), STATUS_TOO_LARGE);
}

static void test_names_and_sizes_have_limits(void **state)
{
    AUTO(text) struct text seen = {0}, document = {0};
    char error[XML_ERROR_MAX];
    (void)state;
    text_add_char(&document, '<');
    for (int i = 0; i < XML_PATH_BYTES_MAX; i++)
        text_add_char(&document, 'n');
    text_add(&document, "/>");
    assert_int_equal(read_all(document.data, document.len, &seen, error), STATUS_TOO_LARGE);
    assert_int_equal(xml_read("<a/>", 4, 3, &recorder, &seen, error), STATUS_TOO_LARGE);
    assert_non_null(strstr(error, "4 bytes"));
}

static void test_long_texts_are_cut_at_a_character(void **state)
{
    AUTO(text) struct text seen = {0}, document = {0};
    char error[XML_ERROR_MAX];
    (void)state;
    text_add(&document, "<a>x");
    for (int i = 0; i < XML_TEXT_BYTES_MAX; i++)
        text_add(&document, "\xc3\xa9");
    text_add(&document, "&amp;y<b>next</b></a>"); /* what is behind a cut does not slip in */
    assert_int_equal(read_all(document.data, document.len, &seen, error), 0);
    assert_string_equal(text_get(&seen), "<a><a/b>a/b=[next]a=[]");
    text_clear(&document);
    text_add(&document, "<a>x");
    for (int i = 0; i < XML_TEXT_BYTES_MAX; i++)
        text_add(&document, "\xc3\xa9");
    text_add(&document, "&amp;y</a>");
    assert_int_equal(read_all(document.data, document.len, &seen, error), 0);
    assert_true(text_is_utf8(seen.data, seen.len));
    assert_true(seen.len < XML_TEXT_BYTES_MAX + 16);
    assert_null(strchr(seen.data, 'y'));
}

/* Larger than a piece that is handed to expat at once. */
static void test_megabytes(void **state)
{
    AUTO(text) struct text seen = {0}, document = {0};
    char error[XML_ERROR_MAX];
    (void)state;
    text_add(&document, "<a>");
    while (document.len < (3 << 20))
        text_add(&document, "                <!-- filling the page with nothing at all -->\n");
    text_add(&document, "<b>1</b></a>");
    assert_int_equal(read_all(document.data, document.len, &seen, error), 0);
    assert_string_equal(text_get(&seen), "<a><a/b>a/b=[1]a=[]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elements_pass_by),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_zero_bytes_are_refused),
        cmocka_unit_test(test_every_beginning_is_refused),
        cmocka_unit_test(test_depth_has_a_limit),
        cmocka_unit_test(test_names_and_sizes_have_limits),
        cmocka_unit_test(test_long_texts_are_cut_at_a_character),
        cmocka_unit_test(test_megabytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
