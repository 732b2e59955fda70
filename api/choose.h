/* Enums as query parameters: CHOOSE(node_state) makes choose_node_state for struct api_query. */
#ifndef HOLDFAST_API_CHOOSE_H
#define HOLDFAST_API_CHOOSE_H

#define CHOOSE(name)                                            \
    static int choose_##name(const char *text, int *ret_choice) \
    {                                                           \
        enum name value;                                        \
        int rc = name##_parse(text, &value);                    \
        if (rc == 0)                                            \
            *ret_choice = (int)value;                           \
        return rc;                                              \
    }

/* For struct api_query: "true" or "false". */
int api_choose_bool(const char *text, int *ret_choice);

#endif
