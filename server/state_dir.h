/* hpd's directory, before anything in it is read: who else may read or change what is there. */
#ifndef HOLDFAST_SERVER_STATE_DIR_H
#define HOLDFAST_SERVER_STATE_DIR_H

/* Closes to others what is open to them, with a word in the log for each. IO, with a sentence, for what cannot be closed. */
#define STATE_DIR_ERROR_MAX 400
int state_dir_close_to_others(const char *dir, char ret_error[STATE_DIR_ERROR_MAX]);

#endif
