/* The page of hb_reproduce from made-up results, so that what no study of the moment does is tried too:
 * characters with a meaning in HTML, a place that is missing or unknown, a large SVG, a picture that is
 * only a PNG, a study that was skipped, and numbers of tables that are the paper's. */
#include "report_page.h"
#include "study_tools.h"
#include "support.h"

#include <unistd.h>

enum { PAGE = 8 << 20, LARGE = 1600000 };

/* A PNG is taken for its size only: the signature, the width and some bytes. */
static const unsigned char PICTURE[] = {0x89, 'P', 'N', 'G', 13,  10, 26, 10,   0,    0, 0,
                                        13,   'I', 'H', 'D', 'R', 0,  0,  0x04, 0x60, 0, 0,
                                        2,    0,   8,   2,   0,   0,  0,  0xfb, 0xff};
static const char PICTURE_BASE64[] = "iVBORw0KGgoAAAANSUhEUgAABGAAAAIACAIAAAD7/w==";

static const char BOX[] = "<svg viewBox=\"0 0 1400 644\"><rect width=\"100%\"/></svg>";

static const hb_study ALPHA = {"alpha", "A <study> & more", NULL};
static const hb_study BISTABLE = {"bistable", "The skipped one", NULL};

static char directory[64], page[PAGE];

static void write_file(const char *name, size_t n, const void *bytes)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static void write_svg(const char *name, size_t size)
{
    static const char head[] =
        "<?xml version='1.0'?>\n<svg width=\"1120\" height=\"420\">\n<title>gone"
        "</title><desc>gone too</desc><path id='p' d=''/><use "
        "xlink:href='#p'/>";
    char *text = calloc(1, size + sizeof head + 16);
    assert_non_null(text);
    memcpy(text, head, sizeof head);
    if (size > strlen(head)) memset(text + strlen(head), ' ', size - strlen(head));
    strcat(text, "</svg>\n");
    write_file(name, strlen(text), text);
    free(text);
}

static void add_claim(json_t *claims, const char *id, const char *statement, const char *place,
                      const char *ours, const char *verdict)
{
    json_array_append_new(claims, json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:s}", "id", id, "statement",
                                            statement, "place", place, "paper", "3", "ours", ours,
                                            "verdict", verdict, "why", "w"));
}

static json_t *claims_of_result(void)
{
    json_t *claims = json_array();
    add_claim(claims, "late", "Late.", "5.2 Table", "0.5", "does not hold");
    add_claim(claims, "first", "1 < 2 & \"so\". Then on.", "2.1 Text",
              "4.3e-07 like d^-0.95; C_d, σ_max, e^{-2τ}, ℝ^d, det_tau, -3",
              "holds with a correction");
    add_claim(claims, "second", "Second.", "2.1 Text", "o", "holds");
    add_claim(claims, "lost", "Nowhere.", "9.9 Unknown", "o", "holds");
    add_claim(claims, "own", "Ours.", "2.1 Text", "o", "does not hold");
    json_object_set_new(json_array_get(claims, 4), "source", json_string("heatball"));
    json_object_set_new(json_array_get(claims, 0), "figure", json_string("alpha_big"));
    json_object_update_new(json_array_get(claims, 1),
                           json_pack("{s:s,s:s,s:i}", "table", "alpha_table", "figure",
                                     "alpha_small", "correction", 3));
    return claims;
}

static json_t *make_result(void)
{
    const hb_study_settings settings = {.directory = directory, .seed = 7};
    json_t *root = hb_study_begin(&ALPHA, &settings), *titles = json_array();
    json_t *cells = json_pack("[s,s,s]", "a_long_name", "0.00134 ± 0.0002", "+1.2 % / -3.4 %");
    for (int k = 4; k <= 13; k++) json_array_append_new(cells, json_string("0.00134 ± 0.0002"));
    for (int k = 1; k <= 13; k++)
        json_array_append_new(titles, k == 2 ? json_string("c_2 & d") : hb_study_text("c%d", k));
    json_object_set_new(root, "claims", claims_of_result());
    json_object_set_new(root, "tables",
                        json_pack("[{s:s,s:s,s:s,s:[s,s,s],s:[[s,s,s],[s,s,s]],s:s},"
                                  "{s:s,s:s,s:s,s:o,s:[o],s:n}]",
                                  "name", "alpha_table", "title", "Title", "place", "2.1 Table",
                                  "columns", "name", "ours", "theirs (paper)", "rows", "a", "1.5",
                                  "2.5", "b", "", "text", "note", "Note.", "name", "alpha_wide",
                                  "title", "Wide", "place", "B Table", "columns", titles, "rows",
                                  cells, "note"));
    json_object_set_new(root, "figures",
                        json_pack("[{s:s,s:s,s:s},{s:s,s:s,s:s},{s:s,s:s,s:s},{s:s,s:s,s:s}]",
                                  "name", "alpha_small", "caption", "Small. More.", "place",
                                  "2.1 Figure", "name", "alpha_big", "caption", "Big <one>. More.",
                                  "place", "5.2 Figure", "name", "alpha_none", "caption", "None.",
                                  "place", "", "name", "alpha_box", "caption", "Box.", "place",
                                  "B Figure"));
    return root;
}

