/*
 * Xid 74 (NVLink up to Hopper): seven registers in brackets, of which the 1st, 3rd, 4th and 5th say what
 * happened [V]. The worst bit decides; a bit that the sheet does not name is taken as seriously as the row.
 */
#include "policy/faults/decode.h"

#define REGISTERS 7
#define BIT(n) (UINT32_C(1) << (n))

/* In ascending order of weight. */
enum reading {
    HARMLESS,  /* nothing uncorrectable */
    COMPANION, /* goes with another error */
    REPEATED,  /* counts only when it comes again on the same link: the row's rate */
    FATAL,     /* what the row says: reset */
};

static const struct {
    int number; /* of the register, counted from 1 */
    uint32_t bits;
    enum reading reading;
    const char *says;
} sheet[] = {
    {1, BIT(0) | BIT(23) | BIT(30), HARMLESS, "harmless"},
    {1, BIT(1) | BIT(20), COMPANION, "a companion of another error"},
    {1, BIT(4) | BIT(5), REPEATED, "ECC or parity, of weight when repeated on the link"},
    {1, BIT(8) | BIT(9) | BIT(12) | BIT(16) | BIT(17) | BIT(24) | BIT(28), FATAL,
     "perhaps the connection or its seating"},
    {1, BIT(21) | BIT(22), FATAL, "a marginal signal"},
    {1, BIT(27) | BIT(29), REPEATED, "of weight only when repeated"},
    {3, BIT(0) | BIT(1) | BIT(2) | BIT(6), REPEATED, "ECC or parity, of weight when repeated on the link"},
    {3, BIT(13), REPEATED, "not expected in production"},
    {3, BIT(16) | BIT(17) | BIT(18) | BIT(19), REPEATED, "of weight only when repeated"},
    {4, BIT(16) | BIT(17), COMPANION, "a companion of another error"},
    {4, BIT(18), FATAL, "a companion of another error after which the fabric needs a reset"},
    {5, BIT(18) | BIT(19) | BIT(21) | BIT(22) | BIT(24) | BIT(25) | BIT(27) | BIT(28), REPEATED,
     "ECC or parity, of weight when repeated on the link"},
    {5, BIT(20) | BIT(23) | BIT(26) | BIT(29), HARMLESS, "an ECC threshold, nothing uncorrectable"},
};

/* The first list of hexadecimal numbers in round brackets. */
static int read_registers(const struct decode_detail *detail, uint32_t values[REGISTERS])
{
    for (size_t at = 0; (at = decode_find(detail, at, "(")) < detail->len;) {
        at++;
        int count = 0;
        while (count < REGISTERS && decode_hex(detail, &at, &values[count]))
            count++;
        if (count > 0)
            return count;
    }
    return 0;
}

static bool means_something(int number)
{
    return number == 1 || number == 3 || number == 4 || number == 5;
}

struct finding {
    int number, bit; /* 0 and -1: none */
    enum reading reading;
    const char *says;
};

static void read_bit(int number, int bit, struct finding *worst)
{
    struct finding found = {number, bit, FATAL, "not in the sheet"};
    for (size_t i = 0; i < sizeof(sheet) / sizeof(sheet[0]); i++)
        if (sheet[i].number == number && (sheet[i].bits & BIT(bit)) != 0) {
            found.reading = sheet[i].reading;
            found.says = sheet[i].says;
        }
    if (worst->number == 0 || found.reading > worst->reading)
        *worst = found;
}

void decode_nvlink4(const struct decode_detail *detail, struct fault_judgement *judgement, struct decode_note *note)
{
    uint32_t values[REGISTERS] = {0};
    int count = read_registers(detail, values);
    struct finding worst = {0, -1, HARMLESS, ""};
    for (int i = 0; i < count; i++)
        for (int bit = 0; bit < 32 && means_something(i + 1); bit++)
            if ((values[i] & BIT(bit)) != 0)
                read_bit(i + 1, bit, &worst);
    if (worst.number == 0)
        return; /* no registers, or all zero: the row speaks */
    decode_note(note, "register %d bit %d: %s", worst.number, worst.bit, worst.says);
    if (worst.reading <= REPEATED) {
        judgement->action = judgement->again = ACTION_CLASS_WATCH;
        judgement->urgency = URGENCY_AFTER_JOBS;
        judgement->severity = SEVERITY_WARN;
    }
}
