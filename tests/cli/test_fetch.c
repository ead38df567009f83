/* What `heatball data fetch` is made of: SHA-256 by the known answers of FIPS 180-4. test_cli_images.py has the
 * archives and the whole. */
#include "support.h"

#include "sha256.h"

static void expect_sum(const char *text, size_t piece, const char *expected)
{
    hb_sha256 sum;
    char found[65];
    const size_t n = strlen(text);
    hb_sha256_begin(&sum);
    for (size_t i = 0; i < n; i += piece)
        hb_sha256_add(&sum, text + i, n - i < piece ? n - i : piece);
    hb_sha256_end(&sum, found);
    assert_string_equal(found, expected);
}

static void sha256_has_the_known_answers(void **state)
{
    (void)state;
    static char million[1000001];
    memset(million, 'a', 1000000);
    for (size_t piece = 1; piece < 200; piece += 13) {
        expect_sum("abc", piece,
                   "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        expect_sum("", piece, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        expect_sum("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", piece,
                   "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
        expect_sum("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno"
                   "ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
                   piece, "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
    }
    expect_sum(million, 12345, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sha256_has_the_known_answers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