static void read_page(void)
{
    char path[256];
    snprintf(path, sizeof path, "%s/index.html", directory);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t n = fread(page, 1, PAGE - 1, file);
    page[n] = '\0';
    fclose(file);
}

static int make_page(void **state)
{
    (void)state;
    hb_context *context = make_context(HB_ISA_AUTO, 1);
    const hb_study_settings settings = {.directory = directory, .seed = 7};
    const hb_page_entry entries[] = {{&ALPHA, NULL}, {&BISTABLE, "no <file>"}};
    char alpha[128];
    strcpy(directory, "/tmp/heatball-page-XXXXXX");
    assert_non_null(mkdtemp(directory));
    snprintf(alpha, sizeof alpha, "%s/alpha", directory);
    assert_int_equal(hb_study_make_directory(context, alpha), HB_OK);
    write_svg("alpha/alpha_small.svg", 0);
    write_file("alpha/alpha_box.svg", strlen(BOX), BOX);
    write_svg("alpha/alpha_big.svg", LARGE);
    write_file("alpha/alpha_big.png", sizeof PICTURE, PICTURE);
    write_file("alpha/alpha_big.plot.csv", 1, "1");
    assert_int_equal(hb_study_write_json(context, alpha, "alpha.json", make_result()), HB_OK);
    assert_int_equal(hb_page_write(context, &settings, NULL, 2, entries, NULL), HB_OK);
    hb_context_destroy(context);
    read_page();
    return 0;
}

static int remove_page(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", directory);
    return system(command);
}

static const char *find(const char *text)
{
    const char *at = strstr(page, text);
    if (!at) fail_msg("the page lacks %s", text);
    return at;
}

static void test_order_is_the_papers(void **state)
{
    static const char *const order[] = {"id=\"summary\"",
                                        "id=\"section-2\"",
                                        "id=\"section-2.1\"",
                                        "id=\"claim-alpha-first\"",
                                        "id=\"table-alpha_table\"",
                                        "<figure id=\"alpha_small\"",
                                        "id=\"claim-alpha-second\"",
                                        "id=\"claim-alpha-own\"",
                                        "id=\"section-5\"",
                                        "id=\"claim-alpha-lost\"",
                                        "<figure id=\"alpha_none\"",
                                        "id=\"section-5.2\"",
                                        "id=\"claim-alpha-late\"",
                                        "<figure id=\"alpha_big\"",
                                        "id=\"section-C\"",
                                        "id=\"corrections\""};
    (void)state;
    for (size_t i = 1; i < sizeof order / sizeof *order; i++)
        assert_true(find(order[i - 1]) < find(order[i]));
    assert_null(strstr(page, "id=\"section-3\"")); /* nothing stands there */
    assert_null(strstr(page, "id=\"shortened\"")); /* not a quick run */
    find("Claim 1</a> <span>§2.1 Text</span>");
    find("Claim 3</a> <span>§5 Unknown</span>");
    find("Claim 4</a> <span>§5.2 Table</span>");
    find("Our statement 1</a> <span>§2.1 Text</span>");
}

/* What the paper does not say is counted and listed apart. */
static void test_our_statements_have_their_own_list(void **state)
{
    (void)state;
    const char *theirs = find("<h3 id=\"claims-theirs\" class=\"theirs\">");
    const char *ours = find("<h3 id=\"claims-ours\" class=\"ours\">");
    find(
        "Of 4 claims <span class=\"holds\"><span class=\"verdict\">✓ 2 hold</span></span>, <span "
        "class=\"part\"><span class=\"verdict\">◐ 1 hold with a correction</span></span> and <span "
        "class=\"fails\"><span class=\"verdict\">✗ 1 do not hold</span></span>.");
    find("Of 1 statements <span class=\"holds\"><span class=\"verdict\">✓ 0 hold");
    assert_true(theirs < ours);
    assert_true(strstr(theirs, "href=\"#claim-alpha-late\"") < ours);
    assert_true(strstr(theirs, "href=\"#claim-alpha-own\"") > ours);
    find("<input type=\"radio\" name=\"verdict\" id=\"show-fails\"/>");
    find("#show-fails:checked~table tbody tr:not(.fails)");
    assert_null(strstr(page, "<script"));
}

