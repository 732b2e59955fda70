/* What a transaction changes in memory: noted inside it, done after its commit. */
#ifndef HOLDFAST_SERVER_RECONCILE_BASE_EFFECT_H
#define HOLDFAST_SERVER_RECONCILE_BASE_EFFECT_H

#include "server/live/fleet.h"
#include "server/reconcile/base/operation.h"

struct rcall;
struct reconcile;
struct rnode;
struct turn;

/* What a part does after the commit; data is the copy of what it noted. */
typedef void (*effect_fn)(struct reconcile *r, struct rnode *node, const void *data);

enum effect_kind {
    EFFECT_NODE,          /* the node's row changed */
    EFFECT_OPERATION_NEW, /* an operation was stored */
    EFFECT_OPERATION,     /* an operation went on */
    EFFECT_OPERATION_END, /* an operation is over */
    EFFECT_DECIDED,       /* a node was looked at */
    EFFECT_FLEET,         /* another instance fills the slot */
    EFFECT_NODE_GONE,     /* a slot that was deleted was forgotten */
    EFFECT_CALL,          /* a function of a part is called */
};

struct effect {
    enum effect_kind kind;
    struct rnode *node;
    union {
        struct {
            enum node_state state;
            enum health health;
            bool opted_out, has_instance, served;
            uint8_t launch_tries;
            int64_t retry_at;
        } row;
        struct {
            int64_t id;
            enum operation_kind kind;
            enum fault_class fault;
            enum step_kind step;
            enum operation_state end;
            bool past_return, waits_for_slot, waits_for_link;
            bool operated; /* one that is new was advanced in this turn already */
            uint8_t leftover;
            int64_t due_at;
            struct rop_scratch scratch;
            struct rcall *call; /* owned; sent after the commit */
            struct rcall *took; /* the result that was looked at */
        } operation;
        struct {
            bool stored, again, clear, unheard, settled;
            uint8_t notes;
            int64_t look_at; /* 0: when something happens */
        } decided;
        struct {
            struct fleet_slot slot;
            uint64_t image;
        } fleet;
        struct {
            effect_fn fn;
            void *data; /* owned */
            bool last;
        } call;
    } u;
};

struct effect *turn_effect(struct turn *turn, enum effect_kind kind, struct rnode *node);
/* After the commit fn is called, with a copy of data, in the order of the effects, or when all others were done. The node may be NULL. */
void turn_after(struct turn *turn, struct rnode *node, effect_fn fn, const void *data, size_t size);
void turn_at_last(struct turn *turn, effect_fn fn, const void *data, size_t size);

#endif
