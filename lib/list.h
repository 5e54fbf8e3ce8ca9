/* list.h - lists whose links are members of what is in them: to add and to remove takes no memory and no search. */
#ifndef LIMA_LIST_H
#define LIMA_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* A place in a list, or a list's head: a ring through all of them. */
struct node {
	struct node *prev, *next; /* both NULL when in no list */
};

/* What n is a member of. */
#define list_item(n, type, member) ((type *)(void *)((char *)(n) - offsetof(type, member)))

static inline void list_init(struct node *head) { head->prev = head->next = head; }
static inline bool list_empty(const struct node *head) { return head->next == head; }
static inline bool node_listed(const struct node *n) { return n->next; }
/* At the end; n is in no list. */
static inline void list_add(struct node *head, struct node *n)
{
	n->prev = head->prev;
	n->next = head;
	head->prev->next = n;
	head->prev = n;
}
static inline void list_del(struct node *n)
{
	if (!n->next)
		return;
	n->prev->next = n->next;
	n->next->prev = n->prev;
	n->prev = n->next = NULL;
}

#endif