static void test_text_is_escaped_and_set(void **state)
{
    (void)state;
    find("<p class=\"statement\">1 &lt; 2 &amp; &quot;so&quot;. Then on.</p>");
    find(">1 &lt; 2 &amp; &quot;so&quot;</a>"); /* the summary: the first sentence */
    find("4.3·10<sup>−7</sup> like d<sup>−0.95</sup>; C<sub>d</sub>, σ<sub>max</sub>, "
         "e<sup>−2τ</sup>, ℝ<sup>d</sup>, det_tau, −3<");
    find("A &lt;study&gt; &amp; more");
    find("could not run: no &lt;file&gt;.");
    find("alt=\"Big &lt;one&gt;\"");
}

static void test_tables_mark_the_papers_columns(void **state)
{
    (void)state;
    find("<th scope=\"col\">name</th><th scope=\"col\" class=\"n\">ours</th><th scope=\"col\" "
         "class=\"paper\">theirs (paper)</th>");
    find("<th scope=\"row\">a</th><td class=\"n\" data-title=\"ours\">1.5</td><td class=\"paper\" "
         "data-title=\"theirs (paper)\">2.5</td>");
    find("Shaded: the paper’s numbers. Note.");
}

/* Thirteen columns: smaller type, numbers that break before ± and behind / alone, and a class that
 * folds it, in a window where nothing of it fits side by side any more. */
static void test_wide_tables_break_and_fold(void **state)
{
    (void)state;
    const char *wide = find("id=\"table-alpha_wide\"");
    const char *table = strstr(wide, "<table class=\"dense f");
    assert_non_null(table);
    const long limit = strtol(table + strlen("<table class=\"dense f"), NULL, 10);
    assert_true(limit >= 56 && limit <= 68); /* 13 columns of 8 to 10 characters; 72 is the page */
    char rule[64];
    snprintf(rule, sizeof rule, "@container(max-width:%ldrem){.f%ld,", limit, limit);
    find(rule);
    find(".table .scroll{container-type:inline-size;");
    assert_non_null(strstr(wide, "<td class=\"n\" data-title=\"c_2 &amp; d\">0.00134 <span>± "
                                 "0.0002</span></td>"));
    assert_non_null(strstr(wide, "<td class=\"n\" data-title=\"c3\"><span>+1.2 % /</span> "
                                 "<span>−3.4 %</span></td>"));
    assert_non_null(strstr(find("id=\"table-alpha_table\""), "<table class=\"f20\">"));
}

static void test_pictures_are_inside(void **state)
{
    char png[200];
    (void)state;
    snprintf(png, sizeof png, "src=\"data:image/png;base64,%s\"/>", PICTURE_BASE64);
    find(png); /* the SVG of alpha_big is large, its PNG is small */
    assert_null(strstr(page, "<img<"));
    find("style=\"min-width:336px;max-width:560px\" alt="); /* 1120 pixels are 560 units */
    find("<svg role=\"img\" aria-label=\"Small\" style=\"min-width:672px;max-width:1120px\"");
    find("aria-label=\"Box\" style=\"min-width:840px;max-width:1400px\"");
    find("<path id='alpha_small-p'");
    find("xlink:href='#alpha_small-p'");
    assert_null(strstr(page, "gone"));
    assert_true(strlen(page) < 100000);
    find("This figure needs gnuplot");
    find("<a href=\"alpha/alpha_big.plot.csv\">Numbers</a>");
    assert_null(strstr(page, "alpha_small.plot.csv")); /* there is no such file */
}

static void test_corrections_link_to_claims(void **state)
{
    (void)state;
    const char *third = find("id=\"correction-3\""), *fourth = find("id=\"correction-4\"");
    const char *link = strstr(third, "href=\"#claim-alpha-first\">Claim 1</a>");
    assert_true(link && link < fourth);
    find("<a href=\"#correction-3\">3: ");
    assert_non_null(strstr(fourth, "No claim of this run measures it."));
}

static void test_results_hold_both(void **state)
{
    char path[256];
    json_error_t error;
    (void)state;
    snprintf(path, sizeof path, "%s/results.json", directory);
    json_t *root = json_load_file(path, 0, &error);
    assert_non_null(root);
    const json_t *studies = json_object_get(root, "studies");
    assert_int_equal(json_array_size(studies), 2);
    assert_int_equal(json_array_size(json_object_get(json_array_get(studies, 0), "claims")), 5);
    assert_string_equal(json_string_value(json_object_get(json_array_get(studies, 1), "skipped")),
                        "no <file>");
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_order_is_the_papers),
                                       cmocka_unit_test(test_our_statements_have_their_own_list),
                                       cmocka_unit_test(test_text_is_escaped_and_set),
                                       cmocka_unit_test(test_tables_mark_the_papers_columns),
                                       cmocka_unit_test(test_wide_tables_break_and_fold),
                                       cmocka_unit_test(test_pictures_are_inside),
                                       cmocka_unit_test(test_corrections_link_to_claims),
                                       cmocka_unit_test(test_results_hold_both)};
    return cmocka_run_group_tests(tests, make_page, remove_page);
}
