/*
 * Log lines on stderr: time, level, message, then key=value pairs (logfmt).
 *
 * Log or return, never both. Libraries below server/, agents/ and cli/ do not log
 * above debug. Thread-safe: a line is one write(2).
 */
#ifndef HOLDFAST_BASE_LOG_H
#define HOLDFAST_BASE_LOG_H

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARN, LOG_LEVEL_ERROR };

void log_set_level(enum log_level level);
/* "debug", "info", "warn", "error"; STATUS_INVALID otherwise. */
int log_level_parse(const char *text, enum log_level *ret_level);
void log_line(enum log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)
#define log_info(...) log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_warn(...) log_line(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)

#endif
