#include "chain.h"

#include <link.h>
#include <stdlib.h>

/* An object's segments lie together, behind its address. */
static const struct link_map *owner_of(uintptr_t address)
{
	const struct link_map *owner = NULL;
	for (const struct link_map *map = _r_debug.r_map; map != NULL; map = map->l_next)
		if (map->l_addr <= address && (owner == NULL || map->l_addr > owner->l_addr))
			owner = map;
	return owner;
}

int are_libcs(const uintptr_t functions[], size_t count)
{
	const struct link_map *libc = owner_of((uintptr_t)on_exit);
	for (size_t i = 0; i < count; i++)
		if (functions[i] != 0 && owner_of(functions[i]) != libc)
			return 0;
	return 1;
}
