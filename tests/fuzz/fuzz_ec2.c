/* Fuzzing of what EC2 and its instance metadata answer, and of the file of keys: no id of another form, and nothing has a control
 * character. */
// ROOMS: server policy db model base
#include "server/provider/ec2/answer.h"
#include "server/provider/ec2/credentials.h"
#include "tests/fuzz/fuzz.h"

static void require_plain(const char *text)
{
    for (const char *c = text; *c != '\0'; c++)
        REQUIRE((unsigned char)*c >= ' ' && *c != 0x7f);
}

static void read_instances(const char *document, const char *text, size_t size)
{
    struct ec2_instances instances = {.list = NULL};
    char error[PROVIDER_ERROR_MAX] = "";
    if (ec2_read_instances(document, text, size, &instances, error) == 0)
        for (size_t i = 0; i < instances.count; i++) {
            REQUIRE(ec2_is_id(instances.list[i].id));
            require_plain(instances.list[i].address);
            require_plain(instances.list[i].provider);
            require_plain(instances.list[i].instance_id);
        }
    require_plain(instances.next);
    require_plain(error);
    ec2_instances_free(&instances);
}

static void read_notices(bool spot, const char *text, size_t size)
{
    struct ec2_notices notices = {.list = NULL};
    char error[PROVIDER_ERROR_MAX] = "";
    int status = spot ? ec2_read_interruptions(text, size, &notices, error)
                      : ec2_read_notices(text, size, INT64_C(1795176000000), &notices, error);
    if (status == 0)
        for (size_t i = 0; i < notices.count; i++) {
            REQUIRE(ec2_is_id(notices.list[i].ref) && notices.list[i].id[0] != '\0');
            require_plain(notices.list[i].id);
            require_plain(notices.list[i].words);
        }
    require_plain(notices.next);
    require_plain(error);
    ec2_notices_free(&notices);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ec2_error refused = {.code = ""};
    struct aws_credentials keys;
    char error[PROVIDER_ERROR_MAX] = "", trouble[PROVIDER_ERROR_MAX] = "";
    char *text = fuzz_text(data, size);
    read_instances("DescribeInstancesResponse", text, size);
    read_instances("RunInstancesResponse", text, size);
    read_notices(false, text, size);
    read_notices(true, text, size);
    if (ec2_read_trouble(text, size, trouble, error) == 0)
        require_plain(trouble);
    if (ec2_read_error(text, size, &refused) == 0) {
        require_plain(refused.code);
        require_plain(refused.message);
        (void)ec2_refusal_of(400, refused.code);
    }
    (void)ec2_read_done("RebootInstancesResponse", text, size, error);
    if (ec2_credentials_parse_role(text, size, &keys, error) == 0)
        require_plain(keys.access_key);
    if (ec2_credentials_parse(text, "default", &keys, error) == 0)
        require_plain(keys.access_key);
    require_plain(error);
    free(text);
    return 0;
}
